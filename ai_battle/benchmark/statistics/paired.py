"""Two settings on the same tasks: how large the difference is, and how likely it would be if there were none."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, sqrt
from statistics import fmean

from ._student import MANY
from .intervals import (
    LEVEL,
    NORMAL,
    Interval,
    Numbers,
    all_same,
    bca,
    drawn_means,
    mean_interval,
    widened,
)

FEW_DIFFER, MANY_DIFFER = 12, 300
FINEST, ROUNDED = 100, 200
"""Parts of 1 that are tried as the grid of scores, and those of the greatest difference where there is none."""

ON_GRID = 1e-6
TINY = 1e-12


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
    """The paired permutation test on the mean, two-sided: how many of all flips of signs are as far from 0.

    All flips are counted, of up to `MANY_DIFFER` tasks that differ; of more, by the normal distribution.
    """
    off = [each for each in differences if abs(each) > TINY]
    if len(off) <= FEW_DIFFER:
        return _enumerated(off)
    if len(off) > MANY_DIFFER:
        return 2 * NORMAL.cdf(-abs(sum(off)) / sqrt(_squares(off)))
    return _counted(_whole(off))


def _enumerated(off: Numbers) -> float:
    observed, sums = abs(sum(off)), [0.0]
    for each in off:
        sums = [total + side * each for total in sums for side in (1, -1)]
    return sum(abs(total) >= observed - TINY for total in sums) / len(sums)


def _whole(off: Numbers) -> list[int]:
    """In units of a grid that holds all of them, such as thirds; else rounded, which keeps the test exact."""
    for parts in range(1, FINEST + 1):
        if all(abs(each * parts - round(each * parts)) < ON_GRID for each in off):
            return [round(each * parts) for each in off]
    unit = max(map(abs, off)) / ROUNDED
    return [round(each / unit) for each in off]


def _counted(off: Sequence[int]) -> float:
    """How many choices of signs give each sum, as the digits of one long number; then the digits of the tail."""
    sizes = [abs(each) for each in off if each]
    digit = len(sizes) + 2
    counts = 1
    for size in sizes:
        counts += counts << (size * digit)
    last = (sum(sizes) - abs(sum(off))) // 2
    tail = counts & ((1 << ((last + 1) * digit)) - 1)
    return min(1.0, 2 * (tail % ((1 << digit) - 1)) / (1 << len(sizes)))


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
