"""Calls in decoded values: every arrangement of a name and its arguments that models use in JSON."""

from collections.abc import Mapping
from typing import Any

from ai_battle.core.messages import ToolCall

from .names import Offered
from .source import parse_object
from .spellings import SPELLINGS
from .tolerant import Unreadable

NAMES = SPELLINGS["name"]
ARGUMENTS = SPELLINGS["arguments"]
IDS = SPELLINGS["id"]
LISTS = SPELLINGS["list"]
_LOOSE_LISTS = ("actions",)
_LOOSE_NAMES = SPELLINGS["known-name"]
_BESIDE = frozenset(SPELLINGS["beside"])
# A call that says how it ended is a record of one.
_OUTCOMES = frozenset(SPELLINGS["outcome"])
_WRAPPERS = SPELLINGS["wrapper"]
_SIGNS = frozenset((*NAMES, *_LOOSE_NAMES, *(key[0].upper() + key[1:] for key in NAMES), *_WRAPPERS))
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
    for key in (*LISTS, *_LOOSE_LISTS):
        if isinstance(value.get(key), list):
            return _calls_in_list(value[key], tools, explicit=explicit or key in LISTS)
    call = None if value.keys().isdisjoint(_SIGNS) else _one(value, tools, explicit=explicit)
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
    value, named = _named(_unwrapped(value))
    named = named or _loosely_named(value, tools)
    if not named or _is_definition(value) or value.keys() & _OUTCOMES:
        return None
    given = next(filter(value.__contains__, ARGUMENTS), "")
    name = _tool(value[named], tools, explicit=explicit, certain=explicit or bool(given))
    if name is None:
        return None
    arguments = _mapping(value[given]) if given else _flat(value, named, name, tools, explicit=explicit)
    return None if arguments is None else ToolCall(name, arguments, _id(value))


def _named(value: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The value and its key for the name; with `Name` and `Arguments`, in the letters that the others have."""
    if named := _naming(value):
        return value, named
    plain = {key[:1].lower() + key[1:]: item for key, item in value.items()}
    return plain, _naming(plain)


def _naming(value: dict[str, Any]) -> str:
    return next((key for key in NAMES if isinstance(value.get(key), str)), "")


def _loosely_named(value: dict[str, Any], tools: Offered) -> str:
    return next((key for key in _LOOSE_NAMES if isinstance(value.get(key), str) and tools.known(value[key])), "")


def _tool(named: str, tools: Offered, *, explicit: bool, certain: bool) -> str | None:
    name = tools.resolve(named) if explicit else tools.known(named)
    if name is None and certain and (explicit or not tools.open):
        raise Unknown(named)
    return name


def _unwrapped(value: dict[str, Any]) -> dict[str, Any]:
    """`{"id": ..., "type": "function", "function": {...}}` as one object."""
    params = value.get("params")
    if value.get("method") == "tools/call" and isinstance(params, dict):
        return params
    for key in _WRAPPERS:
        if isinstance(value.get(key), dict):
            outside = {name: value[name] for name in (*ARGUMENTS, *IDS) if name in value}
            return {**outside, **value[key]}
    return value


def _id(value: Mapping[str, Any]) -> str:
    return next((value[key] for key in IDS if isinstance(value.get(key), str)), "")


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
    if isinstance(arguments, list) and arguments and all(map(_is_named_value, arguments)):
        arguments = {item["name"]: item["value"] for item in arguments}
    elif isinstance(arguments, list) and len(arguments) < 2:
        arguments = next(iter(arguments), None)
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise NotArguments
    return arguments


def _is_named_value(item: Any) -> bool:
    return isinstance(item, dict) and item.keys() == {"name", "value"} and isinstance(item["name"], str)


def _flat(value: dict[str, Any], named: str, name: str, tools: Offered, *, explicit: bool) -> dict[str, Any] | None:
    """Arguments that stand beside the name, if all of them are the tool's, and it can do without those missing."""
    properties = tools.properties(name)
    beside = _BESIDE - properties.keys() | {named}
    rest = {key: item for key, item in value.items() if key not in beside}
    enough = rest or explicit or not tools.required(name)
    return rest if enough and rest.keys() <= properties.keys() else None


def _by_name(value: dict[str, Any], tools: Offered) -> list[ToolCall]:
    """`{"get_weather": {"city": "Paris"}}`."""
    calls = []
    for key, arguments in value.items():
        name = tools.known(key)
        if name is None or not isinstance(arguments, dict):
            return []
        calls.append(ToolCall(name, arguments))
    return calls
