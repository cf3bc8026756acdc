"""Whether two texts tell states that exclude one another, by their words in many languages or by a denying prefix."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from ..core.texts import one_of
from .languages import plain_words

_UNSPACED = re.compile(r"[\u0900-\u097f\u3040-\u30ff\u3400-\u9fff]")
_PREFIXES = ("un", "in", "dis", "dés", "non")
_LONGEST, _LEAST = 20_000, 5
DENIAL = "denial"


def opposes(text: str, source: str) -> bool:
    """Says whether a text tells another state than its source does, and not that of the source too."""
    states_here = {group: states for group, states in _states(text).items() if group != DENIAL}
    known = _states(source) if states_here else {}  # a long text; as a rule nothing is told that excludes anything
    if any(group in known and not states & known[group] for group, states in states_here.items()):
        return True
    return _negates(*(frozenset(plain_words(each[:_LONGEST])) for each in (text, source)))


def denies(text: str) -> bool:
    """Says whether a text says that something is not so, could not be had, or failed."""
    return DENIAL in _states(text)


def _negates(states: frozenset[str], known: frozenset[str]) -> bool:
    """One has a word of the other with a prefix that turns it round, as "unlocked" does, and not the word itself."""
    new, old = states - known, known - states
    both = ((prefix + word, word) for word in new | old if len(word) >= _LEAST for prefix in _PREFIXES)
    return any((turned in new and word in old) or (turned in old and word in new) for turned, word in both)


def _states(text: str) -> dict[str, set[str]]:
    """The states that a text tells, by their groups."""
    plain = text[:_LONGEST].casefold().replace("\u2019", "'")
    words = " ".join((*(f"{word}." for word in plain_words(plain)), "n't." if "n't" in plain else ""))
    marks, told_by = _marks()
    states: dict[str, set[str]] = {}
    for mark in set(marks.findall(f" {words}\0{plain}")):
        for group, state in told_by[mark]:
            states.setdefault(group, set()).add(state)
    return states


@cache
def _marks() -> tuple[re.Pattern[str], Mapping[str, set[tuple[str, str]]]]:
    """The longest mark at each place, and the groups and states that each of them tells.

    A mark begins a word, is one with its dot, or stands anywhere where words have no spaces.
    """
    listed: dict[str, set[tuple[str, str]]] = {}
    for line in files(__package__).joinpath("states.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            named, _, marks = line.partition(": ")
            group, state = named.split()
            for mark in marks.casefold().split():
                listed.setdefault(mark if _UNSPACED.search(mark) else f" {mark}", set()).add((group, state))
    told_by = {long: {each for mark in listed if long.startswith(mark) for each in listed[mark]} for long in listed}
    return re.compile(f"(?=({one_of(listed)}))"), told_by
