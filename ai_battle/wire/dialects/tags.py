"""Reads calls whose arguments are enclosed in tags: all kinds of XML, and notations that work like it."""
# ruff: noqa: RUF001

import html
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ...core.messages import ToolCall
from .calls import OfferedTools
from .loose_json import Unreadable
from .reading import Source, types_of, value_of_type

_NOISE = r"(?:\s|\]<\]minimax\[>\[)*"
_TAGGED = r"<(?P<key>[A-Za-z_][\w.\-]*)>"
_CHILD = re.compile(_NOISE + _TAGGED)
_FOLLOWING = re.compile(r"\n(?=<parameter=(?P<key>[^<>\s]+)>)")
_NOISE_END = re.compile(r"\]<\]minimax\[>\[\Z")
_PARTIAL = re.compile(r"\s*(?:[<\]`BE][^>\n]{0,200})?\Z")
_BLANK_REST = re.compile(r"\s*\Z")
_CHARACTER_DATA = re.compile(r"\s*<!\[CDATA\[(?P<text>.*)\]\]>\s*\Z", re.DOTALL)
_ATTRIBUTE = r"([\w\-]{1,80})\s?=\s?(\"[^\"]{0,2000}\"|'[^']{0,2000}')"
ATTRIBUTES = re.compile(
    rf"<(?P<tag>[A-Za-z_][\w.\-:]{{0,80}})"
    rf"(?P<given>(?>(?:\s{{1,20}}{_ATTRIBUTE.replace('(', '(?:')}){{1,20}}))\s{{0,20}}(?:/>|>\s{{0,20}}</(?P=tag)>)"
)
_EACH = re.compile(_ATTRIBUTE)
_CALLING_TAGS = frozenset({"tool", "function", "invoke", "call", "tool_call", "function_call", "tool_use", "action"})
_STRUCTURES = frozenset({"object", "array"})
_MAX_DEPTH = 16


@dataclass(frozen=True, slots=True)
class Notation:
    """A notation for arguments: `key` opens one, `stop` ends its value, and `close` ends the call.

    A `stop` counts only before the next argument or the end of the call, as values may contain it too.
    """

    key: re.Pattern[str]
    stop: str
    close: re.Pattern[str]

    def stop_of(self, key: str) -> re.Pattern[str]:
        return _pattern(self.stop.replace("KEY", re.escape(key)))

    def is_end(self, text: str, at: int) -> bool:
        """Returns whether the next argument or the end of the call is at `at`."""
        return bool(self.close.match(text, at) or self.key.match(text, at))


@lru_cache(maxsize=200)
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _notation(key: str, stop: str, close: str) -> Notation:
    return Notation(_pattern(_NOISE + key), stop, _pattern(_NOISE + f"(?:{close})"))


_DSML = r"(?:｜DSML｜|\|DSML\||\w{1,40}:)?"
_PARAMETER = rf"{_DSML}(?:parameter|param|arg|argument)"
PARAMETERS = _notation(
    rf"<{_PARAMETER}(?:=|\s*name=)\s*[\"']?(?P<key>[^\"'<>=]+?)[\"']?(?P<marks>\s[^<>]*)?>",
    rf"</{_PARAMETER}>",
    rf"</{_DSML}(?:function|invoke|tool_call|function_call|tool)>|</?(?:tool_call|\w+:tool_call)>",
)
ARGUMENT_PAIRS = _notation(
    r"<arg_key>(?P<key>[^<>]*)</arg_key>\s*<arg_value>", r"</arg_value>", r"</tool_call>|(?=<tool_call>)"
)
CHANNELS = _notation(
    r"<\|open\|>argument key=\"(?P<key>[^\"]*)\"(?P<marks>[^<>]*)<\|sep\|>",
    r"<\|close\|>argument<\|sep\|>",
    r"<\|close\|>call<\|sep\|>",
)
BLOCKS = _notation(r"BEGIN_ARG:[ \t]*(?P<key>[^\n]*)\n", r"(?:\r?\n)?[ \t]*END_ARG", r"(?=[`~]{3})")


