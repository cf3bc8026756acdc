"""Compares two settings on the same tasks: the size of the difference, and its probability by chance."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, sqrt
from statistics import fmean
from typing import Any, Literal

from .intervals import STANDARD_ERRORS, STANDARD_NORMAL, Interval, Numbers, all_same, mean_interval

MANY_DIFFER = 300
FINEST, PARTS = 100, 60_000
"""The finest grid of scores that is tried, in parts of 1, and otherwise the parts of all differences together."""

GRID_ERROR = 1e-6
TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The mean of `b - a` over `count` tasks; `gained` and `lost` count tasks where b is better and worse."""

    count: int
    mean: float
    interval: Interval
    p: float
    gained: int
    lost: int
    spread: float


def difference(a: Mapping[str, float], b: Mapping[str, float]) -> PairedDifference:
    """Compares by task, on the tasks that both have."""
    off = [b[task] - value for task, value in a.items() if task in b]
    if not off:
        return PairedDifference(0, 0.0, Interval(-1.0, 1.0), 1.0, 0, 0, 1.0)
    signs = Counter((each > TOLERANCE) - (each < -TOLERANCE) for each in off)
    gained, lost = signs[1], signs[-1]
    if all(each in (-1, 0, 1) for each in off):
        p, interval = mcnemar(gained, lost), score_interval(gained, lost, len(off))
    else:
        p, interval = sign_flips(off), _interval_of_mean(off)
    return PairedDifference(len(off), fmean(off), interval, p, gained, lost, _squares(off))


