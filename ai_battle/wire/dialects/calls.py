"""Finds calls of the offered tools in a decoded JSON value, in all the layouts that models use."""
# ruff: noqa: RUF001

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ...core.exchange import ToolSpec
from ...core.messages import ToolCall
from .loose_json import Unreadable
from .reading import parse_object

Offer = ToolSpec | Mapping[str, Any] | str


def _words(words: str) -> tuple[str, ...]:
    return tuple(words.split())


# The keys that models use in calls, by meaning, in the order in which they are tried.
NAMES = _words("name tool tool_name function function_name toolName functionName action recipient_name")
_NAMES_OF_KNOWN_TOOLS = ("call", "command", "fn", "method")
ARGUMENTS = _words(
    "arguments parameters params args input tool_input action_input toolInput kwargs properties function_arguments"
    " function_args function_input tool_args tool_arguments tool_parameters with"
)
_IDS = ("id", "tool_call_id", "call_id")
_LISTS = ("tool_calls", "toolCalls", "function_calls", "calls", "tool_uses", "functionCalls")
_LOOSE_LISTS = ("actions",)
_WRAPPERS = _words("function functionCall function_call tool tool_call toolCall toolUse call command action")
_CALL_METADATA = frozenset({"type", "index", "reason", "thought", "content", *_IDS})
# A call with its result is a record of a past call, not a new one.
_OUTCOMES = frozenset(_words("result results output outputs response observation tool_result"))
_SIGNS = frozenset((*NAMES, *_NAMES_OF_KNOWN_TOOLS, *(key[0].upper() + key[1:] for key in NAMES), *_WRAPPERS))

_PREFIX = re.compile(r"(?:functions?|tools?|default_api|api|namespace)[.:/]")
_SUFFIX = re.compile(r"(?::\d+|\(\)|\.call|<[|｜].*)$", re.DOTALL)
_FOLDED = re.compile(r"[^0-9A-Za-z]+|(?<=[a-z0-9])(?=[A-Z])")
_WELL_FORMED = re.compile(r"[A-Za-z_][\w.\-/:]{0,127}\Z")
_NO_SCHEMA: Mapping[str, Any] = {}


class UnknownTool(Exception):
    """A value is certainly a call, but of a tool that was not offered."""


class NotArguments(Exception):
    """A value is certainly a call, but its arguments are not an object; the message says why."""

    def __init__(self, why: str = "they are not a JSON object") -> None:
        super().__init__(why)


class OfferedTools:
    """The tools that may be called. Without any, it is `open`: an explicit dialect may call any well-formed name."""

    __slots__ = ("_folded", "_schemas", "_served", "_writing", "open")

    def __init__(self, tools: Iterable[Offer] = ()) -> None:
        tools = tuple(tools)
        self._writing = frozenset(_name_and_schema(tool)[0] for tool in tools if _writes(tool))
        self._schemas = dict(map(_name_and_schema, tools))
        self._folded: dict[str, str] | None = None
        self._served: dict[str, str] | None = None
        self.open = not self._schemas

    def resolve(self, name: str) -> str | None:
        """Like `find`, but for certain calls: a server's tool needs no `server:`, and if `open`, any good name fits."""
        plain = _PREFIX.sub("", _without_suffix(name), count=1)
        if self.open:
            return plain if _WELL_FORMED.match(plain) else None
        if self._served is None:
            self._served = _unambiguous_tools((name.partition(":")[2] or name, name) for name in self._schemas)
        return self.find(name) or self._served.get(_fold(plain)) or None

    def find(self, name: str) -> str | None:
        """Returns the tool that is meant: exact, then without prefix and suffix, then ignoring case and separators.

        If `open`, it finds none, for notations that are calls only with an offered tool.
        """
        if name in self._schemas or self.open:
            return None if self.open else name
        plain = _without_suffix(name)
        shorter = _PREFIX.sub("", plain, count=1)
        exact = next((each for each in (plain, shorter) if each in self._schemas), None)
        if self._folded is None:
            self._folded = _unambiguous_tools((name, name) for name in self._schemas)
        return exact or self._folded.get(_fold(shorter)) or self._folded.get(_fold(plain)) or None

    def as_offered(self, call: ToolCall) -> ToolCall:
        """Returns a native call under the tool's own name and with repaired arguments, as far as that is possible."""
        name, arguments, malformed = self.resolve(call.name) or call.name, call.arguments, call.malformed
        with suppress(NotArguments):
            arguments, malformed = (arguments_in(malformed), "") if malformed else (arguments, "")
        return replace(call, name=name, arguments=arguments, malformed=malformed)

    def writes(self, calls: Iterable[ToolCall]) -> bool:
        """Returns whether the tool of any of the calls declares that it may change something."""
        return any(call.name in self._writing for call in calls)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._schemas)

    def properties(self, name: str) -> Mapping[str, Any]:
        found = self._schemas.get(name, _NO_SCHEMA).get("properties")
        return found if isinstance(found, Mapping) else _NO_SCHEMA

    def required_names(self, name: str) -> tuple[str, ...]:
        found = self._schemas.get(name, _NO_SCHEMA).get("required")
        return tuple(found) if isinstance(found, list | tuple) else ()

    def has_all_required(self, name: str, given: Iterable[str]) -> bool:
        return set(given) >= set(self.required_names(name))


