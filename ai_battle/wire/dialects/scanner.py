"""Walks over a text from opener to opener; the table `_OPENERS` gives the readers for each."""
# ruff: noqa: RUF001

import re
from collections.abc import Callable
from dataclasses import replace

from . import thinking
from .bodies import read_block, read_block_of_tool, read_bodies, read_enclosed, read_message
from .calls import OfferedTools
from .fences import (
    CALL_LABELS,
    READABLE,
    Fence,
    fence_at,
    inline_code_end,
    is_quotation,
    is_shown_value,
    is_within_code,
)
from .reading import Piece, Source, issue
from .tags import ATTRIBUTES, read_attributes
from .unmarked import OBSERVED, read_action, read_brace, read_bracket, read_line, read_parenthesis

# The beginning of a line that may be a call: a name and its arguments, or a label for the name.
_LINE = (
    r"(?:[/@\[]?[\w.\-:]{2,128}[ \t]+(?:--\w|\w{1,80}(?:=|\Z))"
    r"|[ \t]{0,8}(?:[-*+•][ \t]+)?[*_`\"']{0,3}(?:tool|function)(?:[_ ]name)?[*_`\"']{0,3}[ \t]*[:=])"
)
_FIRST_LINE = re.compile(f"(?={_LINE})")
# Each alternative begins with a literal character, so the regular-expression engine skips all other text fast.
_OPENER = re.compile(
    r"`|~|>|◁|<(?=[|｜/A-Za-z])|\{(?=\s{0,200}[\"'“‘\\\w`}/#])|\((?:(?<=[\w`*]\()|(?<=[\w`]\s\())"
    r"|\[(?=\[{0,2}\s{0,200}(?:\{\s{0,200}[\"'“\w]|[\"'`A-Z]|\(\s*[\"']))|Action|action|Observation|Tool|Function|✿F"
    rf"|\n(?={_LINE})"
)
_MARKER = re.compile(
    r"<(?:\w+:)?(?:tool[_-]?calls?|tool[_-]?uses?|use_(?:mcp_)?tool|tool_request|function_calls?|start_function_call|functions|tool)>"
    r"|<[|｜](?:DSML｜)?(?:tool|function|action|plugin)(?:[\w▁]*)[|｜]?>|<\|(?:python_tag|START_ACTION|tools_prefix|recipient)\|>"
)
_ENDS = re.compile(r"<[^<>]*(?:end|suffix|output|response|result)s?[|｜]?>", re.IGNORECASE)
_ELEMENT = re.compile(
    r"<(?:｜DSML｜|\w+:)?(?:function|invoke|tool)(?:=|\s*name=)|<(?:\w+:)?(?:tool|function)_call\s+(?:id=[\"'][^\"'<>]{0,80}[\"']\s+)?name="
    r"|<\|open\|>call tool=|<invoke>\s*<tool_name>"
)
_NOT_OURS = re.compile(
    r"<[|｜]?(?P<tag>tool_responses?|tool_results?|tool_outputs?|function_results?|function_response|available_tools"
    r"|tools(?!>\s*\{\s*\"name\"\s*:[^{}:]*,\s*\"arguments\")|tool▁outputs?▁begin|observation|example|documentation)[|｜]?>"
)
_SQUARE = re.compile(r"\[(?:TOOL_CALLS|TOOL_REQUEST)\]|(?<=functools)\[")
_MESSAGE = re.compile(r"<\|(?:channel|start|constrain|message)\|>")
_MARKS = re.compile(r"`+|~+")
_ANYTHING, _LINE_BREAK = re.compile(""), re.compile(r"\n")
_FUNCTIONARY = re.compile(r">>>(?=[\w.\-]+\n)")
_TAG = re.compile(r"<([A-Za-z_][\w.\-:]*)>\s*")
_NEXT_BLOCK = re.compile(r"\s*+`{3,}[ \t]*(?:tool|function)")
_CLOSING = re.compile(r"\s*+[`~]{3,}(?![\w`~])")


