"""The measures of a cascade of two models, and how sure they are."""

import random
from collections.abc import Callable, Sequence
from math import nan, sqrt

from ._measures import apgr, auroc, calibration_error, cpt, curve

__all__ = [
    "Measure",
    "apgr",
    "auroc",
    "calibration_error",
    "cpt",
    "curve",
    "interval",
    "intervals",
    "lower_bounds",
    "mean",
]

Numbers = Sequence[float]
Measure = Callable[[Numbers, Numbers, Numbers], float]
Measures = Callable[[Numbers, Numbers, Numbers], Numbers]
BOOTSTRAPS = 300
ONE_SIDED = 1.645
"""Standard errors that 95 of 100 means lie above."""


def mean(values: Numbers) -> float:
    return sum(values) / len(values) if values else 0.0


def interval(measure: Measure, scores: Numbers, small: Numbers, large: Numbers) -> tuple[float, float]:
    """95 of 100 bootstrap samples lie in it; the same each time."""
    return intervals(lambda s, a, b: (measure(s, a, b),), scores, small, large)[0]


def intervals(measures: Measures, scores: Numbers, small: Numbers, large: Numbers) -> list[tuple[float, float]]:
    """That of each of several measures, all taken of the same samples."""
    dice = random.Random(0)  # noqa: S311 - statistics
    count = len(scores)
    found: list[Numbers] = []
    for _ in range(BOOTSTRAPS):
        drawn = dice.choices(range(count), k=count)
        found.append(measures([scores[p] for p in drawn], [small[p] for p in drawn], [large[p] for p in drawn]))
    return [_middle(values) for values in zip(*found, strict=True)]


def lower_bounds(ranks: Sequence[tuple[float, ...]], before: Numbers, after: Numbers) -> dict[int, float]:
    """What the mean is at the least when so many of the highest ranks have the value `after` instead of `before`.

    The bound is one-sided, 95 %, by the standard error of the mean; what is of one rank changes together.
    """
    count = len(ranks)
    total, squares = sum(before), sum(value**2 for value in before)
    found = {0: _least(total, squares, count)}
    order = sorted(range(count), key=lambda place: ranks[place], reverse=True)
    for changed, place in enumerate(order, 1):
        total, squares = total + after[place] - before[place], squares + after[place] ** 2 - before[place] ** 2
        if changed == count or ranks[order[changed]] != ranks[place]:
            found[changed] = _least(total, squares, count)
    return found


def _least(total: float, squares: float, count: int) -> float:
    deviation = sqrt(max(0.0, squares / count - (total / count) ** 2))
    return round(total / count - ONE_SIDED * deviation / sqrt(count), 6)


def _middle(values: Numbers) -> tuple[float, float]:
    """A sample in which both models are equally good has no value."""
    known = sorted(value for value in values if value == value)
    return (known[int(0.025 * len(known))], known[int(0.975 * len(known))]) if known else (nan, nan)
