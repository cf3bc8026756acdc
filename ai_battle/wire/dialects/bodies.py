"""Reads what follows a marker that announces a call: JSON, a name with arguments, tags, Python, lines or a message."""
# ruff: noqa: RUF001

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ...core.messages import ToolCall
from .calls import NotArguments, OfferedTools, UnknownTool, calls_in
from .fences import Fence
from .lines import read_lines
from .loose_json import CONSTANT, QUOTE, Unreadable, read_value, read_word, skip_space
from .reading import Issue, Piece, Source, issue
from .tags import ARGUMENT_PAIRS, BLOCKS, CHANNELS, PARAMETERS, Notation, read_arguments, tag_notation

_SPECIAL = r"<[|｜][^<>]{1,80}[|｜]>|\[(?:ARGS|CALL_ID)\]"
_FILLER = re.compile(
    r"(?>(?:[\s,;)]|>>>(?=\w)|(?!<\|open\|>call )<(?!\|\"\|>)[|｜][^<>{}\"]{1,80}[|｜]?>|<[^<>|\"{}=\s]{1,60}[|｜]>"
    r"|\[(?:/?TOOL_CALLS|/?TOOL_REQUEST|END_TOOL_REQUEST)\]"
    r"|\]<\]minimax\[>\[|</?(?:\w+:)?(?:tool[_-]?(?:calls?|use|uses)|use_(?:mcp_)?tool|function_calls?|start_function_call|end_function_call"
    r"|｜DSML｜(?:function_calls|tool_calls))>|functools(?=\[)|```(?:json|xml|python)(?=\s)|```(?=\s*<[|｜/])){1,200})"
)
_NAMED = re.compile(
    r"(?:call:|function\s*<｜tool▁sep｜>\s*|print\((?=[\w.\-]+\())?(?P<name>[A-Za-z_][\w.\-/:\\]*)"
    rf"(?P<between>(?:\s|{_SPECIAL}(?:\s*[\w\-]+(?=\s*\[ARGS\]))?|```(?:json)?)*)(?P<next>\{{|\(|<arg_key>|</tool_call>)"
)
_ELEMENT = re.compile(
    r"<(?:｜DSML｜|\w+:)?(?:function|invoke|tool|(?:tool|function)_call(?=\s))(?:\s+id=[\"'][^\"'<>]{0,80}[\"'])?(?:=|\s*name=)\s*[\"']?(?P<name>[^\"'<>\s]+)[\"']?\s*>"
    r"|<\|open\|>call tool=\"(?P<channel>[^\"]*)\"[^<>]*<\|sep\|>"
    r"|<invoke>\s*<tool_name>(?P<old>[^<>]*)</tool_name>\s*(?P<parameters><parameters>)?"
)
_SPELLED = re.compile(
    r"(?:<server_name>[^<>]{0,80}</server_name>\s*)?(?:<tool>\s*(?=<name>))?<(?P<tag>name|tool|tool_name|function|function_name)>\s*(?P<name>[\w.\-/:]+)\s*</(?P=tag)>"
    r"\s*(?:<(?P<given>arguments|parameters|args|input|tool_input)>\s*|(?=<\w))"
)
_OLD_TAGS = tag_notation(r"(?:</parameters>\s*)?</invoke>")
_TAGS = tag_notation(r"(?:\]<\]minimax\[>\[)?</(?:\w+:)?(?:invoke|function|tool)>")
_PEOPLE = frozenset({"assistant", "user", "system", "all"})
_RESUME = re.compile(r"</|<[|｜]|\n\s*\n|```|\[END_TOOL_REQUEST\]")
_OBJECT = re.compile(r"\s*(?=\{)")
_HEADER = re.compile(
    r"(?:<\|start\|>\w*)?\s*(?:to=(?P<early>[\w.\-]+)\s*)?<\|channel\|>\s*(?P<channel>\w*)\s*(?:to=(?P<late>[\w.\-]+))?"
    r"\s*(?:<\|constrain\|>\s*\w*\s*|\w+\s*)?<\|message\|>\s*"
)
_PLAIN_HEADER = re.compile(
    r"(?:<\|start\|>\w*\s*(?:to=(?P<early>[\w.\-]+)\s*)?)?(?:<\|constrain\|>\s*\w*\s*)?<\|message\|>\s*"
)
_RECIPIENT = re.compile(r"\bto=([\w.\-]+)\s*\Z")
_MESSAGE_END = re.compile(r"<\|(?:end|start|channel|return|call)\|>")
_CALL_END = re.compile(r"\s*<\|call\|>")
_KEYWORD = re.compile(r"\s*(?P<quote>[\"']?)(?P<key>[A-Za-z_][\w\-]*(?:\\_[\w\-]*)*)(?P=quote)\s*(?:=(?!=)|:(?!/))\s*")
_PLACEHOLDER = re.compile(rf"(?!{QUOTE.pattern}|{CONSTANT.pattern})[A-Za-z_.\s]")
_TOOL_NAME = re.compile(r"\s*TOOL_NAME:[ \t]*(?P<name>[^\n`]+?)[ \t\r]*(?:\n|(?=`{3}))")
_NAME_ALONE = re.compile(r"\s*(?P<name>[\w.\-:/]+)(?:\(\))?\s*(?=`{3}|~{3})")
_CLOSED = re.compile(r"\s*+[`~]{3,}")
_PAIRS = re.compile(
    r"\s*(?:(?:- )?[\"']?(?:tool|tool_name|name|function|action)[\"']?\s*[:=]|\[?[\w.\-:/]+\]?[ \t]*\n[\w \t\-]+[:=]"
    r"|[/@\[]?[\w.\-:/]+[ \t]+(?:--\w|\w+=))"
)
Reader = Callable[[str], tuple[ToolCall, int]]


