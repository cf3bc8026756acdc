"""Checks, resolves and describes JSON Schemas, and compares calls by them."""

import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import lru_cache
from itertools import islice
from typing import Any

from pydantic_core import SchemaError, SchemaValidator, core_schema

from ...core.messages import ToolCall
from ...core.plugins import near

Schema = Mapping[str, Any]
NO_SCHEMA: Schema = {}
_TYPES = ("string", "integer", "number", "boolean", "object", "array", "null")
_HOLD_SCHEMAS_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_HOLD_LISTS_OF_SCHEMAS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems", "items"})
_HOLD_A_SCHEMA = frozenset({"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"})
_MOST_HOPS, _DEEPEST, _DEEPEST_DESCRIBED = 20, 50, 3
_DEEPEST_FIELDS, _MOST_FIELDS = 2, 20  # of objects in a description, which a schema may nest without end
_LONGEST_SHOWN, _LONGEST_MATCHED = 60, 10_000  # characters shown, and characters that a pattern is run on
_ROOT = "the schema"
_EXACT, _DEEPEST_VALUE, _MOST_BITS = 2**53, 200, 10_000


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Returns whether a float equals an integer exactly, so that converting it loses nothing."""
    return isinstance(value, float) and value.is_integer() and abs(value) < _EXACT


def short_json(value: Any) -> str:
    """Returns a value as JSON for an error message, cut to `_LONGEST_SHOWN` characters."""
    if isinstance(value, str):
        value = value[: _LONGEST_SHOWN + 1]
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (RecursionError, ValueError):
        return "something too large to show"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def resolve_references(schema: Any, root: Schema) -> Schema:
    """Follows the references of a schema inside `root`. One that leads nowhere allows anything."""
    if type(schema) is dict and "$ref" not in schema:
        return schema
    for _ in range(_MOST_HOPS):
        if not isinstance(schema, Mapping):
            return {} if schema is not False else {"not": {}}
        if not isinstance(schema.get("$ref"), str):
            return schema
        beside = dict(schema)
        target = _target(beside.pop("$ref"), root)
        schema = {**target, **beside} if isinstance(target, Mapping) else target
    return {}


def _target(reference: str, root: Schema) -> Any:
    here: Any = root if reference.startswith("#") else {}
    for step in reference[1:].split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(here, Mapping) or step not in here:
            return {}
        here = here[step]
    return here


def signature(name: str, schema: Schema) -> str:
    """Describes a tool in one line: `add(a: integer, b?: integer)`."""
    return f"{name}({', '.join(_fields(schema, schema, 0))})"


def _fields(schema: Schema, root: Schema, depth: int) -> Iterator[str]:
    required = schema.get("required", ())
    for key, value in schema.get("properties", {}).items():
        yield f"{key}{'' if key in required else '?'}: {description_of(value, root, depth)}"


def description_of(schema: Any, root: Schema, depth: int = 0) -> str:
    """Describes a schema for a model: `integer`, `"list" | "read"`, `array of {name: string, born?: string (date)}`."""
    if depth > _DEEPEST_DESCRIBED:
        return "..."
    schema = resolve_references(schema, root)
    if isinstance(choices := schema.get("enum"), list):
        return " | ".join(map(short_json, choices[:20])) + (" | ..." if len(choices) > 20 else "")
    if "const" in schema:
        return short_json(schema["const"])
    for union in ("anyOf", "oneOf"):
        if isinstance(branches := schema.get(union), list):
            return " or ".join(dict.fromkeys(description_of(branch, root, depth + 1) for branch in branches[:8]))
    return _type_description(schema, root, depth)


def _type_description(schema: Schema, root: Schema, depth: int) -> str:
    types, items = schema.get("type"), schema.get("items")
    if types == "array" and isinstance(items, Mapping) and items:
        return f"array of {description_of(items, root, depth + 1)}"
    if types == "object" and schema.get("properties") and depth < _DEEPEST_FIELDS:
        fields = list(islice(_fields(schema, root, depth + 1), _MOST_FIELDS + 1))
        return f"{{{', '.join(fields[:_MOST_FIELDS])}{', ...' * (len(fields) > _MOST_FIELDS)}}}"
    return _scalar_description(types, schema.get("format"))


def _scalar_description(types: Any, format_: Any) -> str:
    if types == "string" and isinstance(format_, str):
        return f"string ({format_[:_LONGEST_SHOWN]})"
    return " or ".join(types) if isinstance(types, list) else types if isinstance(types, str) else "any value"


def schema_problems(schema: Any) -> list[str]:
    """Returns the errors in a JSON Schema, each with its place."""
    return list(_problems(schema, _ROOT, schema if isinstance(schema, Mapping) else {}, 0))


def _problems(schema: Any, at: str, root: Schema, depth: int) -> Iterator[str]:
    if not isinstance(schema, Mapping):
        yield f"{at}: a schema is an object, not {short_json(schema)}"
        return
    if depth > _DEEPEST:
        yield f"{at}: nested too deeply"
        return
    for key, value in schema.items():
        inside = f"{at}.{key}".removeprefix(f"{_ROOT}.")
        yield from _keyword_problems(key, value, inside)
        for step, child in _children(key, value):
            if not isinstance(child, bool):
                yield from _problems(child, f"{inside}{step}", root, depth + 1)
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/") and _target(reference, root) == {}:
        yield f"{at}: $ref {reference!r} leads nowhere"


def _children(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yields the schemas inside a keyword's value, with the path to each."""
    if key in _HOLD_SCHEMAS_BY_NAME and isinstance(value, Mapping):
        yield from ((f".{name}", child) for name, child in value.items())
    elif key in _HOLD_LISTS_OF_SCHEMAS and isinstance(value, list):
        yield from ((f"[{number}]", child) for number, child in enumerate(value))
    elif key in _HOLD_A_SCHEMA:
        yield "", value


