"""Calls without any marker: an object, a list, a name with arguments. Only offered tools make them calls."""
# ruff: noqa: RUF001

import re
from typing import Any

from ai_battle.core.messages import ToolCall

from .body import broken, broken_value, from_value, read_object_for
from .fences import is_answer, is_quotation
from .lines import announced_call
from .names import Offered
from .pythonic import read_call
from .reading import Piece, issue
from .shapes import NotArguments, Unknown, calls_in
from .source import Source, parse_object
from .spellings import SPELLINGS
from .tolerant import Unreadable

_OBJECT = re.compile(r"\{\s{0,200}(?:[\"'“‘`\\]{0,2}[\w$.\-/ ]{1,80}[\"'”’`\\]{0,2}\s{0,200}[:,}(]|\}|//|/\*|#)")
_LIST = re.compile(r"\[{1,3}\s{0,200}(?:\{\s{0,200}[\"'“\w]|[\"'`]|\(\s*[\"'])")
_CALLISH = re.compile(
    r"[\[{\s]*[\"']?(?:name|tool|tool_name|function|arguments|parameters|tool_calls|toolCalls)[\"']?\s*:"
)
_NAME_BACKWARDS = re.compile(r"[\s`*:]{0,4}([\w.\-/:\\]+)")
_CALLED_BACKWARDS = re.compile(r"(?:\*\*| )?([\w.\-/:\\]+)(?:\s+(fed|noitcnuf|ssalc|cnuf|nf)\b)?")
_NESTED = re.compile(r"\((?:\w{1,80}+\s?=\s?)?\[?[A-Za-z_][\w.]*+[(\[{]")
_COMMENTING = ("#", "//")
_CHANGED = ("+", "-")
_LABELS = frozenset(SPELLINGS["label"])
_CELL_END = re.compile(r"`? {0,80}\|")
_NUMBER = re.compile(r"^\s*\d{1,2}[.)]\s")
_LINE_REST = re.compile(r"[ \t\])}`'\",;.]*(?:\n|\Z)")
_LEADS_ON = re.compile(r"(?:^|[\s;({])(?:print|return|await|and|or|then)\Z|<!\[CDATA\Z")
_SENTENCE = re.compile(r"[^\W\d_]{2,}[:,;]?(?: |\Z)")
_ON = re.compile(r"[\])}`'\"]*,? [^\W\d_A-Z]+(?=[ ,]|\.?(?:\s|\Z))|\]\(")
_GIVES = re.compile(r"[`\]]? ?(?:->|=>|→|⇒) ?[\[{\"'\d]")
_CALL_BEFORE = re.compile(r"[\w.]+\([^\n]*\)[;,]")
_WINDOW = 160
_UNDECIDED = 120


def _before(text: str, at: int, pattern: re.Pattern[str]) -> tuple[str, int, bool]:
    """The name that ends before `at`, where it starts, and whether it is being defined there."""
    backwards = text[max(0, at - _WINDOW) : at][::-1]
    found = pattern.match(backwards)
    if not found:
        return "", at, False
    return found.group(1)[::-1], at - found.end(1), bool(found.re.groups > 1 and found.group(2))


def read_parenthesis(source: Source, at: int, tools: Offered) -> Piece | None:
    """`name(...)` where the name is an offered tool's; placeholders and other prose in the parentheses make it none."""
    if _NESTED.match(source.text, at):
        return None
    name, start, defined = _before(source.text, at, _CALLED_BACKWARDS)
    tool = tools.known(name.lstrip(".-/:"))
    if tool is None or defined:
        return None
    try:
        call, end = read_call(source.text, tool, at, tools)
    except Unreadable as error:
        return broken(source, start, error) if error.cut else _prose(source, start, at, error)
    if not call.arguments and not _stands_alone(source, start, end):
        return Piece(at, end)
    return _unless_mentioned(source, Piece(start, end, [call]))


def _unless_mentioned(source: Source, piece: Piece) -> Piece:
    """A call in the middle of a sentence is spoken of, not made; so is one that a tool returned."""
    if not piece.calls:
        return piece
    before = source.before(piece.start, 40).rstrip(" `[\"'(*{")
    line = source.before(piece.start, 80) or source.text[piece.start]
    spoken_of = before and before[-1].isalnum() and not _LEADS_ON.search(before)
    shown = is_quotation(source.text, piece.start, piece.end)
    shown = shown or (before.endswith("|") and _CELL_END.match(source.text, piece.end) is not None)
    if not (
        spoken_of
        or shown
        or is_answer(source, piece.start)
        or before.endswith("&gt;")
        or before.strip() in _COMMENTING
        or line in _CHANGED
        or _goes_on(source, piece, before)
    ):
        return piece
    return _quoted(source, piece)


def _quoted(source: Source, piece: Piece) -> Piece:
    """A quotation; near the end of the text the sentence may still turn out to end with the call."""
    undecided = len(source.text) - piece.end < _UNDECIDED
    return Piece(piece.start, piece.end, issues=[issue("quoted", source.text, piece.start)], cut=undecided)


