"""Messages of the harmony format: calls have a recipient, analysis is reasoning."""

import re

from .body import read_object_for
from .names import Offered
from .reading import Piece
from .source import Source

_HEADER = re.compile(
    r"(?:<\|start\|>\w*)?\s*(?:to=(?P<early>[\w.\-]+)\s*)?<\|channel\|>\s*(?P<channel>\w*)\s*(?:to=(?P<late>[\w.\-]+))?"
    r"\s*(?:<\|constrain\|>\s*\w*\s*|\w+\s*)?<\|message\|>\s*"
)
_PLAIN_HEADER = re.compile(r"<\|start\|>\w*\s*to=(?P<early>[\w.\-]+)\s*(?:<\|constrain\|>\s*\w*\s*)?<\|message\|>\s*")
_BEFORE = re.compile(r"\bto=([\w.\-]+)\s*\Z")
_END = re.compile(r"<\|(?:end|start|channel|return|call)\|>")
_CALLED = re.compile(r"\s*<\|call\|>")
_PEOPLE = frozenset({"assistant", "user", "all", "system"})


def read_message(source: Source, at: int, tools: Offered) -> Piece | None:
    """The message whose header begins at `at`, or none if there is no header."""
    found = _HEADER.match(source.text, at) or _PLAIN_HEADER.match(source.text, at)
    if not found:
        return None
    groups = found.groupdict()
    before = _BEFORE.search(source.text, max(0, at - 100), at)
    recipient = groups.get("late") or groups["early"] or (before.group(1) if before else "")
    if recipient and recipient not in _PEOPLE:
        piece = read_object_for(source, recipient, (before.start() if before else at, found.end()), tools)
        called = _CALLED.match(source.text, piece.end)
        piece.end = called.end() if called else piece.end
        return piece
    if groups.get("channel") != "analysis":
        return Piece(at, found.end())
    end = source.find(_END, found.end())
    return Piece(at, end.start() if end else len(source.text))
