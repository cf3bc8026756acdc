"""Recorded answers of a small and a large model, read from `dataset.small.large.jsonl.gz`."""

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core.errors import ConfigError
from ...core.exchange import ToolSpec
from .assessment import NO_CONTEXT, Context
from .case import Case
from .family import Family
from .judgements import Measured, measured

FAMILY_OF: Mapping[str, Family] = {
    "gsm8k": "math",
    "math-l5": "math",
    "crux": "code",
    "mmlu-pro": "mcq",
    "bfcl": "tool",
    "mtbench": "chat",
}


@dataclass(frozen=True, slots=True)
class Record:
    """`small` and `large` are the qualities of both models' answers, 0 to 1."""

    prompt: str
    response: str
    small: float
    large: float
    context: Context = NO_CONTEXT


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """One small and one large model on one data set; `measured` is each record, measured once."""

    dataset: str
    small_model: str
    large_model: str
    records: tuple[Record, ...]
    measured: tuple[Measured, ...]

    @property
    def name(self) -> str:
        return f"{self.dataset}.{self.small_model}.{self.large_model}"

    @property
    def family(self) -> Family:
        return FAMILY_OF[self.dataset]

    @property
    def small(self) -> list[float]:
        return [record.small for record in self.records]

    @property
    def large(self) -> list[float]:
        return [record.large for record in self.records]


def read_pairs(folder: Path, *datasets: str) -> list[Pair]:
    """All pairs of a folder, or those of some data sets; raises `ConfigError` where there are none."""
    found = [path for path in sorted(folder.glob("*.jsonl.gz")) if path.name.split(".")[0] in (datasets or FAMILY_OF)]
    if not found:
        raise ConfigError(f"{folder} has no files named dataset.small.large.jsonl.gz.")
    return [read_pair(path) for path in found]


def pairs_named(arguments: Sequence[str]) -> list[Pair]:
    """All pairs of the folder that a command is given; raises `ConfigError` for another number of arguments, too."""
    if len(arguments) != 1:
        raise ConfigError("One argument is needed: the folder with the recorded answers.")
    return read_pairs(Path(arguments[0]))


def read_pair(path: Path) -> Pair:
    records = tuple(_records(path))
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        first = json.loads(next(lines))
    dataset, _, models = path.name.removesuffix(".jsonl.gz").partition(".")
    small, large = first.get("small_model"), first.get("large_model")
    half = models.split(".")
    small, large = small or half[0], large or half[-1]
    found = tuple(measured(Case(record.response, record.prompt, record.context)) for record in records)
    return Pair(dataset, small, large, records, found)


def _records(path: Path) -> Iterator[Record]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if isinstance(row.get("small_response"), str):
                yield Record(
                    row["prompt"],
                    row["small_response"],
                    float(row["small_correct"]),
                    float(row["large_correct"]),
                    Context(tools=tuple(map(_tool, row.get("tools") or ()))),
                )


def _tool(row: Mapping[str, Any]) -> ToolSpec:
    return ToolSpec(row["name"], row.get("description", ""), row.get("parameters") or {})
