"""Settings that were never run, from one recorded answer of a small and of a large model to each task.

A small model's second answer was never given, so what depends on one is not available: how good settings are that let
it try again, or again with advice. For those the bounds are told between which the quality must lie.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Literal, NamedTuple

from .. import collaboration
from ..core.exchange import ModelRequest, ModelResponse
from ..core.messages import assistant, user
from .intervals import Interval, wilson
from .sample import Sample
from .setting_results import SettingResult, alone
from .settings import RECORDED
from .store import Store
from .tasks import Task

Strategy = Literal["takeover", "cascade", "rescue"]
STRATEGIES: tuple[Strategy, ...] = ("takeover", "cascade", "rescue")
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
RETRIES = (1, 3)
SERVED = ("quality", "cost_per_task", "seconds")
"""The figures that hang on what would have been served."""

RATES = (0.1, 0.2, 0.3, 0.5)
EXACT = "exact"
BOUNDED = "needs new answers of the small model"
UNKNOWN = "not recorded"


class GivenAnswer(NamedTuple):
    """An answer that was recorded: its score, and what it took; None where that is not known."""

    text: str
    score: float
    cost_usd: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """A recorded answer, and what the detector makes of it."""

    given: GivenAnswer
    quality: float
    gain: float
    at_once: bool

    @property
    def rank(self) -> tuple[bool, float]:
        return not self.at_once, self.quality


@dataclass(frozen=True, slots=True)
class Replayed:
    """A task with both answers, judged once for all policies."""

    small: Judged
    large: Judged


@dataclass(frozen=True, slots=True)
class Policy:
    """`help_rate` decides in place of the threshold: the answers with the most to gain, as many as it says."""

    strategy: Strategy = "takeover"
    threshold: float = 0.7
    max_retries: int = 1
    help_rate: float | None = None

    @property
    def name(self) -> str:
        decides = f"help_rate={self.help_rate:g}" if self.help_rate is not None else f"threshold={self.threshold:g}"
        return f"{self.strategy} {decides} max_retries={self.max_retries}"


@dataclass(frozen=True, slots=True)
class Swept:
    """What a policy would have come to; `unknown` is how many tasks need an answer that was never given.

    Where there are any, `quality`, `help_rate` and `cost_per_task` are None if they hang on one of them; `least` and
    `most` are the bounds of the quality, and equal to it where it is exact. `interval` is of 95 %. `status` says by
    name of the figure whether it is exact.
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
    status: Mapping[str, str] = field(default_factory=dict)


def recorded_pairs(tasks: Iterable[Task]) -> list[Replayed]:
    """Tasks of a dataset that has a small and a large model's answer, with who was right."""
    found = []
    for task in tasks:
        small, large = task.recorded.get("small"), task.recorded.get("large")
        if small and large and small.correct is not None and large.correct is not None:
            found.append(
                replay_pair(task, GivenAnswer(small.text, small.correct), GivenAnswer(large.text, large.correct))
            )
    return found


def replay_pair(task: Task, small: GivenAnswer, large: GivenAnswer) -> Replayed:
    """One assessment of each answer."""
    return Replayed(_judge(task, small), _judge(task, large))


def _judge(task: Task, given: GivenAnswer) -> Judged:
    request = ModelRequest((user(task.prompt),), tools=task.tools)
    found = collaboration.StuckDetector().assess_response(request, ModelResponse(assistant(given.text)))
    return Judged(given, found.quality, found.gain, found.at_once)


def grid() -> list[Policy]:
    return [Policy(*each) for each in product(STRATEGIES, THRESHOLDS, RETRIES)]


def rates() -> list[Policy]:
    """Taking over a share of the answers; the cut is the quantile of these very answers."""
    return [Policy(help_rate=share) for share in RATES]


def sweep(items: Sequence[Replayed], policies: Iterable[Policy]) -> list[Swept]:
    """Without a call of any model; costs and times are those of the recorded answers, one after another."""
    return [_swept(items, policy) for policy in policies] if items else []


def _swept(items: Sequence[Replayed], policy: Policy) -> Swept:
    stuck = _stuck(items, policy)
    outcomes = [_outcome(item, policy, stuck=is_stuck) for item, is_stuck in zip(items, stuck, strict=True)]
    known = [outcome for outcome in outcomes if outcome]
    count, total = len(items), sum(outcome.score for outcome in known)
    unknown, exact = count - len(known), len(known) == count
    rate = None if _outcome_of_retry(items, policy, stuck) else sum(stuck) / count
    figures = {"help_rate": rate, **(_figures(known) if exact else dict.fromkeys(SERVED))}
    return Swept(
        policy,
        count,
        unknown,
        **figures,
        interval=wilson(total, count) if exact else None,
        least=total / count,
        most=(total + unknown) / count,
        status={name: _status(value, exact=exact) for name, value in figures.items()},
    )


