"""Which known names a misspelt one may stand for."""

from collections.abc import Iterable

MOST = 3
LONGEST = 100
"""Longer names are nobody's slip of the finger."""
FAR = LONGEST


def likely_names(name: str, known: Iterable[str]) -> list[str]:
    """The names that `name` is nearest to, where it is near: none rather than one that was not meant.

    One slip (a letter too many, too few, another, or two exchanged) is near; two are from seven letters on, and so is
    the beginning of a name.
    """
    sought = _plain(name[: LONGEST + 1])
    distances = {each: _distance(sought, _plain(each)) for each in known if len(each) <= LONGEST}
    nearest = min(distances.values(), default=FAR)
    return [each for each in sorted(distances) if distances[each] == nearest < FAR][:MOST]


def _distance(name: str, known: str) -> int:
    """How many slips lie between them, a beginning counted as two; `FAR` where they are too many for the length."""
    shorter = min(len(name), len(known))
    allowed = 0 if shorter < 3 else 1 if shorter < 7 else 2
    if abs(len(name) - len(known)) <= allowed and (slips := _slips(name, known)) <= allowed:
        return slips
    return 2 if len(name) > 1 and known.startswith(name) else FAR


def _slips(left: str, right: str) -> int:
    """Insertions, deletions, substitutions and exchanged neighbours (optimal string alignment)."""
    before, last = [0], list(range(len(right) + 1))
    for row, letter in enumerate(left, 1):
        now = [row]
        for column, other in enumerate(right, 1):
            now.append(min(last[column] + 1, now[-1] + 1, last[column - 1] + (letter != other)))
            if row > 1 and column > 1 and (letter, left[row - 2]) == (right[column - 2], other):
                now[-1] = min(now[-1], before[column - 2] + 1)
        before, last = last, now
    return last[-1]


def _plain(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_")