def read_bodies(source: Source, start: int, tools: OfferedTools) -> Piece:
    """Reads all adjacent calls after the marker at `start`, skipping fillers and further markers between them."""
    calls: list[ToolCall] = []
    issues: list[Issue] = []
    at, cut = _skip_filler(source.text, start), False
    while found := read_body(source, at, tools) or (None if calls else _read_lines(source, at, tools)):
        calls += found.calls
        issues += found.issues
        cut |= found.cut
        at = _skip_filler(source.text, found.end)
        if found.issues and not found.calls:
            if found.issues[-1].kind == "malformed":  # the rest of a broken call must not be read for calls
                beyond = source.find(_RESUME, at)
                at = beyond.start() if beyond else len(source.text)
            break
    return Piece(start, at, calls, issues, cut)


def _read_lines(source: Source, at: int, tools: OfferedTools) -> Piece | None:
    with suppress(Unreadable):
        call, end = read_lines(source, at, tools) or (None, at)
        return Piece(at, end, [call]) if call else None
    return None


def _skip_filler(text: str, at: int) -> int:
    while found := _FILLER.match(text, at):  # 200 at a time: a million in one match cost twice as much each
        at = found.end()
    return at


def read_body(source: Source, at: int, tools: OfferedTools) -> Piece | None:
    """Reads the calls at `at`; returns None if there are none. An unusable call becomes an issue."""
    text = source.text
    if text.startswith(("{", "[", "`"), at) and not _NAMED.match(text, at + 1):
        return _read_json(source, at, tools)
    at += text.startswith("[", at)
    if not text.startswith("<", at):
        named = _NAMED.match(text, at)
        return _read_named(source, named, tools) if named else None
    if element := _ELEMENT.match(text, at):
        return _read_element(source, element, tools)
    if not (spelled := _SPELLED.match(text, at)):
        return None
    closing = f"</{spelled['given']}>" if spelled["given"] else "</(?:tool|invoke|call|(?:tool|function)_call)>"
    return read_enclosed(source, spelled["name"], spelled.span(), closing, tools)


def _read_json(source: Source, at: int, tools: OfferedTools) -> Piece | None:
    try:
        value, end = source.value(at)
    except Unreadable as error:
        return broken_value(source, at, error, tools)
    return from_value(source, value, (at, end), tools, explicit=True)


def broken_value(source: Source, at: int, error: Unreadable, tools: OfferedTools) -> Piece:
    """Returns the issue of a broken value, with the calls of a list that come before a cut and so are whole."""
    piece = broken_call(source, at, error)
    inside = at + 1
    calls: list[ToolCall] = []
    while error.cut and source.text[at] == "[":
        try:
            value, end = source.value(inside)
            calls += calls_in(value, tools, explicit=not tools.open)
        except (Unreadable, UnknownTool, NotArguments):
            break
        inside = end + 1
    piece.calls = calls
    return piece


def from_value(
    source: Source, value: object, place: tuple[int, int], tools: OfferedTools, *, explicit: bool
) -> Piece | None:
    """Returns the calls in a decoded value, or None if it has nothing to do with calls."""
    start, end = place
    try:
        calls = calls_in(value, tools, explicit=explicit)
    except UnknownTool as unknown:
        return Piece(start, end, issues=[issue("unknown_tool", source.text, start, str(unknown))])
    except NotArguments:
        return Piece(start, end, issues=[issue("malformed", source.text, start, "the arguments are not a JSON object")])
    return Piece(start, end, calls) if calls else None


