"""Ranks anonymous answers: an order per reader, pooling by Borda count, and parsing what judges and chairs write."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from string import ascii_uppercase

from ..core.exchange import object_schema
from ..wire.dialects.thinking import ThoughtFilter, without_thought
from ._documents import LONGEST_REPLY, json_object

LABELS = ascii_uppercase
UNRANKED = Fraction(-1)
LONGEST_HEAD = 8_000
"""The most characters that a chair's note may have before its answer."""
LONGEST_REASON = 500
LONGEST_KEY = 20
SCHEMA = object_schema({"why": {"type": "string"}, "ranking": {"type": "array", "items": {"type": "string"}}})
_NUMBERED = re.compile(r"(?im)^\W{0,4}\d{1,2}[.):][\s*_]*(?:(?:answer|response)[\s*_]+)?([A-Z])\b")
_CHAIN = re.compile(r"(?i)\b[A-Z]\b(?:[\s*_\"']*(?:>|,|;|→)[\s*_\"']*(?:(?:answer|response)[\s*_]+)?[A-Z]\b)+")
_LETTER = re.compile(r"(?<![A-Za-z])([A-Za-z])(?![A-Za-z])")
_HEAD = re.compile(r"[\s*_#>-]*(?:used|left[ _]out|answer)[\s*_]*:", re.IGNORECASE)
_ANSWER = re.compile(r"^[ \t*_#>-]*(?:final )?answer[ \t*_]*:[*_]*(?=[^*_])", re.IGNORECASE | re.MULTILINE)
_USED_LINE = re.compile(r"^[ \t*_#>-]*used[\s*_]*:(.*)$", re.IGNORECASE | re.MULTILINE)
_OMISSIONS = re.compile(r"^[ \t*_#>-]*left[ _]out[\s*_]*:(.*)\Z", re.IGNORECASE | re.MULTILINE | re.DOTALL)
_LABELS = r"(?:(?:[Aa]nswers?[\s*_]+)?[A-Z]\b[\s*_]*(?:(?:,|and|&)[\s*_]*)?)+"
_REASON = re.compile(rf"[\s*_>-]*({_LABELS})(?:[:\u2013\u2014(-]|$)[\s*_]*(.*)", re.DOTALL)
_LABEL = re.compile(r"\b[A-Z]\b")

Ranking = tuple[int, ...]
"""Answers by their numbers, best first."""


@dataclass(frozen=True, slots=True)
class Standing:
    """An answer's place in the pooled ranking; answers with equal `points` share a `rank`.

    `points` is the mean share of the other answers ranked below it, or None if nobody ranked it; `firsts` counts the
    `judges` that put it first.
    """

    number: int
    rank: int
    points: Fraction | None
    firsts: int
    judges: int

    @property
    def words(self) -> str:
        """The standing in the words a chair is shown."""
        if self.points is None:
            return "nobody ranked it"
        points = f"{float(self.points):.2f} of 1 point, rank {self.rank}"
        return f"{points}, ranked first by {self.firsts} of {self.judges}"


def reading_order(seed: str, reader: str, numbers: Iterable[int]) -> Ranking:
    """Shuffles the numbers for a reader; the same seed and reader give the same order."""
    return tuple(sorted(numbers, key=lambda number: sha256(f"{seed}/{reader}/{number}".encode()).digest()))


def pool(numbers: Sequence[int], rankings: Iterable[Ranking]) -> tuple[Standing, ...]:
    """Pools rankings by Borda count and returns the standings, best first; ties keep the order of `numbers`.

    Nobody ranks their own answer, so rankings may be incomplete; therefore the mean counts, not the sum. A ranking of a
    single answer says nothing and is ignored.
    """
    telling = [ranking for ranking in rankings if len(ranking) > 1]
    given = {number: [_points(ranking, number) for ranking in telling if number in ranking] for number in numbers}
    points = {number: sum(got, Fraction()) / len(got) for number, got in given.items() if got}
    ordered = sorted(numbers, key=lambda number: points.get(number, UNRANKED), reverse=True)
    heights = [points.get(number, UNRANKED) for number in ordered]
    firsts = Counter(ranking[0] for ranking in telling)
    return tuple(
        Standing(number, 1 + heights.index(height), points.get(number), firsts[number], len(given[number]))
        for number, height in zip(ordered, heights, strict=True)
    )


