"""The reasoning that a model writes before its reply, left out as the reply comes in."""

import re

from ..wire.dialects.thinking import OPEN, closer

_LONGEST_TAG = 40
_OPENERS = "<[◁"


class AfterThoughts:
    """Passes on what stands behind the reasoning that a text begins with; without any, all of it."""

    def __init__(self) -> None:
        self._held = ""
        self._closer: re.Pattern[str] | None = None
        self._is_past = False

    def feed(self, text: str) -> str:
        if self._is_past:
            return text
        self._held += text
        if self._closer is None:
            return self._before()
        return self._within(self._closer)

    def rest(self) -> str:
        """What was held back as it might have become reasoning; reasoning without an end is never passed on."""
        held, self._held = self._held, ""
        return "" if self._closer else held

    def _before(self) -> str:
        self._held = self._held.lstrip()
        if opened := OPEN.match(self._held):
            self._closer = closer(opened)
            return self._within(self._closer)
        if not self._held or (self._held[0] in _OPENERS and len(self._held) < _LONGEST_TAG):
            return ""
        self._is_past = True
        return self.rest()

    def _within(self, end: re.Pattern[str]) -> str:
        if not (closed := end.search(self._held)):
            self._held = self._held[-_LONGEST_TAG:]
            return ""
        self._is_past, self._closer = True, None
        text, self._held = self._held[closed.end() :], ""
        return text
