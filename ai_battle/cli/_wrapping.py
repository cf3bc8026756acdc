"""Breaks streamed text between words, at the width of the terminal."""

import re
from collections.abc import Callable, Iterator

from rich.cells import cell_len

_PIECES = re.compile(r"\n|[^\S\n]+|\S+")
LONGEST_WORD_HELD = 24


class Wrapping:
    """Holds the last word back until it is whole; what fits on no line or has no spaces is left to the terminal."""

    def __init__(self, columns: Callable[[], int]) -> None:
        self._columns = columns
        self._column = 0
        self._held = ""

    def feed(self, text: str) -> str:
        """What can be written now."""
        pieces = _PIECES.findall(self._held + text)
        last = pieces[-1] if pieces else ""
        self._held = last if not last.isspace() and len(last) <= LONGEST_WORD_HELD else ""
        return "".join(self._placed(pieces[:-1] if self._held else pieces))

    def flush(self) -> str:
        """What was held back, when nothing more comes."""
        held, self._held = self._held, ""
        return "".join(self._placed([held] if held else []))

    def start_line(self) -> None:
        self._column = 0

    def _placed(self, pieces: list[str]) -> Iterator[str]:
        """A space that would stand at the end of a full line becomes the line break."""
        columns = self._columns()
        for piece in pieces:
            width = cell_len(piece)
            if piece == "\n" or (piece.isspace() and self._column + width > columns):
                self._column = 0
                yield "\n"
                continue
            if self._column and width <= columns < self._column + width:
                self._column = 0
                yield "\n"
            self._column = (self._column + width) % columns or columns
            yield piece
