"""Canonical JSON: two calls that ask for the same have the same text."""

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from ...core.messages import ToolCall
from ._schemas import resolved

EXACT, DEPTH, BITS = 2**53, 200, 10_000
NO_SCHEMA: Mapping[str, Any] = {}


def canonical(value: Any) -> str:
    """The JSON text of `value` without regard to key order, at any depth, and to 1 or 1.0."""
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), default=str)


def with_defaults(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments and what the schema says of those that were left out, also inside of objects."""
    return _filled(arguments, schema, schema)


def call_key(call: ToolCall, schema: Mapping[str, Any] = NO_SCHEMA) -> str:
    """Equal for equal calls. What is unambiguous about the arguments has to be repaired before."""
    return f"{call.name} {canonical(with_defaults(call.arguments, schema))}{' '.join(call.malformed.split())}"


def _plain(value: Any, depth: int = 0) -> Any:
    match value:
        case Mapping() | list() | tuple() if depth > DEPTH:
            return "..."
        case Mapping():
            return {str(key): _plain(item, depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item, depth + 1) for item in value]
        case int() | float():
            return _plain_number(value)
    return value


def _plain_number(value: float) -> float | str:
    if isinstance(value, int):
        return hex(value) if value.bit_length() > BITS else value
    return int(value) if value.is_integer() and abs(value) < EXACT else value


def _filled(given: Mapping[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    filled = dict(given)
    for name, written in schema.get("properties", NO_SCHEMA).items():
        described = resolved(written, root)
        if name not in filled and "default" in described:
            filled[name] = deepcopy(described["default"])
        elif isinstance(filled.get(name), Mapping):
            filled[name] = _filled(filled[name], described, root)
    return filled
