"""Lessons of the large model: requests at which help changed the answer, found again by their words.

Every lesson is on trial. In a part of the cases it is left out on purpose, and if help is asked for as often with it as
without, it is deleted.
"""

import hashlib
import re
from array import array
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from math import comb, log1p
from operator import mul
from typing import Any

from .store import EvidenceStore, value_of

LESSONS, WITHOUT = "lessons", "requests without lessons"
"""Collections of a store: the lessons of a pair, and how often help was asked for without them."""
WORDS, MOST_LOOKUPS, SEARCHED = 64, 24, 8
"""Words of a request that are kept; the longest of them, whose frequency is looked up; the rarest, searched for."""
EXAMINED, CANDIDATES = 3_000, 12
"""About how many requests with these words are examined, and how many are compared."""
EMBEDDED = 60
"""The number of lessons, by words and newest, whose similarity of meaning is computed."""
NEAR, LONGER = 0.7, 3
"""The smallest share of a request's words that a lesson must have, and how many times as many words it may have."""
FIRST, ENOUGH = 5, 20
"""Uses after which a lesson is tested, and after which it must have helped."""
MIN_COMPARED_REQUESTS = 3
"""Requests without lessons after which their rate of asking for help counts as known."""
SIGNIFICANCE = 0.05
_STOP_WORDS = (
    "about after again also been before being both could does each every from give have here how into just know "
    "like make many more most must need only other over please same should some such tell than that the their them "
    "then there these they this those time under until very want was well were what when where which while who why "
    "will with would write you your and for are can "
)
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Words that are in nearly every request."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A request and its finally accepted answer; `wrong` says what was wrong with the first answer.

    It was `shown` this many times, and in `asked` of these help was asked for all the same. `vector` is the embedding
    of the request by the model `placed_by`.
    """

    key: str
    prompt: str
    answer: str
    wrong: str = ""
    shown: int = 0
    asked: int = 0
    vector: str = ""
    placed_by: str = ""


@dataclass(frozen=True, slots=True)
class TextPlace:
    """The embedding of a request by the model `placed_by`; lessons with a similarity of at least `near` are shown."""

    vector: str
    placed_by: str
    near: float


NOWHERE = TextPlace("", "", 0.0)


@dataclass(frozen=True, slots=True)
class RequestsWithoutLessons:
    """The number of requests whose lessons were left out, and how many of them asked for help."""

    requests: int = 0
    asked: int = 0


def keep_lesson(
    store: EvidenceStore, pair: str, prompt: str, answer: str, wrong: str, place: TextPlace = NOWHERE
) -> str:
    """Stores a lesson and returns its key; empty for a known request, which keeps its first lesson."""
    key = hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest()[:12]
    document = asdict(Lesson(key, prompt, answer, wrong, vector=place.vector, placed_by=place.placed_by))
    is_new = store.add(LESSONS, pair, key, document, " ".join(_words(prompt)[:WORDS]))
    return key if is_new else ""


def find_lessons(store: EvidenceStore, pair: str, prompt: str, most: int) -> Sequence[Lesson]:
    """Returns the lessons that are similar enough, the most similar first."""
    words = sorted(_words(prompt), key=len, reverse=True)[:MOST_LOOKUPS]
    counts = store.records_with(words)
    found = store.search(LESSONS, pair, _rarest(counts), CANDIDATES) if counts else ()
    near = sorted(((_similarity(words, counts, each.text.split()), each) for each in found), key=lambda one: -one[0])
    return [value_of(Lesson, each.document) for similarity, each in near if similarity >= NEAR][:most]


def lessons_near(store: EvidenceStore, pair: str, prompt: str, most: int, place: TextPlace) -> Sequence[Lesson]:
    """Returns the lessons closest in meaning, among those that share a rare word and the newest ones.

    After them come lessons with similar words that have no embedding by that model.
    """
    counts = store.records_with(sorted(_words(prompt), key=len, reverse=True)[:MOST_LOOKUPS])
    found = [*store.search(LESSONS, pair, _rarest(counts), EMBEDDED), *store.records(LESSONS, pair, newest=EMBEDDED)]
    lessons = {record.key: value_of(Lesson, record.document) for record in found}.values()
    here = _vector_of(place.vector)
    near = [(_cosine(here, _vector_of(each.vector)), each) for each in lessons if each.placed_by == place.placed_by]
    nearest = [each for similarity, each in sorted(near, key=lambda one: -one[0]) if similarity >= place.near]
    unplaced = (each for each in find_lessons(store, pair, prompt, most) if each.placed_by != place.placed_by)
    return [*nearest, *unplaced][:most]


def record_use(store: EvidenceStore, pair: str, keys: Sequence[str], *, shown: bool, asked: bool) -> Sequence[str]:
    """Counts a request for which lessons were shown or left out. Returns the lessons that are deleted as a result."""
    if not shown:
        store.change(WITHOUT, pair, "", lambda known: _with_count(known or {}, "requests", asked))
        return ()
    without = without_lessons(store, pair)
    counted = [_count_shown(store, pair, key, asked) for key in keys]
    useless = [lesson.key for lesson in counted if lesson and _is_useless(lesson, without)]
    store.remove(LESSONS, pair, useless)
    return useless


def without_lessons(store: EvidenceStore, pair: str) -> RequestsWithoutLessons:
    return RequestsWithoutLessons(**(store.get(WITHOUT, pair, "") or {}))


def lessons_of(store: EvidenceStore, pair: str) -> Sequence[Lesson]:
    return [value_of(Lesson, record.document) for record in store.records(LESSONS, pair)]


def _count_shown(store: EvidenceStore, pair: str, key: str, asked: bool) -> Lesson | None:
    """Returns the lesson as counted; None if it was deleted while it was shown, as by another request."""
    counted = store.change(LESSONS, pair, key, lambda known: _with_count(known, "shown", asked) if known else None)
    return value_of(Lesson, counted) if counted else None


def _with_count(known: Mapping[str, Any], name: str, asked: bool) -> Mapping[str, Any]:
    return {**known, name: known.get(name, 0) + 1, "asked": known.get("asked", 0) + asked}


def _is_useless(lesson: Lesson, without: RequestsWithoutLessons) -> bool:
    """Returns whether help was asked for more often than without (exact binomial test), or in the end as often."""
    is_known = lesson.shown >= ENOUGH and without.requests >= MIN_COMPARED_REQUESTS
    if is_known and lesson.asked * without.requests >= without.asked * lesson.shown:
        return True
    # Laplace's rule of succession, so that a few requests don't give a rate of 0 or 1.
    usual = (without.asked + 1) / (without.requests + 2)
    return lesson.shown >= FIRST and _binomial_tail(lesson.asked, lesson.shown, usual) <= SIGNIFICANCE


def _binomial_tail(least: int, number: int, share: float) -> float:
    """Returns the probability of at least `least` successes in `number` trials."""
    return sum(comb(number, k) * share**k * (1 - share) ** (number - k) for k in range(least, number + 1))


def _words(text: str) -> list[str]:
    """Returns the distinct words that characterise a request; all numbers count as one word."""
    found = (re.sub(r"\d+", "0", word) for word in re.findall(r"[^\W_]+", text.lower()))
    return [*dict.fromkeys(word for word in found if (len(word) > 2 and word not in STOP_WORDS) or word == "0")]


def _rarest(counts: Mapping[str, int]) -> Sequence[str]:
    """Returns the rarest words: frequent ones cost much time and say little."""
    totals = [*accumulate(counts.values())]
    return [word for place, word in enumerate(counts) if not place or (place < SEARCHED and totals[place] <= EXAMINED)]


def _similarity(words: Sequence[str], counts: Mapping[str, int], others: Sequence[str]) -> float:
    """Returns the share of a request's words in a lesson, weighted by rarity; 0 if the lesson is much longer.

    The frequency of the most common word stands for the number of such requests.
    """
    usual, there = max(counts.values()), set(others)
    weights = {word: log1p(usual / counts.get(word, 0.5)) for word in words}
    if len(there) > LONGER * len(words):
        return 0.0
    return sum(weight for word, weight in weights.items() if word in there) / sum(weights.values())


def _vector_of(text: str) -> Sequence[float]:
    """Decodes a vector from the text that `wire.openai.decode_embedding` makes of it."""
    return array("f", b64decode(text))


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Returns the similarity, from -1 to 1, of two vectors of length one; 0 for vectors of two models."""
    return sum(map(mul, one, other)) if len(one) == len(other) else 0.0
