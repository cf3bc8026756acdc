"""A whole text, read: calls, issues, and the prose that is left."""

import re
from collections.abc import Iterable, Iterator

from ai_battle.core.messages import ToolCall

from .intent import Intent, intents
from .names import Offer, Offered
from .reading import Piece, Proposal, Reading, Span
from .scanner import Scanner

# No answer has more calls, whole or broken: the text behind them is read no further, and stays prose.
_MOST_PIECES = 5_000
_MARK = r"[\"'(*]"
_AROUND = frozenset("\"'(*[ \n\t\r")
_OPENINGS = re.compile(rf"{_MARK}{{0,3}}(?:\s{{0,200}}\[{_MARK}{{0,4}}){{0,3}}")
_CLOSINGS = re.compile(r"[\"')\]]{0,4}(?:,?\s{0,200}\][\"')]{0,4}){0,3}")


def read(text: str, tools: Iterable[Offer] = ()) -> Reading:
    """The calls in `text`. Without tools, any well-formed call in an explicit dialect is one."""
    return read_offered(text, Offered(tools))


def _pieces(text: str, tools: Offered) -> list[Piece]:
    """Those with calls or issues; what turns out to have been reasoning takes back all before it."""
    scanner = Scanner(text, tools)
    pieces: list[Piece] = []
    while len(pieces) < _MOST_PIECES and (piece := scanner.next()):
        if piece.calls or piece.issues:
            pieces.append(piece)
        elif piece.start == 0:
            pieces.clear()
    return pieces


def read_offered(text: str, tools: Offered) -> Reading:
    pieces = _pieces(text, tools)
    calling = [piece for piece in pieces if piece.calls]
    judged = list(zip(calling, intents(text, calling, tools), strict=True))
    spans = _spans(text, pieces, judged)
    return Reading(
        calls=tuple(call for call, intent in _each(judged) if intent.kind is None),
        certainties=tuple(intent.certainty for _, intent in _each(judged) if intent.kind is None),
        proposals=tuple(Proposal(call, intent.kind) for call, intent in _each(judged) if intent.kind),
        spans=spans,
        issues=tuple(issue for piece in pieces for issue in piece.issues),
        prose=_outside(text, spans),
    )


def _each(judged: list[tuple[Piece, Intent]]) -> Iterator[tuple[ToolCall, Intent]]:
    return ((call, intent) for piece, intent in judged for call in piece.calls)


def _spans(text: str, pieces: list[Piece], judged: list[tuple[Piece, Intent]]) -> tuple[Span, ...]:
    """The stretches of the text that are calls, with what is around them; a proposal stays prose."""
    shown = {id(piece) for piece, intent in judged if intent.kind}
    called = (piece for piece in pieces if piece.is_call and id(piece) not in shown)
    return tuple(Span(widened_start(text, piece.start), _widened_end(text, piece.end)) for piece in called)


def widened_start(text: str, start: int) -> int:
    """The brackets and quotation marks that a call stands in are no prose either."""
    if text[start - 1 : start] not in _AROUND:
        return start
    found = _OPENINGS.match(text[max(0, start - 400) : start][::-1])
    return start - (found.end() if found else 0)


def _widened_end(text: str, end: int) -> int:
    found = _CLOSINGS.match(text, end)
    return found.end() if found else end


def _outside(text: str, spans: tuple[Span, ...]) -> str:
    at, parts = 0, []
    for span in spans:
        parts.append(text[at : max(at, span.start)])
        at = max(at, span.end)
    return "".join([*parts, text[at:]])


def parse_tool_calls(text: str, tools: Iterable[Offer] = ()) -> tuple[ToolCall, ...]:
    """The tool calls that are meant in a model's text, in whatever dialect; see `read` for all the rest."""
    return read(text, tools).calls
