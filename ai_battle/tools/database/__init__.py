"""Databases that models may query, opened so that only what is allowed can happen, and the results."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

LONGEST_VALUE = 2_000


@dataclass(frozen=True, slots=True)
class QueryLimits:
    seconds: float = 10.0
    rows: int = 100


@dataclass(frozen=True, slots=True)
class Rows:
    """`changed` is how many rows a statement wrote, -1 for one that reads."""

    columns: list[str]
    rows: list[list[Any]]
    is_cut: bool
    changed: int

    @classmethod
    def of(cls, columns: Sequence[str], found: Iterable[Sequence[Any]], limits: QueryLimits, changed: int) -> "Rows":
        """Takes at most one row more than may be shown, to know whether there are more."""
        rows = [[_cell(value) for value in row] for row in islice(found, limits.rows + 1)]
        return cls(list(columns), rows[: limits.rows], len(rows) > limits.rows, -1 if columns else changed)

    def to_json(self) -> dict[str, Any]:
        if not self.columns:
            return {"changed_rows": max(self.changed, 0)}
        more = {"truncated": True} if self.is_cut else {}
        return {"columns": self.columns, "rows": self.rows, "row_count": len(self.rows), **more}


def _cell(value: Any) -> Any:
    if isinstance(value, bytes | memoryview):
        data = bytes(value)
        return f"0x{data[:64].hex()}{'...' if len(data) > 64 else ''} ({len(data):,} bytes)"
    if isinstance(value, str) and len(value) > LONGEST_VALUE:
        return f"{value[:LONGEST_VALUE]}... ({len(value):,} characters)"
    return value
