"""What the `content` of a JSON object says while the object still streams in."""

import json
import re
from collections.abc import Callable

_TO_QUOTE = re.compile(r'[^"\\]*')
_TO_MARK = re.compile(r'[^"{}\[\],:]*')
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4}|u(?![dD][89abAB])[0-9a-fA-F]{4}|[^u])")

LONGEST_ESCAPE = 12


class ContentReader:
    """`feed` what comes in any pieces; it gives what they add to the text under `content`, at the top of the object."""

    def __init__(self) -> None:
        self._text = ""
        self._depth = 0
        self._key = ""
        self._is_value = False
        self._string = ""
        self._state: Callable[[], str | None] = self._between

    def feed(self, delta: str) -> str:
        """Each character is looked at once."""
        self._text += delta
        said: list[str] = []
        while self._text and (more := self._state()) is not None:
            said.append(more)
        return "".join(said)

    def _between(self) -> str | None:
        """To the next mark or string."""
        at = _length(_TO_MARK, self._text)
        mark, self._text = self._text[at : at + 1], self._text[at + 1 :]
        if mark == '"':
            self._string = ""
            self._state = self._inside
        elif mark:
            self._depth += (mark in "{[") - (mark in "}]")
            self._is_value = mark == ":"
        return ""

    def _inside(self) -> str | None:
        """Within a string: to its end, to what it escapes, or as far as it goes."""
        at = _length(_TO_QUOTE, self._text)
        plain, self._text = self._text[:at], self._text[at:]
        if not self._text:
            return self._take(plain)
        if self._text[0] == '"':
            self._text = self._text[1:]
            self._state = self._between
            said = self._take(plain)
            if not self._is_value:
                self._key = self._string
            return said
        if not (escape := _ESCAPE.match(self._text)):
            return self._waiting(plain)
        self._text = self._text[escape.end() :]
        return self._take(plain + _unescaped(escape.group()))

    def _waiting(self, plain: str) -> str | None:
        """An escape that is not all there yet; one that never will be is left out."""
        if len(self._text) < LONGEST_ESCAPE:
            return self._take(plain) if plain else None
        self._text = self._text[1:]
        return self._take(plain)

    def _take(self, text: str) -> str:
        if not self._is_value:
            self._string += text
            return ""
        return text if self._depth == 1 and self._key == "content" else ""


def _length(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.match(text)
    return found.end() if found else 0


def _unescaped(escape: str) -> str:
    try:
        return str(json.loads(f'"{escape}"'))
    except ValueError:
        return escape[1:]
