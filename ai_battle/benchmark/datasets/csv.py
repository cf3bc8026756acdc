"""CSV: one task a record, with the same fields as JSONL; commas, semicolons or tabs."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..tasks import Task
from ._reading import FieldNames, csv_rows


class Csv:
    scorer = ""
    suffixes: tuple[str, ...] = (".csv", ".tsv")
    marks: tuple[str, ...] = ()

    def __init__(self, fields: FieldNames) -> None:
        self._fields = fields

    def fits(self, row: Mapping[str, Any]) -> bool:
        return False

    def read(self, path: Path) -> Iterator[Task]:
        return map(self._fields.task, csv_rows(path))


def create(fields: Mapping[str, str] | None = None) -> Csv:
    return Csv(FieldNames(fields or {}))
