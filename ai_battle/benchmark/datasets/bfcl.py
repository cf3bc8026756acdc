"""BFCL (Berkeley Function-Calling Leaderboard): questions with functions, and the calls that are right."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...core.errors import ConfigError
from ..tasks import Task
from . import AT
from ._reading import DatasetRow, json_rows, tools_of

POSSIBLE = "possible_answer"


class Bfcl:
    scorer = "tool_calls"
    suffixes: tuple[str, ...] = ()
    marks: tuple[str, ...] = ("question", "function")

    def fits(self, row: Mapping[str, Any]) -> bool:
        return True

    def read(self, path: Path) -> Iterator[Task]:
        """The right calls stand in the row as `ground_truth`, or in a file of the same name in `possible_answer/`."""
        beside = path.parent / POSSIBLE / path.name
        answers = dict(_answers(beside)) if beside.is_file() else {}
        for row in json_rows(path):
            task = _task(row)
            reference = task.reference or answers.get(task.id, "")
            if not reference:
                raise ConfigError(f"{row.place}: no ground_truth, neither here nor in {POSSIBLE}/{path.name}")
            yield replace(task, reference=reference)


def _answers(path: Path) -> Iterator[tuple[str, str]]:
    for row in json_rows(path):
        yield row.text("id"), row.text("ground_truth")


def _task(row: DatasetRow) -> Task:
    system, prompt = _question(row)
    functions = row.values.get("function")
    tools = tools_of(functions if isinstance(functions, list) else [functions], row.place)
    truth = row.values.get("ground_truth")
    reference = json.dumps(truth, ensure_ascii=False) if truth is not None else ""
    return Task(row.text("id"), prompt, reference, tools, system=system, extra={AT: row.place})


def _question(row: DatasetRow) -> tuple[str, str]:
    """Instructions and prompt."""
    said = _first_turn(row.values.get("question"))
    if isinstance(said, str) and said:
        return "", said
    if not isinstance(said, list) or not all(isinstance(each, dict) for each in said):
        raise ConfigError(f"{row.place}: the field 'question' is missing, or no list of messages")
    system = [each for each in said if each.get("role") == "system"]
    return _text(system), _text([each for each in said if each.get("role") != "system"])


def _first_turn(said: Any) -> Any:
    """The others need its results."""
    while isinstance(said, list) and said and isinstance(said[0], list):
        said = said[0]
    return said


def _text(messages: Sequence[Mapping[str, Any]]) -> str:
    return "\n\n".join(str(each.get("content", "")) for each in messages)


def create() -> Bfcl:
    return Bfcl()
