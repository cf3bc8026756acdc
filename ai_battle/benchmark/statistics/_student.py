"""Student's t: what a normal distribution becomes when the spread itself is only known from a few values."""

from functools import cache
from math import cos, pi, sin, sqrt, tan
from statistics import NormalDist

NORMAL = NormalDist()
MANY = 1_000
"""Degrees of freedom from which on the normal distribution is taken."""


@cache
def student(level: float, freedom: int) -> float:
    """The distance from 0 within which the share `level` lies."""
    if freedom > MANY:
        return NORMAL.inv_cdf((1 + level) / 2)
    low, high = 0.0, pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < level else (low, middle)
    return tan(low) * sqrt(freedom)


def _within(angle: float, freedom: int) -> float:
    """The share within t from 0, where tan(angle) is t / sqrt(freedom): Abramowitz and Stegun 26.7.3 and 26.7.4."""
    odd, square = freedom % 2, cos(angle) ** 2
    term = cos(angle) if odd else 1.0
    total = term if freedom > 1 else 0.0
    for n in range(2 + odd, freedom - 1, 2):
        term *= square * (n - 1) / n
        total += term
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total
