"""GSM8K: `question`, and an `answer` whose last line is `#### 42`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...core.errors import ConfigError
from ..tasks import Task
from . import AT
from ._reading import DatasetRow, json_rows

MARK = "####"


class Gsm8k:
    scorer = "numeric"
    suffixes: tuple[str, ...] = ()
    marks: tuple[str, ...] = ("question", "answer")

    def fits(self, row: Mapping[str, Any]) -> bool:
        return MARK in str(row["answer"])

    def read(self, path: Path) -> Iterator[Task]:
        return map(_task, json_rows(path))


def _task(row: DatasetRow) -> Task:
    worked, mark, reference = row.text("answer").rpartition(MARK)
    if not mark or not reference.strip():
        raise ConfigError(f"{row.place}: the answer does not end in '{MARK} NUMBER'")
    extra = {"worked": worked.strip(), AT: row.place}
    return Task(row.optional("id") or str(row.line), row.text("question"), reference.strip(), extra=extra)


def create() -> Gsm8k:
    return Gsm8k()
