"""Distributions of a benchmark: how sure first answers were and how many were right, and how long answers took."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import log10
from statistics import fmean

from ..judging.measures import calibration_error
from .intervals import wilson
from .setting_results import SettingResult

BINS, LATENCY_BINS = 10, 30


@dataclass(frozen=True, slots=True)
class Bin:
    """First answers with a quality from `low` to `high`: the mean quality, and how many were right."""

    low: float
    high: float
    n: int
    said: float
    right: float
    right_low: float
    right_high: float


@dataclass(frozen=True, slots=True)
class Latency:
    """The number of samples of each setting that took between `edges[n]` and `edges[n + 1]` seconds."""

    edges: tuple[float, ...] = ()
    counts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


NO_LATENCY = Latency()


def first_answers(settings: Sequence[SettingResult]) -> list[tuple[float, float]]:
    """Returns the detector's quality of each distinct first answer, and its score."""
    found = {
        (each.model, sample.task, sample.repeat, sample.quality): sample.small_score
        for each in settings
        for sample in each.answers
        if sample.quality is not None and sample.small_score is not None
    }
    return [(key[3], score) for key, score in found.items() if key[3] is not None and score is not None]


def error_of(answers: Sequence[tuple[float, float]]) -> float | None:
    """Returns the calibration error of the qualities, or None without answers."""
    qualities, rights = ([pair[side] for pair in answers] for side in (0, 1))
    return calibration_error(qualities, rights) if answers else None


def bins(answers: Sequence[tuple[float, float]]) -> list[Bin]:
    by_bin: dict[int, list[tuple[float, float]]] = {}
    for quality, right in answers:
        by_bin.setdefault(min(int(quality * BINS), BINS - 1), []).append((quality, right))
    found = []
    for n, pairs in sorted(by_bin.items()):
        qualities, rights = ([pair[side] for pair in pairs] for side in (0, 1))
        low, high = wilson(sum(rights), len(rights))
        found.append(Bin(n / BINS, (n + 1) / BINS, len(pairs), fmean(qualities), fmean(rights), low, high))
    return found


def latency(settings: Sequence[SettingResult]) -> Latency:
    """Counts times in bins of logarithmic width."""
    seconds = {each.name: [max(sample.seconds, 1e-6) for sample in each.answers] for each in settings}
    every = [*chain.from_iterable(seconds.values())]
    if not every or max(every) <= min(every):
        return NO_LATENCY
    low, high = log10(min(every)), log10(max(every))
    step = (high - low) / LATENCY_BINS
    edges = tuple(float(f"{10 ** (low + n * step):.4g}") for n in range(LATENCY_BINS + 1))
    return Latency(edges, {name: _time_counts(values, low, step) for name, values in seconds.items()})


def _time_counts(seconds: Sequence[float], low: float, step: float) -> tuple[int, ...]:
    found = Counter(min(int((log10(value) - low) / step), LATENCY_BINS - 1) for value in seconds)
    return tuple(found[n] for n in range(LATENCY_BINS))
