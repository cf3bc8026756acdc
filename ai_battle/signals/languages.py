"""Splits texts into words, detects their language, and knows the closed word classes of fourteen languages.

Modules that every run loads keep rarely used patterns as strings: `re` compiles and caches them at their first use.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from operator import itemgetter

UNSPACED = ("zh", "ja")
LEAST, LEAD = 4, 2
"""Votes that a language needs, and its lead over the next one. A function word has two votes, a single letter one."""
# The beginning tells the language; these are called for each answer, however long it is.
_FIRST, _LONGEST = 800, 2_000
_UNSPACED_WORD = r"[\u3040-\u9fff]"
_MARKS = (
    r"\s\d.,;:!?\u00a1\u00bf\u2026\u3002\uff01\uff1f\uff0c\u3001\u0964\u060c\u061b\u061f\"'\u2019\u2018\u201c\u201d\u201e\u00ab\u00bb"
    r"()\[\]{}<>*_`~#|/\\+=\u2013\u2014&%$@\u2600-\u27bf\ufe0f\U0001f000-\U0001faff-"
)
_UNMARKED = re.compile(f"[^{_MARKS}]+")
_CLOCK = r"(?i)(?<![\d:])(?:\d{1,2}[:h]\d{2}(?!\d)|\d{1,2} ?[ap]\.?m\b|\d{4}-\d\d-\d\d)"
_SCRIPTS = (
    ("ja", r"[\u3040-\u30ff]"),
    ("zh", r"[\u4e00-\u9fff]"),
    ("ru", r"[\u0400-\u04ff]"),
    ("ar", r"[\u0600-\u06ff]"),
    ("hi", r"[\u0900-\u097f]"),
)
_LETTERS: Mapping[str, str] = {
    "\u00df": "de", "\u0142": "pl", "\u0105": "pl", "\u0119": "pl", "\u015b": "pl", "\u017c": "pl", "\u0107": "pl",
    "\u011f": "tr", "\u0131": "tr", "\u015f": "tr", "\u00e3": "pt", "\u00f5": "pt", "\u00f1": "es", "\u00bf": "es",
    "\u00a1": "es", "\u0153": "fr", "\u00ea": "fr", "\u00f2": "it", "\u00ec": "it",
}  # fmt: skip
"""Letters that are typical of one language and count like a function word of it."""


@cache
def closed_words(language: str, *kinds: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Returns the words of these kinds, and the stems that words may begin with."""
    listed = [word for kind in kinds for word in listed_words(language, kind)]
    return (
        frozenset(word for word in listed if not word.endswith("*")),
        tuple(word[:-1] for word in listed if word.endswith("*")),
    )


def listed_words(language: str, kind: str) -> list[str]:
    """Returns the words of a kind in their order."""
    return _tables()[language][kind].split()


@cache
def words_everywhere(kind: str) -> frozenset[str]:
    """Returns the words of a kind in all languages, without stems."""
    return frozenset().union(*(closed_words(language, kind)[0] for language in languages()))


@cache
def languages() -> tuple[str, ...]:
    return tuple(_tables())


@cache
def _tables() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(files(__package__).joinpath("languages.toml").read_text(encoding="utf-8"))


def plain_words(text: str) -> list[str]:
    """Splits a text into lower-case words. Apostrophes and hyphens separate words; vowel signs don't."""
    return _UNMARKED.findall(text.casefold())


def has_word(text: str, language: str, kind: str) -> bool:
    """Checks whether a text has a word of a kind, or a pair of words that the list joins with an underscore."""
    words, stems = closed_words(language, kind)
    if language in UNSPACED:
        folded = text.casefold()
        return any(word in folded for word in words)
    words_ = plain_words(text)
    return any(word in words or word.startswith(stems) for word in words_) or not words.isdisjoint(
        map("_".join, pairwise(words_))
    )


@lru_cache(maxsize=512)
def has_word_anywhere(text: str, kind: str) -> bool:
    """Checks whether the first 2,000 characters have a word of a kind, or a pair of words, in any language."""
    words, stems, unspaced = _words_of_kind(kind)
    said = plain_words(text[:_LONGEST])
    if not words.isdisjoint((*said, *map("_".join, pairwise(said)))):
        return True
    return any(word.startswith(stems) for word in said) or any(map(text.count, unspaced))


@cache
def unspaced_words(language: str, kind: str) -> tuple[str, ...]:
    """Returns the words of a kind in scripts without spaces."""
    return tuple(word for word in closed_words(language, kind)[0] if re.search(_UNSPACED_WORD, word))


@cache
def _words_of_kind(kind: str) -> tuple[frozenset[str], tuple[str, ...], tuple[str, ...]]:
    """Returns the words of a kind in all languages, their stems, and the words in scripts without spaces."""
    stems = {stem for language in languages() for stem in closed_words(language, kind)[1]}
    unspaced = {word for language in UNSPACED for word in closed_words(language, kind)[0]}
    unspaced |= {word for language in languages() for word in unspaced_words(language, kind)}
    return words_everywhere(kind), tuple(stems), tuple(unspaced)


