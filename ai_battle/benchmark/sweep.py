"""Evaluates settings that were never run, from a recorded answer of a small and of a large model to each task.

Retries would need further answers of the small model, which were never given. For settings that depend on them, bounds
of the quality are reported.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any, NamedTuple

from .. import assembly
from ..assembly import strategies
from ..core.exchange import ModelRequest, ModelResponse
from ..core.messages import assistant, user
from .intervals import Interval, known_sum, wilson
from .sample import Sample
from .setting_results import SettingResult, alone
from .store import Store
from .suite import RECORDED
from .tasks import Task

REPLAYED = ("helper", "better", "new")
"""The kinds of strategies that can be swept, in the order of the report."""

THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
RETRIES = (1, 3)
SERVED = {"quality": "score", "cost_per_task": "cost_usd", "seconds": "seconds"}
"""The figures that depend on the served answer, and the field whose mean each is."""

RATES = (0.1, 0.2, 0.3, 0.5)


class GivenAnswer(NamedTuple):
    """A recorded answer with its score, cost and time; None if unknown."""

    text: str
    score: float
    cost_usd: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """A recorded answer with the detector's assessment."""

    given: GivenAnswer
    quality: float
    gain: float
    at_once: bool

    @property
    def rank(self) -> tuple[bool, float]:
        return not self.at_once, self.quality


@dataclass(frozen=True, slots=True)
class Replayed:
    """A task with both answers, assessed once for all policies."""

    small: JudgedAnswer
    large: JudgedAnswer


@dataclass(frozen=True, slots=True)
class Policy:
    """A setting to evaluate. A `help_rate` replaces the threshold by a share, that of the largest gains."""

    strategy: str
    threshold: float = 0.7
    max_retries: int = 1
    help_rate: float | None = None

    @property
    def kind(self) -> str:
        """The kind of the strategy, one of `REPLAYED`."""
        return strategies.traits(self.strategy).replayed

    @property
    def tries_again(self) -> bool:
        """Whether it retries. Taking the better of two answers and deciding by a help rate never do."""
        return self.max_retries > 1 and self.kind != "better" and self.help_rate is None

    @property
    def name(self) -> str:
        decides = f"help_rate={self.help_rate:g}" if self.help_rate is not None else f"threshold={self.threshold:g}"
        return f"{self.strategy} {decides} max_retries={self.max_retries}"


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
    """Returns the tasks of a dataset with rated answers of a small and a large model."""
    found = []
    for task in tasks:
        small, large = task.recorded.get("small"), task.recorded.get("large")
        if small and large and small.correct is not None and large.correct is not None:
            found.append(
                replay_pair(task, GivenAnswer(small.text, small.correct), GivenAnswer(large.text, large.correct))
            )
    return found


def replay_pair(task: Task, small: GivenAnswer, large: GivenAnswer) -> Replayed:
    """Returns a task with both answers assessed."""
    return Replayed(_judge(task, small), _judge(task, large))


def _judge(task: Task, given: GivenAnswer) -> JudgedAnswer:
    request = ModelRequest((user(task.prompt),), tools=task.tools)
    found = assembly.recipes.assess(request, ModelResponse(assistant(given.text)))
    return JudgedAnswer(given, found.quality, found.gain, found.at_once)


def grid() -> list[Policy]:
    return [Policy(*each) for each in product(_swept_strategies(), THRESHOLDS, RETRIES)]


def rates() -> list[Policy]:
    """Returns policies with a help rate, whose cuts are quantiles of the swept answers themselves."""
    return [Policy(_swept_strategies()[0], help_rate=share) for share in RATES]


def _swept_strategies() -> list[str]:
    kinds = {name: strategies.traits(name).replayed for name in strategies.names()}
    return sorted((name for name, kind in kinds.items() if kind), key=lambda name: REPLAYED.index(kinds[name]))


def sweep(items: Sequence[Replayed], policies: Iterable[Policy]) -> list[SweepResult]:
    """Evaluates policies without a model, with costs and times of the recorded answers one after the other."""
    return [_sweep_result(items, policy) for policy in policies] if items else []


def _sweep_result(items: Sequence[Replayed], policy: Policy) -> SweepResult:
    kind, tries_again, stuck = policy.kind, policy.tries_again, _stuck_flags(items, policy)
    outcomes = [
        _outcome(item, kind, tries_again=tries_again) if is_stuck else item.small.given
        for item, is_stuck in zip(items, stuck, strict=True)
    ]
    scores = [outcome.score for outcome in outcomes if outcome]
    count, unknown, total = len(items), len(items) - len(scores), sum(scores)
    retried = tries_again and _is_any_retried(items, stuck)
    figures: dict[str, Any] = {"help_rate": None if retried else sum(stuck) / count, **_figures(outcomes)}
    interval = None if unknown else wilson(total, count)
    bounds = {"least": total / count, "most": (total + unknown) / count}
    return SweepResult(policy, count, unknown, **figures, interval=interval, **bounds)


def _is_any_retried(items: Sequence[Replayed], stuck: Sequence[bool]) -> bool:
    return any(is_stuck and not item.small.at_once for item, is_stuck in zip(items, stuck, strict=True))


def _figures(outcomes: Sequence[GivenAnswer | None]) -> dict[str, float | None]:
    """Returns the figures in `SERVED`, or None for those with an unknown answer."""
    totals = {name: known_sum(each and getattr(each, of) for each in outcomes) for name, of in SERVED.items()}
    return {name: None if total is None else total / len(outcomes) for name, total in totals.items()}


def _stuck_flags(items: Sequence[Replayed], policy: Policy) -> list[bool]:
    if policy.help_rate is None:
        return [item.small.at_once or item.small.quality < policy.threshold for item in items]
    first = sorted(range(len(items)), key=lambda place: (not items[place].small.at_once, -items[place].small.gain))
    chosen = set(first[: round(policy.help_rate * len(items))])
    return [place in chosen for place in range(len(items))]


def _outcome(item: Replayed, kind: str, *, tries_again: bool) -> GivenAnswer | None:
    """Returns the answer served for a stuck one, with the cost of both; None if it was never given."""
    small, large = item.small, item.large
    if kind == "new" or (tries_again and not small.at_once):
        return None
    keeps = kind == "better" and large.at_once and small.rank > large.rank
    served = small.given if keeps else large.given
    cost, seconds = (known_sum(getattr(each.given, of) for each in (small, large)) for of in ("cost_usd", "seconds"))
    return GivenAnswer(served.text, served.score, cost, seconds)


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
    return [
        replay_pair(task, _recorded_score(answers[0][task.id]), _recorded_score(answers[1][task.id]))
        for task in islice(store.tasks(), MAX_TASKS)
        if all(task.id in of for of in answers)
    ]


def _first_samples(store: Store, setting: str) -> Mapping[str, Sample]:
    first = (sample.with_unscored_rule(store.unscored_rule) for sample in store.samples(setting) if not sample.repeat)
    return {sample.task: sample for sample in first if not sample.has_failed and sample.score.value is not None}


def _recorded_score(sample: Sample) -> GivenAnswer:
    return GivenAnswer(sample.answer, sample.score.value or 0.0, sample.usage.cost_usd, sample.seconds)
