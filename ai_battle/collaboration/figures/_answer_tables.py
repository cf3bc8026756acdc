"""Recorded final answers of many models to the same questions, as ballots."""

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...signals.final_answers import Kind, final_answer
from .._agreement import Ballot

KINDS: Mapping[str, Kind] = {"gsm8k": "number", "math-l5": "number", "crux": "code", "mmlu-pro": "option"}
FAMILIES = (
    "llama",
    "gemma",
    "qwen",
    "phi",
    "mistral",
    "mixtral",
    "mathstral",
    "yi",
    "command",
    "gpt",
    "claude",
    "gemini",
)
KIN = {"mixtral": "mistral", "mathstral": "mistral"}


@dataclass(frozen=True, slots=True)
class Answered:
    """What one model answered to each question, and 1 where it was right."""

    model: str
    ballots: tuple[Ballot | None, ...]
    right: tuple[float, ...]

    @property
    def quality(self) -> float:
        return sum(self.right) / len(self.right)


@dataclass(frozen=True, slots=True)
class Table:
    """All answers to one set of questions; `ids` are the questions."""

    ids: tuple[str, ...]
    answered: Mapping[str, Answered]

    def of(self, *names: str) -> list[Answered]:
        return [self.answered[name] for name in names]


def read_table(folder: Path, dataset: str) -> Table:
    """`answers.<dataset>.jsonl.gz` of a folder; a model that did not answer a question is wrong there."""
    rows = list(read_rows(folder / f"answers.{dataset}.jsonl.gz"))
    models = sorted({model for row in rows for model in row["answers"]})
    answered = {model: _answered(model, rows, KINDS[dataset]) for model in models}
    return Table(tuple(row["id"] for row in rows), answered)


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def family(model: str) -> str:
    """Who made the model it stems from; a model of no known family is its own."""
    name = model.casefold()
    found = next((each for each in FAMILIES if each in name), name)
    return KIN.get(found, found)


def said(answer: str, kind: Kind) -> Ballot | None:
    found = final_answer(json.dumps({"answer": answer}), kind=kind)
    return Ballot(found.kind, found.key) if found else None


def _answered(model: str, rows: Sequence[Mapping[str, Any]], kind: Kind) -> Answered:
    given = [row["answers"].get(model) or {} for row in rows]
    return Answered(
        model,
        tuple(said(each["answer"], kind) if each.get("answer") is not None else None for each in given),
        tuple(float(each.get("correct", False)) for each in given),
    )
