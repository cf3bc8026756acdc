"""Values of the wrong type that can only mean one thing: "5" for 5, "true", a lone text for a list of one."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .canonical import EXACT, canonical

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
LONGEST_NUMBER = 400
NO_WORTH = object()


def has_type(value: Any, name: str) -> bool:
    """Whether a JSON value is of that type; 5.0 is an integer too."""
    match name:
        case "integer":
            return _is_number(value) and (isinstance(value, int) or value.is_integer())
        case "number":
            return _is_number(value)
        case "object":
            return isinstance(value, Mapping)
        case _:
            return isinstance(value, PYTHON[name])


def converted(value: Any, types: tuple[str, ...]) -> Any:
    """The value in the one of `types` that it can mean; `NO_WORTH` when there is none, or more than one."""
    found: dict[str, Any] = {}
    for name in types:
        for meant in CONVERSIONS[name](value):
            found.setdefault(canonical(meant), meant)
    return next(iter(found.values())) if len(found) == 1 else NO_WORTH


def by_spelling(value: Any, choices: list[Any]) -> Any:
    """The one choice that differs only in case, in separators or in being a number as text."""
    near = [choice for choice in choices if loose(choice) == loose(value)] if isinstance(value, str | int) else []
    return near[0] if len(near) == 1 and not isinstance(value, bool) else NO_WORTH


def loose(name: Any) -> str:
    """A name without case and separators: `filePath` and `file_path` are one."""
    return re.sub(r"[\s_-]", "", str(name)).casefold()


def as_list(value: Any) -> list[Any]:
    """A list written as JSON text, or a list of one."""
    if isinstance(value, str) and (read := _read_json(value, "[")) is not None:
        return list(read)
    return [value]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _integers(value: Any) -> Iterator[Any]:
    for number in _numbers(value):
        if float(number).is_integer() and abs(number) < EXACT:
            yield int(number)
        elif isinstance(number, int):
            yield number


def _numbers(value: Any) -> Iterator[Any]:
    if isinstance(value, str) and len(value) < LONGEST_NUMBER and NUMBER.fullmatch(text := value.strip()):
        digits = text.lstrip("+-")
        number = int(text) if digits.isdigit() else float(text)
        if number not in (float("inf"), float("-inf")):
            yield number


def _booleans(value: Any) -> Iterator[Any]:
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        yield value.strip().lower() == "true"


def _texts(value: Any) -> Iterator[Any]:
    if isinstance(value, bool | int | float):
        yield json.dumps(value)


def _nulls(value: Any) -> Iterator[Any]:
    if isinstance(value, str) and value.strip().lower() in ("null", "none"):
        yield None


def _objects(value: Any) -> Iterator[Any]:
    if isinstance(value, str) and (read := _read_json(value, "{")) is not None:
        yield read


def _read_json(text: str, opening: str) -> Any:
    """What the text says as JSON when it begins like that; None when it is none."""
    if not text.lstrip().startswith(opening):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _nothing(value: Any) -> Iterator[Any]:
    return iter(())


PYTHON: Mapping[str, type] = {"string": str, "boolean": bool, "array": list, "null": type(None)}
CONVERSIONS: Mapping[str, Callable[[Any], Iterator[Any]]] = {
    "integer": _integers,
    "number": _numbers,
    "boolean": _booleans,
    "string": _texts,
    "null": _nulls,
    "object": _objects,
    "array": _nothing,
}