def _goes_on(source: Source, piece: Piece, before: str) -> bool:
    """Whether the sentence that was begun on the line goes on behind the call, or what it returned follows."""
    return _GIVES.match(source.text, piece.end) is not None or (
        _SENTENCE.search(before) is not None and _ON.match(source.text, piece.end) is not None
    )


def _stands_alone(source: Source, start: int, end: int) -> bool:
    """`name()` in a sentence is how people write of a function; alone on its line, or in a list, it is a call."""
    before = _NUMBER.sub("", source.before(start, 300)).strip(" \t`(\"'*-")
    begins = not before or _CALL_BEFORE.fullmatch(before) is not None
    listed = before.startswith("[") and before.count("[") > before.count("]")
    return listed or (begins and _LINE_REST.match(source.text, end) is not None)


def read_brace(source: Source, at: int, tools: Offered, since: int) -> Piece | None:
    """An object that is a call, or the arguments of the tool that is named before it, though behind `since`."""
    if not _OBJECT.match(source.text, at):
        return None
    name, start, _ = _before(source.text, at, _NAME_BACKWARDS) if since < at else ("", at, False)
    name, start = name[max(0, since - start) :], max(start, since)
    if name and (tool := _glued(name, tools)):
        return _named_object(source, tool, (start + len(name) - len(tool), at), tools)
    return _value(source, at, tools, below=since > at - 5 or name.lower() in _LABELS)


def _glued(name: str, tools: Offered) -> str | None:
    """The tool at the end of `name`, which may hang on the last word of a sentence."""
    name = name.rstrip(":")
    while name:
        if tool := tools.known(name):
            return tool
        _, _, name = name.partition(".")
    return None


def _named_object(source: Source, tool: str, place: tuple[int, int], tools: Offered) -> Piece | None:
    """The object is the arguments, unless it is a whole call itself."""
    try:
        value, end = source.value(place[1])
    except Unreadable as error:
        return broken(source, place[0], error) if error.cut else _prose(source, *place, error)
    whole = from_value(source, value, (place[1], end), tools, explicit=False) if _looks_like_call(value) else None
    if whole and whole.calls:
        return _unless_mentioned(source, whole)
    piece = read_object_for(source, tool, place, tools)
    mentioned = piece.calls and _ON.match(source.text, piece.end)
    return _quoted(source, piece) if mentioned else _unless_mentioned(source, piece)


def _looks_like_call(value: Any) -> bool:
    return isinstance(value, dict) and "name" in value and ("arguments" in value or "parameters" in value)


def read_bracket(source: Source, at: int, tools: Offered) -> Piece | None:
    """A list of calls; of strings that are calls in Python's notation, too."""
    return None if tools.open or not _LIST.match(source.text, at) else _value(source, at, tools)


def _value(source: Source, at: int, tools: Offered, *, below: bool = False) -> Piece | None:
    """The calls that the value is; one `below` a line of its own may be the arguments of a tool named there."""
    try:
        value, end = source.value(at)
    except Unreadable as error:
        return _not_a_value(source, at, error, tools)
    if strings := _strings(value):
        return _from_strings(source, strings, (at, end), tools)
    piece = from_value(source, value, (at, end), tools, explicit=False)
    if piece is None and below and (call := announced_call(source.text, at, value, tools)):
        piece = Piece(at, end, [call])
    return _unless_mentioned(source, piece) if piece else Piece(at, _run_end(source, end))


def _run_end(source: Source, end: int) -> int:
    """Past the objects that follow on the heels of one that is no call: a run of records."""
    while source.text.startswith("{", end):
        try:
            _, end = source.value(end)
        except Unreadable as error:
            return max(error.at, end + 1)
    return end


def _not_a_value(source: Source, at: int, error: Unreadable, tools: Offered) -> Piece | None:
    if _CALLISH.match(source.text, at):
        return broken_value(source, at, error, tools)
    piece = _prose(source, at, at, error)
    if source.may_look_again(piece.end - at):
        piece.end = at + 1
    return piece


def _prose(source: Source, start: int, at: int, error: Unreadable) -> Piece:
    """No value, as far as can be said: near the end of the text it may still become one."""
    return Piece(start, max(error.at, at + 1), cut=error.cut or len(source.text) - error.at < _UNDECIDED)


def _strings(value: Any) -> list[str]:
    """The strings that the value is made of, if it is a list of nothing else."""
    if not isinstance(value, list) or not value:
        return []
    found: list[str] = []
    for item in value:
        inner = [item] if isinstance(item, str) else _strings(item)
        if not inner:
            return []
        found += inner
    return found


def _in_string(text: str, tools: Offered) -> list[ToolCall]:
    """The calls of an object that was encoded twice."""
    try:
        return calls_in(parse_object(text), tools, explicit=False)
    except (Unreadable, Unknown, NotArguments):
        return []


def _from_strings(source: Source, strings: list[str], place: tuple[int, int], tools: Offered) -> Piece:
    calls: list[ToolCall] = []
    for text in strings:
        inner, at = Source(text), 0
        if text.lstrip().startswith("{"):
            calls += _in_string(text, tools)
        while (at := text.find("(", at)) >= 0:
            found = read_parenthesis(inner, at, tools)
            calls += found.calls if found else ()
            at = max(found.end if found else 0, at + 1)
    return _unless_mentioned(source, Piece(*place, calls))
