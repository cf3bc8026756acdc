"""Reads calls of offered tools without a marker: an object, a list, a name with arguments, lines or `Action:`."""
# ruff: noqa: RUF001

import re
from contextlib import suppress
from typing import Any

from ...core.messages import ToolCall
from .bodies import attempt, broken_call, broken_value, from_value, read_bodies, read_call, read_object_for
from .calls import NotArguments, OfferedTools, UnknownTool, calls_in
from .fences import is_answer, is_quotation
from .lines import announced_call, read_lines
from .loose_json import Unreadable
from .reading import Piece, Source, issue, parse_object, value_of_type

_OBJECT = re.compile(r"\{\s{0,200}(?:[\"'“‘`\\]{0,2}[\w$.\-/ ]{1,80}[\"'”’`\\]{0,2}\s{0,200}[:,}(]|\}|//|/\*|#)")
_LIST = re.compile(r"\[{1,3}\s{0,200}(?:\{\s{0,200}[\"'“\w]|[\"'`]|\(\s*[\"'])")
_CALLISH = re.compile(
    r"[\[{\s]*[\"']?(?:name|tool|tool_name|function|arguments|parameters|tool_calls|toolCalls)[\"']?\s*:"
)
# These match the reversed text before a call, so that the search begins at the call.
_NAME_BACKWARDS = re.compile(r"[\s`*:]{0,4}([\w.\-/:\\]+)()")
_CALLED_BACKWARDS = re.compile(r"(?:\*\*| )?([\w.\-/:\\]+)(?:\s+(fed|noitcnuf|ssalc|cnuf|nf)\b)?")
_COMMENTING = ("#", "//")
_CHANGED = ("+", "-")
_NUMBER = re.compile(r"^\s*\d{1,2}[.)]\s")
_LINE_REST = re.compile(r"[ \t\])}`'\",;.]*(?:\n|\Z)")
_LEADS_ON = re.compile(r"(?:^|[\s;({])(?:print|return|await|and|or|then)\Z|<!\[CDATA\Z")
_SENTENCE = re.compile(r"[^\W\d_]{2,}[:,;.!?]?(?: |\Z)")
_CONTINUATION = re.compile(r"[\])}`'\"]*,? [^\W\d_A-Z]+(?=[ ,]|\.?(?:\s|\Z))|\]\(")
_GIVES = re.compile(r"[`\]]? ?(?:->|=>|→|⇒) ?[\[{\"'\d]")
_CALL_BEFORE = re.compile(r"[\w.]+\([^\n]*\)[;,]")
_WINDOW_CHARACTERS = 160
_UNDECIDED_CHARACTERS = 120  # characters before the end of the text within which more text may change a reading

_ACTION = re.compile(
    r"(?:(?P<sure>[Aa]ction)|Tool|Function|✿FUNCTION✿)(?:[ _](?:[Nn]ame|[Cc]all))?(?: \d{1,3})?\**\s*:\**[ \t]*"
)
_INPUT_LABEL = r"(?:[Aa]ction[ _][Ii]nput|(?:(?:Tool|Function) )?(?:Input|Arguments|Args)|✿ARGS✿)(?: \d{1,3})?"
_STRUCTURE = re.compile(r"\s*(?:`{3,}\w*\s*)?(?=[{\[]\s*[{\[\"'\w]|<)")
_INPUT = re.compile(
    rf"`?(?P<name>[\w.\-/:\\]+)`?[ \t]*\r?\n[\s]*\**{_INPUT_LABEL}(?P<label>\**\s*:\**[ \t]*)"
    r"(?P<below>\r?\n(?=[ \t]*(?:[-*•+][ \t]+)?[*_`]*\w))?"
)
_BRACKETS = re.compile(r"(?P<name>[\w.\-/:]+)\[(?P<value>[^\[\]\n]*)\]")
_INPUT_OBJECT = re.compile(r"\s*(?:`+\w*\s*|[\"'](?=\{))?(?:(?://|#)[^\n]*\n\s*)?(?=\{)")
_GROWING_ACTION = re.compile(r"[^\n]{0,240}(?:\n\s{0,20}[^\n]{0,60}){0,2}\Z")
# Lines with a tool and its arguments are a call only if nothing but other calls follow; else they describe it.
_ALONE = re.compile(r"\s*(?:\Z|[*_]*(?:Action|Observation|Tool|Function|✿)|`{3})")
_CALL_END = re.compile(r"(?:(?<=\n)|[ \t]*\n?)(?:\s*\Z|[ \t]*\n|`{3})|[ \t]*\n(?![ \t]*[\w*_-]+:)")
_GROWING = re.compile(r"\s*[^\n]{0,40}\Z")
_REST = re.compile(r"`?(?:\s*`{3,}(?=\s|$))?")
OBSERVED = re.compile(r"Observation\**\s*:")
_MARKS = re.compile(r"\s*`*\w*\s*\Z")
_UNCLOSED = re.compile(r"([`\"']).*(?<!\1)|[`\"']|[{\[<].*|")
_NO_INPUT = frozenset({"", "none", "null", "n/a"})
_ASSIGNMENT = re.compile(r"\s*[A-Za-z_]\w*\s*=")


