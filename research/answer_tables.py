"""Reads the recorded final answers of many models to the same questions, as ballots."""

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ai_battle.judging.agreement import Ballot
from ai_battle.signals.final_answers import Kind, final_answer
from ai_battle.signals.outcomes import ProgramOutcome, confirms

KINDS: Mapping[str, Kind] = {"gsm8k": "number", "math-l5": "number", "crux": "code", "mmlu-pro": "option"}
FAMILIES = (
    "llama", "gemma", "qwen", "phi", "mistral", "mixtral", "mathstral", "yi", "command", "gpt", "claude", "gemini"
)  # fmt: skip
NOTHING_RUN: Mapping[str, ProgramOutcome] = {}
KIN = {"mixtral": "mistral", "mathstral": "mistral"}


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """One model's ballots by question, and 1 in `right` for each right answer. A refuted answer has no ballot."""

    model: str
    ballots: tuple[Ballot | None, ...]
    right: tuple[float, ...]
    verified: tuple[bool, ...] = ()

    @property
    def quality(self) -> float:
        return sum(self.right) / len(self.right)


@dataclass(frozen=True, slots=True)
class Table:
    """All answers to one set of questions. A text in `prompts` is empty if it is not recorded."""

    ids: tuple[str, ...]
    answered: Mapping[str, AnsweredQuestion]
    prompts: tuple[str, ...] = ()

    def of(self, *names: str) -> list[AnsweredQuestion]:
        return [self.answered[name] for name in names]


def read_table(folder: Path, dataset: str, outcomes: Mapping[str, ProgramOutcome] = NOTHING_RUN) -> Table:
    """Reads `answers.<dataset>.jsonl.gz` of a folder. A model that did not answer a question is wrong there.

    `outcomes` are the results of the questions' programs, by id.
    """
    rows = list(read_rows(folder / f"answers.{dataset}.jsonl.gz"))
    models = sorted({model for row in rows for model in row["answers"]})
    answered = {model: _answered_question(model, rows, KINDS[dataset], outcomes) for model in models}
    pairs = sorted(folder.glob(f"{dataset}.*.jsonl.gz"))
    prompts = {row["id"]: row["prompt"] for pair in pairs for row in read_rows(pair)}
    ids = tuple(row["id"] for row in rows)
    return Table(ids, answered, tuple(prompts.get(each, "") for each in ids))


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def family(model: str) -> str:
    """Returns the maker of the model's base model. A model of no known family is its own family."""
    name = model.casefold()
    found = next((each for each in FAMILIES if each in name), name)
    return KIN.get(found, found)


def ballot_of(answer: str, kind: Kind) -> Ballot | None:
    found = final_answer(json.dumps({"answer": answer}), kind=kind)
    return Ballot(found.kind, found.key) if found else None


def _answered_question(
    model: str, rows: Sequence[Mapping[str, Any]], kind: Kind, outcomes: Mapping[str, ProgramOutcome]
) -> AnsweredQuestion:
    given = [row["answers"].get(model) or {} for row in rows]
    shown = [is_confirmed(each.get("answer"), outcomes.get(row["id"])) for each, row in zip(given, rows, strict=True)]
    ballots = [ballot_of(each["answer"], kind) if each.get("answer") is not None else None for each in given]
    return AnsweredQuestion(
        model,
        tuple(None if holds is False else ballot for ballot, holds in zip(ballots, shown, strict=True)),
        tuple(float(each.get("correct", False)) for each in given),
        tuple(holds is True for holds in shown),
    )


def is_confirmed(answer: str | None, outcome: ProgramOutcome | None) -> bool | None:
    """Checks whether running confirms an answer. Returns None if nothing was run or the answer is unreadable."""
    return None if answer is None or outcome is None else confirms(json.dumps({"answer": answer}), outcome)