def _name_and_schema(tool: Offer) -> tuple[str, Mapping[str, Any]]:
    match tool:
        case str():
            return tool, _NO_SCHEMA
        case ToolSpec():
            return tool.name, tool.schema
    schema = tool.get("parameters") or tool.get("schema") or tool.get("input_schema")
    return str(tool.get("name", "")), schema if isinstance(schema, dict | Mapping) else _NO_SCHEMA


def _writes(tool: Offer) -> bool:
    if isinstance(tool, ToolSpec):
        return tool.writes
    return isinstance(tool, Mapping) and bool(tool.get("writes"))


def _without_suffix(name: str) -> str:
    return _SUFFIX.sub("", name.strip().strip("\"'`*").replace("\\_", "_"))


@lru_cache(maxsize=1_000)
def _fold(name: str) -> str:
    return _FOLDED.sub("_", name).strip("_").lower()


def _unambiguous_tools(spellings: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Returns the tools by their folded spellings, with "" for a form that two tools share."""
    folded: dict[str, str] = {}
    for spelling, name in spellings:
        key = _fold(spelling)
        folded[key] = "" if key in folded else name
    return folded


def calls_in(value: Any, tools: OfferedTools, *, explicit: bool) -> list[ToolCall]:
    """Returns the calls in `value`, none if it is something else. Raises `UnknownTool` and `NotArguments`."""
    if isinstance(value, list):
        return _calls_in_list(value, tools, explicit=explicit)
    if not isinstance(value, dict):
        return []
    for key in (*_LISTS, *_LOOSE_LISTS):
        if isinstance(value.get(key), list):
            return _calls_in_list(value[key], tools, explicit=explicit or key in _LISTS)
    call = None if value.keys().isdisjoint(_SIGNS) else _single_call(value, tools, explicit=explicit)
    return [call] if call else _by_name(value, tools)


def _calls_in_list(items: list[Any], tools: OfferedTools, *, explicit: bool) -> list[ToolCall]:
    """Returns the calls of known tools. Raises `UnknownTool` only if there are none."""
    is_pair = len(items) == 2 and isinstance(items[0], str) and isinstance(items[1], dict)
    if is_pair and (name := tools.find(items[0])):
        return [ToolCall(name, items[1])]
    calls: list[ToolCall] = []
    unknown: UnknownTool | None = None
    for item in items:
        try:
            calls += calls_in(item, tools, explicit=explicit)
        except UnknownTool as stranger:
            unknown = stranger
    if unknown and not calls:
        raise unknown
    return calls


def _single_call(value: dict[str, Any], tools: OfferedTools, *, explicit: bool) -> ToolCall | None:
    """Reads a call such as `{"name": ..., "arguments": {...}}` and its variants."""
    value, named = _with_name(_without_wrapper(value), tools)
    if not named or _is_definition(value) or value.keys() & _OUTCOMES:
        return None
    given = next(filter(value.__contains__, ARGUMENTS), "")
    name = _tool_named(value[named], tools, explicit=explicit, has_arguments=bool(given))
    if name is None:
        return None
    arguments = arguments_in(value[given]) if given else _arguments_beside(value, named, name, tools, explicit=explicit)
    identity = value[key] if (key := _text_key(value, _IDS)) else ""
    return None if arguments is None else ToolCall(name, arguments, identity)


def _tool_named(name: str, tools: OfferedTools, *, explicit: bool, has_arguments: bool) -> str | None:
    is_certain = explicit or (has_arguments and not tools.open)
    tool = tools.resolve(name) if is_certain else tools.find(name)
    if tool is None and is_certain:
        raise UnknownTool(name)
    return tool


def _with_name(value: dict[str, Any], tools: OfferedTools) -> tuple[dict[str, Any], str]:
    """Returns the value and its key for the name, lowering the first letters of keys such as `Name`."""
    if named := _text_key(value, NAMES):
        return value, named
    small = {key[:1].lower() + key[1:]: item for key, item in value.items()}
    return small, _text_key(small, NAMES) or _text_key(small, _NAMES_OF_KNOWN_TOOLS, tools)


def _text_key(value: dict[str, Any], keys: Iterable[str], tools: OfferedTools | None = None) -> str:
    """Returns the first of the keys with a text, which must name a tool if `tools` is given."""
    for key in keys:
        if isinstance(text := value.get(key), str) and (tools is None or tools.find(text)):
            return key
    return ""


def _without_wrapper(value: dict[str, Any]) -> dict[str, Any]:
    """Flattens `{"id": ..., "type": "function", "function": {...}}` to one object."""
    params = value.get("params")
    if value.get("method") == "tools/call" and isinstance(params, dict):
        return params
    for key in _WRAPPERS:
        if isinstance(value.get(key), dict):
            outside = {name: value[name] for name in (*ARGUMENTS, *_IDS) if name in value}
            return {**outside, **value[key]}
    return value


def _is_definition(value: dict[str, Any]) -> bool:
    """Returns whether a value is a tool's definition, repeated by the model."""
    schema = value.get("parameters") or value.get("input_schema")
    return isinstance(schema, dict) and "type" in schema and isinstance(schema.get("properties"), dict)


def arguments_in(written: Any) -> dict[str, Any]:
    """Returns arguments as an object, also from JSON text (even encoded twice) or null. Raises `NotArguments`."""
    for _ in range(2):
        if isinstance(written, str):
            written = _read(written)
    if isinstance(written, list):
        written = _unpack(written)
    if not isinstance(written, dict | None):
        raise NotArguments
    return written or {}


def _read(text: str) -> Any:
    try:
        return parse_object(text) if text.strip() else {}
    except Unreadable as error:
        raise (NotArguments("they are cut off") if error.cut else NotArguments()) from None


def _unpack(items: list[Any]) -> Any:
    if all(map(_is_named_value, items)):  # also of none, as `[]` is an empty object in PHP and Lua
        return {item["name"]: item["value"] for item in items}
    return items[0] if len(items) == 1 else items


def _is_named_value(item: Any) -> bool:
    return isinstance(item, dict) and item.keys() == {"name", "value"} and isinstance(item["name"], str)


def _arguments_beside(
    value: dict[str, Any], named: str, name: str, tools: OfferedTools, *, explicit: bool
) -> dict[str, Any] | None:
    """Returns arguments that are next to the name, or None.

    All must be the tool's. If there are none, the call must be explicit or the tool need none.
    """
    properties = tools.properties(name)
    beside = _CALL_METADATA - properties.keys() | {named}
    rest = {key: item for key, item in value.items() if key not in beside}
    is_enough = rest or explicit or not tools.required_names(name)
    return rest if is_enough and rest.keys() <= properties.keys() else None


def _by_name(value: dict[str, Any], tools: OfferedTools) -> list[ToolCall]:
    """Reads calls such as `{"get_weather": {"city": "Paris"}}`."""
    calls = []
    for key, arguments in value.items():
        name = tools.find(key)
        if name is None or not isinstance(arguments, dict):
            return []
        calls.append(ToolCall(name, arguments))
    return calls
