"""JSON Schemas themselves: whether one is a schema, what its references mean, and how it reads in a line."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...core.plugins import near

Schema = Mapping[str, Any]
TYPES = ("string", "integer", "number", "boolean", "object", "array", "null")
BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
IN_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems", "items"})
ALONE = frozenset({"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"})
HOPS, DEPTH, NESTED = 20, 50, 3
SHOWN = 60


def resolved(schema: Any, root: Schema) -> Schema:
    """What a schema says once its references inside `root` are followed; one that leads nowhere says nothing."""
    if type(schema) is dict and "$ref" not in schema:
        return schema
    for _ in range(HOPS):
        if not isinstance(schema, Mapping):
            return {} if schema is not False else {"not": {}}
        if not isinstance(schema.get("$ref"), str):
            return schema
        schema = _followed(schema, root)
    return {}


def _followed(schema: Schema, root: Schema) -> Any:
    """What a reference leads to, together with what stands beside it."""
    target = _found(schema["$ref"], root)
    beside = {key: value for key, value in schema.items() if key != "$ref"}
    return {**target, **beside} if beside and isinstance(target, Mapping) else target


def schema_problems(schema: Any) -> list[str]:
    """What keeps `schema` from being a JSON Schema, each problem with its place."""
    return list(_problems(schema, "", schema if isinstance(schema, Mapping) else {}, 0))


def described(schema: Any, root: Schema, depth: int = 0) -> str:
    """A schema as it reads in an error: `integer`, `"list" | "read"`, `array of string`."""
    if depth > NESTED:
        return "..."
    schema = resolved(schema, root)
    if isinstance(values := schema.get("enum"), list):
        return _described_values(values)
    if "const" in schema:
        return shown(schema["const"])
    for union in ("anyOf", "oneOf"):
        if isinstance(branches := schema.get(union), list):
            return " or ".join(dict.fromkeys(described(branch, root, depth + 1) for branch in branches[:8]))
    return _described_type(schema, root, depth)


def signature(name: str, schema: Schema) -> str:
    """A tool in one line: `add(a: integer, b?: integer)`."""
    required = schema.get("required", ())
    properties = schema.get("properties", {}).items()
    listed = (f"{key}{'' if key in required else '?'}: {described(value, schema)}" for key, value in properties)
    return f"{name}({', '.join(listed)})"


def shown(value: Any) -> str:
    """A value in an error: its JSON, not more than a line of it."""
    if isinstance(value, str):
        value = value[: SHOWN + 1]
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (RecursionError, ValueError):
        return "something too large to show"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _described_values(values: list[Any]) -> str:
    return " | ".join(map(shown, values[:20])) + (" | ..." if len(values) > 20 else "")


def _described_type(schema: Schema, root: Schema, depth: int) -> str:
    types = schema.get("type")
    if isinstance(types, list):
        return " or ".join(types)
    if types == "array" and isinstance(schema.get("items"), Mapping) and schema["items"]:
        return f"array of {described(schema['items'], root, depth + 1)}"
    return types if isinstance(types, str) else "any value"


def _found(reference: str, root: Schema) -> Any:
    if not reference.startswith("#"):
        return {}
    here: Any = root
    for step in reference[1:].split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(here, Mapping) or step not in here:
            return {}
        here = here[step]
    return here


def _problems(schema: Any, at: str, root: Schema, depth: int) -> Iterator[str]:
    place = at or "the schema"
    if isinstance(schema, bool) and depth:
        return
    if not isinstance(schema, Mapping):
        yield f"{place}: a schema is an object, not {shown(schema)}"
        return
    if depth > DEPTH:
        yield f"{place}: nested too deeply"
        return
    for key, value in schema.items():
        yield from _problems_of(key, value, at, root, depth)
    if _leads_nowhere(schema.get("$ref"), root):
        yield f"{place}: $ref {schema['$ref']!r} leads nowhere"


def _problems_of(key: str, value: Any, at: str, root: Schema, depth: int) -> Iterator[str]:
    """Those of one keyword of the schema at `at`."""
    inside = f"{at}.{key}" if at else str(key)
    if key in KEYWORDS:
        yield from KEYWORDS[key](value, inside)
    for step, child in _children(key, value):
        yield from _problems(child, f"{inside}{step}", root, depth + 1)


def _leads_nowhere(reference: Any, root: Schema) -> bool:
    return isinstance(reference, str) and reference.startswith("#/") and _found(reference, root) == {}


def _children(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The schemas inside a keyword's value."""
    if key in BY_NAME and isinstance(value, Mapping):
        yield from ((f".{name}", child) for name, child in value.items())
    elif key in IN_LISTS and isinstance(value, list):
        yield from ((f"[{number}]", child) for number, child in enumerate(value))
    elif key in ALONE:
        yield "", value


def _a_type(value: Any, at: str) -> Iterator[str]:
    names = value if isinstance(value, list) else [value]
    for name in names or [None]:
        if name not in TYPES:
            hint = near(name, list(TYPES)) if isinstance(name, str) else f"; there is {', '.join(TYPES)}."
            yield f"{at}: {shown(name)} is no type of JSON Schema{hint.rstrip('.')}"


def _must(what: str, fits: Callable[[Any], bool]) -> Callable[[Any, str], Iterator[str]]:
    def check(value: Any, at: str) -> Iterator[str]:
        if not fits(value):
            yield f"{at}: must be {what}, not {shown(value)}"

    return check


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


_list = _must("a list", lambda value: isinstance(value, list))
_schemas = _must("a list of schemas", lambda value: isinstance(value, list) and bool(value))
_mapping = _must("an object", lambda value: isinstance(value, Mapping))
_text = _must("text", lambda value: isinstance(value, str))
_flag = _must("true or false", lambda value: isinstance(value, bool))
_number = _must("a number", _is_number)
_count = _must("a whole number from 0", _is_count)
KEYWORDS: Mapping[str, Callable[[Any, str], Iterator[str]]] = {
    "type": _a_type,
    "enum": _list,
    "items": _must("a schema, or a list of them", lambda value: value != []),
    "required": _must("a list of names", _is_names),
    **dict.fromkeys(("properties", "patternProperties", "$defs", "definitions"), _mapping),
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), _schemas),
    **dict.fromkeys(("description", "title", "pattern", "format", "$ref"), _text),
    "uniqueItems": _flag,
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _number),
    "multipleOf": _must("a number above 0", lambda value: _is_number(value) and value > 0),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains"), _count
    ),
}
