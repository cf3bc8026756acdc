"""Many comparisons at once, and what each comes to in words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .paired import Difference, difference
from .power import ALPHA, seen_with, smallest_seen

Verdict = Literal["better", "worse", "no difference shown", "not enough data"]
Names = tuple[str, str]

MATTERS = 0.1
"""A difference that users care about: data that can't show it can't say that there is none."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Setting `b` against setting `a`; `p_holm` holds for all comparisons together.

    `smallest` is the smallest difference that these tasks show in 4 of 5 benchmarks.
    """

    a: str
    b: str
    found: Difference
    p_holm: float
    smallest: float
    verdict: Verdict

    @property
    def said(self) -> str:
        """The verdict as a sentence."""
        if self.is_decided:
            return f"{self.b} is {self.verdict} than {self.a} by {100 * abs(self.found.mean):.1f} points"
        if self.verdict == "not enough data":
            return f"not enough data on {self.a} and {self.b}; {_seen([self])}; {_needed([self])}"
        return f"no difference between {self.a} and {self.b} is shown; {_seen([self])}"

    @property
    def is_decided(self) -> bool:
        return self.verdict in ("better", "worse")

    @property
    def needed(self) -> int:
        """How many tasks show a difference that matters."""
        return seen_with(MATTERS, max(self.found.spread, 1.0) / max(self.found.count, 1))


def compared(pairs: Sequence[tuple[Names, Mapping[str, float], Mapping[str, float]]]) -> list[Compared]:
    """Names and the values by task of both; all comparisons that are looked at belong into one call."""
    found = [difference(a, b) for _, a, b in pairs]
    adjusted = holm([each.p for each in found])
    return [_compared(names, each, p) for (names, _, _), each, p in zip(pairs, found, adjusted, strict=True)]


def conclusions(pairs: Sequence[Compared], most: int) -> Iterator[str]:
    """What all come to, in sentences: the `most` differences that are the surest, and how many are not shown."""
    decided = sorted((pair for pair in pairs if pair.is_decided), key=lambda pair: (pair.p_holm, -abs(pair.found.mean)))
    yield from (pair.said for pair in decided[:most])
    if len(decided) > most:
        yield f"further differences that are shown: {len(decided) - most:,}"
    unshown = ([pair for pair in pairs if pair.verdict == each] for each in ("no difference shown", "not enough data"))
    yield from (_together(alike) for alike in unshown if alike)


def _together(alike: Sequence[Compared]) -> str:
    """Of comparisons with the same verdict."""
    first = alike[0]
    if len(alike) == 1:
        return first.said
    more = f"; {_needed(alike)}" if first.verdict == "not enough data" else ""
    return f"{first.verdict} in {len(alike):,} comparisons; {_seen(alike)}{more}"


def _seen(pairs: Sequence[Compared]) -> str:
    tasks, points = _range([pair.found.count for pair in pairs]), _range([100 * pair.smallest for pair in pairs])
    return f"with {tasks} tasks only differences above {points} points can be seen"


def _needed(pairs: Sequence[Compared]) -> str:
    return f"{MATTERS * 100:.0f} points need about {_range([pair.needed for pair in pairs])} tasks"


def _range(numbers: Sequence[float]) -> str:
    least, greatest = (f"{end:,.0f}" for end in (min(numbers), max(numbers)))
    return least if least == greatest else f"{least} to {greatest}"


def holm(chances: Sequence[float]) -> list[float]:
    """Adjusted so that all together raise a false alarm at most as often as one alone (Holm 1979)."""
    adjusted, highest = [0.0] * len(chances), 0.0
    for rank, place in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        highest = max(highest, min(1.0, (len(chances) - rank) * chances[place]))
        adjusted[place] = highest
    return adjusted


def _compared(names: Names, found: Difference, p_holm: float) -> Compared:
    smallest = smallest_seen(found.count, found.spread)
    return Compared(*names, found, p_holm, smallest, _verdict(found, p_holm, smallest))


def _verdict(found: Difference, p_holm: float, smallest: float) -> Verdict:
    if p_holm < ALPHA:
        return "better" if found.mean > 0 else "worse"
    return "not enough data" if smallest > MATTERS else "no difference shown"
