"""Checks whether two texts report states that exclude each other, by words in many languages or a negating prefix."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from ..core.texts import one_of
from .languages import plain_words

_UNSPACED = re.compile(r"[\u0900-\u097f\u3040-\u30ff\u3400-\u9fff]")
_PREFIXES = ("un", "in", "dis", "dés", "non")
# Shorter words take the prefix by chance: "in" + "put" is not the opposite of "put".
_LONGEST, _LEAST = 20_000, 5
DENIAL = "denial"


def opposes(text: str, source: str) -> bool:
    """Checks whether a text reports a state that excludes its source's, and does not report the source's as well."""
    states_here = _states(text)
    # What is denied may be the opposite of the source's state. Most answers report none, and sources may be long.
    known = _states(source) if states_here and DENIAL not in states_here else {}
    if any(group in known and not states & known[group] for group, states in states_here.items()):
        return True
    return _negates(*(frozenset(plain_words(each[:_LONGEST])) for each in (text, source)))


def denies(text: str) -> bool:
    """Checks whether a text says that something is not so, was not available, or failed."""
    return DENIAL in _states(text)


def _negates(states: frozenset[str], known: frozenset[str]) -> bool:
    """Checks whether one set has a word of the other with a negating prefix, such as "unlocked"."""
    new, old = states - known, known - states
    both = ((prefix + word, word) for word in new | old if len(word) >= _LEAST for prefix in _PREFIXES)
    return any((turned in new and word in old) or (turned in old and word in new) for turned, word in both)


def _states(text: str) -> dict[str, set[str]]:
    """Returns the states that a text reports, by group."""
    plain = text[:_LONGEST].casefold().replace("\u2019", "'")
    words = " ".join((*(f"{word}." for word in plain_words(plain)), "n't." if "n't" in plain else ""))
    marks, reports = _marks()
    states: dict[str, set[str]] = {}
    for mark in set(marks.findall(f" {words}\0{plain}")):
        for group, state in reports[mark]:
            states.setdefault(group, set()).add(state)
    return states


@cache
def _marks() -> tuple[re.Pattern[str], Mapping[str, set[tuple[str, str]]]]:
    """Returns a pattern for the longest mark at each place, and the groups and states that each mark reports.

    A mark matches the beginning of a word. With its dot it matches the whole word, and in scripts without spaces it
    matches anywhere.
    """
    listed: dict[str, set[tuple[str, str]]] = {}
    for line in files(__package__).joinpath("states.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            named, _, marks = line.partition(": ")
            group, state = named.split()
            for mark in marks.casefold().split():
                listed.setdefault(mark if _UNSPACED.search(mark) else f" {mark}", set()).add((group, state))
    reports = {long: {each for mark in listed if long.startswith(mark) for each in listed[mark]} for long in listed}
    return re.compile(f"(?=({one_of(listed)}))"), reports