def _points(ranking: Ranking, number: int) -> Fraction:
    last = len(ranking) - 1
    return Fraction(last - ranking.index(number), last)


def read_ranking(reply: str, count: int) -> Ranking:
    """Parses a reply into the order of the first `count` letters; empty if it is not an order of all of them.

    It accepts JSON, a numbered list, or a chain such as `B > A`, after the last "ranking" or anywhere.
    """
    wanted = LABELS[:count]
    for found in _orders(without_thought(reply)[:LONGEST_REPLY]):
        if sorted(found) == sorted(wanted):
            return tuple(map(wanted.index, found))
    return ()


def _orders(text: str) -> Iterator[list[str]]:
    value = json_object(text)
    if "ranking" in value:  # ignore letters in the reply's other fields
        yield _letters(str(value["ranking"]))
        return
    for section in (text[text.casefold().rfind("ranking") + 1 :], text):
        yield [letter.upper() for letter in _NUMBERED.findall(section)]
        if chains := [match.group() for match in _CHAIN.finditer(section)]:
            yield _letters(chains[-1])


def _letters(text: str) -> list[str]:
    return [letter.upper() for letter in _LETTER.findall(text)]


@dataclass(frozen=True, slots=True)
class ChairNote:
    """A chair's note on the answers, by letter: which it `used`, and why it `left_out` others."""

    used: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, head: str) -> "ChairNote":
        used, left_out = _USED_LINE.search(head), _OMISSIONS.search(head)
        reasons: dict[str, str] = {}
        for line in re.split(r"[\n;]", left_out[1]) if left_out else ():
            if found := _REASON.fullmatch(line.strip()):
                reasons |= dict.fromkeys(_LABEL.findall(found[1]), found[2].strip())
            elif reasons and line.strip():
                last = [*reasons][-1]
                reasons[last] = f"{reasons[last]} {line.strip()}"
        letters = dict.fromkeys(_LABEL.findall(used[1])) if used else ()
        return cls(tuple(letters), {label: why[:LONGEST_REASON] for label, why in reasons.items() if why})

    def among(self, labels: Collection[str]) -> "ChairNote":
        """Restricts the note to these labels; an answer that was also used does not count as left out."""
        used = tuple(label for label in self.used if label in labels)
        left_out = {label: why for label, why in self.left_out.items() if label in {*labels} - {*used}}
        return ChairNote(used, left_out)


def split_answer(text: str, *, is_whole: bool) -> tuple[str, int] | None:
    """Returns a chair's note and the index at which its answer begins; None if that is not known (yet).

    A text that does not begin with a note is all answer; a note alone is not an answer.
    """
    if not _HEAD.match(text):
        is_open = not is_whole and len(text.lstrip()) < LONGEST_KEY and "\n" not in text.strip()
        return None if is_open or not text.strip() else ("", 0)
    found = _ANSWER.search(text, 0, LONGEST_HEAD)
    return (text[: found.start()], found.end()) if found and text[found.end() :].strip() else None


class ChairReader:
    """Reads a chair's reply as it streams; a call returns the new part of the answer, without the note before it."""

    def __init__(self) -> None:
        self._thoughts = ThoughtFilter()
        self._text = ""
        self._is_answering = False

    def __call__(self, piece: str) -> str:
        if self._is_answering:
            return piece
        self._text += self._thoughts.feed(piece)
        found = split_answer(self._text, is_whole=False)
        answer = self._text[found[1] :].lstrip() if found else ""
        self._is_answering = bool(answer)
        return answer
