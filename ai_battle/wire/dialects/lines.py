"""Reads calls written as keys and values: YAML, TOML, a list, pairs on one line, or lines below labels."""

import re
from textwrap import dedent
from typing import Any

from ...core.messages import ToolCall
from .calls import ARGUMENTS, NAMES, OfferedTools
from .loose_json import Unreadable
from .reading import Source, value_of_type

_ENTRY = re.compile(
    r"(?P<indent>[ \t]*)(?:[-*+•][ \t]+)?[*_`\"']{0,3}(?P<key>[\w.\-]{1,80})[*_`\"']{0,3}[ \t]*[:=][*_]{0,2}[ \t]*"
    r"(?P<value>[^\n]*)(?:\n|\Z)"
)
_HEADING = re.compile(r"[ \t]*\[(?:\w{1,40}\.)?(?P<key>\w{1,80})\][ \t]*(?P<value>)(?:\n|\Z)")
_NAME = re.compile(r"[ \t]*[\[/@]?(?P<name>[\w.\-:/]{1,128})(?:\(\)|\])?[ \t]*(?:\n|\Z)")
_PAIRED = re.compile(r"[ \t]*[\[/@]?(?P<name>[\w.\-:/]{1,128})(?=[ \t]+(?:--\w|\w{1,80}=))")
_PAIR = re.compile(
    r"[ \t]+(?P<key>--[\w\-]{1,80}(?=[= ])|\w{1,80}(?==))[= ]"
    r"(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'\]<`]+)"
)
_PAIRS_END = re.compile(r"\]?[ \t]*;?(?=\n|\Z|</|<\||`)")
_BLANK = re.compile(r"[ \t]*\r?\n")
_BLOCK = re.compile(r"[|>][-+]?[ \t\r]*")
_IN_MARKS = re.compile(r"([\"'`]+)(.*)\1,?|(.*)")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_GROWING = re.compile(r"[^\n]{0,200}\Z")
_ITEMS = re.compile(r"(?:[ \t]*-[ \t]+[^\n]*(?:\n|\Z))+")
_OBJECT = re.compile(r"[ \t`]*(?=\{)")
_LABEL = re.compile(
    r"(?:(?:tool|function)\s+)?(?:arguments|args|parameters|params|input)\W*|`{3,}(?:json)?|", re.IGNORECASE
)
_NAMING = re.compile(
    r"(?:(?:(?:using|calling|call|use)\s+)?(?:the\s+)?(?:tool|function)(?:\s+(?:call|name))?[\s*_]*:|calling:?|using:?)?"
    r"[\s*_`\"]*(?P<name>[\w.\-/]{1,128}?)(?:\(\))?[\s*_`\":]*",
    re.IGNORECASE,
)
_REACH_CHARACTERS = 200


def read_lines(source: Source, at: int, tools: OfferedTools, named: str = "") -> tuple[ToolCall, int] | None:
    """Reads the call whose lines begin at `at`; returns it and its end, or None if the lines are something else.

    The first lines give the tool's name unless `named` does. Raises `Unreadable` for a broken value, and if the text
    ends before the call is complete.
    """
    if paired := _read_pairs(source.text, at, tools):
        return paired
    tool, at = (tools.find(named), at) if named else _heading(source.text, at, tools)
    given: dict[str, Any] = {}
    end = _take_all(source, at, tool, tools, given) if tool else at
    if end is None:
        return None
    if tool and tools.has_all_required(tool, given):
        return ToolCall(tool, given), end
    if _GROWING.match(source.text, end):
        raise Unreadable(end, cut=True)
    return None


def _heading(text: str, at: int, tools: OfferedTools) -> tuple[str | None, int]:
    """Returns the tool that the first line names, and the end of that line."""
    if (alone := _NAME.match(text, at)) and (tool := tools.find(alone["name"])):
        return tool, alone.end()
    found = _entry(text, at)
    if found is None or found["key"] not in NAMES:
        return None, at
    if found.re is _HEADING:
        return _heading(text, found.end(), tools)
    return tools.find(_without_marks(found["value"])), found.end()


