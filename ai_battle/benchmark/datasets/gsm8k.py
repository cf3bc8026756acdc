"""GSM8K: `question`, and an `answer` whose last line is `#### 42`."""

from ...core.errors import ConfigError
from ..tasks import Task
from . import PLACE_KEY
from ._reading import DatasetRow, RowDataset

ANSWER_MARK = "####"


def create() -> RowDataset:
    marks = ("question", "answer")
    return RowDataset(_task, scorer="numeric", marks=marks, fits=lambda row: ANSWER_MARK in str(row["answer"]))


def _task(row: DatasetRow) -> Task:
    worked, mark, reference = row.text("answer").rpartition(ANSWER_MARK)
    if not mark or not reference.strip():
        raise ConfigError(f"{row.place}: the answer does not end in '{ANSWER_MARK} NUMBER'")
    extra = {"worked": worked.strip(), PLACE_KEY: row.place}
    return Task(row.optional("id") or str(row.line), row.text("question"), reference.strip(), extra=extra)
