"""HumanEval: a function to be completed, and a program `check(candidate)` that tries it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..tasks import Task
from . import AT
from ._reading import DatasetRow, json_rows

ASK = "Complete this Python function. Answer with the whole program, in one code block.\n\n```python\n{}\n```"


class HumanEval:
    scorer = "python_tests"
    suffixes: tuple[str, ...] = ()
    marks: tuple[str, ...] = ("prompt", "test", "entry_point")

    def fits(self, row: Mapping[str, Any]) -> bool:
        return True

    def read(self, path: Path) -> Iterator[Task]:
        return map(_task, json_rows(path))


def _task(row: DatasetRow) -> Task:
    begun, entry = row.text("prompt"), row.text("entry_point")
    return Task(
        row.text("task_id"),
        ASK.format(begun.rstrip()),
        row.optional("canonical_solution"),
        tests=f"{row.text('test')}\n\ncheck({entry})\n",
        extra={"begun": begun, "entry_point": entry, AT: row.place},
    )


def create() -> HumanEval:
    return HumanEval()
