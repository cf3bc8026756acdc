"""Reads the recorded answers of a small and a large model from `<dataset>.<small>.<large>.jsonl.gz`."""

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ai_battle.core.errors import ConfigError
from ai_battle.core.exchange import ToolSpec
from ai_battle.judging.assessment import NO_CONTEXT, Context
from ai_battle.judging.case import Case
from ai_battle.judging.family import Family
from ai_battle.judging.judgements import Measurements, measurements
from ai_battle.wire.dialects.reader import parse_tool_calls

FAMILY_OF: Mapping[str, Family] = {
    "gsm8k": "math",
    "math-l5": "math",
    "crux": "code",
    "mmlu-pro": "mcq",
    "bfcl": "tool",
    "mtbench": "chat",
}
_SPELLING = re.compile(r"[ ,./\-_*^'\"]")
"""The characters that the references' benchmark ignores when it compares texts."""


@dataclass(frozen=True, slots=True)
class Record:
    """A recorded prompt. `small` and `large` are both answers' qualities, 0 to 1; `response` is the small model's."""

    prompt: str
    response: str
    small: float
    large: float
    context: Context = NO_CONTEXT
    helper_response: str = ""


@dataclass(frozen=True, eq=False)
class Pair:
    """The records of one small and one large model on one data set."""

    dataset: str
    small_model: str
    large_model: str
    records: tuple[Record, ...]

    @cached_property
    def measurements(self) -> tuple[Measurements, ...]:
        """Returns the measurements of each record."""
        return tuple(measurements(Case(each.response, each.prompt, each.context)) for each in self.records)

    @cached_property
    def reversed(self) -> "Pair":
        """Returns the pair with its models exchanged, so that the large model's answers are judged."""
        records = (
            Record(each.prompt, each.helper_response, each.large, each.small, each.context, each.response)
            for each in self.records
            if each.helper_response
        )
        return Pair(self.dataset, self.large_model, self.small_model, tuple(records))

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
    """Reads the pairs of a folder, or of some of its data sets. Raises `ConfigError` if there are none."""
    found = [path for path in sorted(folder.glob("*.jsonl.gz")) if path.name.split(".")[0] in (datasets or FAMILY_OF)]
    if not found:
        raise ConfigError(f"{folder} has no files named dataset.small.large.jsonl.gz.")
    return [read_pair(path) for path in found]


def pairs_named(arguments: Sequence[str]) -> list[Pair]:
    """Reads the pairs of the folder in `arguments`. Raises `ConfigError` unless there is exactly one argument."""
    if len(arguments) != 1:
        raise ConfigError("One argument is needed: the folder with the recorded answers.")
    return read_pairs(Path(arguments[0]))


def read_pair(path: Path) -> Pair:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    dataset, _, models = path.name.removesuffix(".jsonl.gz").partition(".")
    small, large = rows[0].get("small_model"), rows[0].get("large_model")
    half = models.split(".")
    records = tuple(_record(row) for row in rows if isinstance(row.get("small_response"), str))
    return Pair(dataset, small or half[0], large or half[-1], records)


def _record(row: Mapping[str, Any]) -> Record:
    tools = tuple(map(_tool, row.get("tools") or ()))
    small, large = (_label(row, model, tools) for model in ("small", "large"))
    helper = row.get("large_response")
    said = helper if isinstance(helper, str) else ""
    return Record(row["prompt"], row["small_response"], small, large, Context(tools=tools), said)


def _tool(row: Mapping[str, Any]) -> ToolSpec:
    return ToolSpec(row["name"], row.get("description", ""), row.get("parameters") or {})


def _label(row: Mapping[str, Any], model: str, tools: Sequence[ToolSpec]) -> float:
    """Returns the recorded label, or, for an answer with tools, whether our reader reads the wanted calls from it.

    Recorded labels are wrong about right calls that the benchmark could not read, and about calls where none fits.
    """
    recorded, response = float(row[f"{model}_correct"]), row.get(f"{model}_response")
    if not tools or not isinstance(response, str):
        return recorded
    calls = [(call.name, call.arguments) for call in parse_tool_calls(response, tools)]
    if row.get("reference"):
        return float(_are_wanted(calls, row["reference"]["ground_truth"]))
    return 0.0 if calls and row.get("category") == "relevance" else recorded


def _are_wanted(calls: list[tuple[str, Mapping[str, Any]]], wanted: Sequence[Mapping[str, Any]]) -> bool:
    """Checks whether each wanted call was made once, in any order, and no other."""
    left = list(calls)
    for name, arguments in ((name, arguments) for call in wanted for name, arguments in call.items()):
        made = next((call for call in left if call[0] == name and _fit(call[1], arguments)), None)
        if made is None:
            return False
        left.remove(made)
    return not left


def _fit(given: Mapping[str, Any], wanted: Mapping[str, Sequence[Any]]) -> bool:
    """Checks whether each argument has an acceptable value. An empty text means that it may be left out."""
    return given.keys() <= wanted.keys() and all(
        any(_same(given.get(name, ""), value) for value in values) for name, values in wanted.items()
    )


def _same(given: Any, wanted: Any) -> bool:
    """Checks whether two values are equal. Texts are compared without case and punctuation, numbers by value."""
    match given, wanted:
        case (bool(), _) | (_, bool()):
            return given is wanted
        case str(), str():
            return _SPELLING.sub("", given.casefold()) == _SPELLING.sub("", wanted.casefold())
        case dict(), dict():
            return _fit(given, {name: value if isinstance(value, list) else [value] for name, value in wanted.items()})
        case list() | tuple(), list():
            return len(given) == len(wanted) and all(map(_same, given, wanted))
    return bool(given == wanted) or (wanted == "" and given in ([], {}, None))