def _name_before(text: str, at: int, pattern: re.Pattern[str]) -> tuple[str, int, bool]:
    """Returns the name that ends before `at`, its start, and whether a keyword such as `def` precedes it."""
    found = pattern.match(text[max(0, at - _WINDOW_CHARACTERS) : at][::-1])
    return (found[1][::-1], at - found.end(1), bool(found[2])) if found else ("", at, False)


def read_parenthesis(source: Source, at: int, tools: OfferedTools) -> Piece | None:
    """Reads `name(...)` with an offered tool's name. Placeholders and prose inside the parentheses make it no call."""
    name, start, is_defined = _name_before(source.text, at, _CALLED_BACKWARDS)
    tool = tools.find(name.lstrip(".-/:"))
    if tool is None or is_defined:
        return None
    try:
        call, end = read_call(source.text, tool, at, tools)
    except Unreadable as error:
        return _no_call(source, start, at, error)
    if not call.arguments and not _stands_alone(source, start, end):
        return Piece(at, end)
    return _unless_mentioned(source, Piece(start, end, [call]))


def _unless_mentioned(source: Source, piece: Piece) -> Piece:
    """Returns the piece, or a quotation if the call is only mentioned: in a sentence, a comment, a diff or a result."""
    if not piece.calls:
        return piece
    text, start, end = source.text, piece.start, piece.end
    before = source.before(start, 40).rstrip(" `[\"'(*{")
    is_mentioned = (
        (before and before[-1].isalnum() and not _LEADS_ON.search(before))
        or is_quotation(text, start, end)
        or is_answer(source, start)
        or before.endswith(("&gt;", "|"))
        or before.strip() in _COMMENTING
        or (source.before(start, 80) or text[start]) in _CHANGED
        # the call's result follows, or the sentence continues after it
        or _GIVES.match(text, end)
        or (_SENTENCE.search(before) and _CONTINUATION.match(text, end))
    )
    return _quotation(source, piece) if is_mentioned else piece


def _quotation(source: Source, piece: Piece) -> Piece:
    """Returns a quotation. Near the end of the text it is `cut`, as the sentence may still end with the call."""
    undecided = len(source.text) - piece.end < _UNDECIDED_CHARACTERS
    return Piece(piece.start, piece.end, issues=[issue("quoted", source.text, piece.start)], cut=undecided)


def _stands_alone(source: Source, start: int, end: int) -> bool:
    """Returns whether `name()` is alone on its line or in a list. In a sentence, people write it for a function."""
    before = _NUMBER.sub("", source.before(start, 300)).strip(" \t`(\"'*-")
    begins = not before or _CALL_BEFORE.fullmatch(before) is not None
    listed = before.startswith("[") and before.endswith(("[", "),"))
    return listed or (begins and _LINE_REST.match(source.text, end) is not None)


def read_brace(source: Source, at: int, tools: OfferedTools, since: int) -> Piece | None:
    """Reads an object that is a call, or the arguments of the tool that is named before it but after `since`."""
    if not _OBJECT.match(source.text, at):
        return None
    name, start, _ = _name_before(source.text, at, _NAME_BACKWARDS) if since < at else ("", at, False)
    name, start = name[max(0, since - start) :], max(start, since)
    if tool := _glued_tool(name, tools):
        return _read_named_object(source, tool, (start + len(name) - len(tool), at), tools)
    return _read_value(source, at, tools)