def tag_notation(closing: str) -> Notation:
    """Returns the notation in which each argument is an element with its name, up to the given closing tag."""
    return _notation(_TAGGED, r"(?:\]<\]minimax\[>\[)?</KEY>", closing)


def read_arguments(source: Source, name: str, at: int, notation: Notation, tools: OfferedTools) -> tuple[ToolCall, int]:
    """Returns the call whose arguments begin at `at`, and its end. Raises `Unreadable`."""
    arguments: dict[str, Any] = {}
    properties = tools.properties(name)
    while not (closed := notation.close.match(source.text, at)):
        found = notation.key.match(source.text, at)
        if not found:
            raise Unreadable(at, cut=_PARTIAL.match(source.text, at) is not None)
        key = found["key"].strip()
        raw, at = _raw_value(source, found.end(), notation, key)
        # An unclosed argument ends where the next one begins. A value that contains closing tags is not such a case.
        following = None if "</parameter>" in raw else _FOLLOWING.search(raw)
        if following and following["key"] in properties.keys() - arguments.keys() - {key}:
            raw, at = raw[: following.start()], found.end() + following.start()
        arguments[key] = _value(raw, found.groupdict().get("marks") or "", properties.get(key))
    return ToolCall(name, arguments), closed.end()


def read_attributes(found: re.Match[str], tools: OfferedTools) -> ToolCall | None:
    """Returns the call in an empty element, if it has all required arguments and no unknown ones."""
    given = {key: html.unescape(raw[1:-1]) for key, raw in _EACH.findall(found["given"])}
    named = next((given.pop(key) for key in ("name", "tool") if key in given), "")
    tool = tools.find(named if found["tag"] in _CALLING_TAGS else found["tag"])
    properties = tools.properties(tool or "")
    if tool is None or not given.keys() <= properties.keys() or not tools.has_all_required(tool, given):
        return None
    return ToolCall(tool, {key: value_of_type(value, properties[key]) for key, value in given.items()})


def _raw_value(source: Source, at: int, notation: Notation, key: str) -> tuple[str, int]:
    """Returns the text up to the first stop before the next argument or the end of the call, and the stop's end."""
    start, stop = at, notation.stop_of(key)
    while found := source.find(stop, at):
        at = found.end()
        if notation.is_end(source.text, at):
            return source.text[start : found.start()], at
        if _BLANK_REST.match(source.text, at):
            break
    raise Unreadable(len(source.text), cut=True)


def _value(raw: str, marks: str, schema: Any) -> Any:
    """Converts the value's text. One newline on each side belongs to the notation, not to the value."""
    if quoted := _CHARACTER_DATA.match(raw):
        raw = quoted["text"]
    text = raw.removeprefix("\n")
    text = text[:-1] if text.endswith("\n") and raw.startswith("\n") else text
    if 'string="true"' in marks or 'type="string"' in marks:
        return text
    if _CHILD.match(raw) and types_of(schema) & _STRUCTURES and "string" not in types_of(schema):
        return _nested_value(raw, schema, 0)
    return value_of_type(text, schema)


def _nested_value(text: str, schema: Any, depth: int) -> Any:
    """Reads an object or a list whose members are elements."""
    members: list[tuple[str, Any]] = []
    at, types = 0, types_of(schema)
    while types & _STRUCTURES and depth < _MAX_DEPTH and (opened := _CHILD.match(text, at)):
        inner = _schema_inside(schema, opened["key"], types)
        end = text.find(f"</{opened['key']}>", opened.end())
        if end < 0:
            return text
        members.append((opened["key"], _nested_value(_NOISE_END.sub("", text[opened.end() : end]), inner, depth + 1)))
        at = end + len(opened["key"]) + 3
    if not members:
        return value_of_type(text, schema)
    return [value for _, value in members] if "array" in types else dict(members)


def _schema_inside(schema: Any, key: str, types: frozenset[str]) -> Any:
    if "array" in types:
        return schema.get("items")
    properties = schema.get("properties")
    return properties.get(key) if isinstance(properties, dict) else None
