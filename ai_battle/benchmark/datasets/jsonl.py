"""Plain JSONL: one task a line, with the fields `id prompt reference tests options system tools`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..tasks import Task
from ._reading import FieldNames, json_rows


class Jsonl:
    scorer = ""
    suffixes: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()

    def __init__(self, fields: FieldNames) -> None:
        self._fields = fields

    def fits(self, row: Mapping[str, Any]) -> bool:
        return True

    def read(self, path: Path) -> Iterator[Task]:
        return map(self._fields.task, json_rows(path))


def create(fields: Mapping[str, str] | None = None) -> Jsonl:
    return Jsonl(FieldNames(fields or {}))
