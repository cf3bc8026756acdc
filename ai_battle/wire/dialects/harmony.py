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
_PLAIN_HEADER = re.compile(
    r"(?:<\|start\|>\w*\s*(?:to=(?P<early>[\w.\-]+)\s*)?)?(?:<\|constrain\|>\s*\w*\s*)?<\|message\|>\s*"
)
_BEFORE = re.compile(r"\bto=([\w.\-]+)\s*\Z")
_END = re.compile(r"<\|(?:end|start|channel|return|call)\|>")
_CALLED = re.compile(r"\s*<\|call\|>")
_PEOPLE = frozenset({"assistant", "user", "all", "system"})


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
