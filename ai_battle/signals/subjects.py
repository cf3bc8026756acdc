"""Finds the words of other languages for what a text in one of them is about."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

_INFLECTED_LENGTH = 5
"""From so many letters on, a word counts with any ending. Words outside of the European scripts always do."""
_EUROPEAN = "\u0530"


def subject_words(words: Iterable[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Returns the words for the subjects that `words` are about, in all languages, and the beginnings of others."""
    said = tuple(words)
    named = [(exact, stems) for exact, stems in _subjects() if any(_is_one_of(word, exact, stems) for word in said)]
    return frozenset().union(*(exact for exact, _ in named)), tuple(stem for _, stems in named for stem in stems)


def _is_one_of(word: str, exact: frozenset[str], stems: tuple[str, ...]) -> bool:
    return word in exact or word.startswith(stems)


@cache
def _subjects() -> tuple[tuple[frozenset[str], tuple[str, ...]], ...]:
    lines = files(__package__).joinpath("subjects.txt").read_text(encoding="utf-8").splitlines()
    subjects = [line.split() for line in lines if not line.startswith("#")]
    return tuple(
        (frozenset(words), tuple(word for word in words if len(word) >= _INFLECTED_LENGTH or word > _EUROPEAN))
        for words in subjects
    )
