"""Evaluates settings that were never run, from a recorded answer of a small and of a large model to each task.

Retries would need further answers of the small model, which were never given. For settings that depend on them, bounds
of the quality are reported.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import NamedTuple

from .. import assembly
from ..assembly import strategies
from ..core.exchange import ModelRequest, ModelResponse
from ..core.messages import assistant, user
from .intervals import Interval, known_mean, known_sum, wilson
from .sample import Sample
from .setting_results import SettingResult, alone
from .store import Store
from .suite import RECORDED
from .tasks import Task

REPLAYED = ("helper", "better", "new")
"""The kinds of strategies that can be swept, in the order of the report."""

THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
RETRIES = (1, 3)


class JudgedAnswer(NamedTuple):
    """A recorded answer with its score and the detector's assessment; cost and time are None if unknown."""

    text: str
    score: float
    quality: float
    at_once: bool
    cost_usd: float | None = None
    seconds: float | None = None

    @property
    def rank(self) -> tuple[bool, float]:
        return not self.at_once, self.quality


class Replayed(NamedTuple):
    """A task with both answers, assessed once for all policies."""

    small: JudgedAnswer
    large: JudgedAnswer


@dataclass(frozen=True, slots=True)
class Policy:
    """A setting to evaluate."""

    strategy: str
    threshold: float = 0.7
    max_retries: int = 1

    @property
    def kind(self) -> str:
        """The kind of the strategy, one of `REPLAYED`."""
        return strategies.traits(self.strategy).replayed

    @property
    def tries_again(self) -> bool:
        """Whether it retries. Taking the better of two answers never does."""
        return self.max_retries > 1 and self.kind != "better"

    @property
    def name(self) -> str:
        return f"{self.strategy} threshold={self.threshold:g} max_retries={self.max_retries}"


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The result of a policy; `unknown` is the number of tasks that need an answer that was never given.

    Figures are exact, and None if they depend on such an answer, or on a cost or time that was not recorded. `least`
    and `most` bound the quality and equal it if it is exact. `interval` is at 95 %.
    """

    policy: Policy
    count: int
    unknown: int
    help_rate: float | None
    quality: float | None
    cost_per_task: float | None
    seconds: float | None
    interval: Interval | None
    least: float
    most: float


def recorded_pairs(tasks: Iterable[Task]) -> list[Replayed]:
    """Returns the tasks of a dataset with rated answers of a small and a large model, assessed."""
    pairs = ((task, task.recorded.get("small"), task.recorded.get("large")) for task in tasks)
    return [
        Replayed(_judge(task, small.text, small.correct), _judge(task, large.text, large.correct))
        for task, small, large in pairs
        if small and large and small.correct is not None and large.correct is not None
    ]


def _judge(
    task: Task, text: str, score: float, cost_usd: float | None = None, seconds: float | None = None
) -> JudgedAnswer:
    request = ModelRequest((user(task.prompt),), tools=task.tools)
    found = assembly.recipes.assess(request, ModelResponse(assistant(text)))
    return JudgedAnswer(text, score, found.quality, found.at_once, cost_usd, seconds)


def grid() -> list[Policy]:
    return [Policy(*each) for each in product(_swept_strategies(), THRESHOLDS, RETRIES)]


def _swept_strategies() -> list[str]:
    kinds = {name: strategies.traits(name).replayed for name in strategies.names()}
    return sorted((name for name, kind in kinds.items() if kind), key=lambda name: REPLAYED.index(kinds[name]))


def sweep(items: Sequence[Replayed], policies: Iterable[Policy]) -> list[SweepResult]:
    """Evaluates policies without a model, with costs and times of the recorded answers one after the other."""
    return [_sweep_result(items, policy) for policy in policies] if items else []


def _sweep_result(items: Sequence[Replayed], policy: Policy) -> SweepResult:
    kind, tries_again, count = policy.kind, policy.tries_again, len(items)
    stuck = [item for item in items if _is_stuck(item.small, policy)]
    outcomes = [_outcome(item, policy, kind, tries_again=tries_again) for item in items]
    unknown, total = outcomes.count(None), sum(outcome.score for outcome in outcomes if outcome)
    retried = tries_again and not all(item.small.at_once for item in stuck)
    return SweepResult(
        policy,
        count,
        unknown,
        None if retried else len(stuck) / count,
        _mean(outcomes, "score"),
        _mean(outcomes, "cost_usd"),
        _mean(outcomes, "seconds"),
        None if unknown else wilson(total, count),
        total / count,
        (total + unknown) / count,
    )


def _is_stuck(answer: JudgedAnswer, policy: Policy) -> bool:
    return answer.at_once or answer.quality < policy.threshold


def _mean(outcomes: Sequence[JudgedAnswer | None], name: str) -> float | None:
    """Returns the mean of a figure, or None if an answer or its figure is unknown."""
    return known_mean(each and getattr(each, name) for each in outcomes)


def _outcome(item: Replayed, policy: Policy, kind: str, *, tries_again: bool) -> JudgedAnswer | None:
    """Returns the answer that is served, for a stuck one with the cost of both; None if it was never given."""
    small, large = item
    if not _is_stuck(small, policy):
        return small
    if kind == "new" or (tries_again and not small.at_once):
        return None
    keeps = kind == "better" and large.at_once and small.rank > large.rank
    cost, seconds = known_sum([small.cost_usd, large.cost_usd]), known_sum([small.seconds, large.seconds])
    return (small if keeps else large)._replace(cost_usd=cost, seconds=seconds)


MAX_TASKS = 1_000
"""The most tasks that are assessed; more would not change the figures visibly."""


def answer_pairs(store: Store, settings: Sequence[SettingResult]) -> tuple[list[Replayed], str]:
    """Returns pairs of answers and the names of their models; empty if no pair was recorded."""
    pair = next(filter(None, (_both_alone(each, settings) for each in settings)), None)
    if pair:
        return _replayed_settings(store, *pair), f"{pair[0].name} and {pair[1].name}"
    if any(RECORDED in model for each in settings for model in (each.model, *each.helpers)):
        return recorded_pairs(islice(store.tasks(), MAX_TASKS)), "the recorded answers"
    return [], ""


def _both_alone(helped: SettingResult, settings: Sequence[SettingResult]) -> tuple[SettingResult, SettingResult] | None:
    if len(helped.helpers) != 1:
        return None
    small, large = alone(settings, helped.model), alone(settings, helped.helpers[0])
    return (small, large) if small and large else None


def _replayed_settings(store: Store, small: SettingResult, large: SettingResult) -> list[Replayed]:
    """Pairs the first scored answers of both settings to each task."""
    answers = [_first_samples(store, each.name) for each in (small, large)]
    tasks = [task for task in islice(store.tasks(), MAX_TASKS) if all(task.id in of for of in answers)]
    return [Replayed(*(_judged_sample(task, of[task.id]) for of in answers)) for task in tasks]


def _first_samples(store: Store, setting: str) -> Mapping[str, Sample]:
    first = (sample.with_unscored_rule(store.unscored_rule) for sample in store.samples(setting) if not sample.repeat)
    return {sample.task: sample for sample in first if not sample.has_failed and sample.score.value is not None}


def _judged_sample(task: Task, sample: Sample) -> JudgedAnswer:
    return _judge(task, sample.answer, sample.score.value or 0.0, sample.usage.cost_usd, sample.seconds)
