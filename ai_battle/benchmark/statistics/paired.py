"""Two settings on the same tasks: how large the difference is, and how likely it would be if there were none."""

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from statistics import fmean

from ._student import MANY
from .intervals import (
    LEVEL,
    NORMAL,
    SEED,
    Interval,
    Numbers,
    all_same,
    bca,
    drawn_means,
    mean_interval,
    widened,
)

MONTE_CARLO = 20_000
"""Random sign flips, where there are too many to look at each."""

MOST_SUMS = 20_000
TINY = 1e-12
DECIMALS = 9


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of `b - a` over `count` tasks, `gained` and `lost` are the tasks where b is better and worse."""

    count: int
    mean: float
    interval: Interval
    p: float
    gained: int
    lost: int
    spread: float


def difference(a: Mapping[str, float], b: Mapping[str, float]) -> Difference:
    """By task; those that only one of them has say nothing."""
    first, second = (tuple(of[task] for task in a if task in b) for of in (a, b))
    off = [y - x for x, y in zip(first, second, strict=True)]
    if not off:
        return Difference(0, 0.0, Interval(-1.0, 1.0), 1.0, 0, 0, 1.0)
    signs = Counter(map(_sign, off))
    decided = all(each in (-1, 0, 1) for each in off)
    p = mcnemar(signs[1], signs[-1]) if decided else sign_flips(off)
    interval, spread = _interval(first, second, off), _squares(off)
    return Difference(len(off), fmean(off), interval, p, signs[1], signs[-1], spread)


def _sign(number: float) -> int:
    return (number > TINY) - (number < -TINY)


def mcnemar(gained: int, lost: int) -> float:
    """The exact test on tasks that only one of two settings solves: as likely as heads and tails if they are equal."""
    tossed, fewer = gained + lost, min(gained, lost)
    return min(1.0, 2 * sum(comb(tossed, n) for n in range(fewer + 1)) / (1 << tossed))


def sign_flips(differences: Numbers) -> float:
    """The paired permutation test on the mean, two-sided.

    Exact while the sums under all flips are few enough to be counted, which is so for scores on a grid; else drawn.
    """
    observed = abs(sum(differences))
    sizes = Counter(round(abs(each), DECIMALS) for each in differences if abs(each) > TINY)
    sums = {0.0: 1.0}
    for size, count in sizes.items():
        if len(sums) * (count + 1) > MOST_SUMS * 10:
            return _drawn_flips(differences, observed)
        sums = _flipped(sums, size, count)
        if len(sums) > MOST_SUMS:
            return _drawn_flips(differences, observed)
    return min(1.0, sum(chance for total, chance in sums.items() if abs(total) >= observed - 1e-7))


def _flipped(sums: Mapping[float, float], size: float, count: int) -> dict[float, float]:
    """The chances of all sums when `count` differences of one size are added, each with either sign."""
    steps = [(size * (2 * n - count), comb(count, n) / (1 << count)) for n in range(count + 1)]
    found: dict[float, float] = {}
    for total, chance in sums.items():
        for step, likely in steps:
            key = round(total + step, DECIMALS)
            found[key] = found.get(key, 0.0) + chance * likely
    return found


def _drawn_flips(differences: Numbers, observed: float) -> float:
    """The observed one counts as one of those drawn, so that p is never 0."""
    dice, half = random.Random(SEED), sum(differences) / 2  # noqa: S311 - statistics
    as_extreme = 1
    for _ in range(MONTE_CARLO - 1):
        bits = dice.getrandbits(len(differences))
        kept = sum(each for n, each in enumerate(differences) if bits >> n & 1)
        as_extreme += abs(2 * (kept - half)) >= observed - 1e-12
    return as_extreme / MONTE_CARLO


def _interval(first: Numbers, second: Numbers, off: Numbers) -> Interval:
    """The paired bootstrap; where all tasks say the same, what as many tasks can't rule out (Wilson's, of no case)."""
    if all_same(off):
        z2 = NORMAL.inv_cdf((1 + LEVEL) / 2) ** 2
        room = z2 / (len(off) + z2)
        low, high = off[0] - room, off[0] + room
    elif len(off) > MANY:
        low, high = mean_interval(off)
    else:
        drawn = zip(drawn_means(tuple(first)), drawn_means(tuple(second)), strict=True)
        low, high = bca(off, sorted(y - x for x, y in drawn), widened(LEVEL, len(off)))
    return Interval(max(-1.0, low), min(1.0, high))


def _squares(values: Numbers) -> float:
    return sum(each**2 for each in values)
