"""Many comparisons at once, and what each comes to in words."""

from collections.abc import Mapping, Sequence
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
        points = f"{100 * abs(self.found.mean):.1f} points"
        if self.verdict in ("better", "worse"):
            return f"{self.b} is {self.verdict} than {self.a} by {points}"
        seen = f"with {self.found.count} tasks only differences above {100 * self.smallest:.0f} points can be seen"
        if self.verdict == "not enough data":
            share = max(self.found.spread, 1.0) / max(self.found.count, 1)
            return f"{seen}; {MATTERS * 100:.0f} points need about {seen_with(MATTERS, share):,} tasks"
        return f"no difference between {self.a} and {self.b} is shown; {seen}"


def compared(pairs: Sequence[tuple[Names, Mapping[str, float], Mapping[str, float]]]) -> list[Compared]:
    """Names and the values by task of both; all comparisons that are looked at belong into one call."""
    found = [difference(a, b) for _, a, b in pairs]
    adjusted = holm([each.p for each in found])
    return [_compared(names, each, p) for (names, _, _), each, p in zip(pairs, found, adjusted, strict=True)]


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
