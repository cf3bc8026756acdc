"""Calls in decoded values: every arrangement of a name and its arguments that models use in JSON."""

from collections.abc import Mapping
from typing import Any

from ai_battle.core.messages import ToolCall

from .names import Offered
from .source import parse_object
from .tolerant import Unreadable

NAMES = (
    "name",
    "tool",
    "tool_name",
    "function",
    "function_name",
    "toolName",
    "functionName",
    "action",
    "recipient_name",
)
ARGUMENTS = (
    "arguments",
    "parameters",
    "params",
    "args",
    "input",
    "tool_input",
    "action_input",
    "toolInput",
    "kwargs",
    "properties",
    "function_arguments",
    "tool_args",
)
LISTS = ("tool_calls", "toolCalls", "function_calls", "calls", "tool_uses", "functionCalls")
_BESIDE = frozenset({"id", "type", "tool_call_id", "call_id", "index", "reason", "thought", "description", "content"})
_SCHEMA_KEYS = frozenset({"type", "properties"})


class Unknown(Exception):
    """Surely a call, of a tool that was not offered."""


class NotArguments(Exception):
    """Surely a call, with arguments that are none."""


def calls_in(value: Any, tools: Offered, *, explicit: bool) -> list[ToolCall]:
    """The calls that `value` is; empty when it is something else. Raises Unknown and NotArguments."""
    if isinstance(value, list):
        return _calls_in_list(value, tools, explicit=explicit)
    if not isinstance(value, dict) or not value:
        return []
    for key in LISTS:
        if isinstance(value.get(key), list):
            return _calls_in_list(value[key], tools, explicit=True)
    call = _one(value, tools, explicit=explicit)
    return [call] if call else _by_name(value, tools)


def _calls_in_list(items: list[Any], tools: Offered, *, explicit: bool) -> list[ToolCall]:
    """Known calls are kept where others are unknown; only if none is known, that is what it says."""
    if _is_pair(items) and (name := tools.known(items[0])):
        return [ToolCall(name, items[1])]
    calls: list[ToolCall] = []
    unknown: Unknown | None = None
    for item in items:
        try:
            calls += calls_in(item, tools, explicit=explicit)
        except Unknown as stranger:
            unknown = stranger
    if unknown and not calls:
        raise unknown
    return calls


def _is_pair(items: list[Any]) -> bool:
    return len(items) == 2 and isinstance(items[0], str) and isinstance(items[1], dict)


def _one(value: dict[str, Any], tools: Offered, *, explicit: bool) -> ToolCall | None:
    """`{"name": ..., "arguments": {...}}` and its relatives."""
    inner = value.get("function") or value.get("functionCall") or value.get("function_call")
    if isinstance(inner, dict):
        return _one({**_outer_arguments(value), **inner, **_id(value)}, tools, explicit=explicit)
    name = next((value[key] for key in NAMES if isinstance(value.get(key), str)), None)
    if name is None or _is_definition(value):
        return None
    key = next((key for key in ARGUMENTS if key in value), None)
    resolved = tools.resolve(name) if explicit or key else tools.known(name)
    if tools.open and not explicit:
        return None
    if resolved is None:
        if key or explicit:
            raise Unknown(name)
        return None
    arguments = _flat(value, resolved, tools, explicit=explicit) if key is None else _mapping(value[key])
    return None if arguments is None else ToolCall(resolved, arguments, **_id(value))


def _outer_arguments(value: dict[str, Any]) -> dict[str, Any]:
    return {key: value[key] for key in ARGUMENTS if key in value}


def _id(value: Mapping[str, Any]) -> dict[str, str]:
    found = next((value[key] for key in ("id", "tool_call_id", "call_id") if isinstance(value.get(key), str)), "")
    return {"id": found} if found else {}


def _is_definition(value: dict[str, Any]) -> bool:
    """A tool's description, repeated by the model."""
    schema = value.get("parameters") or value.get("input_schema")
    return isinstance(schema, dict) and schema.keys() >= _SCHEMA_KEYS and isinstance(schema["properties"], dict)


def _mapping(arguments: Any) -> dict[str, Any]:
    """Arguments as an object, also when they come as a string of JSON or not at all."""
    if isinstance(arguments, str):
        try:
            arguments = parse_object(arguments) if arguments.strip() else {}
        except Unreadable:
            raise NotArguments from None
    if arguments is None or arguments == []:
        return {}
    if not isinstance(arguments, dict):
        raise NotArguments
    return arguments


def _flat(value: dict[str, Any], name: str, tools: Offered, *, explicit: bool) -> dict[str, Any] | None:
    """Arguments that stand beside the name, if all of them are the tool's."""
    properties = tools.properties(name)
    used = next(key for key in NAMES if isinstance(value.get(key), str))
    rest = {key: item for key, item in value.items() if key != used and (key in properties or key not in _BESIDE)}
    if not rest:
        return {} if explicit or not tools.required(name) else None
    return rest if rest.keys() <= properties.keys() else None


def _by_name(value: dict[str, Any], tools: Offered) -> list[ToolCall]:
    """`{"get_weather": {"city": "Paris"}}`."""
    calls = []
    for key, arguments in value.items():
        name = tools.known(key)
        if name is None or not isinstance(arguments, dict):
            return []
        calls.append(ToolCall(name, arguments))
    return calls
