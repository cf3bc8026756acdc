"""HumanEval: a function to complete, and a program `check(candidate)` that tests it."""

from ..tasks import Task
from . import PLACE_KEY
from ._reading import DatasetRow, RowDataset

ASK = "Complete this Python function. Answer with the whole program, in one code block.\n\n```python\n{}\n```"


def create() -> RowDataset:
    return RowDataset(_task, scorer="python_tests", marks=("prompt", "test", "entry_point"))


def _task(row: DatasetRow) -> Task:
    begun, entry = row.text("prompt"), row.text("entry_point")
    return Task(
        row.text("task_id"),
        ASK.format(begun.rstrip()),
        row.optional("canonical_solution"),
        tests=f"{row.text('test')}\n\ncheck({entry})\n",
        extra={"begun": begun, "entry_point": entry, PLACE_KEY: row.place},
    )
