"""The shape that a JSON Schema must have: as much of it as is read on the way to an answer."""

from collections.abc import Mapping
from typing import Any

from ._checks import Misshapen, anything, fields, list_, list_of, text, text_or


def schema(value: Any) -> None:
    """Of a value within another one; true and false are schemas, too."""
    if not isinstance(value, bool):
        _KEYWORDS(value)


def _by_name(value: Any) -> None:
    if not isinstance(value, dict):
        raise Misshapen("must be an object")
    name = ""
    try:
        for name, inner in value.items():  # noqa: B007 - where it went wrong
            schema(inner)
    except Misshapen as wrong:
        wrong.where.append(f".{name[:80]}")
        raise


def _one_or_more(value: Any) -> None:
    (_SEVERAL if isinstance(value, list) else schema)(value)


_SEVERAL = list_of(schema)
_TEXTS = list_of(text)
_KEYWORDS = fields(
    {
        **dict.fromkeys(("properties", "patternProperties", "$defs", "definitions"), _by_name),
        **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), _SEVERAL),
        **dict.fromkeys(("additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"), schema),
        **dict.fromkeys(("description", "title", "format", "pattern", "$ref"), text),
        "type": text_or(_TEXTS, "a list of texts"),
        "required": _TEXTS,
        "enum": list_,
        "items": _one_or_more,
        "default": anything,
    }
)


MAY_BE_NULL = frozenset(("default", "const"))
VALUES = MAY_BE_NULL | {"enum", "examples"}


def without_nulls(schema: Any) -> Any:
    """The same schema without fields that are null, which some clients write for those that they leave out."""
    if isinstance(schema, list):
        return list(map(without_nulls, schema))
    if not isinstance(schema, Mapping):
        return schema
    given = {name: inner for name, inner in schema.items() if inner is not None or name in MAY_BE_NULL}
    return {name: inner if name in VALUES else without_nulls(inner) for name, inner in given.items()}


def tool_schema(value: Any) -> None:
    """Of the arguments of a tool, or of a whole answer: an object, and no bare true or false."""
    if not isinstance(value, Mapping):
        raise Misshapen("must be an object")
    schema(value)
