"""Datasets: one file for each format; the name in the suite is the name of the file."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from ..tasks import Task

DATASETS = __name__
PLACE_KEY = "place"
"""Where the `extra` of a task keeps `file:line` of its row."""


class Dataset(Protocol):
    """Made by `create(fields)` of its file: `fields` says which column holds what, `{prompt: question}`.

    `scorer` is the one that fits the format; empty where nobody can know. A file of no stated format is of the one that
    has its suffix among `suffixes`, else of the one with the most `marks` (fields that each of its rows has) whose
    `fits` holds for the first row.
    """

    scorer: str
    suffixes: tuple[str, ...]
    marks: tuple[str, ...]

    def fits(self, row: Mapping[str, Any]) -> bool:
        """Checks whether a row that has all `marks` looks like this format."""

    def read(self, path: Path) -> Iterator[Task]:
        """Raises `ConfigError` with the file and the line."""
