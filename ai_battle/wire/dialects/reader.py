"""Reads the calls, the issues and the remaining prose from a text, whole or while it arrives."""
# ruff: noqa: RUF001

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from ...core.messages import ToolCall
from ...core.tooling import ProposalKind
from .calls import Offer, OfferedTools
from .intent import proposal_kinds
from .reading import Piece, Proposal, Reading, Span
from .scanner import Scanner

# A limit against texts that repeat calls endlessly. The text after them stays prose.
_MOST_PIECES = 5_000
_MARK = r"[\"'(*]"
_AROUND = frozenset("\"'(*[ \n\t\r")
_OPENINGS_BACKWARDS = re.compile(rf"{_MARK}{{0,3}}(?:\s{{0,200}}\[{_MARK}{{0,4}}){{0,3}}")
_CLOSINGS = re.compile(r"[\"')\]]{0,4}(?:,?\s{0,200}\][\"')]{0,4}){0,3}")
_BLOCK_END = re.compile(r"\s*(?:[`~]{3,}[ \t]*(?=\n|\Z)|\Z)")


def parse_tool_calls(text: str, tools: Iterable[Offer] = ()) -> tuple[ToolCall, ...]:
    """Returns the tool calls that are meant in a model's text, in any dialect. `read` returns more details."""
    return read(text, tools).calls


def read(text: str, tools: Iterable[Offer] = ()) -> Reading:
    """Reads the calls in `text`. Without `tools`, any well-formed call in an explicit dialect counts."""
    return _read(text, OfferedTools(tools))


def _read(text: str, tools: OfferedTools) -> Reading:
    pieces = _pieces(text, tools)
    if not pieces:
        return Reading(prose=text)
    calling = [piece for piece in pieces if piece.calls]
    kinds = dict(zip(map(id, calling), proposal_kinds(text, calling, tools), strict=True))
    # The text of a proposal stays prose.
    written = [piece for piece in pieces if piece.is_call and not kinds.get(id(piece))]
    spans = [Span(_widened_start(text, piece.start), _widened_end(text, piece.end)) for piece in written]
    return Reading(
        calls=tuple(chain.from_iterable(piece.calls for piece in written)),
        proposals=tuple(_proposals(calling, kinds)),
        spans=tuple(spans),
        issues=tuple(chain.from_iterable(piece.issues for piece in pieces)),
        prose=_prose(text, _with_blocks(text, spans, written)),
    )


def _proposals(calling: list[Piece], kinds: Mapping[int, ProposalKind | None]) -> Iterator[Proposal]:
    for piece in calling:
        if kind := kinds[id(piece)]:
            yield from (Proposal(call, kind) for call in piece.calls)


def _pieces(text: str, tools: OfferedTools) -> list[Piece]:
    """Returns the pieces with calls or issues. A closing tag of reasoning discards all pieces before it."""
    scanner = Scanner(text, tools)
    pieces: list[Piece] = []
    last = None
    while len(pieces) < _MOST_PIECES and (piece := scanner.next()):
        if piece.calls or piece.issues:
            piece.block = _block_start(text, last, piece.start)
            pieces.append(piece)
        elif piece.start == 0:
            pieces.clear()
        last = piece
    return pieces


def _block_start(text: str, last: Piece | None, at: int) -> int | None:
    """Returns the start of the fenced block that `last` opens, if nothing comes between it and `at`."""
    return last.start if last and last.opens_block and not text[last.end : at].strip(" \t\r\n[(") else None


def _with_blocks(text: str, spans: list[Span], written: list[Piece]) -> Iterator[Span]:
    """Yields the spans, and instead of all in a fenced block that holds nothing else, the block."""
    first = 0
    for last, span in enumerate(spans):
        if last + 1 < len(spans) and not text[span.end : spans[last + 1].start].strip(" \t\r\n,;"):
            continue
        block, closing = written[first].block, _BLOCK_END.match(text, span.end)
        if block is not None and closing:
            yield Span(block, closing.end())
        else:
            yield from spans[first : last + 1]
        first = last + 1


def _widened_start(text: str, start: int) -> int:
    """Extends a span to the brackets and quotation marks around the call, which are not prose either."""
    if text[start - 1 : start] not in _AROUND:
        return start
    found = _OPENINGS_BACKWARDS.match(text[max(0, start - 400) : start][::-1])
    return start - (found.end() if found else 0)


def _widened_end(text: str, end: int) -> int:
    found = _CLOSINGS.match(text, end)
    return found.end() if found else end


def _prose(text: str, spans: Iterable[Span]) -> str:
    at, parts = 0, []
    for span in spans:
        parts.append(text[at : max(at, span.start)])
        at = max(at, span.end)
    return "".join([*parts, text[at:]])


