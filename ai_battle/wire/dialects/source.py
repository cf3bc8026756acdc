"""The text under the reader: searches and values that stay linear however often they are asked for."""

import json
import re
from typing import Any

from .tolerant import Unreadable, read_value

_DECODER = json.JSONDecoder(strict=False)
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")


class Source:
    __slots__ = ("_found", "_line", "_patience", "_spare", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._found: dict[re.Pattern[str], tuple[int, re.Match[str] | None]] = {}
        # A failure of the fast decoder costs a walk over the whole text (it counts lines), so there is an end to them.
        self._patience = 50
        self._spare = len(text) // 8 + 10_000
        self._line: tuple[re.Pattern[str] | None, int, int, bool] = (None, 0, -1, False)

    def find(self, pattern: re.Pattern[str], at: int) -> re.Match[str] | None:
        """The first match from `at` on; asked with growing `at`, the text is walked once per pattern."""
        if known := self._found.get(pattern):
            since, match = known
            if since <= at and (match is None or match.start() >= at):
                return match
        match = pattern.search(self.text, at)
        self._found[pattern] = at, match
        return match

    def may_look_again(self, characters: int) -> bool:
        """Whether so much text that was read in vain may be read once more from within; not for ever, as it adds up."""
        self._spare -= characters
        return self._spare >= 0

    def begins_line(self, at: int) -> bool:
        return at == 0 or self.text.startswith("\n", at - 1)

    def before(self, at: int, most: int) -> str:
        """What stands before `at` on its line, its last `most` characters at most."""
        start = at - most if at > most else 0
        line = self.text.rfind("\n", start, at) + 1
        return self.text[line or start : at]

    def line_is(self, pattern: re.Pattern[str], at: int) -> bool:
        """Whether the whole line of `at` fits; asked often about one line, it is looked at once."""
        known, start, end, fits = self._line
        if known is not pattern or not start <= at <= end:
            start, end = self.text.rfind("\n", 0, at) + 1, self.text.find("\n", at)
            end = len(self.text) if end < 0 else end
            fits = pattern.fullmatch(self.text, start, end) is not None
            self._line = pattern, start, end, fits
        return fits

    def line_may_grow(self) -> bool:
        """Whether the line that was looked at is the last one, and perhaps not yet complete."""
        return self._line[2] == len(self.text)

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