def _figures(outcomes: Sequence["PolicyOutcome"]) -> dict[str, float | None]:
    """By the names of `SERVED`."""
    columns = zip(*outcomes, strict=True)
    return {name: _mean(column) for name, column in zip(SERVED, columns, strict=True)}


def _status(value: float | None, *, exact: bool) -> str:
    if value is not None:
        return EXACT
    return UNKNOWN if exact else BOUNDED


class PolicyOutcome(NamedTuple):
    """What would have been served, and what it would have taken."""

    score: float
    cost_usd: float | None
    seconds: float | None


def _outcome(item: Replayed, policy: Policy, *, stuck: bool) -> PolicyOutcome | None:
    """None where an answer is needed that was never given."""
    small, large = item.small, item.large
    if not stuck:
        return PolicyOutcome(*small.given[1:])
    if policy.strategy == "rescue" or (_tries_again(policy) and not small.at_once):
        return None
    keeps = policy.strategy == "cascade" and large.at_once and small.rank > large.rank
    served = small if keeps else large
    return PolicyOutcome(
        served.given.score,
        _both(small.given.cost_usd, large.given.cost_usd),
        _both(small.given.seconds, large.given.seconds),
    )


def _stuck(items: Sequence[Replayed], policy: Policy) -> list[bool]:
    if policy.help_rate is None:
        return [item.small.at_once or item.small.quality < policy.threshold for item in items]
    first = sorted(range(len(items)), key=lambda place: (not items[place].small.at_once, -items[place].small.gain))
    chosen = set(first[: round(policy.help_rate * len(items))])
    return [place in chosen for place in range(len(items))]


def _tries_again(policy: Policy) -> bool:
    """A cascade never tries again, and neither does what decides by a help rate."""
    return policy.max_retries > 1 and policy.strategy != "cascade" and policy.help_rate is None


def _outcome_of_retry(items: Sequence[Replayed], policy: Policy, stuck: Sequence[bool]) -> bool:
    """Whether any answer would have been tried again before help is asked for."""
    if not _tries_again(policy):
        return False
    return any(is_stuck and not item.small.at_once for item, is_stuck in zip(items, stuck, strict=True))


def _both(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _mean(values: Sequence[float | None]) -> float | None:
    """None where any is not known."""
    given = [value for value in values if value is not None]
    return sum(given) / len(given) if len(given) == len(values) else None


MOST = 1_000
"""Tasks that are assessed; more would add nothing that is seen."""


def replayed_of(store: Store, settings: Sequence[SettingResult]) -> tuple[list[Replayed], str]:
    """The answers and whose they are; nothing where no pair of models was recorded."""
    pair = next(filter(None, (_pair(each, settings) for each in settings)), None)
    if pair:
        return _of_settings(store, *pair), f"{pair[0].name} and {pair[1].name}"
    if any(RECORDED in model for each in settings for model in (each.model, *each.helpers)):
        return recorded_pairs(task for _, task in zip(range(MOST), store.tasks(), strict=False)), "the recorded answers"
    return [], ""


def _pair(helped: SettingResult, settings: Sequence[SettingResult]) -> tuple[SettingResult, SettingResult] | None:
    if len(helped.helpers) != 1:
        return None
    small, large = alone(settings, helped.model), alone(settings, helped.helpers[0])
    return (small, large) if small and large else None


def _of_settings(store: Store, small: SettingResult, large: SettingResult) -> list[Replayed]:
    """By the first answer of each to a task, where both were scored."""
    answers = [_first(store, each.name) for each in (small, large)]
    return [
        replay_pair(task, _recorded_score(answers[0][task.id]), _recorded_score(answers[1][task.id]))
        for _, task in zip(range(MOST), store.tasks(), strict=False)
        if all(task.id in of for of in answers)
    ]


def _first(store: Store, setting: str) -> Mapping[str, Sample]:
    first = (sample.scored_by(store.unscored_rule) for sample in store.samples(setting) if not sample.repeat)
    return {sample.task: sample for sample in first if not sample.has_failed and sample.score.value is not None}


def _recorded_score(sample: Sample) -> GivenAnswer:
    return GivenAnswer(sample.answer, sample.score.value or 0.0, sample.usage.cost_usd, sample.seconds)
