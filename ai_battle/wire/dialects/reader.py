"""A whole text, read: calls, issues, and the prose that is left."""

from collections.abc import Iterable

from ai_battle.core.messages import ToolCall

from .names import Offer, Offered
from .reading import Issue, Piece, Reading, Span
from .scanner import Scanner


def read(text: str, tools: Iterable[Offer] = ()) -> Reading:
    """The calls in `text`. Without tools, any well-formed call in an explicit dialect is one."""
    return read_offered(text, Offered(tools))


def read_offered(text: str, tools: Offered) -> Reading:
    scanner, pieces = Scanner(text, tools), []
    while piece := scanner.next():
        if piece.start == 0 and not piece.is_call:
            pieces.clear()
        if piece.is_call:
            pieces.append(piece)
    return _reading(text, pieces)


def _reading(text: str, pieces: list[Piece]) -> Reading:
    calls: list[ToolCall] = [call for piece in pieces for call in piece.calls]
    issues: list[Issue] = [issue for piece in pieces for issue in piece.issues]
    spans = tuple(Span(piece.start, piece.end) for piece in pieces)
    return Reading(tuple(calls), spans, tuple(issues), _outside(text, spans))


def _outside(text: str, spans: tuple[Span, ...]) -> str:
    at, parts = 0, []
    for span in spans:
        parts.append(text[at : span.start])
        at = max(at, span.end)
    return "".join([*parts, text[at:]])


def parse_tool_calls(text: str, tools: Iterable[Offer] = ()) -> tuple[ToolCall, ...]:
    """The tool calls in a model's text, in whatever dialect; see `read` for what could not be used."""
    return read(text, tools).calls
