"""`Action: name`, `Action Input: ...` and the other ways to announce an action on a line of its own."""

import re
from typing import Any

from ai_battle.core.messages import ToolCall

from .body import attempt, read_bodies, read_object_for
from .names import Offered
from .pythonic import read_call
from .reading import Piece
from .source import Source
from .tolerant import Unreadable
from .typed import typed

_ACTION = re.compile(r"Action\**\s*:\**[ \t]*")
_STRUCTURE = re.compile(r"\s*(?:`{3,}\w*\s*)?(?=[{\[]\s*[{\[\"'\w]|<)")
_INPUT = re.compile(r"`?(?P<name>[\w.\-/:\\]+)`?[ \t]*\r?\n[\s]*\**Action[ _]Input\**\s*:\**[ \t]*")
_OBJECT = re.compile(r"\s*(?:`+\w*\s*)?(?:(?://|#)[^\n]*\n\s*)?(?=\{)")
_UNDECIDED = re.compile(r"[^\n]{0,240}(?:\n\s{0,20}[^\n]{0,60}){0,2}\Z")
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
    piece = _announced(source, announced.end(), tools)
    if piece is None or not piece.is_call:
        undecided = _UNDECIDED.match(source.text, announced.end())
        return Piece(at, announced.end(), cut=True) if undecided else None
    rest = _REST.match(source.text, piece.end)
    return Piece(at, rest.end() if rest else piece.end, piece.calls, piece.issues, piece.cut)


def _announced(source: Source, at: int, tools: Offered) -> Piece | None:
    if structure := _STRUCTURE.match(source.text, at):
        return read_bodies(source, structure.end(), tools)
    if found := _INPUT.match(source.text, at):
        if given := _OBJECT.match(source.text, found.end()):
            return read_object_for(source, found["name"], (at, given.end()), tools)
        return attempt(source, at, found["name"], tools, lambda tool: _from_line(source.text, tool, found.end(), tools))
    return None


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
