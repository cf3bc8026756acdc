"""Measures what help brings: in a setting, in an order of answers, by signal, and how sure first answers were.

An order says which answers a large model takes over first. Its measures are those of the cascade literature: APGR is
the recovered part of the large model's advantage, averaged over all help rates; CPT(x) is the least help rate that
recovers the part x.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import fmean

from ..judging.measures import apgr, auroc, cpt, curve, interval
from .intervals import known_mean, known_sum, rate_interval, wilson
from .sample import Sample
from .setting_results import SettingResult, by_task

Numbers = tuple[float, ...]
CURVE_POINTS, BINS = 20, 10
MIN_TASKS = 10
"""An order of fewer tasks is not measured."""

NO_ADVANTAGE = (
    "the large model is not better than the small one on these tasks, so recovering its advantage means nothing"
)
TOO_FEW = f"fewer than {MIN_TASKS} tasks have an answer of both models"


@dataclass(frozen=True, slots=True)
class HelpOrder:
    """The measures of an order. `curve` has help rates with their quality. `note` says why measures are None."""

    count: int = 0
    small: float | None = None
    large: float | None = None
    auroc: float | None = None
    apgr: float | None = None
    apgr_low: float | None = None
    apgr_high: float | None = None
    cpt50: float | None = None
    cpt80: float | None = None
    curve: tuple[tuple[float, float], ...] = ()
    note: str = ""


NOT_ORDERED = HelpOrder()


@lru_cache(maxsize=32)
def order(doubts: Numbers, small: Numbers, large: Numbers) -> HelpOrder:
    """Measures the order by doubts (the largest is helped first), given the scores of both models.

    Cached, as settings that differ only in thresholds share it.
    """
    if len(doubts) < MIN_TASKS:
        return HelpOrder(len(doubts), known_mean(small), known_mean(large), note=TOO_FEW)
    own, helped = fmean(small), fmean(large)
    found = HelpOrder(len(doubts), own, helped)
    wrong = [each <= 0.5 for each in small]
    found = replace(found, auroc=_number_or_none(auroc(doubts, wrong)), curve=_points(doubts, small, large))
    if helped <= own + 1e-12:
        return replace(found, note=NO_ADVANTAGE)
    low, high = map(_number_or_none, interval(apgr, doubts, small, large))
    half, most = (_number_or_none(cpt(doubts, small, large, part)) for part in (0.5, 0.8))
    recovered = apgr(doubts, small, large)
    return replace(found, apgr=recovered, apgr_low=low, apgr_high=high, cpt50=half, cpt80=most)


def _number_or_none(value: float) -> float | None:
    """Returns the number, or None for NaN."""
    return value if value == value else None


def _points(doubts: Numbers, small: Numbers, large: Numbers) -> tuple[tuple[float, float], ...]:
    whole = curve(doubts, small, large)
    places = sorted({round(n * (len(whole) - 1) / CURVE_POINTS) for n in range(CURVE_POINTS + 1)})
    return tuple((round(place / (len(whole) - 1), 4), round(whole[place], 6)) for place in places)


@dataclass(frozen=True, slots=True)
class HelpEffect:
    """The effect of help in the samples of a setting.

    `asked` and `declined` count questions, `help_usd` is the mean price of a sample's helpers. `before` and `after` are
    the mean scores of first and final answers, over samples that got help after a first answer. `rescued` counts first
    answers that were wrong or unreadable and ended right, `spoilt` the reverse. These four are None if first answers
    were not scored. `drafts_wasted` counts samples with tokens that led to no answer.
    """

    asked: int = 0
    declined: int = 0
    help_usd: float | None = None
    before: float | None = None
    after: float | None = None
    help_rate: float | None = None
    help_rate_low: float | None = None
    help_rate_high: float | None = None
    rescued: float | None = None
    spoilt: float | None = None
    drafts_wasted: int = 0
    wasted_usd: float | None = None


NO_EFFECT = HelpEffect()


def help_effect(samples: Sequence[Sample]) -> HelpEffect:
    if not samples:
        return NO_EFFECT
    rates = list(by_task(samples, lambda sample: float(sample.helped)).values())
    pairs = list(_before_and_after(samples, _unread_score(samples)))
    rescued, spoilt = _gains(pairs)
    return HelpEffect(
        sum(sample.help.asked for sample in samples),
        sum(sample.help.declined for sample in samples),
        known_mean(sample.help.cost_usd for sample in samples),
        known_mean(before for before, _ in pairs),
        known_mean(after for _, after in pairs),
        fmean(rates),
        *rate_interval(rates),
        rescued,
        spoilt,
        sum(bool(sample.wasted.total_tokens) for sample in samples),
        _wasted_dollars(samples),
    )


def _gains(pairs: Sequence[tuple[float, float]]) -> tuple[float | None, float | None]:
    """Returns the quality that help gained and lost."""
    return (_gain(pairs), _gain((after, before) for before, after in pairs)) if pairs else (None, None)


def _gain(pairs: Iterable[tuple[float, float]]) -> float:
    return sum(max(0.0, after - before) for before, after in pairs)


def _wasted_dollars(samples: Iterable[Sample]) -> float | None:
    """Returns the dollars for help that changed nothing, or None if a price is unknown."""
    return known_sum(sample.wasted.cost_usd for sample in samples)


def per_rescued(extra_usd: float | None, rescued: float | None) -> float | None:
    """Returns the dollars per additional right answer, or None if it is undefined or unknown."""
    return extra_usd / rescued if rescued and extra_usd is not None else None


@dataclass(frozen=True, slots=True)
class BySignal:
    """A signal of the detector: how many first answers had it, and how these fared.

    `wrong` is the share of them that were wrong, `wrong_else` the same for answers without the signal; None if unknown.
    """

    signal: str
    spoke: int
    wrong: float | None
    wrong_low: float | None
    wrong_high: float | None
    wrong_else: float | None
    helped: int
    rescued: float
    wasted_usd: float | None


def by_signal(samples: Iterable[Sample]) -> tuple[BySignal, ...]:
    """Returns the signals, the most frequent first. Samples without an assessed first answer are ignored."""
    judged = [sample for sample in samples if sample.quality is not None]
    names = dict.fromkeys(name for sample in judged for name in sample.signals)
    rows = [_signal_row(name, judged, _unread_score(judged)) for name in names]
    return tuple(sorted(rows, key=lambda row: (-row.spoke, row.signal)))


def _signal_row(name: str, judged: Sequence[Sample], unread: float | None) -> BySignal:
    spoke = [sample for sample in judged if name in sample.signals]
    wrong, silent = _wrong_answers(spoke), _wrong_answers([sample for sample in judged if name not in sample.signals])
    low, high = wilson(sum(wrong), len(wrong)) if wrong else (None, None)
    return BySignal(
        name,
        len(spoke),
        known_mean(wrong),
        low,
        high,
        known_mean(silent),
        sum(sample.helped for sample in spoke),
        _gain(_before_and_after(spoke, unread)),
        _wasted_dollars(spoke),
    )


def _wrong_answers(samples: Iterable[Sample]) -> list[float]:
    return [float(sample.small_score <= 0.5) for sample in samples if sample.small_score is not None]


def _unread_score(samples: Iterable[Sample]) -> float | None:
    """Returns the score of an unscored first answer: 0, or None if no first answer was scored."""
    return 0.0 if any(sample.small_score is not None for sample in samples) else None


def _before_and_after(samples: Iterable[Sample], unread: float | None) -> Iterable[tuple[float, float]]:
    """Yields the scores of the small model's first answer and of the final one, for samples with help."""
    for sample in samples:
        first = unread if sample.small_score is None else sample.small_score
        has_before = sample.helped and not sample.help.asked_first
        if has_before and first is not None and sample.score.value is not None:
            yield first, sample.score.value


