"""Scorers: one file each, named as in the suite; how they are created, and score an answer in order."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from inspect import iscoroutinefunction, signature
from typing import Any, Protocol, get_type_hints

from ...assembly.models import BuildContext, helper_model, participant
from ...config.benchmark import ScorerSettings
from ...config.collaboration import HelperSettings
from ...core import plugins
from ...core.client import ModelClient
from ...core.errors import AIBattleError, ConfigError
from ...core.ledger import Budget, charge_to
from ...core.messages import ToolCall
from ...core.plugins import translate_errors
from ...tools.sandbox.sandbox import Level, Sandbox, choose
from ..sample import AnswerScore
from ..tasks import Task

SCORERS = __name__


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """The answer of a setting; `calls` are the tool calls in it and before it."""

    text: str
    calls: tuple[ToolCall, ...] = ()


class Scorer(Protocol):
    """Scores answers. `create(**options)` in its file creates it; a sandbox or a model is passed as an option."""

    def lacks(self, task: Task) -> str:
        """Returns what the task lacks for this scorer, or "" if it can be scored."""

    async def score(self, task: Task, answer: ScoredAnswer) -> AnswerScore:
        """Scores an answer. Never raises because of the answer's content."""


@dataclass(frozen=True, slots=True)
class ScorerFactory:
    """Creates scorers with their models and sandbox."""

    surroundings: BuildContext
    sandbox: Level = "auto"
    allow_unsandboxed: bool = False

    def scorer(self, settings: ScorerSettings) -> Scorer:
        """Returns a scorer. Raises `ConfigError` if it is unknown, its options are wrong, or a resource is missing."""
        create = plugins.factory(SCORERS, settings.name)
        plugins.check_options(create, settings.name, settings.options)
        options = {**settings.options, **self._resources(settings, create)}
        try:
            signature(create).bind(**options)
        except TypeError as error:
            raise ConfigError(f"{settings.name} can't be made of its options: {error}") from error
        with translate_errors(f"{settings.name} can't be created", ConfigError):
            made: Scorer = create(**options)
        if not callable(getattr(made, "lacks", None)) or not iscoroutinefunction(getattr(made, "score", None)):
            raise ConfigError(
                f"{settings.name}: create() returned {type(made).__name__}, which is no scorer: it needs "
                "lacks(task) and async score(task, answer)"
            )
        return made

    def _resources(self, settings: ScorerSettings, create: Any) -> dict[str, Any]:
        hints = get_type_hints(create)
        given: dict[str, Any] = {}
        for name in signature(create).parameters:
            if hints.get(name) is Sandbox:
                given[name] = _fence(self.sandbox, self.allow_unsandboxed)
            elif hints.get(name) is ModelClient:
                given[name] = helper_model(settings.name, judge_of(settings, name), self.surroundings).client
        return given


def judge_of(settings: ScorerSettings, name: str = "model") -> HelperSettings:
    """Returns the model in an option of a scorer. Raises `ConfigError`."""
    value = settings.options.get(name)
    if not value:
        raise ConfigError(f"{settings.name} needs a model: write {{name: {settings.name}, {name}: gpt-4o}}")
    return HelperSettings(type=value) if isinstance(value, str) else HelperSettings.model_validate(value)


def judges(scorers: Sequence[ScorerSettings], surroundings: BuildContext) -> list[Any]:
    """Returns the models that scorers call."""
    calling = [each for each in scorers if each.options.get("model")]
    return [participant(each.name, judge_of(each), surroundings) for each in calling]


async def score_answer(scorers: Sequence[Scorer], task: Task, answer: ScoredAnswer) -> AnswerScore:
    """Returns the score of the first scorer that can read the answer, or the reasons of all, and the total cost.

    Scorers that lack something in this task are left out: rows of one dataset may be scored by different ones.
    """
    with charge_to(budget := Budget()):
        score = await _first_score(scorers, task, answer)
    return replace(score, cost_usd=budget.ledger.known_cost)


async def _first_score(scorers: Sequence[Scorer], task: Task, answer: ScoredAnswer) -> AnswerScore:
    unread: list[AnswerScore] = []
    for scorer in scorers:
        if scorer.lacks(task):
            continue
        score = await scorer.score(task, answer)
        _require_score(score, scorer)
        if score.value is not None:
            return score
        unread.append(score)
    why = "; ".join(each.why for each in unread) or "no scorer has what it needs for this task"
    failed = all(each.scorer_failed for each in unread)
    return AnswerScore(None, why, scorer_failed=failed)


def _require_score(score: AnswerScore, scorer: Scorer) -> None:
    """Raises `AIBattleError` for what a scorer of the user's own may return instead."""
    if not isinstance(score, AnswerScore):
        raise AIBattleError(f"{type(scorer).__name__} returned {score!r} as a score; it must be an AnswerScore.")
    if score.value is not None and not 0 <= score.value <= 1:
        raise AIBattleError(f"{type(scorer).__name__} scored {score.value!r}; a score is from 0 to 1, or None.")


def lacking(scorers: Sequence[tuple[str, Scorer]], task: Task) -> str:
    """Returns what a task lacks for its scorers, each with its name, or "" if one of them can score it."""
    with translate_errors(", ".join(name for name, _ in scorers), ConfigError):
        lacks = [(name, scorer.lacks(task)) for name, scorer in scorers]
    return ", ".join(f"{name} needs {what}" for name, what in lacks) if all(what for _, what in lacks) else ""


@cache
def _fence(level: Level, allow_unsandboxed: bool) -> Sandbox:
    """Returns the sandbox. Cached, as finding it runs a program."""
    return choose(level, allow_unsandboxed)
