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
    declared = schema.get("type")
    if isinstance(declared, str):
        return frozenset((declared,))
    if isinstance(declared, list):
        return frozenset(filter(_is_text, declared))
    return _types_of_options(schema) or _types_of_choices(_list(schema.get("enum")))


def _types_of_options(schema: Mapping[str, Any]) -> frozenset[str]:
    options = [option for key in ("anyOf", "oneOf", "allOf") for option in _list(schema.get(key))]
    return frozenset[str]().union(*map(types_of, options))


def _types_of_choices(choices: list[Any]) -> frozenset[str]:
    return frozenset({"string"} if choices and all(map(_is_text, choices)) else ())


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


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