def broken_call(source: Source, at: int, error: Unreadable) -> Piece:
    """Returns the issue of a call that is cut off or malformed."""
    found = issue("cut_off" if error.cut else "malformed", source.text, at)
    return Piece(at, max(error.at, at + 1), issues=[found], cut=error.cut)


def _read_element(source: Source, element: re.Match[str], tools: OfferedTools) -> Piece:
    """Reads an element whose tag names the tool, and whose arguments are tags or one JSON object."""
    name = element["name"] or element["channel"] or element["old"]
    given = _OBJECT.match(source.text, element.end()) if element["name"] else None
    if given:
        return read_object_for(source, name, (element.start(), given.end()), tools)
    notation = CHANNELS if element["channel"] else _OLD_TAGS if element["old"] else _TAGS
    if notation is _TAGS and PARAMETERS.is_end(source.text, element.end()):
        notation = PARAMETERS
    return _read_tagged(source, (element.start(), element.end()), name, notation, tools)


def _read_tagged(source: Source, place: tuple[int, int], name: str, notation: Notation, tools: OfferedTools) -> Piece:
    start, at = place
    return attempt(source, start, name, tools, lambda tool: read_arguments(source, tool, at, notation, tools))


def attempt(source: Source, start: int, name: str, tools: OfferedTools, read: Reader) -> Piece:
    """Reads the call of the tool that `name` means. A call of an unknown tool is skipped to its end as an issue."""
    tool = tools.resolve(name)
    try:
        call, end = read(tool or name)
    except Unreadable as error:
        if tool is not None:
            return broken_call(source, start, error)
        end = error.at
    if tool is None:
        return Piece(start, max(end, start + 1), issues=[issue("unknown_tool", source.text, start, name)])
    return Piece(start, end, [call])


def read_object_for(source: Source, name: str, place: tuple[int, int], tools: OfferedTools) -> Piece:
    """Reads a call of `name`; `place` is the start of the call and that of the object with its arguments."""
    start, at = place

    def read(tool: str) -> tuple[ToolCall, int]:
        value, end = source.value(at)
        if not isinstance(value, dict):
            raise Unreadable(end)
        return ToolCall(tool, value), end

    return attempt(source, start, name, tools, read)


def read_enclosed(source: Source, name: str, place: tuple[int, int], closing: str, tools: OfferedTools) -> Piece:
    """Reads a call of `name`; `place` is its start and that of its arguments, an object or elements up to `closing`."""
    if not source.text.startswith("{", place[1]):
        return _read_tagged(source, place, name, tag_notation(closing), tools)
    piece = read_object_for(source, name, place, tools)
    return replace(piece, end=source.end_of(re.compile(rf"\s*{closing}"), piece.end))


def _read_named(source: Source, named: re.Match[str], tools: OfferedTools) -> Piece | None:
    name, start, at = named["name"], named.start(), named.start("next")
    if name in _PEOPLE or name == "tool" or (named["next"] == "</tool_call>" and tools.find(name) is None):
        return None
    if named["next"] == "{":
        return read_object_for(source, name, (start, at), tools)
    if named["next"] == "(":
        return attempt(source, start, name, tools, lambda tool: read_call(source.text, tool, at, tools))
    return _read_tagged(source, (start, at), name, ARGUMENT_PAIRS, tools)


def read_message(source: Source, at: int, tools: OfferedTools) -> Piece | None:
    """Reads the message (a call, reasoning or text) whose header begins at `at`; returns None if there is none."""
    header = _HEADER.match(source.text, at) or _PLAIN_HEADER.match(source.text, at)
    if not header:
        return None
    recipient, start = _recipient(source.text, header)
    if recipient not in _PEOPLE:
        piece = read_object_for(source, recipient, (start, header.end()), tools)
        return replace(piece, end=source.end_of(_CALL_END, piece.end))
    if header.groupdict().get("channel") != "analysis":
        return Piece(at, header.end())
    end = source.find(_MESSAGE_END, header.end())
    return Piece(at, end.start() if end else len(source.text))