def first_scores(samples: Sequence[Sample]) -> Mapping[str, float]:
    """Returns the scores of first answers by task; one that no scorer could read counts as wrong."""
    unread = _unread_score(samples)
    return by_task(samples, lambda sample: unread if sample.small_score is None else sample.small_score)


def doubts_of(samples: Iterable[Sample]) -> Mapping[str, float]:
    """Returns the detector's doubt about the small model's first answers by task; the largest is helped first."""
    return by_task(samples, lambda sample: None if sample.quality is None else 1 - sample.quality)


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


def bins(settings: Sequence[SettingResult]) -> list[Bin]:
    """Returns the detector's qualities of first answers, each counted once, with the shares that were right."""
    scored = {
        (each.model, sample.task, sample.repeat, sample.quality): sample.small_score
        for each in settings
        for sample in each.answers
        if sample.quality is not None and sample.small_score is not None
    }
    by_bin: dict[int, list[tuple[float, float]]] = {}
    for (*_, quality), right in scored.items():
        if quality is not None and right is not None:
            by_bin.setdefault(min(int(quality * BINS), BINS - 1), []).append((quality, right))
    found = []
    for n, pairs in sorted(by_bin.items()):
        qualities, rights = zip(*pairs, strict=True)
        low, high = wilson(sum(rights), len(rights))
        found.append(Bin(n / BINS, (n + 1) / BINS, len(pairs), fmean(qualities), fmean(rights), low, high))
    return found


def calibration_error(found: Sequence[Bin]) -> float | None:
    """Returns the mean distance of quality and share of right answers, or None without answers."""
    count = sum(each.n for each in found)
    return sum(each.n * abs(each.said - each.right) for each in found) / count if count else None
