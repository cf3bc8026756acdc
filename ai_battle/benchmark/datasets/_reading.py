"""Reads the rows of a dataset file with their lines, and the tasks in them."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any

from ...core.errors import ConfigError
from ...core.exchange import ToolSpec
from ...core.plugins import near
from ..tasks import Task
from . import PLACE_KEY

LONGEST_LINE = 16 << 20
LISTED_ROWS = 5
OBJECT_PER_LINE = "each line has to be an object of its own"


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """A row of a file; `place` is `file:line`."""

    values: Mapping[str, Any]
    place: str
    line: int

    def text(self, *keys: str) -> str:
        """Returns fields as one text. Raises `ConfigError` if one of them is missing, or all are empty."""
        for key in keys:
            if key not in self.values:
                raise ConfigError(f"{self.place}: the field {key!r} is missing{near(key, [*self.values])}")
        if (text := self.optional(*keys)) == "":
            raise ConfigError(f"{self.place}: the field {' and '.join(map(repr, keys))} is empty.")
        return text

    def optional(self, *keys: str) -> str:
        """Returns the texts of fields that there are, with an empty line between two."""
        return "\n\n".join(filter(None, (as_text(self.values.get(key)) for key in keys)))


def as_text(value: Any) -> str:
    """Returns a value as text: JSON unless it is a string, and "" for None."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def json_rows(path: Path) -> Iterator[DatasetRow]:
    """Yields the rows of a JSON Lines file, possibly gzipped. Raises `ConfigError`."""
    with _open(path) as file:
        number = 0
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            place = f"{path.name}:{number}"
            if len(line) > LONGEST_LINE:
                raise ConfigError(f"{place}: the line is longer than {LONGEST_LINE >> 20} MiB")
            if line.strip():
                yield DatasetRow(_object(line, place), place, number)


@dataclass(frozen=True, slots=True)
class RowDataset:
    """A `Dataset` with one task per row. `task` reads it, and raises `ConfigError` for an invalid row."""

    task: Callable[[DatasetRow], Task]
    rows: Callable[[Path], Iterator[DatasetRow]] = json_rows
    scorer: str = ""
    suffixes: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    fits: Callable[[Mapping[str, Any]], bool] = lambda row: True

    def read(self, path: Path) -> Iterator[Task]:
        wrong: list[str] = []
        for row in self.rows(path):
            try:
                yield self.task(row)
            except ConfigError as error:
                wrong.append(str(error))
        if wrong:
            more = f"\n{len(wrong) - LISTED_ROWS:,} more rows are wrong" if len(wrong) > LISTED_ROWS else ""
            raise ConfigError("\n".join(wrong[:LISTED_ROWS]) + more)


def csv_rows(path: Path) -> Iterator[DatasetRow]:
    """Yields the records of a CSV file with a header, but no empty ones. Raises `ConfigError`."""
    with _open(path) as file:
        reader = csv.DictReader(file, delimiter=_separator(file), strict=True)
        try:
            # Spreadsheets export the empty rows below a table as separators alone.
            yield from (_record(values, reader, path) for values in reader if any(values.values()))
        except csv.Error as error:
            raise ConfigError(f"{path.name}:{reader.line_num}: {error}") from error


def _record(values: dict[str | Any, Any], reader: "csv.DictReader[str]", path: Path) -> DatasetRow:
    place = f"{path.name}:{reader.line_num}"
    if None in values:
        raise ConfigError(f"{place}: more fields than the {len(reader.fieldnames or ())} of the first line")
    return DatasetRow(values, place, reader.line_num)


def first_object(path: Path) -> Mapping[str, Any] | None:
    """Returns the first row of a JSON Lines file, or None for any other file."""
    try:
        return next(iter(json_rows(path))).values
    except (ConfigError, StopIteration):
        return None


def _object(line: str, place: str) -> Mapping[str, Any]:
    try:
        value = json.loads(line.rstrip())
    except (ValueError, RecursionError) as error:
        why = f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise ConfigError(f"{place}: is not JSON ({why}); {OBJECT_PER_LINE}") from error
    if not isinstance(value, dict):
        raise ConfigError(f"{place}: a JSON {type(value).__name__}, not an object; {OBJECT_PER_LINE}")
    return value


def _separator(file: IO[str]) -> str:
    """Detects the separator in the first line: a comma, a semicolon or a tab."""
    head = file.readline(LONGEST_LINE)
    file.seek(0)
    return max((",", ";", "\t"), key=head.count)


@contextmanager
def _open(path: Path) -> Iterator[IO[str]]:
    try:
        with open(path, "rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            plain: Any = gzip.GzipFile(fileobj=raw) if packed else raw
            with io.TextIOWrapper(plain, encoding="utf-8-sig", newline="") as file:
                yield file
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path.name} is not text in UTF-8: {error.reason} at byte {error.start}; save it as UTF-8"
        ) from error
    except (OSError, EOFError) as error:
        raise ConfigError(f"{path} can't be read: {getattr(error, 'strerror', None) or error}") from error


