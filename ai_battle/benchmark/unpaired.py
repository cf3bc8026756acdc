"""Two groups of runs that nothing pairs: how far apart their means lie."""

from collections.abc import Sequence
from math import hypot, inf, sqrt
from statistics import fmean, variance

from .intervals import LEVEL, Interval, Numbers, all_same, student, wilson


def mean_difference_interval(before: Numbers, after: Numbers, level: float = LEVEL) -> Interval:
    """Returns the interval of the mean of `after` less that of `before`, whose spreads may differ (Welch 1947).

    Of a single value no spread is known: the interval has no ends.
    """
    if min(len(before), len(after)) < 2:
        return Interval(-inf, inf)
    off = fmean(after) - fmean(before)
    if all_same(before) and all_same(after):
        return Interval(off, off)
    first, second = (variance(values) / len(values) for values in (before, after))
    freedom = (first + second) ** 2 / (first**2 / (len(before) - 1) + second**2 / (len(after) - 1))
    half = student(level, max(1, int(freedom))) * sqrt(first + second)
    return Interval(off - half, off + half)


def rate_difference_interval(before: Sequence[bool], after: Sequence[bool], level: float = LEVEL) -> Interval:
    """Returns the interval of a rate `after` less that `before`, by Wilson's of both (Newcombe 1998, method 10)."""
    if not before or not after:
        return Interval(-1.0, 1.0)
    p, q = fmean(before), fmean(after)
    of_p, of_q = (wilson(sum(tries), len(tries), level) for tries in (before, after))
    return Interval(q - p - hypot(q - of_q.low, of_p.high - p), q - p + hypot(of_q.high - q, p - of_p.low))
