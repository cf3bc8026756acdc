"""What a JSON Schema asks of a value beside its type: sizes, bounds, patterns, one of a few."""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from pydantic_core import SchemaError, SchemaValidator, core_schema

from ._schemas import Schema, shown
from .canonical import canonical

LONGEST_MATCHED = 10_000
NEARLY = 1e-9


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
