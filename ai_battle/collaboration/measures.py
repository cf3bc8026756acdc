"""The measures of a cascade of two models, and how sure they are."""

import random
from collections.abc import Callable, Sequence

from ._measures import apgr, auroc, calibration_error, cpt, curve, pgr

__all__ = ["Measure", "apgr", "auroc", "calibration_error", "cpt", "curve", "interval", "mean", "pgr"]

Numbers = Sequence[float]
Measure = Callable[[Numbers, Numbers, Numbers], float]
BOOTSTRAPS = 300


def mean(values: Numbers) -> float:
    return sum(values) / len(values) if values else 0.0


def interval(measure: Measure, scores: Numbers, small: Numbers, large: Numbers) -> tuple[float, float]:
    """95 of 100 bootstrap samples lie in it; the same each time."""
    dice = random.Random(0)  # noqa: S311 - statistics
    count = len(scores)
    found = []
    for _ in range(BOOTSTRAPS):
        drawn = [dice.randrange(count) for _ in range(count)]
        value = measure([scores[p] for p in drawn], [small[p] for p in drawn], [large[p] for p in drawn])
        if value == value:  # a sample in which both models are equally good has none
            found.append(value)
    found.sort()
    return (found[int(0.025 * len(found))], found[int(0.975 * len(found))]) if found else (float("nan"), float("nan"))
