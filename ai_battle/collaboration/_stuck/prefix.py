"""Reads an answer while it streams, and says when its end is not worth waiting for."""

import re
from collections import Counter

from ...signals.looping import looping_tail
from ...signals.wording import refuses

LOOKS_EVERY, OPENING = 400, 240
LOOP_FROM, LOOP_LEAST = 600, 240
RAMBLES_FROM = 1_600
_WINDOW = 2_400
"""All in characters."""
RAMBLES_RUNS, RAMBLES_SHARE = 120, 0.75
"""Runs of four words that a window has to have, and the share of them that was said before in it."""
_WORD = re.compile(r"\w+")


class Prefix:
    """`feed` takes what comes, in constant time per character however the text is cut.

    It looks at a window at the end of the text, once in `LOOKS_EVERY` characters; a refusal is looked for once, when
    the opening has come. The first reason stays.
    """

    def __init__(self, *, offers_tools: bool = False) -> None:
        self.reason = ""
        self.length = 0
        self._opened = offers_tools
        self._due = LOOKS_EVERY if offers_tools else OPENING
        self._recent: list[str] = []

    def feed(self, text: str) -> str:
        """Why the answer is not worth its end, now that this came; empty while it may be."""
        self.length += len(text)
        if not self.reason:
            self._recent.append(text)
            if self.length >= self._due:
                self.reason = self._open() or self._look()
        return self.reason

    def _open(self) -> str:
        if self._opened:
            return ""
        self._opened = True
        self._due = LOOKS_EVERY
        return "the model refuses" if refuses("".join(self._recent)[:OPENING]) else ""

    def _look(self) -> str:
        if self.length < self._due:
            return ""
        self._due = self.length + LOOKS_EVERY
        window = "".join(self._recent)[-_WINDOW:]
        self._recent = [window]
        if self.length >= LOOP_FROM and looping_tail(window, LOOP_LEAST):
            return "the answer goes round in circles"
        if self.length >= RAMBLES_FROM and _rambles(window):
            return "the answer says the same again and again"
        return ""


def _rambles(window: str) -> bool:
    """Nearly all runs of four words stood in the window before."""
    said = _WORD.findall(window.casefold())
    runs = Counter(zip(said, said[1:], said[2:], said[3:], strict=False))
    total = runs.total()
    return total >= RAMBLES_RUNS and 1 - len(runs) / total >= RAMBLES_SHARE
