"""Reading while the text arrives: what is certainly prose is passed on, and a call never shows, not even half of it."""

from collections.abc import Iterable

from .names import Offer, Offered
from .reader import read_offered, widened_start
from .reading import Reading
from .scanner import Scanner
from .tail import Tail

_CONTEXT = 240
_MARGIN = 8
_SMALL = 80


class StreamingReader:
    """One text. `feed` returns what may be shown, in order; `finish` reads the whole, so chunks make no difference.

    What was shown is the beginning of `finish().prose`.
    """

    def __init__(self, tools: Iterable[Offer] = ()) -> None:
        self._tools = Offered(tools)
        self._tail = Tail(self._tools)
        self._scanner = Scanner("", self._tools)
        self._parts: list[str] = []
        self._context = ""
        self._held: list[str] = []
        self._size = 0
        self._due = 0

    def feed(self, delta: str) -> str:
        """Takes the next piece of the text and returns what has become safe to show."""
        self._parts.append(delta)
        self._held.append(delta)
        self._size += len(delta)
        return self._look() if self._size >= self._due else ""

    def finish(self) -> Reading:
        return read_offered("".join(self._parts), self._tools)

    def _look(self) -> str:
        """Reads what is held back; the more that is, the longer until the next time, so that the work stays linear."""
        text = self._context + "".join(self._held)
        start = len(self._context)
        safe = max(start, self._safe(text, start))
        self._context = text[max(0, safe - _CONTEXT) : safe]
        self._scanner = self._scanner.resumed("", 0, safe - len(self._context))
        self._held = [text[safe:]]
        self._size = len(text) - safe
        self._due = 0 if self._size < _SMALL else self._size + self._size // 8
        return text[start:safe]

    def _safe(self, text: str, start: int) -> int:
        """The walk stops before the first piece that is a call or may become one."""
        scanner = self._scanner.resumed(text, start)
        before, at = self._scanner, start
        while piece := scanner.next():
            if piece.is_call or piece.cut or piece.end > len(text) - _MARGIN:
                self._scanner = before
                return min(widened_start(text, piece.start) if piece.start >= at else at, self._tail.start(text, at))
            before, at = scanner.resumed(text, scanner.at), piece.end
        safe = self._tail.start(text, at)
        self._scanner = scanner if safe >= at else before
        return safe