def names_time(text: str) -> bool:
    """Checks whether a text has a time of day, a date, a month or a weekday in any language."""
    if re.search(_CLOCK, text):
        return True
    known = language_of(text)
    return any(has_word(text, language, "calendar") for language in ((known,) if known else languages()))


@lru_cache(maxsize=256)
def language_of(text: str, least: int = LEAST) -> str:
    """Returns the main language of a text by its script or its function words, or "" if several are likely.

    `least` is the number of votes that a language needs.
    """
    text = text[:_FIRST]
    if not text.isascii() and (script := _script(text)):
        return script
    (best, most), (_, second) = sorted(_votes(text).items(), key=itemgetter(1), reverse=True)[:2]
    return best if most >= least and most >= second + LEAD else ""


def _script(text: str) -> str:
    """Returns the language of a script that has a third of the letters, or "". A tenth in kana makes it Japanese."""
    letters = sum(map(str.isalpha, text))
    for language, script in _SCRIPTS:
        found = len(re.findall(script, text))
        if found * (10 if language == "ja" else 3) >= letters > 0:
            return language
    return ""


def _votes(text: str) -> dict[str, int]:
    """Returns the votes for each language in Latin letters."""
    votes = dict.fromkeys(_latin(), 0)
    spoken = _speakers()
    for word in spoken.keys() & plain_words(text):
        for language in spoken[word]:
            votes[language] += min(2, len(word))
    for letter in _LETTERS.keys() & text.casefold():
        votes[_LETTERS[letter]] += 2
    return votes


@cache
def _latin() -> tuple[str, ...]:
    return tuple(name for name in languages() if name not in (*UNSPACED, "ru", "ar", "hi"))


@cache
def _speakers() -> Mapping[str, Sequence[str]]:
    """Returns for each function word or common word its languages in Latin letters."""
    found: dict[str, list[str]] = {}
    for language in _latin():
        for word in closed_words(language, "function", "common")[0]:
            found.setdefault(word, []).append(language)
    return found


_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*|\d+(?:[.,]\d+)*")
_UNSPACED_LETTER = r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
_SENTENCE_END = re.compile(r"(?<=[.!?\u2026\u3002\uff01\uff1f])[\s\"'*_)\]]+|\n+")

STEM_LENGTH = 6
FILLERS = frozenset(files(__package__).joinpath("fillers.txt").read_text(encoding="utf-8").split())


def words(text: str) -> list[str]:
    """Returns the words in lower case; scripts without spaces give pairs of characters."""
    found = _WORD.findall(text.casefold().replace("\u2019", "'"))
    return found if text.isascii() else [part for word in found for part in _parts(word)]


def _parts(word: str) -> Iterator[str]:
    if word.isascii() or not re.search(_UNSPACED_LETTER, word):
        yield word
    else:
        yield from (word[i : i + 2] for i in range(max(1, len(word) - 1)))


@lru_cache(maxsize=64)
def content_stems(text: str) -> frozenset[str]:
    """Returns the subject of a text: its words without fillers, cut to stems so that inflection does not matter."""
    plain = {word.partition("'")[0] for word in words(text)} - FILLERS
    return frozenset([word[:STEM_LENGTH] for word in plain if len(word) > 2 or not word.isascii()])


def sentences(text: str) -> list[str]:
    return [sentence for part in _SENTENCE_END.split(text) if (sentence := part.strip(" \t*_#>-\"'"))]


_LONG_WORD = re.compile(r"[^\W\d_]{3,}")
_NAME_PARTS = re.compile(r"(?<=[a-z])(?=[A-Z])|[_.:/-]")
_SHORTFILLERS = frozenset(
    ("the", "and", "for", "are", "was", "his", "her", "how", "she", "you", "all", "any", "can", "has")
)


@lru_cache(maxsize=256)
def stems(text: str) -> frozenset[str]:
    """Returns the stems of words of three letters or more, in lower case."""
    return frozenset(word[:STEM_LENGTH] for word in _LONG_WORD.findall(text.lower())) - _SHORTFILLERS


@lru_cache(maxsize=256)
def name_stems(name: str) -> frozenset[str]:
    """Returns the stems of a name in code: "get_weatherReport" gives get, weather and report."""
    return stems(_NAME_PARTS.sub(" ", name))


def share(of: frozenset[str], among: frozenset[str]) -> float:
    return len(of & among) / max(1, len(of))


MIN_STEMS = 5


def novelty(text: str, earlier: Iterable[str]) -> float:
    """Returns the share of new content words, from 0 to 1. A short text counts as if it had five content words."""
    own_stems = content_stems(text)
    new = own_stems.difference(*map(content_stems, earlier))
    return len(new) / max(len(own_stems), MIN_STEMS)
