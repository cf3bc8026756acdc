"""The terminal itself: text that scrolls, broken between words, and one status line that stays at the bottom."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from typing import TextIO

from rich.cells import cell_len, set_cell_size

_SGR = re.compile(r"\x1b\[[0-9;]*m")
_PIECES = re.compile(r"\n|[^\S\n]+|\S+")
LONGEST_WORD_HELD = 24


class Wrapping:
    """Holds the last word back until it is whole; what fits on no line or has no spaces is left to the terminal."""

    def __init__(self, columns: Callable[[], int]) -> None:
        self._columns = columns
        self._column = 0
        self._held = ""

    def feed(self, text: str) -> str:
        """Returns what can be written now."""
        pieces = _PIECES.findall(self._held + text)
        last = pieces[-1] if pieces else ""
        self._held = last if not last.isspace() and len(last) <= LONGEST_WORD_HELD else ""
        return "".join(self._place(pieces[:-1] if self._held else pieces))

    def flush(self) -> str:
        """Returns what was held back, when nothing more comes."""
        held, self._held = self._held, ""
        return "".join(self._place([held] if held else []))

    def start_line(self) -> None:
        self._column = 0

    def _place(self, pieces: list[str]) -> Iterator[str]:
        """A space that would stand at the end of a full line becomes the line break."""
        columns = self._columns()
        for piece in pieces:
            width = cell_len(_SGR.sub("", piece))
            if piece == "\n" or (piece.isspace() and self._column + width > columns):
                self._column = 0
                yield "\n"
                continue
            if self._column and width <= columns < self._column + width:
                self._column = 0
                yield "\n"
            self._column = (self._column + width) % columns or columns
            yield piece


SAVE, RESTORE, CLEAR_LINE = "\x1b7", "\x1b8", "\x1b[2K"
DOWN, UP = "\x1bD", "\x1b[A"


class Screen:
    """Scrolls text in a region above the last row, which `status` fills (DECSTBM, as in the VT100 manual)."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._rows = 0
        self._at_line_start = True
        self._wrapping = Wrapping(lambda: self._size.columns)

    def stream(self, text: str) -> None:
        """Prints more of a running text, broken between words."""
        self._write(self._wrapping.feed(text))

    def end_line(self) -> None:
        self._write(self._wrapping.flush())
        self._write("" if self._at_line_start else "\n")
        self._wrapping.start_line()

    def line(self, text: str = "") -> None:
        """A line of its own, whatever stood there before."""
        self.end_line()
        self._write(text + "\n")

    def paragraph(self, text: str, style: Callable[[str], str]) -> None:
        """A text of its own, in a style, broken between words."""
        self.end_line()
        broken = self._wrapping.feed(text) + self._wrapping.flush()
        self._write(style(broken) + "\n")
        self._wrapping.start_line()

    def status(self, text: str) -> None:
        """Shows `text` in the last row; the first call, and one after a change of size, makes room for it."""
        size = self._size
        if size.lines != self._rows:
            self._reserve(size.lines)
        bar = f"\x1b[7m{set_cell_size(text, size.columns)}\x1b[0m"
        self._out.write(f"{SAVE}\x1b[{size.lines};1H{CLEAR_LINE}{bar}{RESTORE}")
        self._out.flush()

    def close(self) -> None:
        """Gives the whole terminal back."""
        self.end_line()
        if self._rows:
            self._out.write(f"{SAVE}\x1b[{self._rows};1H{CLEAR_LINE}\x1b[r{RESTORE}")
            self._out.flush()
            self._rows = 0

    @property
    def _size(self) -> os.terminal_size:
        """The size of the terminal that is written to: with `--json` it is that of stderr."""
        try:
            size = os.get_terminal_size(self._out.fileno())
        except (OSError, ValueError):
            return shutil.get_terminal_size()
        return size if all(size) else shutil.get_terminal_size()

    def _write(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._out.flush()
            self._at_line_start = text.endswith("\n")

    def _reserve(self, rows: int) -> None:
        """Scrolls one line up, so that the cursor is above the last row, and shields that row from scrolling.

        The cursor keeps its column: after a change of size it may stand in the middle of a line.
        """
        self._out.write(f"{DOWN}{UP}{SAVE}\x1b[1;{rows - 1}r{RESTORE}")
        self._rows = rows
