"""The value that a string of a dialect without types stands for, by the JSON Schema of its parameter."""

import re
from collections.abc import Mapping
from typing import Any

from .source import parse_object
from .tolerant import Unreadable

_STRUCTURE = re.compile(r"\s*[\[{(]")
_INTEGER = re.compile(r"\s*[-+]?\d+\s*\Z")
_NUMBER = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*\Z")
_WORDS = {"true": True, "false": False, "null": None, "none": None}
_STRUCTURES = frozenset({"array", "list", "tuple", "object", "dict"})
_NUMBERS = frozenset({"integer", "int", "number", "float", "double"})
_BOOLEANS = frozenset({"boolean", "bool"})
_ANYTHING = frozenset({"boolean", "number", "array", "object", "null"})


def types_of(schema: Any) -> frozenset[str]:
    """The names of all types that the schema allows; empty when it does not say."""
    if not isinstance(schema, Mapping):
        return frozenset()
    found: set[str] = set()
    declared = schema.get("type")
    found.update([declared] if isinstance(declared, str) else declared if isinstance(declared, list) else ())
    for key in ("anyOf", "oneOf", "allOf"):
        options = schema.get(key)
        for option in options if isinstance(options, list) else ():
            found.update(types_of(option))
    if "enum" in schema and not found and all(isinstance(item, str) for item in schema["enum"]):
        found.add("string")
    return frozenset(item for item in found if isinstance(item, str))


def typed(text: str, schema: Any) -> Any:
    """`text` as one of the types that the schema allows, as a string where it is none of them."""
    types = types_of(schema) or _ANYTHING
    if types & _STRUCTURES and _STRUCTURE.match(text):
        try:
            return parse_object(text)
        except Unreadable:
            return text
    return _scalar(text, types)


def _scalar(text: str, types: frozenset[str]) -> Any:
    word = text.strip().lower()
    if word in _WORDS and _allows(types, _WORDS[word]):
        return _WORDS[word]
    if types & _NUMBERS and _INTEGER.match(text) and len(text) < 4000:
        return int(text)
    if types & _NUMBERS and _NUMBER.match(text):
        return float(text)
    return text


def _allows(types: frozenset[str], value: bool | None) -> bool:
    return "null" in types if value is None else bool(types & _BOOLEANS)