def _keyword_problems(key: str, value: Any, at: str = "") -> Iterator[str]:
    """Yields what is wrong with the value of a keyword, apart from the schemas in it."""
    if key == "type":
        yield from _type_problems(value, at)
    for wanted, is_right, keys in _KEYWORDS:
        if key in keys and not is_right(value):
            yield f"{at}: must be {wanted}, not {short_json(value)}"


def _type_problems(value: Any, at: str) -> Iterator[str]:
    for name in (value if isinstance(value, list) else [value]) or [None]:
        if name not in _TYPES:
            hint = near(name, list(_TYPES)) if isinstance(name, str) else f"; there is {', '.join(_TYPES)}."
            yield f"{at}: {short_json(name)} is not a type of JSON Schema{hint.rstrip('.')}"


# What a value must be (in words), the check, and the keywords that it applies to.
_KEYWORDS = (
    ("a list", lambda value: isinstance(value, list), {"enum"}),
    ("a schema, or a list of them", lambda value: value != [], {"items"}),
    ("a list of names", lambda value: isinstance(value, list) and all(isinstance(n, str) for n in value), {"required"}),
    ("a list of schemas", lambda value: isinstance(value, list) and bool(value), _HOLD_LISTS_OF_SCHEMAS - {"items"}),
    ("an object", lambda value: isinstance(value, Mapping), _HOLD_SCHEMAS_BY_NAME),
    ("text", lambda value: isinstance(value, str), {"description", "title", "pattern", "format", "$ref"}),
    ("true or false", lambda value: isinstance(value, bool), {"uniqueItems"}),
    ("a number", is_number, {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}),
    ("a number above 0", lambda value: is_number(value) and value > 0, {"multipleOf"}),
    (
        "a whole number from 0",
        lambda value: is_number(value) and value >= 0 and value == int(value),
        {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains"},
    ),
)


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str)


def canonical(value: Any) -> str:
    """Returns JSON text that is the same for equal values, whatever the order of keys and for both 1 and 1.0."""
    return _CANONICAL.encode(_plain_number(value))


