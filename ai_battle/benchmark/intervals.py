"""95 % confidence intervals: Wilson's for rates, Hall's for means.

Several answers of one setting to one task count as one value, their mean, since they are correlated and only tasks are
drawn independently. So all intervals and tests are clustered by task.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from math import cbrt, comb, cos, hypot, inf, isclose, pi, sin, sqrt, tan
from statistics import NormalDist, fmean, stdev, variance
from typing import NamedTuple

Numbers = Sequence[float]
CONFIDENCE = 0.95
STANDARD_NORMAL = NormalDist()
STANDARD_ERRORS = STANDARD_NORMAL.inv_cdf((1 + CONFIDENCE) / 2)
"""Standard errors on each side of a mean."""

NORMAL_FROM = 1_000
"""Degrees of freedom from which the normal distribution is used."""


class Interval(NamedTuple):
    low: float
    high: float

    @property
    def width(self) -> float:
        return self.high - self.low


def known_sum(values: Iterable[float | None]) -> float | None:
    """Returns the sum, or None if any value is unknown."""
    found = [*values]
    known = [value for value in found if value is not None]
    return sum(known) if len(known) == len(found) else None


def known_mean(values: Iterable[float | None]) -> float | None:
    """Returns the mean, or None if any value is unknown or there are none."""
    found = [*values]
    known = [value for value in found if value is not None]
    return fmean(known) if known and len(known) == len(found) else None


def wilson(successes: float, count: float) -> Interval:
    """Returns Wilson's interval of the rate `successes` / `count` (1927); 0 to 1 without tries."""
    if not count:
        return Interval(0.0, 1.0)
    z2, rate = STANDARD_ERRORS**2, successes / count
    middle = (rate + z2 / (2 * count)) / (1 + z2 / count)
    half = sqrt(z2 * (rate * (1 - rate) + z2 / (4 * count)) / count) / (1 + z2 / count)
    return Interval(0.0 if not successes else middle - half, 1.0 if successes == count else middle + half)


def rate_interval(values: Numbers) -> Interval:
    """Returns the interval of a mean of shares: Wilson's if all are 0 or 1 or equal, else Hall's."""
    if all(value in (0, 1) for value in values) or all_same(values):
        return wilson(sum(values), len(values))
    low, high = mean_interval(values)
    return Interval(max(0.0, low), min(1.0, high))


def mean_interval(values: Numbers, level: float = CONFIDENCE) -> Interval:
    """Returns the interval of a mean, also of skewed values with outliers, such as dollars per request.

    Student's t corrected for skewness (Hall 1992, "On the Removal of Skewness by Transformation"), with the degrees of
    freedom that the kurtosis of the values gives the variance. Nothing is resampled, so it is fast for any number of
    values.
    """
    count, mean = len(values), fmean(values)
    if count < 2 or all_same(values):
        return Interval(mean, mean)
    spread = stdev(values)
    second, third, fourth = (fmean(((value - mean) / spread) ** power for value in values) for power in (2, 3, 4))
    freedom = min(count - 1, max(2, round(2 * count / max(fourth / second**2 - 1, 1e-9))))
    far = student(level, freedom) / sqrt(count)
    low, high = (mean - spread * _inverse_transformation(side * far, third, count) for side in (1, -1))
    return Interval(low, high)


def _inverse_transformation(distance: float, skewness: float, count: int) -> float:
    """Inverts Hall's transformation, which makes the distribution of t symmetric."""
    if abs(skewness) < 1e-6:
        return distance
    return 3 / skewness * (cbrt(1 + skewness * (distance - skewness / (6 * count))) - 1)


def mean_difference_interval(before: Numbers, after: Numbers) -> Interval:
    """Returns the interval of the difference of two means with possibly different spreads (Welch 1947).

    A single value has no known spread, so the interval is infinite.
    """
    if min(len(before), len(after)) < 2:
        return Interval(-inf, inf)
    off = fmean(after) - fmean(before)
    if all_same(before) and all_same(after):
        return Interval(off, off)
    first, second = (variance(values) / len(values) for values in (before, after))
    freedom = (first + second) ** 2 / (first**2 / (len(before) - 1) + second**2 / (len(after) - 1))
    half = student(CONFIDENCE, max(1, int(freedom))) * sqrt(first + second)
    return Interval(off - half, off + half)


def rate_difference_interval(before: Sequence[bool], after: Sequence[bool]) -> Interval:
    """Returns the interval of a rate `after` less that `before` (Newcombe 1998, method 10)."""
    if not before or not after:
        return Interval(-1.0, 1.0)
    p, q = fmean(before), fmean(after)
    of_p, of_q = (wilson(sum(tries), len(tries)) for tries in (before, after))
    return Interval(q - p - hypot(q - of_q.low, of_p.high - p), q - p + hypot(of_q.high - q, p - of_p.low))


def quantile(ordered: Numbers, share: float) -> float:
    """Returns a quantile by linear interpolation."""
    place = share * (len(ordered) - 1)
    below = min(int(place), len(ordered) - 2) if len(ordered) > 1 else 0
    return ordered[below] + (place - below) * (ordered[min(below + 1, len(ordered) - 1)] - ordered[below])


def quantile_interval(ordered: Numbers, share: float) -> tuple[float | None, float | None]:
    """Returns the distribution-free interval of a quantile by ranks. An end that too few values bound is None."""
    count, rest = len(ordered), (1 - CONFIDENCE) / 2
    if count > NORMAL_FROM:
        half = STANDARD_NORMAL.inv_cdf(1 - rest) * sqrt(count * share * (1 - share))
        low, high = int(count * share - half) - 1, int(count * share + half) + 1
    else:
        low, high = _ranks(count, share, rest)
    return ordered[low] if low >= 0 else None, ordered[high] if high < count else None


def _ranks(count: int, share: float, rest: float) -> tuple[int, int]:
    """Returns the places, from 0, beyond which the quantile lies with a probability of at most `rest`."""
    sums, total = [], 0.0
    for n in range(count + 1):
        total += comb(count, n) * share**n * (1 - share) ** (count - n)
        sums.append(total)
    low = next(n for n, reached in enumerate(sums) if reached >= rest)
    high = next((n for n, reached in enumerate(sums) if reached >= 1 - rest), count)
    return low - 1, high


def all_same(values: Numbers) -> bool:
    return all(isclose(value, values[0], abs_tol=1e-12) for value in values)


@cache
def student(level: float, freedom: int) -> float:
    """Returns the t within which the share `level` of the distribution lies."""
    if freedom > NORMAL_FROM:
        return STANDARD_NORMAL.inv_cdf((1 + level) / 2)
    low, high = 0.0, pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _central_share(middle, freedom) < level else (low, middle)
    return tan(low) * sqrt(freedom)


def _central_share(angle: float, freedom: int) -> float:
    """Returns the share within t of 0 for tan(angle) = t / sqrt(freedom) (Abramowitz and Stegun 26.7.3, 26.7.4)."""
    odd, square = freedom % 2, cos(angle) ** 2
    term = cos(angle) if odd else 1.0
    total = term if freedom > 1 else 0.0
    for n in range(2 + odd, freedom - 1, 2):
        term *= square * (n - 1) / n
        total += term
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total
