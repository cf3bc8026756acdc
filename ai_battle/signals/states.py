"""Words for states that exclude one another, in many languages: whether two texts tell opposite ones."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*", re.UNICODE)
_UNSPACED = re.compile(r"[\u0900-\u097f\u3040-\u30ff\u3400-\u9fff]")
_LONGEST = 20_000
_DENIAL = "denial"


def opposed(text: str, source: str) -> bool:
    """Whether a text tells another state than its source does, and not that of the source too."""
    said, known = _states(text), _states(source)
    return any(known[group] and said[group] and not said[group] & known[group] for group in said if group != _DENIAL)


def denies(text: str) -> bool:
    """Whether it says that something is not so, could not be had, or failed."""
    return bool(_states(text)[_DENIAL])


def _states(text: str) -> Mapping[str, set[str]]:
    plain = text[:_LONGEST].casefold().replace("\u2019", "'")
    words = {f"{word}." for word in _WORD.findall(plain)}
    words |= {f"{part}." for word in words if "'" in word for part in word[:-1].split("'")}
    words |= {"n't."} if "n't" in plain else set()
    return {
        group: {state for state, marks in states.items() if _has(marks, words, plain)}
        for group, states in _groups().items()
    }


def _has(marks: tuple[tuple[str, ...], re.Pattern[str]], words: set[str], plain: str) -> bool:
    """One of the marks begins a word, is one with its dot, or stands anywhere where words have no spaces."""
    unspaced, beginnings = marks
    return any(mark in plain for mark in unspaced) or any(map(beginnings.match, words))


@cache
def _groups() -> Mapping[str, dict[str, tuple[tuple[str, ...], re.Pattern[str]]]]:
    listed: dict[str, dict[str, list[str]]] = {}
    for line in files(__package__).joinpath("states.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            named, _, marks = line.partition(": ")
            group, state = named.split()
            listed.setdefault(group, {}).setdefault(state, []).extend(marks.casefold().split())
    return {group: {state: _compiled(marks) for state, marks in states.items()} for group, states in listed.items()}


def _compiled(marks: list[str]) -> tuple[tuple[str, ...], re.Pattern[str]]:
    unspaced = tuple(mark for mark in marks if _UNSPACED.search(mark))
    spaced = [re.escape(mark) for mark in marks if mark not in unspaced]
    return unspaced, re.compile("|".join(spaced) or r"(?!)")
