"""BFCL (Berkeley Function-Calling Leaderboard): questions with functions, and the right calls."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...core.errors import ConfigError
from ..tasks import Task
from . import PLACE_KEY
from ._reading import DatasetRow, RowDataset, as_text, json_rows, tools_of

POSSIBLE = "possible_answer"


def create() -> RowDataset:
    return RowDataset(_task, _rows, "tool_calls", marks=("question", "function"))


def _rows(path: Path) -> Iterator[DatasetRow]:
    """Yields rows with their right calls, from `ground_truth` or the file of the same name in `possible_answer/`."""
    beside = path.parent / POSSIBLE / path.name
    answers = {row.text("id"): row.text("ground_truth") for row in json_rows(beside)} if beside.is_file() else {}
    for row in json_rows(path):
        truth = as_text(row.values.get("ground_truth")) or answers.get(row.text("id"))
        if not truth:
            raise ConfigError(f"{row.place}: no ground_truth, neither here nor in {POSSIBLE}/{path.name}")
        yield replace(row, values={**row.values, "ground_truth": truth})


def _task(row: DatasetRow) -> Task:
    system, prompt = _question(row)
    functions = row.values.get("function")
    tools = tools_of(functions if isinstance(functions, list) else [functions], row.place)
    return Task(row.text("id"), prompt, row.text("ground_truth"), tools, system=system, extra={PLACE_KEY: row.place})


def _question(row: DatasetRow) -> tuple[str, str]:
    """Returns the system prompt and the prompt."""
    value = _first_turn(row.values.get("question"))
    if isinstance(value, str) and value:
        return "", value
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise ConfigError(f"{row.place}: the field 'question' is missing, or no list of messages")
    system = [each for each in value if each.get("role") == "system"]
    return _text(system), _text([each for each in value if each.get("role") != "system"])


def _first_turn(value: Any) -> Any:
    """Returns the messages of the first turn, as later turns need its results."""
    while isinstance(value, list) and value and isinstance(value[0], list):
        value = value[0]
    return value


def _text(messages: Sequence[Mapping[str, Any]]) -> str:
    return "\n\n".join(str(each.get("content", "")) for each in messages)