def _glued_tool(name: str, tools: OfferedTools) -> str | None:
    """Returns the tool at the end of `name`, which may be joined to the end of a sentence (`done.add`)."""
    name = name.rstrip(":")
    while name:
        if tool := tools.find(name):
            return tool
        _, _, name = name.partition(".")
    return None


def _read_named_object(source: Source, tool: str, place: tuple[int, int], tools: OfferedTools) -> Piece | None:
    """Reads the object as the tool's arguments, unless it is a whole call itself."""
    try:
        value, end = source.value(place[1])
    except Unreadable as error:
        return _no_call(source, *place, error)
    if isinstance(value, dict) and "name" in value and value.keys() & {"arguments", "parameters"}:
        whole = from_value(source, value, (place[1], end), tools, explicit=False)
        if whole and whole.calls:
            return _unless_mentioned(source, whole)
    piece = read_object_for(source, tool, place, tools)
    is_mentioned = piece.calls and _CONTINUATION.match(source.text, piece.end)
    return _quotation(source, piece) if is_mentioned else _unless_mentioned(source, piece)


def read_bracket(source: Source, at: int, tools: OfferedTools) -> Piece | None:
    """Reads a list of calls, which may be strings in Python notation."""
    return None if tools.open or not _LIST.match(source.text, at) else _read_value(source, at, tools)


def _read_value(source: Source, at: int, tools: OfferedTools) -> Piece | None:
    """Reads the calls in the value, which may be the arguments of a tool named above it."""
    try:
        value, end = source.value(at)
    except Unreadable as error:
        return _read_no_value(source, at, error, tools)
    if strings := _strings(value):
        return _unless_mentioned(source, Piece(at, end, [call for text in strings for call in _calls(text, tools)]))
    piece = from_value(source, value, (at, end), tools, explicit=False)
    if piece is None and (call := announced_call(source.text, at, value, tools)):
        piece = Piece(at, end, [call])
    return _unless_mentioned(source, piece) if piece else Piece(at, _run_end(source, end))


def _run_end(source: Source, end: int) -> int:
    """Returns the end of a run of objects without gaps, which are records, as the first one is not a call."""
    while source.text.startswith("{", end):
        try:
            _, end = source.value(end)
        except Unreadable as error:
            return max(error.at, end + 1)
    return end


def _read_no_value(source: Source, at: int, error: Unreadable, tools: OfferedTools) -> Piece:
    if _CALLISH.match(source.text, at):
        return broken_value(source, at, error, tools)
    piece = _prose(source, at, at, error)
    if source.may_look_again(piece.end - at):
        piece.end = at + 1
    return piece


def _no_call(source: Source, start: int, at: int, error: Unreadable) -> Piece:
    return broken_call(source, start, error) if error.cut else _prose(source, start, at, error)


def _prose(source: Source, start: int, at: int, error: Unreadable) -> Piece:
    """Returns a piece of prose, which is `cut` near the end of the text, where it may still become a value."""
    return Piece(start, max(error.at, at + 1), cut=error.cut or len(source.text) - error.at < _UNDECIDED_CHARACTERS)


def _strings(value: Any) -> list[str]:
    """Returns the strings in a list (or nested lists) of only strings, else none."""
    if not isinstance(value, list) or not value:
        return []
    found: list[str] = []
    for item in value:
        inner = [item] if isinstance(item, str) else _strings(item)
        if not inner:
            return []
        found += inner
    return found


def _calls(text: str, tools: OfferedTools) -> list[ToolCall]:
    """Returns the calls in a string: an object that was encoded twice, or Python notation."""
    calls: list[ToolCall] = []
    inner, at = Source(text), 0
    if text.lstrip().startswith("{"):
        with suppress(Unreadable, UnknownTool, NotArguments):
            calls += calls_in(parse_object(text), tools, explicit=False)
    while (at := text.find("(", at)) >= 0:
        found = read_parenthesis(inner, at, tools)
        calls += found.calls if found else ()
        at = max(found.end if found else 0, at + 1)
    return calls


