"""The terminal: scrolling text wrapped between words, Markdown in styles, and a status line in the last row."""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import TextIO

import click
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
            if width:  # a full line leaves the cursor in the last column: it wraps only before the next character
                self._column = (self._column + width - 1) % columns + 1
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

    def paragraph(self, text: str, style: Callable[[str], str] = str) -> None:
        """Prints a text of its own, in a style, wrapped between words."""
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


def show_paragraph(text: str, *, err: bool = False) -> None:
    """Prints a text, on a terminal wrapped between words."""
    out = sys.stderr if err else sys.stdout
    if out and out.isatty():
        Screen(out).paragraph(text)
    else:
        click.echo(text, err=err)


RESET = "\x1b[0m"
BOLD, HEADING, QUOTED, CODE = "1", "1;4", "2", "38;5;30"
"""Styles as SGR parameters; the colour of code is legible on white and on black."""
_MAY_BECOME_MARK = re.compile(r" *(?:#{1,6}|`{1,3}[^\n]*|[-*+]|>)? *\Z")
_LINE_MARK = re.compile(r"( *)(```[^\n]*|#{1,6} +|[-*+] +|> ?)")
FENCE = "`"
LINES = {"#": (HEADING, ""), ">": (QUOTED, "│ "), "-": ("", "• "), "*": ("", "• "), "+": ("", "• ")}
"""The style of a line by the first character of its mark, and what replaces the mark."""
_INLINE_MARK = re.compile(r"\n|`|\*\*")


class MarkdownStream:
    """Turns streamed Markdown into text with SGR sequences, holding back what may be half of a mark.

    Styles headings, bold, code, bullets and quotations; everything else stays as written.
    """

    def __init__(self) -> None:
        self._held = ""
        self._at_line_start = True
        self._in_fence = self._is_bold = self._is_code = False
        self._line_style = self._shown_style = ""
        self._before = " "

    def feed(self, text: str) -> str:
        """Returns what can be shown now."""
        self._held += text
        return "".join(self._pieces(is_over=False))

    def flush(self) -> str:
        """Returns what was held back, and ends all styles: what comes next is another text."""
        shown = "".join((*self._pieces(is_over=True), self._end_line()))
        self._in_fence = False
        return shown

    def _pieces(self, *, is_over: bool) -> Iterator[str]:
        while self._held:
            if self._at_line_start:
                if not is_over and _MAY_BECOME_MARK.match(self._held):
                    return
                yield self._begin_line()
            else:
                taken = self._inline(is_over=is_over)
                if taken is None:
                    return
                yield taken

    def _begin_line(self) -> str:
        """Consumes the mark at the beginning of a line and returns its replacement."""
        self._at_line_start = False
        found = _LINE_MARK.match(self._held)
        sign = found[2][0] if found else ""
        if not found or (self._in_fence and sign != FENCE):
            self._line_style = CODE if self._in_fence else ""
            return ""
        self._held = self._held[found.end() :]
        if sign == FENCE:
            self._in_fence = not self._in_fence
        self._line_style, shown = LINES.get(sign, (QUOTED, found[2]))
        return f"{found[1]}{self._switch(self._line_style)}{shown}"

    def _inline(self, *, is_over: bool) -> str | None:
        """Consumes the text up to the next mark, or that mark. Returns None if it may be half of one."""
        found = _INLINE_MARK.search(self._held)
        end = found.start() if found else len(self._held) - (self._held.endswith("*") and not is_over)
        if end:
            text, self._held = self._held[:end], self._held[end:]
            self._before = text[-1]
            return f"{self._switch(self._style)}{text}"
        if not found or not (is_over or self._held[found.end() : found.end() + 1] or found[0] == "\n"):
            return None
        self._held = self._held[found.end() :]
        return f"{self._end_line()}\n" if found[0] == "\n" else self._toggle(found[0])

    def _toggle(self, mark: str) -> str:
        """Switches a style on or off, or returns the mark as text if it means nothing here."""
        after, before, self._before = self._held[:1] or " ", self._before, mark
        if self._in_fence or (self._is_code and mark != "`"):
            return f"{self._switch(self._style)}{mark}"
        if mark == "`":
            self._is_code = not self._is_code
        elif self._is_bold or _can_open(before, after):
            self._is_bold = not self._is_bold
        else:
            return f"{self._switch(self._style)}{mark}"
        return ""

    def _end_line(self) -> str:
        """Ends the styles of a line, so that an unpaired mark affects only one line."""
        self._at_line_start, self._before = True, " "
        self._is_bold = self._is_code = False
        self._line_style = ""
        return self._switch("")

    @property
    def _style(self) -> str:
        styles = (self._line_style, BOLD if self._is_bold else "", CODE if self._is_code else "")
        return ";".join(filter(None, styles))

    def _switch(self, style: str) -> str:
        """Returns the sequence that changes the current style to another one."""
        if style == self._shown_style:
            return ""
        reset = RESET if self._shown_style else ""
        self._shown_style = style
        return f"{reset}\x1b[{style}m" if style else reset


def _can_open(before: str, after: str) -> bool:
    """Checks whether two asterisks begin bold text. Between words and numbers they are a power operator."""
    return not after.isspace() and not before.isalnum()
