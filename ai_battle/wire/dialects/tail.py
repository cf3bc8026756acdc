"""Where, at the end of a text that is still growing, a call may be about to begin."""
# ruff: noqa: RUF001

import re

from .names import Offered
from .spellings import SPELLINGS

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
_NAME = re.compile(rf"{_OPENINGS}([\w.\-/:\\]{{1,160}})[\s`*:]{{0,5}}\Z")
_LINE = re.compile(
    r"(?:(?<=\n)|\A)[ \t]{0,8}(?:[-*+•|/@\[][ \t]*)?[*_`\"']{0,4}(?P<name>[\w.\-:]{0,80})[*_`\"' \t]{0,4}"
    r"(?:-{0,2}\w{0,80})?\Z"
)
_PREFIXES = SPELLINGS["prefix"]
_SEPARATOR = re.compile(r"[^0-9a-z]+")


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
        if (line := _LINE.search(text, at)) and self._may_be_name(line["name"]):
            places.append(line.start())
        place = min(places, default=len(text))
        named = _NAME.search(text, max(at, place - 200), place)
        return named.start() if named and self._may_be_name(named.group(1)) else place

    def _may_be_name(self, token: str) -> bool:
        """Also when a name hangs on the last word of a sentence, or on a prefix such as `functions.`."""
        folded = [_SEPARATOR.sub("", part) for part in _endings(token.lower())]
        return not folded[-1] or any(part in self._beginnings for part in folded)


def _endings(token: str) -> list[str]:
    """The token, and what remains of it behind each of its separators."""
    return [token, *(token[found.end() :] for found in re.finditer(r"[.:/]", token))]