def _read_pairs(text: str, at: int, tools: OfferedTools) -> tuple[ToolCall, int] | None:
    """Reads `name key=value key="two words"`, or with `--key value`, on a line without other text."""
    found = _PAIRED.match(text, at)
    tool = tools.find(found["name"]) if found else None
    if found is None or tool is None:
        return None
    properties, given, end = tools.properties(tool), {}, found.end()
    while (pair := _PAIR.match(text, end)) and (key := pair["key"].removeprefix("--").replace("-", "_")) in properties:
        given[key], end = value_of_type(_without_marks(pair["value"]), properties[key]), pair.end()
    closing = _PAIRS_END.match(text, end)
    return (ToolCall(tool, given), closing.end()) if closing and tools.has_all_required(tool, given) else None


def _take_all(source: Source, at: int, tool: str, tools: OfferedTools, given: dict[str, Any]) -> int | None:
    """Adds all entries to the arguments and returns their end. A blank line ends a call that is complete."""
    end: int | None = at
    while end is not None and (found := _entry(source.text, end)):
        if found.start() > end and tools.has_all_required(tool, given):
            break
        end = _add_entry(source, found, tools.properties(tool), given)
    return end


def _add_entry(source: Source, entry: re.Match[str], properties: Any, given: dict[str, Any]) -> int | None:
    """Adds an entry to the arguments and returns its end, or None if it is not an argument."""
    key, value = entry["key"], entry["value"]
    if key in properties and entry.re is _ENTRY:
        given[key], end = _read_entry(source.text, entry, properties[key])
        return end
    if key not in ARGUMENTS or not _OBJECT.match(value):
        return entry.end() if key in ARGUMENTS and not value.strip() else None
    inside, end = source.value(source.text.index("{", entry.start("value")))
    given |= inside
    return source.text.find("\n", end) + 1 or len(source.text)


def _entry(text: str, at: int) -> re.Match[str] | None:
    while blank := _BLANK.match(text, at):
        at = blank.end()
    return _ENTRY.match(text, at) or _HEADING.match(text, at)


def _read_entry(text: str, entry: re.Match[str], schema: Any) -> tuple[Any, int]:
    """Reads the value on the line of its key, or the indented lines below."""
    value, at = entry["value"], entry.end()
    if not value.strip() and (items := _ITEMS.match(text, at)):
        return [_without_marks(item.strip()[1:]) for item in items[0].strip().split("\n")], items.end()
    if not _BLOCK.fullmatch(value):
        return value_of_type(_without_marks(value), schema), at
    lines: list[str] = []
    for line in _LINE.finditer(text, at):
        if line[0].strip() and not line[0].startswith(entry["indent"] + " "):
            break
        lines.append(line[0])
        at = line.end()
    return dedent("".join(lines)).rstrip("\n"), at


def _without_marks(value: str) -> str:
    found = _IN_MARKS.fullmatch(value.strip())
    assert found
    return found[3] if found[2] is None else found[2]


def announced_call(text: str, at: int, value: object, tools: OfferedTools) -> ToolCall | None:
    """Returns a call of the tool named above `at`, if the object there has all its required arguments and no others."""
    if not isinstance(value, dict):
        return None
    # Labels of the arguments and the marks of their block may come between.
    lines = (line.strip().lstrip("*_") for line in reversed(text[max(0, at - _REACH_CHARACTERS) : at].splitlines()))
    above = next((line for line in lines if not _LABEL.fullmatch(line)), "")
    named = _NAMING.fullmatch(above)
    tool = tools.find(named["name"]) if named else None
    fits = tool and tools.has_all_required(tool, value) and value.keys() <= tools.properties(tool).keys()
    return ToolCall(tool, value) if tool and fits else None