def read_action(source: Source, at: int, tools: OfferedTools) -> Piece | None:
    """Reads the call after `Action:` or another label for a tool's name at `at`."""
    announced = _ACTION.match(source.text, at)
    if not announced:
        return None
    piece = (_read_announced if announced["sure"] else _read_labelled)(source, announced.end(), tools)
    if piece is None or not piece.is_call:
        undecided = (piece and piece.cut) or _GROWING_ACTION.match(source.text, announced.end())
        return Piece(at, announced.end(), cut=True) if undecided else None
    return Piece(at, source.end_of(_REST, piece.end), piece.calls, piece.issues, piece.cut)


def _read_announced(source: Source, at: int, tools: OfferedTools) -> Piece | None:
    if structure := _STRUCTURE.match(source.text, at):
        return read_bodies(source, structure.end(), tools)
    if one := _BRACKETS.match(source.text, at):
        return attempt(
            source, at, one["name"], tools, lambda tool: (_call_with_text(one["value"], tool, tools), one.end())
        )
    if piece := _read_labelled(source, at, tools, is_sure=True):
        return piece
    if line := _INPUT.match(source.text, at):
        end = line.end("label")
        return attempt(source, at, line["name"], tools, lambda tool: _read_input(source, tool, end, tools))
    return None


def _read_labelled(source: Source, at: int, tools: OfferedTools, *, is_sure: bool = False) -> Piece | None:
    """Reads a name, and the arguments below a label, as an object or one per line."""
    found = _INPUT.match(source.text, at)
    if not found and not is_sure:
        return read_line(source, at, tools)
    if not found or not (is_sure or tools.find(found["name"])):
        return None
    if given := _INPUT_OBJECT.match(source.text, found.end()):
        return read_object_for(source, found["name"], (at, given.end()), tools)
    return _read_lines_below(source, at, found, tools) if found["below"] else None


def _read_lines_below(source: Source, at: int, label: re.Match[str], tools: OfferedTools) -> Piece | None:
    try:
        call, end = read_lines(source, label.end(), tools, label["name"]) or (None, at)
    except Unreadable as error:
        return Piece(at, label.end(), cut=error.cut)
    if call is None:
        return None
    if _ALONE.match(source.text, end):
        return Piece(at, end, [call])
    return Piece(at, label.end(), cut=True) if _GROWING.match(source.text, end) else None


def read_line(source: Source, at: int, tools: OfferedTools) -> Piece | None:
    """Reads a call in lines without a label for its arguments. The piece is `cut` if the lines may still grow."""
    try:
        call, end = read_lines(source, at, tools) or (None, at)
    except Unreadable as error:
        return Piece(at, error.at, cut=True)
    if call is None or not call.arguments:
        return None
    if _CALL_END.match(source.text, end):
        return Piece(at, end, [call], is_bare=True)
    return None if source.text.find("\n", end) >= 0 else Piece(at, end, cut=True)


def _call_with_text(value: str, tool: str, tools: OfferedTools) -> ToolCall:
    """Returns a call with the text as its only argument. Raises `Unreadable` if the tool needs several."""
    names = tools.required_names(tool) or tuple(tools.properties(tool))[:1]
    if len(names) > 1 or (value and not names):
        raise Unreadable(0)
    return ToolCall(tool, {names[0]: _without_quotes(value.strip(), tools, tool, names[0])} if value else {})


def _read_input(source: Source, tool: str, at: int, tools: OfferedTools) -> tuple[ToolCall, int]:
    """Reads arguments on a line, as `city="Paris"` or as the text of the only parameter. Raises `Unreadable`."""
    text = source.text
    line = text[at : source.line_end(at)].strip()
    end = at + len(line)
    if _ASSIGNMENT.match(line):
        return read_call(f"({line})", tool, 0, tools)[0], end
    names = tools.required_names(tool) or tuple(tools.properties(tool))
    if line.lower() in _NO_INPUT and not (names and _MARKS.match(text, end)):
        return ToolCall(tool, {}), end
    is_cut = _UNCLOSED.fullmatch(line) is not None
    if len(names) != 1 or is_cut:
        raise Unreadable(end, cut=is_cut)
    return ToolCall(tool, {names[0]: _without_quotes(line, tools, tool, names[0])}), end


def _without_quotes(line: str, tools: OfferedTools, tool: str, name: str) -> Any:
    bare = line[1:-1] if len(line) > 1 and line[0] == line[-1] and line[0] in "\"'`" else line
    return value_of_type(bare, tools.properties(tool).get(name))
