"""Calls written as lines of a key and a value: as YAML, as TOML, as a list, or below labels."""

import re
from typing import Any

from ai_battle.core.messages import ToolCall

from .names import Offered
from .shapes import ARGUMENTS, NAMES
from .source import Source
from .tolerant import Unreadable
from .typed import typed

_ENTRY = re.compile(
    r"(?P<indent>[ \t]*)(?:[-*+•][ \t]+)?[*_`\"']{0,3}(?P<key>[\w.\-]{1,80})[*_`\"']{0,3}[ \t]*[:=][*_]{0,2}[ \t]*"
    r"(?P<value>[^\n]*)(?:\n|\Z)"
)
_HEADING = re.compile(r"[ \t]*\[(?P<key>\w{1,80})\][ \t]*(?:\n|\Z)")
_NAME = re.compile(r"[ \t]*\[?(?P<name>[\w.\-:/]{1,128})(?:\(\)|\])?[ \t]*\n")
_BLANK = re.compile(r"[ \t]*\r?\n")
_BLOCK = re.compile(r"[|>][-+]?[ \t\r]*")
_MARKED = re.compile(r"([\"'`]+)(.*)\1,?|(.*)")
_GROWING = re.compile(r"[^\n]{0,200}\Z")
_ITEMS = re.compile(r"(?:[ \t]*-[ \t]+[^\n]*(?:\n|\Z))+")
_OBJECT = re.compile(r"[ \t`]*(?=\{)")


def read_lines(source: Source, at: int, tools: Offered, named: str = "") -> tuple[ToolCall, int] | None:
    """The call whose lines begin at `at`, and where they end; none where they are something else.

    The first lines name the tool, unless it is `named` already. Raises Unreadable for a value that is none, and where
    the text ends before the call is complete.
    """
    tool = tools.known(named) if named else None
    if not named and (alone := _NAME.match(source.text, at)) and (tool := tools.known(alone["name"])):
        at = alone.end()
    given: dict[str, Any] = {}
    while found := _entry(source.text, at):
        at = found.end()
        if tool is None and found["key"] in NAMES:
            tool = tools.known(_plain(found["value"]))
        elif (end := _take(source, found, tools.properties(tool or ""), given)) is None:
            return None
        else:
            at = end
    if tool and given.keys() >= set(tools.required(tool)):
        return ToolCall(tool, given), at
    if _GROWING.match(source.text, at):
        raise Unreadable(at, cut=True)
    return None


def _take(source: Source, entry: re.Match[str], properties: Any, given: dict[str, Any]) -> int | None:
    """Puts what the entry gives among the arguments; where it ends, or None for one that is no argument."""
    key, value = entry["key"], entry.groupdict().get("value") or ""
    if key in properties:
        given[key], end = _valued(source.text, entry, properties[key])
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


def _valued(text: str, entry: re.Match[str], schema: Any) -> tuple[Any, int]:
    """The value on the line of its key, or the lines below it that are further in."""
    if not entry["value"].strip() and (items := _ITEMS.match(text, entry.end())):
        return [_plain(item.strip()[1:]) for item in items[0].strip().split("\n")], items.end()
    if not _BLOCK.fullmatch(entry["value"]):
        return typed(_plain(entry["value"]), schema), entry.end()
    at, lines = entry.end(), []
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        line = text[at:end]
        if line.strip() and not line.startswith(entry["indent"] + " "):
            break
        lines.append(line)
        at = end
    depth = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "".join(line[depth:] or "\n" for line in lines).rstrip("\n"), at


def _plain(value: str) -> str:
    found = _MARKED.fullmatch(value.strip())
    assert found
    return found[3] if found[2] is None else found[2]
