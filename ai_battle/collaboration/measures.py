"""The measures of a cascade of two models, and how sure they are."""

import random
from collections.abc import Callable, Iterator, Sequence
from math import nan

from ._measures import apgr, auroc, calibration_error, cpt, curve, pgr

__all__ = ["Measure", "apgr", "auroc", "calibration_error", "cpt", "curve", "interval", "intervals", "mean", "pgr"]

Numbers = Sequence[float]
Measure = Callable[[Numbers, Numbers, Numbers], float]
Measures = Callable[[Numbers, Numbers, Numbers], Numbers]
BOOTSTRAPS = 300


def mean(values: Numbers) -> float:
    return sum(values) / len(values) if values else 0.0


def interval(measure: Measure, scores: Numbers, small: Numbers, large: Numbers) -> tuple[float, float]:
    """95 of 100 bootstrap samples lie in it; the same each time."""
    return middle([measure(*drawn) for drawn in resampled(scores, small, large)])


def resampled(scores: Numbers, small: Numbers, large: Numbers) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
    """Bootstrap samples of the answers."""
    dice = random.Random(0)  # noqa: S311 - statistics
    places = range(len(scores))
    for _ in range(BOOTSTRAPS):
        drawn = dice.choices(places, k=len(scores))
        yield [scores[p] for p in drawn], [small[p] for p in drawn], [large[p] for p in drawn]


def middle(values: Sequence[float]) -> tuple[float, float]:
    """Between these lie 95 of 100; samples in which both models are equally good have no value, and don't count."""
    known = sorted(value for value in values if value == value)
    return (known[int(0.025 * len(known))], known[int(0.975 * len(known))]) if known else (nan, nan)
