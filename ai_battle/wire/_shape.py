"""Fields of bodies in the type that they must have; a `TypeError` otherwise, which becomes an error of ours."""

from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")
ANY_OBJECT: Mapping[str, Any] = {"type": "object", "additionalProperties": True}
"""The schema of an answer that is to be JSON, whatever stands in it."""


def needed(body: Mapping[str, Any], field: str, kind: type[T]) -> T:
    return _checked(body[field], field, kind)


def given(body: Mapping[str, Any], field: str, otherwise: T) -> T:
    """The field, or `otherwise` where it is missing or null; both have one type."""
    value = body.get(field)
    return otherwise if value is None else _checked(value, field, type(otherwise))


def number(body: Mapping[str, Any], field: str) -> int | float:
    value = body[field]
    return value if isinstance(value, int) else _checked(value, field, float)


def count(body: Mapping[str, Any], field: str) -> int:
    """A number of tokens; 0 where it is missing or null."""
    return int(body.get(field) or 0)


def present(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are set."""
    return {name: value for name, value in fields.items() if value is not None}


def is_plain(message: Any, roles: tuple[str, ...]) -> bool:
    """Whether it is the usual message, a text of one of these roles and nothing else: nothing is wrong with that."""
    if type(message) is not dict or len(message) != 2:
        return False
    return type(message.get("content")) is str and message.get("role") in roles


def _checked(value: Any, field: str, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{field} is {type(value).__name__}, not {kind.__name__}")
    return value
