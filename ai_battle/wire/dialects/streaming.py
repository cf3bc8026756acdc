"""Reading while the text arrives: what is certainly prose is passed on, and a call never shows, not even half of it."""
# ruff: noqa: RUF001

import re
from collections.abc import Iterable

from .names import Offer, Offered
from .reader import read_offered, widened_start
from .reading import Reading
from .scanner import Scanner
from .spellings import SPELLINGS

_CONTEXT = 240
_MARGIN = 8
_SMALL = 80
_LONGEST = 600
_OPENINGS = r"(?:[\"'(*]{0,4}\[\s{0,200}){0,3}[\"'(*]{0,3}"
_BEGINNING = re.compile(
    rf"(?:{_OPENINGS}(?:"
    r"<[A-Za-z][\w.\-]{0,80}\s[^<>\n]{0,160}>\s{0,20}(?:<(?:/[^<>\n]{0,80})?)?|<(?:[|｜/\]A-Za-z][^<>\n]{0,120})?"
    r"|<\|open\|>[^<>\n]{0,40}|<invoke>\s{0,40}(?:<[^<>\n]{0,20})?|<\|(?:channel|start)\|>[^{}\n]{0,200}"
    r"|\{\s{0,200}[\"'“‘`\\]{0,2}[\w$.\-/ ]{0,80}[\"'”’`\\]{0,2}\s{0,200}"
    r"|\[{1,3}\s{0,200}(?:[{(]\s{0,200})?|\[/?[A-Z_ ]{0,30}|functools\[?"
    r"|\]<?[^\s<>]{0,12}|◁[^▷\n]{0,12}|[`~]+[\w.+#\-/ ]{0,40}|[\"'(*]{1,3})"
    r"|to=[\w.\-]*\s{0,40}(?:<\|?[^<>{}]{0,20}(?:>[^{}\n]{0,200})?)?)\Z"
)
_LABELS = ("Action", "action", "Tool", "Function", "✿FUNCTION✿")
_BEGUN = "|".join(label[:length] for label in _LABELS for length in range(len(label), 0, -1))
_ACTION = re.compile(
    rf"(?<![^\n* #\-_])\*{{0,3}}(?:(?:{'|'.join(_LABELS)})"
    rf"[^\n]{{0,240}}(?:\n\s{{0,20}}[^\n]{{0,60}}){{0,2}}|{_BEGUN})\Z"
)
_NAME = re.compile(rf"{_OPENINGS}(?P<name>[\w.\-/:\\]{{1,160}})[\s`*:]{{0,5}}\Z")
_LINE = re.compile(
    r"(?:(?<=\n)|\A)[ \t]{0,8}(?:[-*+•|/@\[][ \t]*)?[*_`\"']{0,4}(?P<name>[\w.\-:]{0,80})[*_`\"' \t]{0,4}"
    r"(?:-{0,2}\w{0,80})?\Z"
)
_PREFIXES = SPELLINGS["prefix"]
_SEPARATOR = re.compile(r"[^0-9a-z]+")


class StreamingReader:
    """One text. `feed` returns what may be shown, in order; `finish` reads the whole, so chunks make no difference.

    What was shown is the beginning of `finish().prose`.
    """

    def __init__(self, tools: Iterable[Offer] = ()) -> None:
        self._tools = Offered(tools)
        self._tail = Tail(self._tools)
        self._scanner = Scanner("", self._tools)
        self._parts: list[str] = []
        self._context = ""
        self._held: list[str] = []
        self._size = 0
        self._due = 0

    def feed(self, delta: str) -> str:
        """Takes the next piece of the text and returns what has become safe to show."""
        self._parts.append(delta)
        self._held.append(delta)
        self._size += len(delta)
        return self._look() if self._size >= self._due else ""

    def finish(self) -> Reading:
        return read_offered("".join(self._parts), self._tools)

    def _look(self) -> str:
        """Reads what is held back; the more that is, the longer until the next time, so that the work stays linear."""
        text = self._context + "".join(self._held)
        start = len(self._context)
        safe = max(start, self._safe(text, start))
        self._context = text[max(0, safe - _CONTEXT) : safe]
        self._scanner = self._scanner.resumed("", 0, safe - len(self._context))
        self._held = [text[safe:]]
        self._size = len(text) - safe
        self._due = 0 if self._size < _SMALL else self._size + self._size // 8
        return text[start:safe]

    def _safe(self, text: str, start: int) -> int:
        """The walk stops before the first piece that is a call or may become one."""
        scanner = self._scanner.resumed(text, start)
        before, at = self._scanner, start
        while piece := scanner.next():
            if piece.is_call or piece.cut or piece.end > len(text) - _MARGIN:
                self._scanner = before
                return min(widened_start(text, piece.start) if piece.start >= at else at, self._tail.start(text, at))
            before, at = scanner.resumed(text, scanner.at), piece.end
        safe = self._tail.start(text, at)
        self._scanner = scanner if safe >= at else before
        return safe


class Tail:
    """Knows the names of the offered tools, which are held back as soon as a text ends with the beginning of one."""

    __slots__ = ("_beginnings",)

    def __init__(self, tools: Offered) -> None:
        folded = [_SEPARATOR.sub("", name.lower()) for name in (*tools.names, *_PREFIXES)]
        self._beginnings = {name[:length] for name in folded for length in range(1, len(name) + 1)}

    def start(self, text: str, at: int) -> int:
        """The first place from `at` on that may turn out to be the beginning of a call."""
        at = max(at, len(text) - _LONGEST)
        places = [found.start() for pattern in (_BEGINNING, _ACTION) if (found := pattern.search(text, at))]
        place = min(places, default=len(text))
        names = (_NAME.search(text, max(at, place - 200), place), _LINE.search(text, at))
        return min([place, *(found.start() for found in names if found and self._may_be_name(found["name"]))])

    def _may_be_name(self, token: str) -> bool:
        """Also when a name hangs on the last word of a sentence, or on a prefix such as `functions.`."""
        folded = [_SEPARATOR.sub("", part) for part in _endings(token.lower())]
        return not folded[-1] or any(part in self._beginnings for part in folded)


def _endings(token: str) -> list[str]:
    """The token, and what remains of it behind each of its separators."""
    return [token, *(token[found.end() :] for found in re.finditer(r"[.:/]", token))]
