"""What stands in a block that is there for calls: all that a marker can announce, and looser things besides."""

import re
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ai_battle.core.messages import ToolCall

from .body import attempt, from_value, read_bodies, read_object_for
from .elements import BLOCKS, read_elements
from .fences import Fence
from .lines import read_lines
from .names import Offered
from .reading import Piece, issue
from .source import Source
from .tolerant import Unreadable, read_value

_TOOL_NAME = re.compile(r"\s*TOOL_NAME:[ \t]*(?P<name>[^\n`]+?)[ \t\r]*(?:\n|(?=`{3}))")
_NAME_ALONE = re.compile(r"\s*(?P<name>[\w.\-:/]+)(?:\(\))?\s*(?=`{3}|~{3})")
_OBJECT = re.compile(r"\s*(?=\{)")
_CLOSED = re.compile(r"\s*+[`~]{3,}")
_PAIRS = re.compile(
    r"\s*(?:(?:- )?[\"']?(?:tool|tool_name|name|function|action)[\"']?\s*[:=]|\[?[\w.\-:/]+\]?[ \t]*\n[\w \t\-]+[:=]"
    r"|[/@\[]?[\w.\-:/]+[ \t]+(?:--\w|\w+=))"
)


def read_block(source: Source, at: int, fence: Fence, tools: Offered) -> Piece:
    """The calls in the block whose marks stand at `at`."""
    if named := _TOOL_NAME.match(source.text, fence.inside):
        return _named(source, (at, named.end()), named["name"], tools)
    if found := _name_alone(source, at, fence, tools) or _without_braces(source, at, fence, tools):
        return found
    piece = read_bodies(source, fence.inside, tools)
    piece.start = at
    return piece


def read_arguments(source: Source, at: int, fence: Fence, tools: Offered) -> Piece | None:
    """The call in a closed block whose language is a tool, and whose content is one object: its arguments."""
    tool = tools.known(fence.language)
    inside = _OBJECT.match(source.text, fence.inside)
    if not tool or not inside:
        return None
    piece = read_object_for(source, tool, (at, inside.end()), tools)
    closing = _CLOSED.match(source.text, piece.end)
    return replace(piece, end=closing.end()) if piece.calls and closing else None


def _named(source: Source, place: tuple[int, int], name: str, tools: Offered) -> Piece:
    """A notation without escapes; its lines are as far in as the marks of the block are."""
    at, inside = place
    indented = re.compile(rf"^[ \t]{{0,{len(source.before(at, 60))}}}", re.MULTILINE)

    def read(tool: str) -> tuple[ToolCall, int]:
        call, end = read_elements(source, tool, inside, BLOCKS, tools)
        return replace(call, arguments={key: flush(value) for key, value in call.arguments.items()}), end

    def flush(value: Any) -> Any:
        return indented.sub("", value) if isinstance(value, str) else value

    return attempt(source, at, name, tools, read)


def _name_alone(source: Source, at: int, fence: Fence, tools: Offered) -> Piece | None:
    found = _NAME_ALONE.match(source.text, fence.inside)
    tool = found and tools.known(found["name"])
    return Piece(at, found.end(), [ToolCall(tool, {})]) if found and tool and not tools.required(tool) else None


def _without_braces(source: Source, at: int, fence: Fence, tools: Offered) -> Piece | None:
    """A key and a value on each line, or an object that only lacks its braces; a block that is open may go on."""
    closing = source.find(fence.closing, fence.inside) if _PAIRS.match(source.text, fence.inside) else None
    if closing is None:
        return None
    with suppress(Unreadable):
        found = read_lines(source, fence.inside, tools)
        if found and not source.text[found[1] : closing.start()].strip():
            return Piece(at, found[1], [found[0]])
    try:
        value, _ = read_value(f"{{{source.text[fence.inside : closing.start()]}}}", 0)
    except Unreadable:
        return Piece(at, closing.start(), issues=[issue("malformed", source.text, at)])
    return from_value(source, value, (at, closing.start()), tools, explicit=True)
