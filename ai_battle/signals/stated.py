"""Where a text states its answer: in a box, behind ####, in JSON, or in words such as "the answer is"."""

import json
import re
from collections.abc import Iterator

_MARKED = re.compile(
    r"\\(?:boxed|fbox)\s?\{|^[ \t]{0,8}#{4}(?!#)[ \t]{0,8}"
    r"|\"(?:final[ _]?)?(?:answer|result|solution)\"\s{0,8}:\s{0,8}",
    re.IGNORECASE | re.MULTILINE,
)
_SAID = re.compile(
    r"\b(?:(?:final|correct|right|best) )?(?:answer|choice|option)(?: (?:to|for) [^.:\n]{1,80})?\W{0,6}"
    r"(?:\bis\b(?: that\b)?|\bwould be\b|\bshould be\b|:|=)"
    r"(?: (?:therefore|thus|option|choice|the|approximately|about))*"
    r"|\b(?:antwort|lautet|respuesta|r\u00e9ponse|risposta|resposta)\W{0,6}(?:\b(?:ist|lautet|es|est|\u00e8|\u00e9)\b|:)"
    r"|\b(?:antwoord|cevap|odpowied\u017a|\u043e\u0442\u0432\u0435\u0442)\W{0,6}(?:\b(?:is|to)\b|:)"
    r"|(?:\u7b54\u6848|\u7b54\u3048|\u0909\u0924\u094d\u0924\u0930|\u0627\u0644\u062c\u0648\u0627\u0628)\s?"
    r"(?:\u662f|\u4e3a|\u306f|\u0647\u0648|:|\uff1a)",
    re.IGNORECASE,
)
_ENDS = re.compile(r"\n|(?<=[^\d\s])\.(?=\s|$)|(?<=\d)\.(?=\s|$)|\u3002")
_STRING = re.compile(r'"(?:[^"\\]|\\.){0,4000}"', re.DOTALL)
_SCALAR = re.compile(r"[^,}\n]{1,400}")
_FRAME = " \t\r\n*_`:"
_OPENS_ONLY = re.compile(r"^[\s*_`$({\[\]})]*$")
LONGEST = 2_000
MOST = 20


def stated_answer(text: str) -> str | None:
    """What `text` states as its answer, as it was written; of several the last, and a marked one before a worded one.

    Empty where the answer is said to be an empty string.
    """
    for mark in reversed(list(_MARKED.finditer(text))[-MOST:]):
        if (found := _behind(mark.group(), text[mark.end() : mark.end() + LONGEST])) is not None:
            return found
    return next(_worded(text), None)


def _behind(mark: str, rest: str) -> str | None:
    if mark.startswith("\\"):
        return _braced(rest)
    if mark.startswith('"'):
        return _json(rest)
    return _line(rest) or None


def _worded(text: str) -> Iterator[str]:
    """What stands behind words that announce an answer, the last first."""
    for said in reversed(list(_SAID.finditer(text))[-MOST:]):
        if line := _line(text[said.end() : said.end() + LONGEST].lstrip(_FRAME)):
            yield line


def _line(rest: str) -> str:
    line = _ENDS.split(rest, maxsplit=1)[0].strip(_FRAME)
    return "" if _OPENS_ONLY.match(line) else line


def _braced(rest: str) -> str | None:
    """Up to the brace that closes the box; what is cut off before it is no answer."""
    depth = 1
    for place, letter in enumerate(rest):
        depth += (letter == "{") - (letter == "}")
        if depth == 0:
            return rest[:place].strip() or None
    return None


def _json(rest: str) -> str | None:
    """The value of a JSON field; a list or object as it is written up to the end of the line."""
    if quoted := _STRING.match(rest):
        try:
            return str(json.loads(quoted.group(), strict=False))
        except ValueError:
            return quoted.group()[1:-1]
    if rest.startswith(("[", "{")):
        return rest.partition("\n")[0].rstrip(" ,}`")
    return scalar.group().strip() if (scalar := _SCALAR.match(rest)) else None
