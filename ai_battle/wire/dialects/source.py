"""The text under the reader: searches and values that stay linear however often they are asked for."""

import json
import re
from typing import Any

from .tolerant import Unreadable, read_value

_DECODER = json.JSONDecoder(strict=False)
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")


class Source:
    __slots__ = ("_found", "_line", "_looks", "_patience", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._found: dict[re.Pattern[str], tuple[int, re.Match[str] | None]] = {}
        # A failure of the fast decoder costs a walk over the whole text (it counts lines), so there is an end to them.
        self._patience = 50
        self._looks = 50
        self._line = (0, -1)

    def find(self, pattern: re.Pattern[str], at: int) -> re.Match[str] | None:
        """The first match from `at` on; asked with growing `at`, the text is walked once per pattern."""
        if known := self._found.get(pattern):
            since, match = known
            if since <= at and (match is None or match.start() >= at):
                return match
        match = pattern.search(self.text, at)
        self._found[pattern] = at, match
        return match

    def may_look_again(self) -> bool:
        """Whether text that was read in vain may be read once more from within; not for ever, as that adds up."""
        self._looks -= 1
        return self._looks >= 0

    def line(self, at: int) -> str:
        """The line that `at` is on."""
        start, end = self._line
        if not start <= at <= end:
            start, end = self.text.rfind("\n", 0, at) + 1, self.text.find("\n", at)
            self._line = start, end = start, len(self.text) if end < 0 else end
        return self.text[start:end]

    def value(self, at: int) -> tuple[Any, int]:
        """The JSON (or nearly JSON) value at `at` and where it ends; raises Unreadable."""
        if self._patience:
            try:
                value, end = _DECODER.raw_decode(self.text, at)
            except (ValueError, RecursionError):
                self._patience -= 1
            else:
                return (_whole(value) if _HALF_CHARACTER.search(self.text, at, end) else value), end
        return read_value(self.text, at)


def parse_object(text: str) -> Any:
    """The one value that a string of arguments is; raises Unreadable."""
    stripped = text.strip()
    value, end = Source(stripped).value(0)
    if stripped[end:].strip(" \n\t}]`;,"):
        raise Unreadable(end)
    return value


def _whole(value: Any) -> Any:
    """The value without halves of surrogate pairs, which no wire can carry."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [_whole(item) for item in value]
        case dict():
            return {_whole(key): _whole(item) for key, item in value.items()}
    return value
