"""Recorded answers: rows with `small_response` and `large_response`, and whether they are right."""

from ...core.errors import ConfigError
from ..tasks import Recording, Task
from . import PLACE_KEY
from ._reading import DatasetRow, RowDataset, as_text, tools_of, with_options

ROLES = ("small", "large")
_TASK_FIELDS = ("id", "prompt", "reference", "tools", "options")


def create() -> RowDataset:
    return RowDataset(_task, scorer="recorded", marks=("prompt", "small_response", "large_response"))


def _task(row: DatasetRow) -> Task:
    options = tuple(map(str, row.values.get("options") or ()))
    mine = {*_TASK_FIELDS, *(key for key in row.values if key.startswith(("small_", "large_")))}
    return Task(
        row.text("id"),
        with_options(row.text("prompt"), options),
        row.optional("reference"),
        tools_of(row.values.get("tools"), row.place),
        options=options,
        recorded={role: _answer(row, role) for role in ROLES},
        extra={**{key: value for key, value in row.values.items() if key not in mine}, PLACE_KEY: row.place},
    )


def _answer(row: DatasetRow, role: str) -> Recording:
    key = f"{role}_response"
    if key not in row.values:
        raise ConfigError(f"{row.place}: the field {key!r} is missing")
    correct = row.values.get(f"{role}_correct")
    if correct is not None and not (isinstance(correct, bool | int | float) and 0 <= correct <= 1):
        raise ConfigError(f"{row.place}: {role}_correct is {correct!r}; it has to be true, false, or from 0 to 1")
    worth = None if correct is None else float(correct)
    return Recording(as_text(row.values[key]), worth, row.optional(f"{role}_model"))
