"""The terminal: scrolling text, wrapped between words, above a status line in the last row."""

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
    """Wraps text between words, holding back the last one until it is complete. The terminal breaks overlong words."""

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
        """Returns what was held back, at the end of the text."""
        held, self._held = self._held, ""
        return "".join(self._place([held] if held else []))

    def start_line(self) -> None:
        self._column = 0

    def _place(self, pieces: list[str]) -> Iterator[str]:
        """Turns a space at the end of a full line into the line break."""
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
    """Scrolls text in a region above the last row, which `status` fills (DECSTBM, see the VT100 manual)."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._rows = 0
        self._at_line_start = True
        self._wrapping = Wrapping(lambda: self._size.columns)

    def stream(self, text: str) -> None:
        """Prints the next piece of a text, wrapped between words."""
        self._write(self._wrapping.feed(text))

    def end_line(self) -> None:
        self._write(self._wrapping.flush())
        self._write("" if self._at_line_start else "\n")
        self._wrapping.start_line()

    def line(self, text: str = "") -> None:
        """Prints a line of its own, ending the current one."""
        self.end_line()
        self._write(text + "\n")

    def paragraph(self, text: str, style: Callable[[str], str]) -> None:
        """Prints a styled text of its own, wrapped between words."""
        self.end_line()
        broken = self._wrapping.feed(text) + self._wrapping.flush()
        self._write(style(broken) + "\n")
        self._wrapping.start_line()

    def status(self, text: str) -> None:
        """Shows `text` in the last row. The first call, and one after a resize, makes room for it."""
        size = self._size
        if size.lines != self._rows:
            self._reserve(size.lines)
        bar = f"\x1b[7m{set_cell_size(text, size.columns)}\x1b[0m"
        self._out.write(f"{SAVE}\x1b[{size.lines};1H{CLEAR_LINE}{bar}{RESTORE}")
        self._out.flush()

    def close(self) -> None:
        """Releases the whole terminal."""
        self.end_line()
        if self._rows:
            self._out.write(f"{SAVE}\x1b[{self._rows};1H{CLEAR_LINE}\x1b[r{RESTORE}")
            self._out.flush()
            self._rows = 0

    @property
    def _size(self) -> os.terminal_size:
        """The size of the terminal written to: with `--json` that is stderr's."""
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
        """Scrolls up one line, so that the cursor is above the last row, and excludes that row from scrolling.

        The cursor keeps its column, as after a resize it may be in the middle of a line.
        """
        self._out.write(f"{DOWN}{UP}{SAVE}\x1b[1;{rows - 1}r{RESTORE}")
        self._rows = rows
