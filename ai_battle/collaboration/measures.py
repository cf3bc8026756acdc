"""What escalation brings: the measures of a cascade of two models, as the literature defines them.

`scores` say who is escalated first; `small` and `large` are the qualities of both answers, 0 to 1. PGR(c) is the share
of the large model's advantage that is had when the share c with the highest scores goes to it.
"""

import random
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate, groupby, pairwise

Numbers = Sequence[float]
Measure = Callable[[Numbers, Numbers, Numbers], float]
BOOTSTRAPS = 300


def mean(values: Numbers) -> float:
    return sum(values) / len(values) if values else 0.0


def curve(scores: Numbers, small: Numbers, large: Numbers) -> list[float]:
    """Mean quality when the first k of n are escalated, k = 0..n; equal scores are a straight line."""
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    gains: list[float] = []
    for _, group in groupby(order, key=lambda place: scores[place]):
        tied = [large[place] - small[place] for place in group]
        gains += [mean(tied)] * len(tied)
    count = max(1, len(scores))
    return [mean(small) + gain / count for gain in accumulate(gains, initial=0.0)]


def pgr(scores: Numbers, small: Numbers, large: Numbers) -> list[float]:
    """The curve as shares of the large model's advantage; not a number where it has none."""
    least, most = mean(small), mean(large)
    if abs(most - least) < 1e-12:
        return [float("nan")] * (len(scores) + 1)
    return [(quality - least) / (most - least) for quality in curve(scores, small, large)]


def apgr(scores: Numbers, small: Numbers, large: Numbers) -> float:
    """The area under PGR: 0.5 is random."""
    points = pgr(scores, small, large)
    return sum((a + b) / 2 for a, b in pairwise(points)) / max(1, len(points) - 1)


def cpt(scores: Numbers, small: Numbers, large: Numbers, share: float) -> float:
    """The smallest part of the answers to escalate that has this share of the advantage."""
    points = pgr(scores, small, large)
    reached = next((place for place, point in enumerate(points) if point >= share - 1e-12), None)
    if not reached:
        return 0.0 if reached == 0 else float("nan")
    step = points[reached] - points[reached - 1]
    part = (share - points[reached - 1]) / step if step > 0 else 1.0
    return (reached - 1 + part) / (len(points) - 1)


def auroc(scores: Numbers, failed: Sequence[bool]) -> float:
    """How likely a failure has the higher score of a failure and a success; equal scores count half."""
    successes = sorted(score for score, wrong in zip(scores, failed, strict=True) if not wrong)
    failures = [score for score, wrong in zip(scores, failed, strict=True) if wrong]
    if not successes or not failures:
        return float("nan")
    below = sum(bisect_left(successes, score) + bisect_left(successes, score + 1e-12) for score in failures)
    return below / (2 * len(successes) * len(failures))


def calibration_error(qualities: Numbers, good: Numbers, bins: int = 10) -> float:
    """Expected calibration error: how far stated and true quality are apart, in bins of equal width."""
    held: dict[int, list[int]] = {}
    for place, quality in enumerate(qualities):
        held.setdefault(min(bins - 1, int(quality * bins)), []).append(place)
    apart = (
        len(places) * abs(mean([qualities[p] for p in places]) - mean([good[p] for p in places]))
        for places in held.values()
    )
    return sum(apart) / max(1, len(qualities))


def interval(measure: Measure, scores: Numbers, small: Numbers, large: Numbers) -> tuple[float, float]:
    """95 of 100 bootstrap samples lie in it; the same each time."""
    dice = random.Random(0)  # noqa: S311 - statistics
    count = len(scores)
    found = []
    for _ in range(BOOTSTRAPS):
        drawn = [dice.randrange(count) for _ in range(count)]
        value = measure([scores[p] for p in drawn], [small[p] for p in drawn], [large[p] for p in drawn])
        if value == value:
            found.append(value)
    found.sort()
    return (found[int(0.025 * len(found))], found[int(0.975 * len(found))]) if found else (float("nan"),) * 2
