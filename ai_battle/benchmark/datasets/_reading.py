"""Rows of a file with their lines, and what a row must have."""

import csv
import gzip
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ...core.errors import ConfigError
from ...core.plugins import near

LONGEST_LINE = 16 << 20


@dataclass(frozen=True, slots=True)
class Row:
    """`place` is `file:line`."""

    values: Mapping[str, Any]
    place: str
    line: int

    def text(self, key: str) -> str:
        """What a column says; raises `ConfigError` where it says nothing."""
        if key not in self.values:
            raise ConfigError(f"{self.place}: the field {key!r} is missing{near(key, [*self.values])}")
        if (said := as_text(self.values[key])) == "":
            raise ConfigError(f"{self.place}: the field {key!r} is empty")
        return said

    def optional(self, key: str) -> str:
        return as_text(self.values.get(key))


def as_text(value: Any) -> str:
    """What is no text is written as JSON; nothing is empty."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def json_rows(path: Path) -> Iterator[Row]:
    """One object a line, packed with gzip or not; raises `ConfigError`."""
    with _opened(path) as file:
        number = 0
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            place = f"{path.name}:{number}"
            if len(line) > LONGEST_LINE:
                raise ConfigError(f"{place}: the line is longer than {LONGEST_LINE >> 20} MiB")
            if line.strip():
                yield Row(_object(line, place), place, number)


def csv_rows(path: Path) -> Iterator[Row]:
    """One row a record, with the names of the columns in the first; raises `ConfigError`."""
    with _opened(path) as file:
        reader = csv.DictReader(file, dialect=_dialect(file))
        try:
            yield from (_record(values, reader, path) for values in reader)
        except csv.Error as error:
            raise ConfigError(f"{path.name}:{reader.line_num}: {error}") from error


def _record(values: dict[str | Any, Any], reader: "csv.DictReader[str]", path: Path) -> Row:
    place = f"{path.name}:{reader.line_num}"
    if None in values:
        raise ConfigError(f"{place}: more fields than the {len(reader.fieldnames or ())} of the first line")
    return Row(values, place, reader.line_num)


def first_object(path: Path) -> Mapping[str, Any] | None:
    """The first row of a file of JSON objects; None of any other."""
    try:
        return next(iter(json_rows(path))).values
    except (ConfigError, StopIteration):
        return None


def _object(line: str, place: str) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{place}: no JSON ({error}); each line has to be an object of its own") from error
    if not isinstance(value, dict):
        raise ConfigError(f"{place}: a JSON {type(value).__name__}, not an object")
    return value


def _dialect(file: IO[str]) -> type[csv.Dialect]:
    """By the first line: semicolons and tabs are as common as commas."""
    head = file.readline(LONGEST_LINE)
    file.seek(0)
    separator = max((",", ";", "\t"), key=head.count)
    return type("Found", (csv.excel,), {"delimiter": separator, "strict": True})


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    try:
        with open(path, "rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            plain: Any = gzip.GzipFile(fileobj=raw) if packed else raw
            with io.TextIOWrapper(plain, encoding="utf-8-sig", newline="") as file:
                yield file
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path.name} is not text in UTF-8: {error.reason} at byte {error.start}") from error
    except (OSError, EOFError) as error:
        raise ConfigError(f"{path} can't be read: {getattr(error, 'strerror', None) or error}") from error
