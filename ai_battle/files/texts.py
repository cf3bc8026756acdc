"""Texts of files. Long tables and JSON are cut to their beginning, with their shape and what was left out."""

import csv
import json
from collections.abc import Iterator
from functools import partial
from io import StringIO
from itertools import islice
from typing import Any, TextIO

from ..core.errors import ConfigError

MOST_CHARACTERS = 20_000
"""Longer texts are cut."""
COLUMNS, CELL = 60, 60
FENCE = "```"
NO_OTHER = "not a picture, PDF or video that models accept"
DELIMITERS = ",;\t|"
ENTRIES, DEEPEST, LONGEST_TEXT = (20, 5, 2, 1), 8, 300


class NothingToSend(ConfigError):
    """A file is empty, or of a type that no model accepts."""


def fence_text(name: str, text: str, language: str = "") -> str:
    """Returns the text in a fence longer than any inside it, so that a file can't break out."""
    fence = FENCE
    while fence in text:
        fence += "`"
    return f"{name}:\n{fence}{language}\n{text.rstrip()}\n{fence}\n\n"


def is_text(head: bytes) -> bool:
    """Returns whether a file with this beginning may be UTF-8 text; its last character may be incomplete."""
    try:
        head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return error.end == len(head) and len(head) - error.start < 4
    return b"\0" not in head


def decode(data: bytes, named: str) -> str:
    """Returns the text of a file in UTF-8. Raises `NothingToSend` for anything else."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NothingToSend(f"{named} is not UTF-8 text (byte {error.start}), and {NO_OTHER}") from None
    if "\0" in text:
        raise NothingToSend(f"{named} is not text, and {NO_OTHER}")
    if not text.strip():
        raise NothingToSend(f"{named} is empty")
    return text


def csv_text(file: TextIO, name: str) -> tuple[str, str, str]:
    """Returns the text of a table, its shape, and what was cut ("" if nothing).

    The first row is taken as the column names. Raises `ConfigError` for an invalid table.
    """
    beginning = file.read(MOST_CHARACTERS + 1)
    file.seek(0)
    rows = _rows(file, _delimiter(beginning), name)
    names = next(rows, [])
    head, kept, length = StringIO(), 0, 0
    write = csv.writer(head, lineterminator="\n").writerow
    write(names)
    for row in rows:
        length += 1
        if head.tell() < MOST_CHARACTERS:
            write(row)
            kept = length
    columns = ", ".join(each[:CELL] for each in names[:COLUMNS])
    shape = f"CSV, {length:,} rows, {len(names):,} columns ({columns}{', and more' if len(names) > COLUMNS else ''})"
    if len(beginning) <= MOST_CHARACTERS:
        return beginning, shape, ""
    text = head.getvalue()[: 2 * MOST_CHARACTERS]
    return text, shape, f"the first {kept:,} of {length:,} rows are sent" if kept < length else "its long rows are cut"


def _rows(file: TextIO, delimiter: str, name: str) -> Iterator[list[str]]:
    reader = csv.reader(file, delimiter=delimiter)
    try:
        yield from reader
    except csv.Error as error:
        raise ConfigError(
            f"{name}:{reader.line_num} is not a row of a table: {error}; with a name in .txt it is sent as it is"
        ) from error


def _delimiter(beginning: str) -> str:
    first = beginning.partition("\n")[0]
    return max(DELIMITERS, key=first.count)


def json_text(text: str) -> tuple[str, str, str]:
    """Returns the text of a JSON document, its shape, and what was cut. Raises `ValueError` for invalid JSON."""
    value = json.loads(text)
    shape = f"JSON, {_shape(value)}"
    if len(text) <= MOST_CHARACTERS:
        return text, shape, ""
    for entries in ENTRIES:
        short = json.dumps(_shorten(value, entries), ensure_ascii=False, indent=1)
        if len(short) <= MOST_CHARACTERS:
            return short, shape, f"of each list the first {entries} entries are sent, and how many there are"
    return short[:MOST_CHARACTERS], shape, f"the first {MOST_CHARACTERS:,} characters of its outline are sent"


def _shape(value: Any) -> str:
    match value:
        case dict():
            return f"an object with {len(value):,} keys"
        case list():
            return f"an array of {len(value):,} entries"
    return "a single value"


def _shorten(value: Any, entries: int, depth: int = 0) -> Any:
    shorten_inner = partial(_shorten, entries=entries, depth=depth + 1)
    match value:
        case dict() | list() if depth >= DEEPEST:
            return f"… {_shape(value)}"
        case dict():
            most = max(COLUMNS // (depth + 1), entries)
            some = {key: shorten_inner(each) for key, each in islice(value.items(), most)}
            return some if len(value) <= most else {**some, "…": f"{len(value) - most:,} more keys"}
        case list():
            first = [*map(shorten_inner, value[:entries])]
            return first if len(value) <= entries else [*first, f"… {len(value) - entries:,} more of {len(value):,}"]
        case str() if len(value) > LONGEST_TEXT:
            return f"{value[:LONGEST_TEXT]}… ({len(value):,} characters)"
    return value
