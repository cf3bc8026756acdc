"""The results of each setting by task, and the comparison of settings on shared tasks."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations
from math import log10
from statistics import fmean
from typing import Any, Literal, Self

from ..config.collaboration import Help
from .intervals import mean_interval
from .paired import ALPHA, ComparedPair, compare_pairs
from .sample import Sample
from .store import Store
from .suite import RECORDED


@dataclass(frozen=True)
class SettingResult:
    """The results of a setting; `described` is the expanded setting.

    `unread` counts the answers that no scorer could read by the reason, however these count.
    """

    name: str
    described: Mapping[str, Any]
    samples: tuple[Sample, ...]
    unread: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def answers(self) -> tuple[Sample, ...]:
        """The samples without a failure in answering or scoring."""
        return tuple(sample for sample in self.samples if not sample.has_failed)

    def on_tasks(self, tasks: Collection[str]) -> Self:
        """Returns the result restricted to some tasks."""
        return replace(self, samples=tuple(sample for sample in self.samples if sample.task in tasks))

    def with_task_names(self, names: Mapping[str, str]) -> Self:
        """Returns the result with its tasks renamed."""
        return replace(self, samples=tuple(replace(sample, task=names[sample.task]) for sample in self.samples))

    @cached_property
    def values(self) -> dict[str, float]:
        """The mean score by task."""
        return by_task(self.answers, lambda sample: sample.score.value)

    @cached_property
    def costs(self) -> dict[str, float] | None:
        """The dollars by task, or None if any are unknown."""
        found = by_task(self.answers, lambda sample: sample.usage.cost_usd)
        return found if all(sample.usage.cost_usd is not None for sample in self.answers) else None

    @property
    def model(self) -> str:
        """The type of the model, or the file of the discussion."""
        of_dataset = self.described.get("recorded")
        recorded = f"{RECORDED}{of_dataset}" if of_dataset else self.described.get("discussion", "")
        return str(self.described.get("model") or recorded)

    @property
    def helpers(self) -> tuple[str, ...]:
        """The types of all models that may answer or advise in addition."""
        named = [self.described.get(key) for key in ("secondary", "models", "peers", "judge")]
        return tuple(str(name) for each in named if each for name in (each if isinstance(each, list) else [each]))

    @property
    def strategy(self) -> str:
        """The strategy of help, or "" for a model alone."""
        return str(self.described.get("strategy", Help.model_fields["strategy"].default)) if self.is_helped else ""

    @property
    def is_helped(self) -> bool:
        return bool(self.helpers or "strategy" in self.described)


def setting_results(store: Store) -> list[SettingResult]:
    """Returns the results of all settings in the order of the suite."""
    return [_setting_result(store, name, described) for name, described in store.settings().items()]


def _setting_result(store: Store, name: str, described: Mapping[str, Any]) -> SettingResult:
    samples = tuple(replace(each, answer="", small_answer="", large_answer="") for each in store.samples(name))
    counted = tuple(sample.with_unscored_rule(store.unscored_rule) for sample in samples)
    return SettingResult(name, described, counted, Counter(each.score.why for each in samples if each.is_unreadable))


def alone(settings: Iterable[SettingResult], model: str) -> SettingResult | None:
    """Returns the setting with this model and no help."""
    return next((each for each in settings if each.model == model and not each.is_helped), None)


def by_task(samples: Iterable[Sample], of: Callable[[Sample], float | None]) -> dict[str, float]:
    """Returns the mean over repeats by task, without missing values."""
    found: dict[str, list[float]] = {}
    for sample in samples:
        value = of(sample)
        if value is not None:
            found.setdefault(sample.task, []).append(value)
    return {task: fmean(values) for task, values in found.items()}


Axis = Literal["dollars", "tokens", "seconds"]
"""The unit in which settings are compared besides their quality."""

EFFORT: Mapping[Axis, Callable[[Sample], float | None]] = {
    "dollars": lambda sample: sample.usage.cost_usd,
    "tokens": lambda sample: float(sample.usage.total_tokens),
    "seconds": lambda sample: sample.seconds,
}


@dataclass(frozen=True)
class ComparedSettings:
    """The settings of a benchmark, with comparable ones restricted to the tasks that all of them share."""

    settings: tuple[SettingResult, ...]
    names: frozenset[str]
    tasks: frozenset[str]

    @cached_property
    def comparable(self) -> tuple[SettingResult, ...]:
        return tuple(each for each in self.settings if each.name in self.names)

    @cached_property
    def pairs(self) -> tuple[ComparedPair, ...]:
        both = combinations(self.comparable, 2)
        return tuple(compare_pairs([((a.name, b.name), a.values, b.values) for a, b in both]))

    @cached_property
    def axis(self) -> Axis:
        """Dollars if all are known and any is paid, else tokens, else seconds."""
        samples = [sample for each in self.settings for sample in each.answers]
        costs = [sample.usage.cost_usd for sample in samples]
        if None not in costs and any(costs):
            return "dollars"
        return "tokens" if any(sample.usage.total_tokens for sample in samples) else "seconds"

    def efforts(self, of: SettingResult) -> dict[str, float]:
        """Returns the cost of each task in the unit of the axis."""
        return by_task(of.answers, EFFORT[self.axis])

    @cached_property
    def beaten(self) -> Mapping[str, str]:
        """The dominated settings, each with the first one that dominates it."""
        found = {
            each.name: next((a.name for a in self.comparable if self._beats(a, each)), "") for each in self.comparable
        }
        return {name: by for name, by in found.items() if by}

    def _beats(self, one: SettingResult, other: SettingResult) -> bool:
        """Checks whether `one` is no worse and no dearer, and shown to be better in one of both."""
        mine, its = self._efforts_of_compared[one.name], self._efforts_of_compared[other.name]
        saved = [its[task] - effort for task, effort in mine.items() if task in its]
        if one is other or not saved or fmean(saved) < 0 or fmean(one.values.values()) < fmean(other.values.values()):
            return False
        # Of many equal settings one would be the cheapest by luck, so the level is Bonferroni's for all pairs.
        level = 1 - ALPHA / len(self.pairs)
        return self._is_better(one.name, other.name) or mean_interval(saved, level).low > 0

    @cached_property
    def _efforts_of_compared(self) -> Mapping[str, Mapping[str, float]]:
        return {each.name: self.efforts(each) for each in self.comparable}

    @cached_property
    def _verdicts(self) -> Mapping[tuple[str, str], str]:
        return {(pair.a, pair.b): pair.verdict for pair in self.pairs}

    def _is_better(self, one: str, other: str) -> bool:
        return self._verdicts.get((other, one)) == "better" or self._verdicts.get((one, other)) == "worse"


def compared_settings(settings: Sequence[SettingResult]) -> ComparedSettings:
    """Compares the settings that have at least half as many scored tasks as the best one.

    A setting whose provider nearly always failed would leave no shared task.
    """
    least = max([2, *(len(each.values) for each in settings)]) / 2
    able = [each for each in settings if len(each.values) >= least]
    shared = frozenset.intersection(*map(frozenset, (each.values for each in able))) if able else frozenset()
    cut = tuple(each.on_tasks(shared) if each in able else each for each in settings)
    return ComparedSettings(cut, frozenset(each.name for each in able), shared)


LATENCY_BINS = 30


@dataclass(frozen=True, slots=True)
class Latency:
    """The number of samples of each setting that took between `edges[n]` and `edges[n + 1]` seconds."""

    edges: tuple[float, ...] = ()
    counts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


NO_LATENCY = Latency()


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
