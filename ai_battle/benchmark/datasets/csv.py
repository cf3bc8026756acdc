"""CSV: one task per record, with the same fields as JSONL, separated by commas, semicolons or tabs."""

from collections.abc import Mapping, Sequence

from ._reading import FieldNames, RowDataset, csv_rows


def create(fields: Mapping[str, str | Sequence[str]] | None = None) -> RowDataset:
    return RowDataset(FieldNames(fields or {}).task, csv_rows, suffixes=(".csv", ".tsv"), fits=lambda row: False)
