"""What a JSON Schema asks of a value beside its type, and values of the wrong type that can only mean one thing."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from pydantic_core import SchemaError, SchemaValidator, core_schema

from ._schemas import Schema, shown
from .canonical import EXACT, canonical

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
LONGEST_NUMBER = 400
NO_WORTH = object()
LONGEST_MATCHED = 10_000
NEARLY = 1e-9


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


def broken(value: Any, schema: Schema) -> Iterator[str]:
    """What `value` lacks, each as the end of a sentence that begins with its name."""
    if "enum" in schema and canonical(value) not in map(canonical, schema["enum"]):
        yield f"expected one of {', '.join(map(shown, schema['enum']))}, got {shown(value)}"
    if "const" in schema and canonical(value) != canonical(schema["const"]):
        yield f"expected {shown(schema['const'])}, got {shown(value)}"
    checks = _checks_of(value)
    for keyword in schema.keys() & checks.keys():
        fits, words = checks[keyword]
        if not fits(value, schema[keyword]):
            yield f"{words} {shown(schema[keyword])}, got {shown(value)}"


Check = tuple[Callable[[Any, Any], bool], str]


def _checks_of(value: Any) -> Mapping[str, Check]:
    match value:
        case str():
            return TEXTS
        case bool() | None:
            return {}
        case int() | float():
            return NUMBERS
        case list():
            return LISTS
        case Mapping():
            return OBJECTS
    return {}


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern occurs; one that can't be matched in linear time is left to the tool."""
    compiled = _compiled(pattern)
    return compiled is None or compiled.isinstance_python(text[:LONGEST_MATCHED])


@lru_cache
def _compiled(pattern: str) -> SchemaValidator | None:
    """By the engine of Rust, which never goes back; None for what it has not, such as looking ahead."""
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except SchemaError:
        return None


def _is_multiple(value: float, of: float) -> bool:
    if isinstance(value, int) and isinstance(of, int):
        return value % of == 0
    try:
        parts = value / of
        return abs(parts - round(parts)) < NEARLY
    except OverflowError:  # infinite, or an integer that is larger than any float
        return False


def _all_different(items: list[Any], wanted: bool) -> bool:
    return not wanted or len({canonical(item) for item in items}) == len(items)


TEXTS: Mapping[str, Check] = {
    "minLength": (lambda text, least: len(text) >= least, "expected characters: at least"),
    "maxLength": (lambda text, most: len(text) <= most, "expected characters: at most"),
    "pattern": (matches, "expected text that matches"),
}
NUMBERS: Mapping[str, Check] = {
    "minimum": (lambda number, least: number >= least, "expected at least"),
    "maximum": (lambda number, most: number <= most, "expected at most"),
    "exclusiveMinimum": (lambda number, bound: number > bound, "expected more than"),
    "exclusiveMaximum": (lambda number, bound: number < bound, "expected less than"),
    "multipleOf": (_is_multiple, "expected a multiple of"),
}
LISTS: Mapping[str, Check] = {
    "minItems": (lambda items, least: len(items) >= least, "expected items: at least"),
    "maxItems": (lambda items, most: len(items) <= most, "expected items: at most"),
    "uniqueItems": (_all_different, "expected items that differ:"),
}
OBJECTS: Mapping[str, Check] = {
    "minProperties": (lambda fields, least: len(fields) >= least, "expected fields: at least"),
    "maxProperties": (lambda fields, most: len(fields) <= most, "expected fields: at most"),
}
