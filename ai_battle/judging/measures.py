"""Measures what escalating to a large model brings: APGR, CPT, AUROC, and confidence bounds of such figures.

All take scores (the highest is escalated first), and the qualities of the small and large model's answers.
"""

import random
from collections.abc import Callable, Sequence
from itertools import accumulate, chain, groupby, pairwise
from math import nan, sqrt

Numbers = Sequence[float]
Measure = Callable[[Numbers, Numbers, Numbers], float]
Measures = Callable[[Numbers, Numbers, Numbers], Numbers]
BOOTSTRAPS = 300
ONE_SIDED = 1.645
"""Standard errors of a one-sided bound at 95 %."""

CALIBRATION_BINS = 10


def mean(values: Numbers) -> float:
    return sum(values) / len(values) if values else 0.0


def interval(measure: Measure, scores: Numbers, small: Numbers, large: Numbers) -> tuple[float, float]:
    """Returns the 95 % bootstrap interval of a measure; the samples are the same in each call."""
    return intervals(lambda s, a, b: (measure(s, a, b),), scores, small, large)[0]


def intervals(measures: Measures, scores: Numbers, small: Numbers, large: Numbers) -> list[tuple[float, float]]:
    """Returns the interval of each of several measures, all taken from the same samples."""
    dice = random.Random(0)  # noqa: S311 - statistics
    count = len(scores)
    found: list[Numbers] = []
    for _ in range(BOOTSTRAPS):
        drawn = dice.choices(range(count), k=count)
        found.append(measures([scores[p] for p in drawn], [small[p] for p in drawn], [large[p] for p in drawn]))
    return [_central_interval(values) for values in zip(*found, strict=True)]


def lower_bounds(ranks: Sequence[tuple[float, ...]], before: Numbers, after: Numbers) -> dict[int, float]:
    """Returns, by number of changed answers, a lower bound of the mean if these change from `before` to `after`.

    The highest ranks change first, equal ones together. The bound is one-sided, 95 %, by the standard error of the
    mean.
    """
    count = len(ranks)
    total, squares = sum(before), sum(value**2 for value in before)
    found = {0: _lower_bound(total, squares, count)}
    order = sorted(range(count), key=lambda place: ranks[place], reverse=True)
    for changed, place in enumerate(order, 1):
        total, squares = total + after[place] - before[place], squares + after[place] ** 2 - before[place] ** 2
        if changed == count or ranks[order[changed]] != ranks[place]:
            found[changed] = _lower_bound(total, squares, count)
    return found


def _lower_bound(total: float, squares: float, count: int) -> float:
    deviation = sqrt(max(0.0, squares / count - (total / count) ** 2))
    return round(total / count - ONE_SIDED * deviation / sqrt(count), 6)


def _central_interval(values: Numbers) -> tuple[float, float]:
    """Returns the interval of the middle 95 %. A sample in which both models are equally good has no value."""
    known = sorted(value for value in values if value == value)
    return (known[int(0.025 * len(known))], known[int(0.975 * len(known))]) if known else (nan, nan)


def curve(scores: Numbers, small: Numbers, large: Numbers) -> list[float]:
    """Returns the mean quality when the 0, 1, 2 ... questions with the highest scores are escalated.

    Equal scores give the mean over all their orders.
    """
    tied: dict[float, list[float]] = {}
    for score, before, after in zip(scores, small, large, strict=True):
        tied.setdefault(score, []).append(after - before)
    gains = chain.from_iterable([mean(equal)] * len(equal) for _, equal in sorted(tied.items(), reverse=True))
    base = sum(small) / len(small)
    return [base + gained / len(small) for gained in accumulate(gains, initial=0.0)]


def apgr(scores: Numbers, small: Numbers, large: Numbers) -> float:
    """Returns the average performance gap recovered (APGR).

    This is the recovered share of the advantage, averaged over all shares of escalated questions.
    """
    recovered = _recovered_shares(scores, small, large)
    return sum((a + b) / 2 for a, b in pairwise(recovered)) / (len(recovered) - 1)


def cpt(scores: Numbers, small: Numbers, large: Numbers, part: float) -> float:
    """Returns the call-performance threshold: the least share of escalated questions that recovers `part`."""
    recovered = _recovered_shares(scores, small, large)
    for place, (before, after) in enumerate(pairwise(recovered)):
        if after >= part - 1e-12:
            beyond = (part - before) / (after - before) if after > before else 1.0
            return (place + beyond) / (len(recovered) - 1) if part > before else 0.0
    return nan


def auroc(scores: Numbers, wrong: Sequence[bool]) -> float:
    """Returns how often a wrong answer scores higher than a right one; equal scores count half."""
    rights = len(wrong) - sum(wrong)
    if not rights or rights == len(wrong):
        return nan
    below, wins = 0, 0.0
    for _, tied in groupby(sorted(zip(scores, wrong, strict=True)), key=lambda pair: pair[0]):
        of_wrong = [pair[1] for pair in tied]
        right = len(of_wrong) - sum(of_wrong)
        wins += sum(of_wrong) * (below + right / 2)
        below += right
    return wins / (rights * (len(wrong) - rights))


def calibration_error(qualities: Numbers, right: Numbers) -> float:
    """Returns the expected calibration error: the mean distance of quality and share of right answers."""
    found: dict[int, list[tuple[float, float]]] = {}
    for quality, was in zip(qualities, right, strict=True):
        found.setdefault(min(int(quality * CALIBRATION_BINS), CALIBRATION_BINS - 1), []).append((quality, was))
    return sum(abs(sum(quality - was for quality, was in pairs)) for pairs in found.values()) / len(qualities)


def _recovered_shares(scores: Numbers, small: Numbers, large: Numbers) -> list[float]:
    advantage = (sum(large) - sum(small)) / len(small)
    if abs(advantage) < 1e-12:
        return [nan] * (len(small) + 1)
    qualities = curve(scores, small, large)
    return [(quality - qualities[0]) / advantage for quality in qualities]
