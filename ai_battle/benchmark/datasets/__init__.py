"""Datasets: one file per format, named as in the suite."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from ..tasks import Task

DATASETS = __name__
PLACE_KEY = "place"
"""The key of a task's `extra` with the `file:line` of its row."""


class Dataset(Protocol):
    """A dataset format, created by `create(fields)` in its file; `fields` maps task fields to columns.

    `scorer` is the usual one for the format, or "". A file without a stated format has the one with its suffix among
    `suffixes`, otherwise the one with the most `marks` (fields in each row) whose `fits` accepts the first row.
    """

    scorer: str
    suffixes: tuple[str, ...]
    marks: tuple[str, ...]

    def fits(self, row: Mapping[str, Any]) -> bool:
        """Checks whether a row with all `marks` looks like this format."""

    def read(self, path: Path) -> Iterator[Task]:
        """Yields the tasks. Raises `ConfigError` naming the file and the line."""