def _recipient(text: str, header: re.Match[str]) -> tuple[str, int]:
    """Returns the recipient and the start of the message, as the recipient may come before the channel."""
    start, given = header.start(), header.groupdict()
    if recipient := given.get("late") or given["early"]:
        return recipient, start
    before = _RECIPIENT.search(text, max(0, start - 100), start)
    return (before[1], before.start()) if before else ("all", start)


def read_call(text: str, name: str, at: int, tools: OfferedTools) -> tuple[ToolCall, int]:
    """Reads the call in Python notation whose parenthesis opens at `at`. Raises `Unreadable`."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    at += 1
    while text[at := skip_space(text, at)] != ")":
        if text[at] == "," and (positional or keywords):
            at += 1
        elif found := _KEYWORD.match(text, at):
            keywords[found["key"].replace("\\_", "_")], at = read_value(text, found.end())
        else:
            value, at = _read_positional(text, at)
            positional.append(value)
    return ToolCall(name, _arguments(positional, keywords, tuple(tools.properties(name)), at)), at + 1


def _read_positional(text: str, at: int) -> tuple[Any, int]:
    """Reads a positional value. Raises `Unreadable` for a bare word, which is a placeholder (`add(a, b)`)."""
    stars = 2 if text.startswith("**", at) else 0
    if not stars and _PLACEHOLDER.match(text, at):
        read_word(text, at)
        raise Unreadable(at)
    return read_value(text, at + stars)


def _arguments(
    positional: list[Any], keywords: dict[str, Any], properties: tuple[str, ...], at: int
) -> Mapping[str, Any]:
    """Assigns positional values to the tool's parameters in order; a single mapping of its parameters is unpacked."""
    given = positional[0] if len(positional) == 1 else None
    if isinstance(given, dict) and (not given or len(properties) != 1 or given.keys() <= set(properties)):
        return {**given, **keywords}
    if len(positional) > len(properties):
        raise Unreadable(at)
    return {**dict(zip(properties, positional, strict=False)), **keywords}


def read_block(source: Source, at: int, fence: Fence, tools: OfferedTools) -> Piece:
    """Reads the calls in a block for calls, which may have all notations that follow a marker, and looser ones."""
    if named := _TOOL_NAME.match(source.text, fence.inside):
        return _read_named_block(source, (at, named.end()), named["name"], tools)
    alone = _NAME_ALONE.match(source.text, fence.inside)
    if alone and (tool := tools.find(alone["name"])) and not tools.required_names(tool):
        return Piece(at, alone.end(), [ToolCall(tool, {})])
    if found := _read_without_braces(source, at, fence, tools):
        return found
    return replace(read_bodies(source, fence.inside, tools), start=at)


def read_block_of_tool(source: Source, at: int, fence: Fence, tools: OfferedTools) -> Piece | None:
    """Reads a call from a closed block whose language is a tool's name and whose content is one object."""
    tool = tools.find(fence.language)
    inside = _OBJECT.match(source.text, fence.inside)
    if not tool or not inside:
        return None
    piece = read_object_for(source, tool, (at, inside.end()), tools)
    closing = _CLOSED.match(source.text, piece.end)
    return replace(piece, end=closing.end()) if piece.calls and closing else None


def _read_named_block(source: Source, place: tuple[int, int], name: str, tools: OfferedTools) -> Piece:
    """Reads a `TOOL_NAME:` block, which has no escapes. Removes the block's own indentation from the values."""
    at, inside = place
    indent = re.compile(rf"^[ \t]{{0,{len(source.before(at, 60))}}}", re.MULTILINE)

    def read(tool: str) -> tuple[ToolCall, int]:
        call, end = read_arguments(source, tool, inside, BLOCKS, tools)
        given = call.arguments.items()
        flush = {key: indent.sub("", value) if isinstance(value, str) else value for key, value in given}
        return replace(call, arguments=flush), end

    return attempt(source, at, name, tools, read)


def _read_without_braces(source: Source, at: int, fence: Fence, tools: OfferedTools) -> Piece | None:
    """Reads a key and a value per line, or an object without braces. Needs a closed block, as an open one may grow."""
    closing = source.find(fence.closing, fence.inside) if _PAIRS.match(source.text, fence.inside) else None
    if closing is None:
        return None
    if (piece := _read_lines(source, fence.inside, tools)) and not source.text[piece.end : closing.start()].strip():
        return replace(piece, start=at)
    try:
        value, _ = read_value(f"{{{source.text[fence.inside : closing.start()]}}}", 0)
    except Unreadable:
        return Piece(at, closing.start(), issues=[issue("malformed", source.text, at)])
    return from_value(source, value, (at, closing.start()), tools, explicit=True)
