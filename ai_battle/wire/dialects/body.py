"""What can stand behind a marker that announces a call: JSON, a name with arguments, tags, Python, lines, a message."""
# ruff: noqa: RUF001

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from ai_battle.core.messages import ToolCall

from .elements import ARGUMENT_PAIRS, CHANNELS, PARAMETERS, Notation, read_elements, tagged
from .lines import read_lines
from .names import Offered
from .pythonic import read_call
from .reading import Issue, Piece, issue
from .shapes import NotArguments, Unknown, calls_in
from .source import Source
from .spellings import SPELLINGS
from .tolerant import Unreadable

_SPECIAL = r"<[|｜][^<>]{1,80}[|｜]>|\[(?:ARGS|CALL_ID)\]"
_FILLER = re.compile(
    r"(?>(?:[\s,;)]|>>>(?=\w)|(?!<\|open\|>call )<(?!\|\"\|>)[|｜][^<>{}\"]{1,80}[|｜]?>|<[^<>|\"{}=\s]{1,60}[|｜]>"
    r"|\[(?:/?TOOL_CALLS|/?TOOL_REQUEST|END_TOOL_REQUEST)\]"
    r"|\]<\]minimax\[>\[|</?(?:\w+:)?(?:tool[_-]?(?:calls?|use|uses)|use_(?:mcp_)?tool|function_calls?|start_function_call|end_function_call"
    r"|｜DSML｜(?:function_calls|tool_calls))>|functools(?=\[)|```(?:json|xml|python)(?=\s)|```(?=\s*<[|｜/]))*)"
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
_OLD = tagged(r"(?:</parameters>\s*)?</invoke>")
_TAGS = tagged(r"(?:\]<\]minimax\[>\[)?</(?:\w+:)?(?:invoke|function|tool)>")
_ROLES = frozenset(SPELLINGS["person"])
_RESUME = re.compile(r"</|<[|｜]|\n\s*\n|```|\[END_TOOL_REQUEST\]")
Reader = Callable[[str], tuple[ToolCall, int]]
_HEADER = re.compile(
    r"(?:<\|start\|>\w*)?\s*(?:to=(?P<early>[\w.\-]+)\s*)?<\|channel\|>\s*(?P<channel>\w*)\s*(?:to=(?P<late>[\w.\-]+))?"
    r"\s*(?:<\|constrain\|>\s*\w*\s*|\w+\s*)?<\|message\|>\s*"
)
_PLAIN_HEADER = re.compile(
    r"(?:<\|start\|>\w*\s*(?:to=(?P<early>[\w.\-]+)\s*)?)?(?:<\|constrain\|>\s*\w*\s*)?<\|message\|>\s*"
)
_BEFORE = re.compile(r"\bto=([\w.\-]+)\s*\Z")
_END = re.compile(r"<\|(?:end|start|channel|return|call)\|>")
_CALLED = re.compile(r"\s*<\|call\|>")
_PEOPLE = frozenset({"assistant", "user", "all", "system"})


def read_bodies(source: Source, start: int, tools: Offered) -> Piece:
    """All calls in a row behind the marker at `start`, fillers and further markers between them skipped."""
    calls: list[ToolCall] = []
    issues: list[Issue] = []
    at, cut = _skipped(source.text, start), False
    while (found := read_body(source, at, tools) or (None if calls else _read_lines(source, at, tools))) is not None:
        calls += found.calls
        issues += found.issues
        cut |= found.cut
        at = _skipped(source.text, found.end)
        if found.issues and not found.calls:
            at = _given_up(source, at) if found.issues[-1].kind == "malformed" else at
            break
    return Piece(start, at, calls, issues, cut)


def _read_lines(source: Source, at: int, tools: Offered) -> Piece | None:
    """A call as lines of a key and a value."""
    with suppress(Unreadable):
        call, end = read_lines(source, at, tools) or (None, at)
        return Piece(at, end, [call]) if call else None
    return None


def _given_up(source: Source, at: int) -> int:
    """What is left of a broken call is no place to look for calls in."""
    beyond = source.find(_RESUME, at)
    return beyond.start() if beyond else len(source.text)


def _skipped(text: str, at: int) -> int:
    found = _FILLER.match(text, at)
    return found.end() if found else at


def read_body(source: Source, at: int, tools: Offered) -> Piece | None:
    """The call or calls at `at`, or none; one that can't be used is an issue."""
    text = source.text
    if text.startswith(("{", "[", "`"), at) and not _NAMED.match(text, at + 1):
        return read_json(source, at, tools, explicit=True)
    at += text.startswith("[", at)
    if text.startswith("<", at):
        return _read_tags(source, at, tools)
    named = _NAMED.match(text, at)
    return _read_named(source, named, tools) if named else None


def _read_tags(source: Source, at: int, tools: Offered) -> Piece | None:
    if element := _ELEMENT.match(source.text, at):
        return read_element(source, element, tools)
    spelled = _SPELLED.match(source.text, at)
    if spelled is None:
        return None
    closing = f"</{spelled['given']}>" if spelled["given"] else "</(?:tool|invoke|call|(?:tool|function)_call)>"
    return read_enclosed(source, spelled["name"], spelled.span(), closing, tools)


def read_json(source: Source, at: int, tools: Offered, *, explicit: bool) -> Piece | None:
    """Calls in the value at `at`; none when it is no value, or one that has nothing to do with calls."""
    try:
        value, end = source.value(at)
    except Unreadable as error:
        return broken_value(source, at, error, tools)
    return from_value(source, value, (at, end), tools, explicit=explicit)


def broken_value(source: Source, at: int, error: Unreadable, tools: Offered) -> Piece:
    """Of a list that breaks off, the calls before the break are whole."""
    piece = broken(source, at, error)
    inside = at + 1
    calls: list[ToolCall] = []
    while error.cut and source.text[at] == "[":
        try:
            value, end = source.value(inside)
            calls += calls_in(value, tools, explicit=not tools.open)
        except (Unreadable, Unknown, NotArguments):
            break
        inside = end + 1
    piece.calls = calls
    return piece


def from_value(
    source: Source, value: object, place: tuple[int, int], tools: Offered, *, explicit: bool
) -> Piece | None:
    start, end = place
    try:
        calls = calls_in(value, tools, explicit=explicit)
    except Unknown as unknown:
        return Piece(start, end, issues=[issue("unknown_tool", source.text, start, str(unknown))])
    except NotArguments:
        return Piece(start, end, issues=[issue("malformed", source.text, start, "the arguments are no JSON object")])
    return Piece(start, end, calls) if calls else None


def broken(source: Source, at: int, error: Unreadable) -> Piece:
    """A call that could not be read to its end."""
    found = issue("cut_off" if error.cut else "malformed", source.text, at)
    return Piece(at, max(error.at, at + 1), issues=[found], cut=error.cut)


def read_element(source: Source, element: re.Match[str], tools: Offered) -> Piece:
    """From a tag that names the tool; its arguments are tags, or one JSON object."""
    name = element["name"] or element["channel"] or element["old"]
    at, text = element.end(), source.text
    if element["name"] and text.startswith("{", _blank(text, at)):
        return read_object_for(source, name, (element.start(), _blank(text, at)), tools)
    notation = _notation(text, element)
    return attempt(source, element.start(), name, tools, lambda tool: read_elements(source, tool, at, notation, tools))


def _notation(text: str, element: re.Match[str]) -> Notation:
    if element["channel"]:
        return CHANNELS
    if element["old"]:
        return _OLD
    follows = PARAMETERS.key.match(text, element.end()) or PARAMETERS.close.match(text, element.end())
    return PARAMETERS if follows else _TAGS


def _blank(text: str, at: int) -> int:
    while text[at : at + 1].isspace():
        at += 1
    return at


def attempt(source: Source, start: int, name: str, tools: Offered, read: Reader) -> Piece:
    """What `read` makes of the tool that is meant by `name`; a call of an unknown tool is read over."""
    tool = tools.resolve(name)
    if tool is None:
        try:
            _, end = read(name)
        except Unreadable as error:
            end = error.at
        return Piece(start, max(end, start + 1), issues=[issue("unknown_tool", source.text, start, name)])
    try:
        call, end = read(tool)
    except Unreadable as error:
        return broken(source, start, error)
    return Piece(start, end, [call])


def read_object_for(source: Source, name: str, place: tuple[int, int], tools: Offered) -> Piece:
    """The call of `name` that starts at the first place, with its arguments as an object at the second."""
    start, at = place

    def read(tool: str) -> tuple[ToolCall, int]:
        value, end = source.value(at)
        if not isinstance(value, dict):
            raise Unreadable(end)
        return ToolCall(tool, value), end

    return attempt(source, start, name, tools, read)


def read_enclosed(source: Source, name: str, place: tuple[int, int], closing: str, tools: Offered) -> Piece:
    """The call of `name` from the first place on; from the second to the closing tag, one object or an element each."""
    start, at = place
    if source.text.startswith("{", at):
        piece = read_object_for(source, name, place, tools)
        closed = re.compile(rf"\s*{closing}").match(source.text, piece.end)
        return replace(piece, end=closed.end()) if closed else piece
    notation = tagged(closing)
    return attempt(source, start, name, tools, lambda tool: read_elements(source, tool, at, notation, tools))


def _read_named(source: Source, named: re.Match[str], tools: Offered) -> Piece | None:
    name, at = named["name"], named.start("next")
    if name in _ROLES or (named["next"] == "</tool_call>" and tools.known(name) is None):
        return None
    if named["next"] == "{":
        return read_object_for(source, name, (named.start(), at), tools)
    if named["next"] == "(":
        return attempt(source, named.start(), name, tools, lambda tool: read_call(source.text, tool, at, tools))
    return attempt(
        source, named.start(), name, tools, lambda tool: read_elements(source, tool, at, ARGUMENT_PAIRS, tools)
    )


def read_message(source: Source, at: int, tools: Offered) -> Piece | None:
    """The message whose header begins at `at`, or none if there is no header."""
    found = _HEADER.match(source.text, at) or _PLAIN_HEADER.match(source.text, at)
    if not found:
        return None
    recipient, start = _recipient(source.text, found)
    if recipient and recipient not in _PEOPLE:
        return _call(source, recipient, (start, found.end()), tools)
    if found.groupdict().get("channel") != "analysis":
        return Piece(at, found.end())
    end = source.find(_END, found.end())
    return Piece(at, end.start() if end else len(source.text))


def _recipient(text: str, header: re.Match[str]) -> tuple[str, int]:
    """Whom the message is for, and where the header that says so begins; it may be named before the channel."""
    given = header.groupdict()
    if name := given.get("late") or given["early"]:
        return name, header.start()
    before = _BEFORE.search(text, max(0, header.start() - 100), header.start())
    return (before.group(1), before.start()) if before else ("", header.start())


def _call(source: Source, name: str, place: tuple[int, int], tools: Offered) -> Piece:
    piece = read_object_for(source, name, place, tools)
    called = _CALLED.match(source.text, piece.end)
    piece.end = called.end() if called else piece.end
    return piece