_CONTEXT_CHARACTERS = 240  # characters before the held text that the scanner may look back at
_MARGIN_CHARACTERS = 8  # characters at the end within which a piece may still grow
_SMALL_CHARACTERS = 80  # characters up to which the held text is scanned with each delta
_OPENING_CHARACTERS = 600  # characters at the end that may be the beginning of a call
_OPENINGS = r"(?:[\"'(*]{0,4}\[\s{0,200}){0,3}[\"'(*]{0,3}"
_BEGINNING = re.compile(
    rf"(?:{_OPENINGS}(?:"
    r"<[A-Za-z][\w.\-]{0,80}\s[^<>\n]{0,160}>\s{0,20}(?:<(?:/[^<>\n]{0,80})?)?|<(?:[|｜/\]A-Za-z][^<>\n]{0,120})?"
    r"|<\|open\|>[^<>\n]{0,40}|<invoke>\s{0,40}(?:<[^<>\n]{0,20})?|<\|(?:channel|start)\|>[^{}\n]{0,200}"
    r"|\{\s{0,200}[\"'“‘`\\]{0,2}[\w$.\-/ ]{0,80}[\"'”’`\\]{0,2}\s{0,200}"
    r"|\[{1,3}\s{0,200}(?:[{(]\s{0,200})?|\[/?[A-Z_ ]{0,30}|functools\[?"
    r"|\]<?[^\s<>]{0,12}|◁[^▷\n]{0,12}|[`~]+[\w.+#\-/ ]{0,40}|[\"'(*]{1,3}"
    r"|to=[\w.\-]*\s{0,40}(?:<\|?[^<>{}]{0,20}(?:>[^{}\n]{0,200})?)?))\Z"
)
_LABELS = ("Action", "action", "Tool", "Function", "✿FUNCTION✿")
_BEGUN = "|".join(label[:length] for label in _LABELS for length in range(len(label), 0, -1))
_ACTION = re.compile(
    rf"(?<![^\n* #\-_])\*{{0,3}}(?:(?:{'|'.join(_LABELS)})"
    rf"[^\n]{{0,240}}(?:\n\s{{0,20}}[^\n]{{0,60}}){{0,2}}|{_BEGUN})\Z"
)
_NAME = re.compile(rf"{_OPENINGS}(?P<name>[\w.\-/:\\]{{1,160}})[\s`*:]{{0,5}}\Z")
_LINE = re.compile(
    r"(?:(?<=\n)|\A)[ \t]{0,8}(?:[-*+•|/@\[][ \t]*)?[*_`\"']{0,4}(?P<name>[\w.\-:]{0,80})[*_`\"' \t]{0,4}"
    r"(?:-{0,2}\w{0,80})?\Z"
)
_PREFIXES = ("name", "function", "functions", "tool", "tools", "default_api", "api", "namespace")
_SEPARATOR = re.compile(r"[^0-9a-z]+")


class StreamingReader:
    """Reads one text while it streams: `feed` returns prose that is safe to show, `finish` reads the whole text.

    The shown prose is always a prefix of `finish().prose`, so no part of a call is ever shown.
    """

    def __init__(self, tools: Iterable[Offer] = ()) -> None:
        self._tools = OfferedTools(tools)
        # A text that ends with the beginning of a tool's name is held back, since a call may follow.
        folded = [_SEPARATOR.sub("", name.lower()) for name in (*self._tools.names, *_PREFIXES)]
        self._beginnings = {name[:length] for name in folded for length in range(1, len(name) + 1)}
        self._scanner = Scanner("", self._tools)
        self._parts: list[str] = []
        self._context = ""
        self._held: list[str] = []
        self._size = 0
        self._due = 0

    def feed(self, delta: str) -> str:
        """Takes the next piece of the text and returns the prose that is now safe to show."""
        self._parts.append(delta)
        self._held.append(delta)
        self._size += len(delta)
        return self._look() if self._size >= self._due else ""

    def finish(self) -> Reading:
        return _read("".join(self._parts), self._tools)

    def _look(self) -> str:
        """Scans the held text. The more is held, the later the next scan (`_due`), so that the work stays linear."""
        text = self._context + "".join(self._held)
        start = len(self._context)
        safe = self._safe_position(text, start)
        self._context = text[max(0, safe - _CONTEXT_CHARACTERS) : safe]
        self._scanner = self._scanner.resume_at("", 0, safe - len(self._context))
        self._held = [text[safe:]]
        self._size = len(text) - safe
        self._due = 0 if self._size < _SMALL_CHARACTERS else self._size + self._size // 8
        return text[start:safe]

    def _safe_position(self, text: str, start: int) -> int:
        """Returns the position before which no call is or may begin, and keeps the scanner's state there."""
        scanner = self._scanner.resume_at(text, start)
        states, begin, last = [(start, self._scanner)], len(text), None
        while piece := scanner.next():
            at = states[-1][0]
            if piece.is_call or piece.cut or piece.end > len(text) - _MARGIN_CHARACTERS:
                begin = _widened_start(text, piece.start) if piece.start >= at else at
                break
            states.append((piece.end, scanner.resume_at(text, scanner.at)))
            last = piece
        safe = max(start, min(begin, self._tail_start(text, states[-1][0])))
        block = _block_start(text, last, safe)
        safe = safe if block is None else block
        self._scanner = next(state for at, state in reversed(states) if at <= safe)
        return safe

    def _tail_start(self, text: str, at: int) -> int:
        """Returns the first position from `at` on that may become the beginning of a call."""
        at = max(at, len(text) - _OPENING_CHARACTERS)
        places = [found.start() for pattern in (_BEGINNING, _ACTION) if (found := pattern.search(text, at))]
        place = min(places, default=len(text))
        names = (_NAME.search(text, max(at, place - 200), place), _LINE.search(text, at))
        return min([place, *(found.start() for found in names if found and self._may_be_name(found["name"]))])

    def _may_be_name(self, token: str) -> bool:
        """Returns whether a token may end in a tool's name, even after a word or a prefix like `functions.`."""
        token = token.lower()
        endings = [token, *(token[found.end() :] for found in re.finditer(r"[.:/]", token))]
        folded = [_SEPARATOR.sub("", ending) for ending in endings]
        return not folded[-1] or any(part in self._beginnings for part in folded)