USUAL: Mapping[str, Sequence[str]] = {
    "id": ("id", "task_id", "name"),
    "prompt": ("prompt", "question", "instruction input", "instruction", "input", "goal"),
    "reference": ("reference", "answer", "target", "expected", "output"),
    "tests": ("tests", "test"),
    "options": ("options", "choices"),
    "system": ("system",),
    "tools": ("tools",),
}
"""The usual names of each field. One with a space stands for two columns: Alpaca's tasks are an instruction and its
input."""

LETTERS = "ABCDEFGHIJKLMNOP"


@dataclass(frozen=True, slots=True)
class FieldNames:
    """The columns of the task fields: those `stated` in the suite, a name or several, otherwise the usual names."""

    stated: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    _known: dict[tuple[str, ...], Mapping[str, Sequence[str]]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for name, columns in self.stated.items():
            if name not in USUAL:
                raise ConfigError(f"there is no field {name!r} of a task{near(name, list(USUAL))}")
            if not isinstance(columns, str | list) or not columns or not all(isinstance(each, str) for each in columns):
                raise ConfigError(f"fields: {name} must be the name of a column, or a list of names, not {columns!r}")

    def columns(self, row: DatasetRow) -> Mapping[str, Sequence[str]]:
        """Returns the columns of each field in this row, or the usual name if it has none."""
        names = tuple(row.values)
        if names not in self._known:
            found = {name: _usual_columns(usual, names) for name, usual in USUAL.items()}
            self._known[names] = {**found, **{name: _as_list(columns) for name, columns in self.stated.items()}}
        return self._known[names]

    def task(self, row: DatasetRow) -> Task:
        """Returns the task in a row. Raises `ConfigError` naming the line."""
        columns = self.columns(row)
        options = _options(row, columns["options"][0])
        taken = {*chain(*columns.values())}
        return Task(
            row.optional(*columns["id"]) or str(row.line),
            with_options(self._prompt(columns["prompt"], row), options),
            self._field_text("reference", columns, row),
            tools_of(row.values.get(columns["tools"][0]), row.place),
            self._field_text("tests", columns, row),
            options,
            row.optional(*columns["system"]),
            _goal(row),
            extra={**{key: value for key, value in row.values.items() if key not in taken}, PLACE_KEY: row.place},
        )

    def _prompt(self, columns: Sequence[str], row: DatasetRow) -> str:
        try:
            return row.text(*columns)
        except ConfigError as error:
            way_out = "" if "prompt" in self.stated else " To name its column, write fields: {prompt: COLUMN}"
            raise ConfigError(f"{error}{way_out}") from None

    def _field_text(self, name: str, columns: Mapping[str, Sequence[str]], row: DatasetRow) -> str:
        """Returns a field. It is required if the suite names its column."""
        return row.text(*columns[name]) if name in self.stated else row.optional(*columns[name])


def _usual_columns(usual: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    return next((each.split() for each in usual if {*each.split()} <= {*names}), usual[:1])


def _as_list(columns: str | Sequence[str]) -> Sequence[str]:
    return [columns] if isinstance(columns, str) else columns


def with_options(prompt: str, options: Sequence[str]) -> str:
    """Returns the prompt with its lettered options, unless it already shows them."""
    if not options or all(option in prompt for option in options):
        return prompt
    listed = (f"({letter}) {option}" for letter, option in zip(LETTERS, options, strict=False))
    return "\n".join((prompt, *listed))


def tools_of(value: Any, place: str) -> tuple[ToolSpec, ...]:
    """Reads tools as in OpenAI's API, bare or under `function`."""
    if not value:
        return ()
    if not isinstance(value, list):
        raise ConfigError(f"{place}: tools must be a list of {{name, description, parameters}}")
    return tuple(_tool(each, place) for each in value)


def _tool(value: Any, place: str) -> ToolSpec:
    inside = value.get("function", value) if isinstance(value, dict) else None
    if not isinstance(inside, dict) or not isinstance(inside.get("name"), str):
        raise ConfigError(f"{place}: a tool must have a name")
    schema = inside.get("parameters") or inside.get("input_schema") or {"type": "object", "properties": {}}
    return ToolSpec(inside["name"], str(inside.get("description", "")), _plain_schema(schema))


def _plain_schema(schema: Any) -> Any:
    """Replaces Python's type names in a schema by those of JSON Schema."""
    if isinstance(schema, list):
        return [_plain_schema(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    names = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}
    found = {key: _plain_schema(value) for key, value in schema.items()}
    return found | {"type": names.get(found["type"], found["type"])} if isinstance(found.get("type"), str) else found


def _options(row: DatasetRow, key: str) -> tuple[str, ...]:
    value = row.values.get(key) or ()
    if not isinstance(value, list | tuple):
        raise ConfigError(f"{row.place}: {key} must be a list")
    return tuple(map(str, value))


def _goal(row: DatasetRow) -> Mapping[str, Any] | None:
    value = row.values.get("discussion")
    return value if isinstance(value, dict) else None
