"""`Action: name`, `Action Input: ...` and the other ways to announce an action on a line of its own."""

import re
from typing import Any

from ai_battle.core.messages import ToolCall

from .body import attempt, read_bodies, read_object_for
from .lines import read_lines, read_table
from .names import Offered
from .pythonic import read_call
from .reading import Piece
from .source import Source
from .tolerant import Unreadable
from .typed import typed

_ACTION = re.compile(
    r"(?:(?P<sure>[Aa]ction)|Tool|Function|✿FUNCTION✿)(?:[ _](?:[Nn]ame|[Cc]all))?(?: \d{1,3})?\**\s*:\**[ \t]*"
)
_GIVEN = r"(?:[Aa]ction[ _][Ii]nput|(?:(?:Tool|Function) )?(?:Input|Arguments|Args)|✿ARGS✿)(?: \d{1,3})?"
_STRUCTURE = re.compile(r"\s*(?:`{3,}\w*\s*)?(?=[{\[]\s*[{\[\"'\w]|<)")
_INPUT = re.compile(
    rf"`?(?P<name>[\w.\-/:\\]+)`?[ \t]*\r?\n[\s]*\**{_GIVEN}(?P<label>\**\s*:\**[ \t]*)"
    r"(?P<below>\r?\n(?=[ \t]*(?:[-*•+][ \t]+)?[*_`]*\w))?"
)
_BRACKETS = re.compile(r"(?P<name>[\w.\-/:]+)\[(?P<value>[^\[\]\n]*)\]")
_OBJECT = re.compile(r"\s*(?:`+\w*\s*|[\"'](?=\{))?(?:(?://|#)[^\n]*\n\s*)?(?=\{)")
_UNDECIDED = re.compile(r"[^\n]{0,240}(?:\n\s{0,20}[^\n]{0,60}){0,2}\Z")
# Lines of a tool and its arguments are a call where nothing but others follow: else they describe it.
_ALONE = re.compile(r"\s*(?:\Z|[*_]*(?:Action|Observation|Tool|Function|✿)|`{3})")
_PARTED = re.compile(r"(?:(?<=\n)|[ \t]*\n?)(?:\s*\Z|[ \t]*\n|`{3})|[ \t]*\n(?![ \t]*[\w*_-]+:)")
_GROWING = re.compile(r"\s*[^\n]{0,40}\Z")
_REST = re.compile(r"`?(?:\s*`{3,}(?=\s|$))?")
OBSERVED = re.compile(r"Observation\**\s*:")
_MARKS = re.compile(r"\s*`*\w*\s*\Z")
_UNCLOSED = re.compile(r"([`\"']).*(?<!\1)|[`\"']|[{\[<].*")
_NOTHING = frozenset({"", "none", "null", "n/a"})
_ASSIGNMENT = re.compile(r"\s*[A-Za-z_]\w*\s*=")


def read_action(source: Source, at: int, tools: Offered) -> Piece | None:
    """The call that `Action:` at `at` announces."""
    announced = _ACTION.match(source.text, at)
    if not announced:
        return None
    piece = (_announced if announced["sure"] else _labelled)(source, announced.end(), tools)
    if piece is None or not piece.is_call:
        undecided = (piece and piece.cut) or _UNDECIDED.match(source.text, announced.end())
        return Piece(at, announced.end(), cut=True) if undecided else None
    rest = _REST.match(source.text, piece.end)
    return Piece(at, rest.end() if rest else piece.end, piece.calls, piece.issues, piece.cut)


def _announced(source: Source, at: int, tools: Offered) -> Piece | None:
    if structure := _STRUCTURE.match(source.text, at):
        return read_bodies(source, structure.end(), tools)
    if one := _BRACKETS.match(source.text, at):
        return attempt(source, at, one["name"], tools, lambda tool: (_of_one(one["value"], tool, tools), one.end()))
    if piece := _labelled(source, at, tools, sure=True):
        return piece
    if line := _INPUT.match(source.text, at):
        end = line.end("label")
        return attempt(source, at, line["name"], tools, lambda tool: _from_line(source.text, tool, end, tools))
    return None


def _labelled(source: Source, at: int, tools: Offered, *, sure: bool = False) -> Piece | None:
    """A name, and below a label the arguments: an object, or a line for each."""
    found = _INPUT.match(source.text, at)
    if not found and not sure:
        return read_line(source, at, tools)
    if not found or not (sure or tools.known(found["name"])):
        return None
    if given := _OBJECT.match(source.text, found.end()):
        return read_object_for(source, found["name"], (at, given.end()), tools)
    try:
        lines = read_lines(source, found.end(), tools, found["name"]) if found["below"] else None
    except Unreadable as error:
        return Piece(at, found.end(), cut=error.cut)
    if lines is None or not _ALONE.match(source.text, lines[1]):
        return Piece(at, found.end(), cut=True) if lines and _GROWING.match(source.text, lines[1]) else None
    return Piece(at, lines[1], [lines[0]])


def read_line(source: Source, at: int, tools: Offered) -> Piece | None:
    """A call of lines that are nothing else, without a label for its arguments; a line that grows may become one."""
    if source.text.startswith("|", at):
        calls, end = read_table(source.text, at, tools)
        return Piece(at, end, calls, cut="\n" not in source.text[end:], is_bare=True)
    try:
        call, end = read_lines(source, at, tools) or (None, at)
    except Unreadable as error:
        return Piece(at, error.at, cut=True)
    if call is None or not call.arguments:
        return None
    if _PARTED.match(source.text, end):
        return Piece(at, end, [call], is_bare=True)
    return None if "\n" in source.text[end:] else Piece(at, end, cut=True)


def _of_one(value: str, tool: str, tools: Offered) -> ToolCall:
    """The call with the text of the one parameter that there is, if there is a text."""
    names = tools.required(tool) or tuple(tools.properties(tool))[:1]
    if len(names) > 1 or (value and not names):
        raise Unreadable(0)
    return ToolCall(tool, {names[0]: _unquoted(value.strip(), tools, tool, names[0])} if value else {})


def _from_line(text: str, tool: str, at: int, tools: Offered) -> tuple[ToolCall, int]:
    """Arguments that are no object: `city="Paris"`, or the text of the one parameter that there is."""
    line = _line(text, at)
    end = at + len(line)
    if _ASSIGNMENT.match(line):
        return read_call(f"({line})", tool, 0, tools)[0], end
    names = tools.required(tool) or tuple(tools.properties(tool))
    if line.lower() in _NOTHING and not (names and _MARKS.match(text, end)):
        return ToolCall(tool, {}), end
    if len(names) != 1 or _is_cut(line):
        raise Unreadable(end, cut=_is_cut(line))
    return ToolCall(tool, {names[0]: _unquoted(line, tools, tool, names[0])}), end


def _line(text: str, at: int) -> str:
    end = text.find("\n", at)
    return text[at : end if end >= 0 else len(text)].strip()


def _is_cut(line: str) -> bool:
    return not line or _UNCLOSED.fullmatch(line) is not None


def _unquoted(line: str, tools: Offered, tool: str, name: str) -> Any:
    bare = line[1:-1] if len(line) > 1 and line[0] == line[-1] and line[0] in "\"'`" else line
    return typed(bare, tools.properties(tool).get(name))
