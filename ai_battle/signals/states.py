"""Whether two texts tell states that exclude one another, by their words in many languages or by a denying prefix."""

import re
from collections.abc import Collection
from functools import cache
from importlib.resources import files

from .languages import plain_words

_UNSPACED = re.compile(r"[\u0900-\u097f\u3040-\u30ff\u3400-\u9fff]")
_PREFIXES = ("un", "in", "dis", "dés", "non")
_LONGEST, _LEAST = 20_000, 5
DENIAL = "denial"


def opposes(text: str, source: str) -> bool:
    """Says whether a text tells another state than its source does, and not that of the source too."""
    states_here = _states(text)
    groups = [group for group, states in states_here.items() if states and group != DENIAL]
    known = _states(source, groups)  # a long text of which as a rule nothing is told that excludes anything
    if any(known[group] and not states_here[group] & known[group] for group in groups):
        return True
    return _negates(*(frozenset(plain_words(each[:_LONGEST])) for each in (text, source)))


def denies(text: str) -> bool:
    """Says whether a text says that something is not so, could not be had, or failed."""
    return bool(_states(text, (DENIAL,))[DENIAL])


def _negates(states: frozenset[str], known: frozenset[str]) -> bool:
    """One has a word of the other with a prefix that turns it round, as "unlocked" does, and not the word itself."""
    new, old = states - known, known - states
    both = ((prefix + word, word) for word in new | old if len(word) >= _LEAST for prefix in _PREFIXES)
    return any((turned in new and word in old) or (turned in old and word in new) for turned, word in both)


def _states(text: str, groups: Collection[str] | None = None) -> dict[str, set[str]]:
    """The states that a text tells, of these groups or of all."""
    if groups is not None and not groups:
        return {}
    plain = text[:_LONGEST].casefold().replace("\u2019", "'")
    words = " ".join((*(f"{word}." for word in plain_words(plain)), "n't." if "n't" in plain else ""))
    return {
        group: {state for state, mark in states.items() if mark.search(f" {words}\0{plain}")}
        for group, states in _groups().items()
        if groups is None or group in groups
    }


@cache
def _groups() -> dict[str, dict[str, re.Pattern[str]]]:
    """A mark begins a word, is one with its dot, or stands anywhere where words have no spaces."""
    listed: dict[str, dict[str, list[str]]] = {}
    for line in files(__package__).joinpath("states.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            named, _, marks = line.partition(": ")
            group, state = named.split()
            listed.setdefault(group, {}).setdefault(state, []).extend(marks.casefold().split())
    return {group: {state: _pattern(marks) for state, marks in states.items()} for group, states in listed.items()}


def _pattern(marks: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(mark) if _UNSPACED.search(mark) else f" {re.escape(mark)}" for mark in marks))
