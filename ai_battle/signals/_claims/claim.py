"""A claim that a tool was used, and what is read alike in every kind of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from .phrases import FILE
from .tool_words import ANY, NONE, SMALL, Toolbox

_NEAR = 14


@dataclass(frozen=True, slots=True)
class Claim:
    """`kinds` of tools that could back it; `own` when the speaker claims the deed, not only its result."""

    kinds: frozenset[str]
    own: bool = True


@dataclass(frozen=True, slots=True)
class Found:
    """A claim, and the place of the word behind it."""

    end: int
    claim: Claim


def clause(words: Sequence[str], start: int) -> range:
    """Places from `start` to where another thought begins."""
    end = min(len(words), start + _NEAR)
    return range(start, next((place for place in range(start, end) if _closes(words, place)), max(start, end)))


def things_in(word: str, box: Toolbox) -> frozenset[str]:
    """The kinds of tools that deal with it."""
    if not box.names and "_" in word:
        return frozenset({ANY})
    return box.things(word) | ({"files"} if "." in word and FILE.fullmatch(word) else NONE)


def _closes(words: Sequence[str], place: int) -> bool:
    return words[place] in SMALL["stops"] or (words[place] == "that" and words[place - 1] not in SMALL["to_a_place"])
