"""Finds the one name that an untidy answer means: small models wrap it in reasons, quotes, JSON and second thoughts."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from typing import Any, Literal, TypeAlias

Fits: TypeAlias = Callable[[str, Sequence[str]], str]
How: TypeAlias = Literal["chosen", "normalised", "near match"]

SIMILAR = 0.78
"""How alike a word and a name are (difflib's ratio) when the one is taken for the other."""
SHORTEST = 3
DENIED = -4


def _pattern(*alternatives: str) -> str:
    return f"(?i){'|'.join(alternatives)}"


_THOUGHT = r"(?si)<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)"
_CLAUSE_END = r"[.](?=\s|$)|[,;!?\n\u2014\u3002\uff0c]|\s[-\u2013]\s"
_SENTENCE_END = r"[.](?=\s|$)|[;!?\n\u3002]"
_WORD = r"[A-Za-z\u00c0-\u024f]+|[^\W\d_A-Za-z\u00c0-\u024f]+|\d+"

_BEFORE_WANTED = _pattern(
    r"\b(?:next|speaker|answer|choice|choose|chosen|pick|select|go with|hear from|let|let's|floor|over to|must be)\b",
    r"\b(?:boxed|therefore|hence|leaves|time for|w\u00e4hle|sondern|jetzt|n\u00e4chste[nrs]?)\b|->|=>|\u2192",
    r"\b(?:prochain|parole|siguiente|pr\u00f3xim[oa]|hablar|turno|tocca|toca)\b|\u4e0b\u4e00|\u6b21",
    r"\u0441\u043b\u0435\u0434\u0443\u044e\u0449|\b(?:is|be|so)\W*(?:the )?$",
)
_AFTER_WANTED = _pattern(
    r"\W*(?:should|must|would be|could be|next|to (?:speak|go|answer|respond)|goes|please|knows|rather than)\b",
    r"\W*(?:it is|is (?:next|needed|better|the one)|can (?:answer|bring)|'s turn)\b",
    r"\W*(?:de parler|bitte|dran|sollte|deber\u00eda)\b",
)
_BEFORE_UNWANTED = _pattern(
    r"\b(?:not|neither|nor|except|instead of|rather than|never|(?:any|every)(?:one|body) but)\b|n't\b",
    r"\b(?:nicht|statt|pas|no|non)\b",
)
_AFTER_UNWANTED = _pattern(
    r"\W*(?:should(?:n't| not)|(?:has|have) (?:just|already|both|said|spoken|talked|dominated|nothing))\b",
    r"\W*(?:already|just|too|spoke|said|asked|raised|talked|makes|speaks)\b",
    r"\W*(?:ya|vient de|schon|hat (?:gerade|schon|bereits)|ihn|ha (?:gi\u00e0|ya))\b",
)
_POSSESSIVE = r"['\u2019]s\b(?! turn)"
_REASON = _pattern(
    r"\b(?:because|since|given that|as|after|before|while|what|reason|by|then|weil|denn|porque|car|puisque)\b"
)


@dataclass(frozen=True, slots=True)
class _Mention:
    name: str
    start: int
    before: str
    after: str
    stands_alone: bool

    @property
    def weight(self) -> int:
        """How much its clause speaks for it: what stands before the name counts most, a denial decides."""
        return (
            3 * bool(re.search(_BEFORE_WANTED, self.before))
            + 2 * bool(re.match(_AFTER_WANTED, self.after))
            - 6 * bool(re.search(_BEFORE_UNWANTED, self.before))
            - 3 * bool(re.match(_AFTER_UNWANTED, self.after) or re.match(_POSSESSIVE, self.after))
            - 2 * bool(re.search(_REASON, self.before))
            + 4 * self.stands_alone
            + self._is_addressed
        )

    @property
    def _is_addressed(self) -> bool:
        """It opens the answer as in "Ada: ..." and "Ada, what do you think?"."""
        return self.start == 0 and (not self.after or self.after.startswith(":"))


def matching_name(answer: str, names: Sequence[str]) -> tuple[str, How] | None:
    """Returns which of `names` an answer to "who speaks next?" means and how that was found, or None."""
    reply = re.sub(_THOUGHT, "", answer).strip()
    if literal := next((text for text in _strings(reply) if text in names), ""):
        return literal, "chosen"
    if exact := _favourite(_mentions(reply, names, _equal)):
        return exact, "normalised"
    if close := _favourite(_mentions(reply, names, _alike)):
        return close, "near match"
    return None


def _strings(reply: str) -> Iterator[str]:
    """The answer itself, and the texts in it when it is JSON."""
    yield reply
    start, end = reply.find("{"), reply.rfind("}")
    try:
        yield from _texts(json.loads(reply[start : end + 1] if start >= 0 else reply))
    except ValueError:
        return


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from _texts(inner)
        case list():
            for inner in value:
                yield from _texts(inner)


def _favourite(mentions: Iterable[_Mention]) -> str:
    """The name that is favoured most, the last one said among equals."""
    best = max(mentions, key=lambda mention: (mention.weight, mention.start), default=None)
    return best.name if best and best.weight > DENIED else ""


def _mentions(reply: str, names: Sequence[str], fits: Fits) -> Iterator[_Mention]:
    for name, start, end in _places(reply, names, fits):
        before = re.split(_CLAUSE_END, reply[:start])[-1]
        after = re.split(_CLAUSE_END, reply[end:], maxsplit=1)[0]
        sentence = re.split(_SENTENCE_END, reply[:start])[-1] + re.split(_SENTENCE_END, reply[end:], maxsplit=1)[0]
        is_asked = reply[end:].lstrip("\"'*`").startswith("?")
        yield _Mention(name, start, before, after, not is_asked and not re.search(_WORD, sentence))


def _places(reply: str, names: Sequence[str], fits: Fits) -> Iterator[tuple[str, int, int]]:
    """Every name in the text with its start and end, the longest possible at each place."""
    found = [(match.group(), match.start(), match.end()) for match in re.finditer(_WORD, reply)]
    longest = max(len(re.findall(_WORD, name)) for name in names)
    position = 0
    while position < len(found):
        for length in range(min(longest, len(found) - position), 0, -1):
            run = found[position : position + length]
            if name := fits("".join(word for word, _, _ in run).casefold(), names):
                yield name, run[0][1], run[-1][2]
                position += length - 1
                break
        position += 1


def _equal(word: str, names: Sequence[str]) -> str:
    return next((name for name in names if word == _key(name)), "")


def _alike(word: str, names: Sequence[str]) -> str:
    """A part of a name that no other has, or a misspelling that is nearer to one name than to all others."""
    if len(word) < SHORTEST:
        return ""
    if len(having := [name for name in names if word in _words(name)]) == 1:
        return having[0]
    closeness = sorted(((SequenceMatcher(None, word, _key(name)).ratio(), name) for name in names), reverse=True)
    nearest, second = closeness[0], closeness[1] if len(closeness) > 1 else (0.0, "")
    return nearest[1] if nearest[0] >= SIMILAR and nearest[0] > second[0] else ""


def _key(name: str) -> str:
    return "".join(_words(name))


@cache
def _words(name: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in re.findall(_WORD, name))
