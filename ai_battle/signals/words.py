"""Texts as words, without a dictionary."""

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*|\d+(?:[.,]\d+)*")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_SENTENCE_END = re.compile(r"(?<=[.!?\u2026\u3002\uff01\uff1f])[\s\"'*_)\]]+|\n+")

STEM = 6
_FILLERS = frozenset(files(__package__).joinpath("fillers.txt").read_text(encoding="utf-8").split())


def words(text: str) -> Iterator[str]:
    """Lower-cased; scripts without spaces give pairs of characters."""
    for match in _WORD.finditer(text.casefold().replace("\u2019", "'")):
        word = match.group()
        if _UNSPACED.search(word):
            yield from (word[i : i + 2] for i in range(max(1, len(word) - 1)))
        else:
            yield word


@lru_cache(maxsize=64)
def content_stems(text: str) -> frozenset[str]:
    """What a text is about: its words without fillers and courtesies, cut to stems: inflection is nothing new."""
    plain = (word.partition("'")[0] for word in words(text))
    return frozenset(word[:STEM] for word in plain if word not in _FILLERS and (len(word) > 2 or not word.isascii()))


def sentences(text: str) -> list[str]:
    return [sentence for part in _SENTENCE_END.split(text) if (sentence := part.strip(" \t*_#>-\"'"))]