class Scanner:
    """Returns the pieces of a text in order. It reads nothing twice: each piece ends after all text examined for it."""

    def __init__(self, text: str, tools: OfferedTools) -> None:
        self.source = Source(text)
        self.tools = tools
        self.at = 0
        self._fence: Fence | None = None
        self._thinks = False
        self._acted = False
        self._since = 0

    def resume_at(self, text: str, at: int, gone: int = 0) -> "Scanner":
        """Returns a scanner that continues at `at` of the grown `text`, whose first `gone` characters were dropped."""
        scanner = Scanner(text, self.tools)
        scanner.at, scanner._thinks, scanner._since = at, self._thinks, max(0, self._since - gone)
        if fence := self._fence:
            scanner._fence = replace(fence, inside=max(0, fence.inside - gone))
        return scanner

    def next(self) -> Piece | None:
        """Returns the next piece that is not plain prose, or None at the end of the text."""
        text = self.source.text
        first = _FIRST_LINE.match(text, self.at) if self.source.begins_line(self.at) else None
        if first and (piece := self._read_line(first)):
            self.at = max(piece.end, self.at + 1)
            return piece
        while opener := _OPENER.search(text, self.at):
            at = opener.start()
            piece = self._piece(at)
            self.at = piece.end if piece and piece.end > at else at + 1
            if piece:
                return piece
        self.at = len(text)
        return None

    def _piece(self, at: int) -> Piece | None:
        """Returns the piece of the first reader that accepts the opener at `at`. In reasoning, only some are tried."""
        text = self.source.text
        for pattern, reader, reads_thoughts in _OPENERS.get(text[at : at + 2]) or _OPENERS[text[at]]:
            if reads_thoughts or not self._thinks:
                found = pattern.match(text, at)
                if found and (piece := reader(self, found)):
                    return piece
        return None

    def _skip_thinking(self, found: re.Match[str]) -> Piece:
        """Skips to the end of the reasoning. Without an end mark, only special tokens begin a call from here on."""
        close = self.source.find(thinking.closer(found), found.end())
        self._thinks = close is None
        return Piece(found.start(), close.end() if close else found.end())

    def _end_thinking(self, found: re.Match[str]) -> Piece:
        """Handles a closing tag without an opening one: all text before it was reasoning."""
        self._thinks = False
        return Piece(0, found.end())

    def _skip_definitions(self, found: re.Match[str]) -> Piece:
        """Skips definitions of tools, and results that the model quotes or invents."""
        close = self.source.find(re.compile(rf"</{found['tag']}>|<[|｜]tool▁outputs?▁end[|｜]>"), found.end())
        return Piece(found.start(), close.end() if close else found.end())

    def _read_message(self, found: re.Match[str]) -> Piece | None:
        return read_message(self.source, found.start(), self.tools)

    def _read_marked(self, found: re.Match[str]) -> Piece | None:
        return None if _ENDS.match(found.group()) else self._read_bodies(found)

    def _read_bodies(self, found: re.Match[str]) -> Piece:
        """Reads the bodies after a marker. While there is no call, one may still come, so the piece is `cut`."""
        at = found.start()
        piece = read_bodies(self.source, at, self.tools)
        is_example = not self._fence and is_shown_value(self.source, None, at)
        if piece.calls and (is_example or is_quotation(self.source.text, at, piece.end)):
            return Piece(at, piece.end, issues=[issue("quoted", self.source.text, at)])
        piece.cut |= not piece.calls
        return piece

    def _read_attributes(self, found: re.Match[str]) -> Piece | None:
        call = read_attributes(found, self.tools)
        return Piece(found.start(), found.end(), [call]) if call else None

    def _read_tag(self, found: re.Match[str]) -> Piece | None:
        tool = self.tools.find(found[1])
        if tool is None:
            return None
        return read_enclosed(self.source, tool, found.span(), f"</{re.escape(found[1])}>", self.tools)

    def _read_bracket(self, found: re.Match[str]) -> Piece | None:
        return self._unless_shown(read_bracket(self.source, found.start(), self.tools))

    def _read_brace(self, found: re.Match[str]) -> Piece | None:
        return self._unless_shown(read_brace(self.source, found.start(), self.tools, self._since))

    def _unless_shown(self, piece: Piece | None) -> Piece | None:
        """Returns the piece, or prose if the value is a part of a program's line or an indented example."""
        if not piece or not is_shown_value(self.source, self._fence, piece.start):
            return _bare_piece(piece)
        return Piece(piece.start, piece.end, cut=piece.cut) if piece.is_call else None

    def _read_parenthesis(self, found: re.Match[str]) -> Piece | None:
        piece = _bare_piece(read_parenthesis(self.source, found.start(), self.tools))
        if piece and piece.calls and is_within_code(self.source, self._fence, piece.start, piece.calls[0].name):
            return Piece(piece.start, piece.end)
        return piece

    def _read_marks(self, found: re.Match[str]) -> Piece:
        """Handles marks that open or close a fenced block or inline code."""
        text, source, (at, end) = self.source.text, self.source, found.span()
        if self._thinks:
            return Piece(at, end)
        is_last = text[end : end + 1] in ("", "\n")
        fence = fence_at(source, at) if end - at > 2 and not (self._fence and is_last) else None
        if self._fence:
            return self._read_marks_within(self._fence, fence, at, end)
        if fence:
            return self._open_fence(at, fence)
        if text[at] == "~":
            return Piece(at, end)
        end, may_be_code = inline_code_end(source, at, end)
        return Piece(at, end, cut=may_be_code)

    def _read_marks_within(self, outer: Fence, inner: Fence | None, at: int, end: int) -> Piece:
        """Handles marks within a fenced block: they open an inner block or close this one."""
        if inner and inner.language and not self.tools.find(inner.language):
            return self._skip_block(at, inner)
        if self.source.text[at:end].startswith(outer.marks):
            self._fence = None
        return Piece(at, end)

    def _open_fence(self, at: int, fence: Fence) -> Piece:
        # More marks than needed are there to quote other blocks, or a string in JSON.
        if fence.is_shown or (len(fence.marks) > 3 and fence.language not in (*CALL_LABELS, "json")):
            return self._skip_block(at, fence)
        if fence.language not in READABLE:
            return read_block_of_tool(self.source, at, fence, self.tools) or self._skip_block(at, fence)
        self._fence = fence
        if fence.language in CALL_LABELS:
            return self._read_calling_block(at, fence)
        return replace(self._skip_to(at, fence.inside), opens_block=True)

    def _skip_block(self, at: int, fence: Fence) -> Piece:
        """Skips a block that is meant for people."""
        close = self.source.find(fence.closing, fence.inside)
        return self._skip_to(at, close.end() if close else len(self.source.text), cut=close is None)

    def _read_calling_block(self, at: int, fence: Fence) -> Piece:
        """Reads a block for calls and its closing marks, whose number may differ from the opening ones."""
        piece = read_block(self.source, at, fence, self.tools)
        closing = _CLOSING.match(self.source.text, piece.end) if piece.is_call else None
        if closing or (piece.calls and _NEXT_BLOCK.match(self.source.text, piece.end)):
            self._fence = None
        piece.end = closing.end() if closing else piece.end
        piece.cut |= not piece.calls
        return piece

    def _skip_quoted_line(self, found: re.Match[str]) -> Piece | None:
        """Skips a quoted line, unless `>>>` begins a call in Functionary's format."""
        at, text = found.start(), self.source.text
        before = self.source.before(at, 4)
        if before.strip(" ") or len(before) > 3:
            return None
        if marker := _FUNCTIONARY.match(text, at):
            return self._read_bodies(marker)
        end = text.find("\n", at)
        return self._skip_to(at, len(text) if end < 0 else end)

    def _skip_to(self, at: int, end: int, *, cut: bool = False) -> Piece:
        """Returns prose up to `end`. Its last word is not the name of a tool whose arguments follow."""
        self._since = end
        return Piece(at, end, cut=cut)

    def _read_action(self, found: re.Match[str]) -> Piece | None:
        piece = read_action(self.source, found.start(), self.tools) if self._begins_line(found.start()) else None
        self._acted |= bool(piece and piece.calls)
        return piece

    def _read_line(self, found: re.Match[str]) -> Piece | None:
        """Reads a line that begins with a tool's name or a label for it."""
        return None if self._thinks or self.tools.open else read_line(self.source, found.end(), self.tools)

    def _skip_observation(self, found: re.Match[str]) -> Piece | None:
        """Skips the rest of the text from an observation on that the model invents after its own action."""
        at = found.start()
        return Piece(at, len(self.source.text)) if self._acted and self._begins_line(at) else None

    def _begins_line(self, at: int) -> bool:
        line = self.source.before(at, 12)
        return len(line) < 12 and not line.strip("* #-_")


