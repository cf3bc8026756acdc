"""What asking a large model in the place of a small one brings: APGR, CPT, and AUROC of the score that decides.

All take scores (larger: escalated first), and the quality of the small and the large model's answer to each question.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from math import nan

Numbers = Sequence[float]
BINS = 10


def curve(scores: Numbers, small: Numbers, large: Numbers) -> list[float]:
    """The mean quality when the 0, 1, 2 ... questions with the highest score go to the large model.

    Where scores are equal it is the mean over all orders among them.
    """
    gains = list(_gains(scores, small, large))
    base = sum(small) / len(small)
    return [base + gained / len(small) for gained in accumulate(gains, initial=0.0)]


def apgr(scores: Numbers, small: Numbers, large: Numbers) -> float:
    """The mean over all shares of escalated questions of the recovered part of the large model's advantage."""
    recovered = _recovered(scores, small, large)
    return sum((a + b) / 2 for a, b in pairwise(recovered)) / (len(recovered) - 1)


def cpt(scores: Numbers, small: Numbers, large: Numbers, part: float) -> float:
    """The smallest share of escalated questions that recovers `part` of the advantage."""
    recovered = _recovered(scores, small, large)
    for place, (before, after) in enumerate(pairwise(recovered)):
        if after >= part - 1e-12:
            beyond = (part - before) / (after - before) if after > before else 1.0
            return (place + beyond) / (len(recovered) - 1) if part > before else 0.0
    return nan


def auroc(scores: Numbers, wrong: Sequence[bool]) -> float:
    """How often a wrong answer has the higher score than a right one; equal scores count a half."""
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
    """How far, on the mean, the share of right answers is from the quality that was said, over bins of equal width."""
    found: dict[int, list[tuple[float, float]]] = {}
    for said, was in zip(qualities, right, strict=True):
        found.setdefault(min(int(said * BINS), BINS - 1), []).append((said, was))
    return sum(abs(sum(said - was for said, was in pairs)) for pairs in found.values()) / len(qualities)


def _recovered(scores: Numbers, small: Numbers, large: Numbers) -> list[float]:
    advantage = (sum(large) - sum(small)) / len(small)
    if abs(advantage) < 1e-12:
        return [nan] * (len(small) + 1)
    qualities = curve(scores, small, large)
    return [(quality - qualities[0]) / advantage for quality in qualities]


def _gains(scores: Numbers, small: Numbers, large: Numbers) -> Iterator[float]:
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    for _, tied in groupby(order, key=lambda place: scores[place]):
        places = list(tied)
        yield from [sum(large[place] - small[place] for place in places) / len(places)] * len(places)
