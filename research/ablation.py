"""Counts what each judgement brings: `python -m research.ablation DIR [EVERYDAY.jsonl]`.

Each judgement is left out of the measures in turn. It prints the wrong answers that nothing else finds, and the right
ones that nothing else holds to be stuck, at the default threshold and with the shipped weights.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ai_battle.core.exchange import ToolSpec
from ai_battle.core.messages import Message, Text, ToolCall, ToolResult
from ai_battle.judging.assessment import Context
from ai_battle.judging.case import Case
from ai_battle.judging.family import Family
from ai_battle.judging.judgements import JUDGEMENTS, Measurements, measurements
from ai_battle.judging.weights import score, shipped_weights
from research.detector import stuck_flags
from research.records import read_pairs


class JudgedAnswer(NamedTuple):
    """An answer's measurements, and whether it is right."""

    family: Family
    found: Measurements
    is_right: bool


def recorded_answers(folder: Path) -> Iterator[JudgedAnswer]:
    for pair in read_pairs(folder):
        for each, small in zip(pair.measurements, pair.small, strict=True):
            yield JudgedAnswer(pair.family, each, small > 0.5)


def everyday_answers(path: Path) -> Iterator[JudgedAnswer]:
    """Yields the rows of a file of everyday prompts whose flaw, if they have one, shows in the text."""
    for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        case = Case(row["answer"], row["prompt"], _context(row))
        if row["right"] or row["detectable"]:
            yield JudgedAnswer(case.family, measurements(case), row["right"])


def _context(row: Mapping[str, Any]) -> Context:
    tools = (ToolSpec(each["name"], each["description"], each["parameters"]) for each in row["tools"])
    steps = tuple(message for step in row["steps"] for message in _messages(step))
    return Context(tools=tuple(tools), steps=steps, prompt=row["prompt"])


def _messages(step: Mapping[str, Any]) -> Iterator[Message]:
    call = ToolCall(step["name"], step["arguments"], "call")
    yield Message("assistant", (call,))
    if step.get("result") is not None:
        yield Message("tool", (ToolResult(call, (Text(str(step["result"])),), bool(step.get("is_error"))),))


def without(found: Measurements, name: str) -> Measurements:
    signals, failed = ({key: value for key, value in part.items() if key != name} for part in found)
    return Measurements(signals, failed)


def table(answers: Iterable[JudgedAnswer]) -> Iterator[str]:
    """Yields a line for each judgement: how often it speaks and decides, of wrong and of right answers."""
    speaks, decides = Counter[tuple[str, bool]](), Counter[tuple[str, bool]]()
    for answer in answers:
        is_stuck = _is_stuck(answer.family, answer.found)
        for name in (name for part in answer.found for name, value in part.items() if value):
            speaks[name, answer.is_right] += 1
            decides[name, answer.is_right] += is_stuck and not _is_stuck(answer.family, without(answer.found, name))
    yield f"{'judgement':24} {'wrong':>6} {'only it':>8} {'right':>6} {'only it':>8}"
    for name in (row.name for row in JUDGEMENTS):
        figures = (each[name, is_right] for is_right in (False, True) for each in (speaks, decides))
        yield "{:24} {:6} {:8} {:6} {:8}".format(name, *figures)


def _is_stuck(family: Family, found: Measurements) -> bool:
    return stuck_flags([score(found, family, shipped_weights())])[0]


def main(arguments: Sequence[str]) -> None:
    folder, *files = map(Path, arguments)
    print("recorded answers", *table(recorded_answers(folder)), sep="\n", flush=True)
    for path in files:
        print(f"\n{path.name}", *table(everyday_answers(path)), sep="\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