def mcnemar(gained: int, lost: int) -> float:
    """Returns the exact p-value for tasks that only one setting solves: equal settings win them like coin tosses."""
    tossed, fewer = gained + lost, min(gained, lost)
    # Each binomial coefficient comes from the one before; computing each anew takes a minute for thousands of tasks.
    ways = accumulate(range(fewer), lambda before, n: before * (tossed - n) // (n + 1), initial=1)
    return min(1.0, 2 * sum(ways) / (1 << tossed))


def sign_flips(differences: Numbers) -> float:
    """Returns the two-sided p-value of the paired permutation test on the mean.

    The test is exact for up to `MANY_DIFFER` differing tasks, and uses the normal distribution above.
    """
    off = [each for each in differences if abs(each) > TOLERANCE]
    if len(off) > MANY_DIFFER:
        return 2 * STANDARD_NORMAL.cdf(-abs(sum(off)) / sqrt(_squares(off)))
    return _share_of_counted_flips(_grid_units(off))


def _grid_units(off: Numbers) -> list[int]:
    """Returns the values in units of a grid that has them all, such as thirds, or rounded. The test stays exact."""
    for parts in range(1, FINEST + 1):
        if all(abs(each * parts - round(each * parts)) < GRID_ERROR for each in off):
            return [round(each * parts) for each in off]
    unit = max(map(abs, off)) / (PARTS // len(off))
    return [round(each / unit) for each in off]


def _share_of_counted_flips(off: Sequence[int]) -> float:
    """Counts the sign choices for each sum as the digits of one long integer, and adds up the tail."""
    sizes = [abs(each) for each in off if each]
    digit = len(sizes) + 2
    counts = 1
    for size in sizes:
        counts += counts << (size * digit)
    last = (sum(sizes) - abs(sum(off))) // 2
    tail = counts & ((1 << ((last + 1) * digit)) - 1)
    return min(1.0, 2 * (tail % ((1 << digit) - 1)) / (1 << len(sizes)))


def score_interval(gained: int, lost: int, count: int) -> Interval:
    """Returns the interval of a difference of paired rates: the differences that a score test accepts (Tango 1998).

    Where few tasks differ, an interval around what was seen, such as the bootstrap's, is too narrow.
    """
    seen = (gained - lost) / count
    return Interval(*(_farthest_accepted(seen, side, gained, lost, count) for side in (-1, 1)))


def _farthest_accepted(seen: float, side: int, gained: int, lost: int, count: int) -> float:
    accepted, refused = seen, float(side)
    for _ in range(50):
        middle = (accepted + refused) / 2
        is_accepted = abs(seen - middle) * count <= STANDARD_ERRORS * _expected_spread(middle, gained, lost, count)
        accepted, refused = (middle, refused) if is_accepted else (accepted, middle)
    return accepted


def _expected_spread(difference: float, gained: int, lost: int, count: int) -> float:
    """Returns the standard deviation of gained - lost at a true difference, with the likeliest rate of losses then."""
    linear = (2 * count - gained + lost) * difference - gained - lost
    rest = 8 * count * lost * difference * (1 - difference)
    losses = (sqrt(max(0.0, linear**2 + rest)) - linear) / (4 * count)
    return sqrt(max(0.0, count * (2 * losses + difference - difference**2)))


def _interval_of_mean(off: Numbers) -> Interval:
    """Returns the interval of a mean difference. If all tasks agree, Wilson's bound for a case that never occurred."""
    room = STANDARD_ERRORS**2 / (len(off) + STANDARD_ERRORS**2)
    low, high = (off[0] - room, off[0] + room) if all_same(off) else mean_interval(off)
    return Interval(max(-1.0, low), min(1.0, high))


def _squares(values: Numbers) -> float:
    return sum(each**2 for each in values)


POWER, ALPHA = 0.8, 0.05
SIGMAS = STANDARD_NORMAL.inv_cdf(1 - ALPHA / 2) + STANDARD_NORMAL.inv_cdf(POWER)


def smallest_seen(count: int, spread: float) -> float:
    """Returns the smallest true difference that `count` paired tasks show with probability `POWER`.

    `spread` is the sum of squared differences: for right and wrong answers, the number of tasks that only one setting
    solves. One is added, as the tasks are only a sample.
    """
    return min(1.0, SIGMAS * sqrt((spread + 1) / (count + 2) / count)) if count else 1.0


def tasks_to_show(difference: float, share: float) -> int:
    """Returns how many paired tasks show a difference when the settings differ on `share` of them."""
    return ceil((SIGMAS / difference) ** 2 * share)


Verdict = Literal["better", "worse", "no difference shown", "not enough data"]
Names = tuple[str, str]

USEFUL_DIFFERENCE = 0.1
"""A difference that users care about: data that can't show it can't say that there is none."""


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """Setting `b` against setting `a`; `p_holm` is adjusted for all comparisons together.

    `smallest` is the smallest difference that these tasks show in 4 of 5 benchmarks.
    """

    a: str
    b: str
    found: PairedDifference
    p_holm: float
    smallest: float
    verdict: Verdict

    def as_json(self) -> dict[str, Any]:
        """Returns the figures, without the names."""
        found = self.found
        return {
            "n": found.count,
            "difference": found.mean,
            "low": found.interval.low,
            "high": found.interval.high,
            "gained": found.gained,
            "lost": found.lost,
            "p": found.p,
            "p_holm": self.p_holm,
            "smallest": self.smallest,
            "verdict": self.verdict,
        }

    @property
    def sentence(self) -> str:
        """The verdict as a sentence."""
        if self.is_decided:
            return f"{self.b} is {self.verdict} than {self.a} by {100 * abs(self.found.mean):.1f} points"
        return _undecided_text([self])

    @property
    def is_decided(self) -> bool:
        return self.verdict in ("better", "worse")

    @property
    def tasks_needed(self) -> int:
        """The number of tasks that would show a difference that matters."""
        return tasks_to_show(USEFUL_DIFFERENCE, max(self.found.spread, 1.0) / max(self.found.count, 1))


def compare_pairs(pairs: Sequence[tuple[Names, Mapping[str, float], Mapping[str, float]]]) -> list[ComparedPair]:
    """Compares pairs, each given as names and values by task.

    One call must have all comparisons that are looked at, since their p-values are adjusted together.
    """
    found = [difference(a, b) for _, a, b in pairs]
    adjusted = holm([each.p for each in found])
    return [_compared_pair(names, each, p) for (names, _, _), each, p in zip(pairs, found, adjusted, strict=True)]


def conclusions(pairs: Sequence[ComparedPair], most: int) -> Iterator[str]:
    """Yields the conclusions: the `most` surest differences, and how many are not shown."""
    decided = sorted((pair for pair in pairs if pair.is_decided), key=lambda pair: (pair.p_holm, -abs(pair.found.mean)))
    yield from (pair.sentence for pair in decided[:most])
    if len(decided) > most:
        yield f"further differences that are shown: {len(decided) - most:,}"
    unshown = ([pair for pair in pairs if pair.verdict == each] for each in ("no difference shown", "not enough data"))
    yield from (_undecided_text(alike) for alike in unshown if alike)


def _undecided_text(alike: Sequence[ComparedPair]) -> str:
    """Says what comparisons with the same verdict could have shown."""
    first = alike[0]
    which = f"for {first.a} and {first.b}" if len(alike) == 1 else f"in {len(alike):,} comparisons"
    tasks, points = _range([pair.found.count for pair in alike]), _range([100 * pair.smallest for pair in alike])
    nouns = ("task" if tasks == "1" else "tasks", "point" if points == "1" else "points")
    seen = f"with {tasks} {nouns[0]} only differences above {points} {nouns[1]} can be seen"
    if first.verdict == "not enough data":
        needed = _range([pair.tasks_needed for pair in alike])
        seen += f"; {USEFUL_DIFFERENCE * 100:.0f} points need about {needed} tasks"
    return f"{first.verdict} {which}; {seen}"


def _range(numbers: Sequence[float]) -> str:
    least, greatest = (f"{end:,.0f}" for end in (min(numbers), max(numbers)))
    return least if least == greatest else f"{least} to {greatest}"


def holm(chances: Sequence[float]) -> list[float]:
    """Returns p-values adjusted so that the chance of any false alarm stays that of one test (Holm 1979)."""
    adjusted, highest = [0.0] * len(chances), 0.0
    for rank, place in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        highest = max(highest, min(1.0, (len(chances) - rank) * chances[place]))
        adjusted[place] = highest
    return adjusted


def _compared_pair(names: Names, found: PairedDifference, p_holm: float) -> ComparedPair:
    smallest = smallest_seen(found.count, found.spread)
    return ComparedPair(*names, found, p_holm, smallest, _verdict(found, p_holm, smallest))


def _verdict(found: PairedDifference, p_holm: float, smallest: float) -> Verdict:
    if p_holm < ALPHA:
        return "better" if found.mean > 0 else "worse"
    return "not enough data" if smallest > USEFUL_DIFFERENCE else "no difference shown"