def _bare_piece(piece: Piece | None) -> Piece | None:
    if piece:
        piece.is_bare = True
    return piece


_Opener = tuple[re.Pattern[str], Callable[[Scanner, re.Match[str]], Piece | None], bool]
_THINKING: tuple[_Opener, ...] = (
    (thinking.OPENING_TAG, Scanner._skip_thinking, True),
    (thinking.CLOSING_TAG, Scanner._end_thinking, True),
)
_DEFINITIONS: _Opener = (_NOT_OURS, Scanner._skip_definitions, True)
_TOKENS: tuple[_Opener, ...] = (
    *_THINKING,
    _DEFINITIONS,
    (_MESSAGE, Scanner._read_message, True),
    (_MARKER, Scanner._read_marked, True),
    (_ELEMENT, Scanner._read_bodies, False),
)
# The readers for the next one or two characters, in order: pattern, reader, and whether it looks in reasoning too.
_OPENERS: dict[str, tuple[_Opener, ...]] = {
    "<|": _TOKENS,
    "<｜": _TOKENS,
    "</": _THINKING,
    "<": (
        (thinking.OPENING_TAG, Scanner._skip_thinking, True),
        _DEFINITIONS,
        (_MARKER, Scanner._read_marked, False),
        (ATTRIBUTES, Scanner._read_attributes, False),
        (_ELEMENT, Scanner._read_bodies, False),
        (_TAG, Scanner._read_tag, False),
    ),
    "◁": _THINKING,
    "[": (*_THINKING, (_SQUARE, Scanner._read_bodies, True), (_ANYTHING, Scanner._read_bracket, False)),
    "{": ((_ANYTHING, Scanner._read_brace, False),),
    "(": ((_ANYTHING, Scanner._read_parenthesis, False),),
    **dict.fromkeys("`~", ((_MARKS, Scanner._read_marks, True),)),
    ">": ((_ANYTHING, Scanner._skip_quoted_line, False),),
    **dict.fromkeys("AaTF✿", ((_ANYTHING, Scanner._read_action, False),)),
    "O": ((OBSERVED, Scanner._skip_observation, True),),
    "\n": ((_LINE_BREAK, Scanner._read_line, False),),
}
