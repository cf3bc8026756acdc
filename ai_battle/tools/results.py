"""Turns what tools return and print into JSON of bounded size."""

import json
import math
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from threading import Lock
from typing import Any
from uuid import UUID

from ..core.errors import ToolError
from ..core.messages import Image

DEPTH, ITEMS, BITS = 50, 50_000, 10_000
SHORTER, LONGEST_ERROR = 8, 4_000
_encode = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A tool's result: a mapping of JSON values, its text, and the images that were among the values."""

    fields: dict[str, Any]
    text: str
    images: tuple[Image, ...] = ()

    @property
    def is_error(self) -> bool:
        return bool(self.fields.get("error"))

    @classmethod
    def of(cls, fields: dict[str, Any], images: tuple[Image, ...] = ()) -> "ToolOutput":
        return cls(fields, _unicode(_encode(fields)), images)

    @classmethod
    def of_error(cls, error: str) -> "ToolOutput":
        return bounded_output({"error": error}, LONGEST_ERROR)


def bounded_output(returned: Any, limit: int) -> ToolOutput:
    """Returns the result in about `limit` characters at most. Raises `ToolError` if it can't be JSON."""
    output = _shape(returned, limit)
    if len(output.text) <= limit:
        return output
    # Shorter texts inside the values keep the structure; only as a last resort the JSON itself is cut.
    shorter = _shape(returned, limit // SHORTER)
    if len(shorter.text) <= limit:
        return shorter
    return ToolOutput.of({"output": cut(output.text, limit)}, output.images)


def _shape(returned: Any, limit: int) -> ToolOutput:
    shaping = _Shaping(limit)
    shaped = shaping.value(returned, "")
    return ToolOutput.of(shaped if isinstance(shaped, dict) else {"result": shaped}, tuple(shaping.images))


@dataclass(slots=True)
class _Shaping:
    """Converts a tool's result in one walk."""

    limit: int
    items: int = ITEMS
    depth: int = 0
    images: list[Image] = field(default_factory=list)

    def value(self, value: Any, at: str) -> Any:
        if isinstance(value, Enum):
            return self.value(value.value, at)
        if isinstance(value, str):
            return _unicode(cut(str(value), self.limit))
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            return _number(value)
        self.depth += 1
        if self.depth > DEPTH:
            raise ToolError(f"it returned something that is nested too deeply, or holds itself (at {at[:80]})")
        made = self._compose(value, at)
        self.depth -= 1
        return made

    def _compose(self, value: Any, at: str) -> Any:
        match value:
            case dict() | Mapping():
                return dict(self._fields(value, at))
            case bytes() | bytearray():
                return cut(_decode(bytes(value)), self.limit)
            case Image():
                self.images.append(value)
                return f"image {len(self.images)} ({value.media_type})"
            case list() | tuple() | Set():
                return list(self._items(value, at))
        for kinds, convert in CONVERSIONS:
            if isinstance(value, kinds):
                return convert(value)
        return self.value(_plain_fields(value, at), at)

    def _fields(self, value: Mapping[Any, Any], at: str) -> Iterator[tuple[str, Any]]:
        for key, item in value.items():
            self.items -= 1
            if self.items < 0:
                yield "...", f"the rest of {len(value):,} fields is cut"
                return
            if not isinstance(key, str | int | float | bool | None):
                raise ToolError(f"it returned an object with the key {key!r:.80}: keys of JSON are texts")
            yield _unicode(str(key)), self.value(item, f"{at}.{key}" if at else str(key))

    def _items(self, value: Sequence[Any] | Set[Any], at: str) -> Iterator[Any]:
        for number, item in enumerate(value):
            self.items -= 1
            if self.items < 0:
                yield f"... {len(value) - number:,} of {len(value):,} items are cut"
                return
            yield self.value(item, f"{at}[{number}]")


def _unicode(text: str) -> str:
    """Returns the text with lone surrogates replaced, as in file names that are not UTF-8."""
    # UTF-16 with "surrogatepass" joins the two halves of a pair, which UTF-8 would not.
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _number(value: float) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value.bit_length() <= BITS else f"an integer of {value.bit_length():,} bits"


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"{len(value):,} bytes that are not text"


def _plain_fields(value: Any, at: str) -> Any:
    """Returns the fields of a record or the numbers of an array."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    for method in ("model_dump", "tolist"):
        if callable(convert := getattr(value, method, None)) and not isinstance(value, type):
            return convert()
    raise ToolError(f"it returned something that is not JSON: {value!r:.200}{f' (at {at})' if at else ''}")


CONVERSIONS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    ((datetime, date, time), lambda value: value.isoformat()),
    (timedelta, lambda value: value.total_seconds()),
    ((Decimal, PurePath, UUID), str),
)


def cut(text: str, limit: int) -> str:
    """Returns the text, or its head and tail if it is longer than `limit`."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}{_mark(len(text) - 2 * half)}{text[len(text) - half :]}"


class HeadAndTail:
    """A text stream that keeps only the first and the last characters, however much is written."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = ""
        self._tail: deque[str] = deque()
        self._tail_length = 0
        self._written = 0

    def write(self, text: str) -> int:
        self._written += len(text)
        room = self._half - len(self._head)
        self._head += text[:room]
        if rest := text[room:][-self._half :]:
            self._tail.append(rest)
            self._tail_length += len(rest)
        while self._tail and self._tail_length - len(self._tail[0]) >= self._half:
            self._tail_length -= len(self._tail.popleft())
        return len(text)

    def text(self) -> str:
        if not self._written:
            return ""
        tail = "".join(self._tail)[-self._half :]
        missing = self._written - len(self._head) - len(tail)
        return f"{self._head}{_mark(missing) if missing else ''}{tail}"


def _mark(missing: int) -> str:
    return f"\n[... {missing:,} characters cut ...]\n"


_sink: ContextVar[HeadAndTail | None] = ContextVar("printed", default=None)
_lock = Lock()
_users = 0


# contextlib.redirect_stdout is global and would mix the output of concurrent tools, so this goes by context.
class _RoutedStream:
    """A standard stream that sends a running tool's output to that tool's sink, and all else to the original."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> Any:
        return (_sink.get() or self.stream).write(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def close(self) -> None:
        """Does nothing: a tool that closes its stream must not close the program's."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class collect_prints:  # noqa: N801 - used like contextlib.redirect_stdout
    """Collects what is printed inside, also in tasks and threads that are started there; at most `limit` characters."""

    __slots__ = ("_before", "_kept")

    def __init__(self, limit: int) -> None:
        self._kept = HeadAndTail(limit)

    def __enter__(self) -> HeadAndTail:
        _route()
        self._before = _sink.set(self._kept)
        return self._kept

    def __exit__(self, *raised: object) -> None:
        _sink.reset(self._before)
        _restore()


def _route() -> None:
    global _users
    with _lock:
        _users += 1
        if not isinstance(sys.stdout, _RoutedStream):
            sys.stdout = _RoutedStream(sys.stdout)
        if not isinstance(sys.stderr, _RoutedStream):
            sys.stderr = _RoutedStream(sys.stderr)


def _restore() -> None:
    """Restores the streams when the last user leaves, unless somebody else has replaced them meanwhile."""
    global _users
    with _lock:
        _users -= 1
        if not _users and isinstance(sys.stdout, _RoutedStream):
            sys.stdout = sys.stdout.stream
        if not _users and isinstance(sys.stderr, _RoutedStream):
            sys.stderr = sys.stderr.stream