def _plain_number(value: Any, depth: int = 0) -> Any:
    match value:
        case Mapping() | list() | tuple() if depth > _DEEPEST_VALUE:
            return "..."
        case Mapping():
            return {str(key): _plain_number(item, depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [_plain_number(item, depth + 1) for item in value]
        case int() if value.bit_length() > _MOST_BITS:  # Python refuses to format such numbers as decimals
            return hex(value)
    return int(value) if is_whole(value) else value


def with_defaults(arguments: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Adds the schema's defaults for missing arguments, also inside objects and lists."""
    return _fill(arguments, schema, schema)


def _fill(given: Mapping[str, Any], schema: Schema, root: Schema) -> dict[str, Any]:
    filled = dict(given)
    for name, written in schema.get("properties", NO_SCHEMA).items():
        wanted = resolve_references(written, root)
        if name not in filled and "default" in wanted:
            filled[name] = deepcopy(wanted["default"])
        elif name in filled:
            filled[name] = _fill_inside(filled[name], wanted, root)
    return filled


def _fill_inside(value: Any, schema: Schema, root: Schema) -> Any:
    if isinstance(value, Mapping):
        return _fill(value, schema, root)
    if not isinstance(value, list) or not isinstance(schema.get("items"), Mapping):
        return value
    items = resolve_references(schema["items"], root)
    return [_fill_inside(item, items, root) for item in value]


def call_key(call: ToolCall, schema: Schema = NO_SCHEMA) -> str:
    """Returns the same text for equal calls, whose arguments must be repaired already."""
    return f"{call.name} {canonical(with_defaults(call.arguments, schema))}{' '.join(call.malformed.split())}"


def broken_rules(value: Any, schema: Schema) -> Iterator[str]:
    """Yields the rules that `value` breaks, each as the rest of a sentence after its name."""
    if "enum" in schema and canonical(value) not in map(canonical, schema["enum"]):
        yield f"expected one of {', '.join(map(short_json, schema['enum']))}, got {short_json(value)}"
    if "const" in schema and canonical(value) != canonical(schema["const"]):
        yield f"expected {short_json(schema['const'])}, got {short_json(value)}"
    for keyword in schema.keys() & _RULES.keys():
        _, fits, words = _RULES[keyword]
        if _applies(keyword, schema[keyword], value) and not fits(value, schema[keyword]):
            yield f"expected {words} {short_json(schema[keyword])}, got {short_json(value)}"


def _applies(keyword: str, bound: Any, value: Any) -> bool:
    """Checks whether a rule is for such a value. One of a client may be none of JSON Schema's, as `minimum: "1"`."""
    return (
        isinstance(value, _RULES[keyword][0])
        and not isinstance(value, bool)
        and not any(_keyword_problems(keyword, bound))
    )


def matches(text: str, pattern: str) -> bool:
    """Returns whether the pattern occurs; true for one without linear-time matching, which the tool must check."""
    compiled = _linear_pattern(pattern)
    return compiled is None or compiled.isinstance_python(text[:_LONGEST_MATCHED])


@lru_cache
def _linear_pattern(pattern: str) -> SchemaValidator | None:
    """Compiles for Rust's engine, which never backtracks; returns None if it lacks a feature, such as lookahead."""
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except SchemaError:
        return None


def _is_multiple(value: float, of: float) -> bool:
    if isinstance(value, int) and isinstance(of, int):
        return value % of == 0
    try:
        parts = value / of
        return abs(parts - round(parts)) < 1e-9
    except OverflowError:  # infinite, or an integer that is larger than any float
        return False


# By keyword: the type of value it applies to, its check, and the words for an error.
_RULES: Mapping[str, tuple[Any, Callable[[Any, Any], bool], str]] = {
    "minLength": (str, lambda text, least: len(text) >= least, "characters: at least"),
    "maxLength": (str, lambda text, most: len(text) <= most, "characters: at most"),
    "pattern": (str, matches, "text that matches"),
    "minimum": (int | float, lambda number, least: number >= least, "at least"),
    "maximum": (int | float, lambda number, most: number <= most, "at most"),
    "exclusiveMinimum": (int | float, lambda number, bound: number > bound, "more than"),
    "exclusiveMaximum": (int | float, lambda number, bound: number < bound, "less than"),
    "multipleOf": (int | float, _is_multiple, "a multiple of"),
    "minItems": (list, lambda items, least: len(items) >= least, "items: at least"),
    "maxItems": (list, lambda items, most: len(items) <= most, "items: at most"),
    "uniqueItems": (
        list,
        lambda items, so: not so or len(set(map(canonical, items))) == len(items),
        "items that differ:",
    ),
    "minProperties": (Mapping, lambda fields, least: len(fields) >= least, "fields: at least"),
    "maxProperties": (Mapping, lambda fields, most: len(fields) <= most, "fields: at most"),
}
