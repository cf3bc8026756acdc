"""Shows models' Markdown on a terminal while it streams, with bold, colours and bullets."""

import re
from collections.abc import Iterator

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
        """Returns what was held back, and ends all styles."""
        return "".join((*self._pieces(is_over=True), self._switch("")))

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
        return self._end_line() if found[0] == "\n" else self._toggle(found[0])

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
        return f"{self._switch('')}\n"

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
