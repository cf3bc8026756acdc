"""JSONL: one task per line, with the fields `id prompt reference tests options system tools`."""

from collections.abc import Mapping, Sequence

from ._reading import FieldNames, RowDataset


def create(fields: Mapping[str, str | Sequence[str]] | None = None) -> RowDataset:
    return RowDataset(FieldNames(fields or {}).task)
