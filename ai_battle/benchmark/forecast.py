"""Estimates the cost of a benchmark from prices and prompt lengths, without calling a model."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from ..assembly import strategies
from ..assembly.models import Model
from ..config.collaboration import Help, HelperSettings
from ..core.exchange import Usage, estimate_text
from .clients import ClientPool
from .intervals import known_sum
from .scorers import judges
from .suite import DATASET_KEY, RECORDED, Setting, Suite
from .tasks import Task

USUAL_ANSWER = 350
"""Tokens of an answer of unknown length, and the most that are read from a reference."""

GRADE = 80
"""Tokens of a judge's grade with its reason."""

LONG_ANSWER = 1024
"""Tokens of a long answer without `max_tokens`."""

REQUEST_OVERHEAD = 20
"""Tokens of a request besides its text."""


@dataclass(frozen=True, slots=True)
class ExpectedCost:
    """The dollars for one sample, or None if a price is unknown.

    `low` assumes answers as short as the references and the calls that are always made, `high` long answers that all
    need help. `answer` has the tokens of both.
    """

    setting: str
    low: float | None
    high: float | None
    answer: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Forecast:
    """The dollars per sample in `settings`, of all judges in `judging`, and for everything in `low` and `high`.

    A judge after other scorers is in `high` alone, as they may read every answer. `unknown` settings have no price.
    """

    samples: int
    settings: tuple[ExpectedCost, ...]
    low: float
    high: float
    unknown: tuple[str, ...] = ()
    judging: float = 0.0


def forecast(suite: Suite) -> Forecast:
    """Returns the forecast for all samples, without savings by the cache."""
    samples, reads, short = suite.samples, _mean_prompt(suite.tasks), _mean_reference(suite.tasks)
    expected = tuple(_expected_cost(setting, suite, reads, short) for setting in suite.settings)
    unknown = tuple(each.setting for each in expected if each.low is None)
    judging, of_each = _judging(suite, reads + USUAL_ANSWER, USUAL_ANSWER), samples / max(1, len(expected))
    certain = _judging(suite, reads + short, GRADE, only_first=True)
    low = sum(each.low or 0.0 for each in expected) * of_each
    high = sum(each.high or 0.0 for each in expected) * of_each
    return Forecast(samples, expected, low + certain, high + judging, unknown, judging)


def _judging(suite: Suite, reads: float, written: int, *, only_first: bool = False) -> float:
    """Returns the dollars for the judges, if they score every answer: all of a dataset, or those that are first."""
    tasks, of_each = Counter(task.extra[DATASET_KEY] for task in suite.tasks), suite.samples / max(1, len(suite.tasks))
    return sum(
        tasks[name] * of_each * (_call(model, reads, written) or 0.0)
        for name, scorers in suite.scorers.items()
        for model in judges(scorers[:1] if only_first else scorers, suite.around)
    )


def _mean_prompt(tasks: Sequence[Task]) -> float:
    sizes = [
        estimate_text(task.system + task.prompt + "".join(str(tool.schema) for tool in task.tools)) for task in tasks
    ]
    return REQUEST_OVERHEAD + sum(sizes) / max(1, len(sizes))


def _mean_reference(tasks: Sequence[Task]) -> int:
    """Returns the tokens of the shortest right answers, on average; of a task without any, those of a usual answer."""
    sizes = [
        min(USUAL_ANSWER, *map(estimate_text, task.right_answers)) if task.reference else USUAL_ANSWER for task in tasks
    ]
    return ceil(sum(sizes) / max(1, len(sizes)))


def _expected_cost(setting: Setting, suite: Suite, reads: float, short: int) -> ExpectedCost:
    """Returns the cost of a sample. Helpers read the attempt too, and recorded models are free."""
    if setting.model is None:
        return ExpectedCost(setting.name, None, None)
    reads += estimate_text(setting.system)
    own = (setting.help.max_retries + 1) if setting.help else 1
    usual = [_cost(each, suite, reads + short, short) for each in _always_called(setting.model, setting.help)]
    dear = [_cost(each, suite, reads + LONG_ANSWER, None) for each in setting.models[1:]]
    low = known_sum([_cost(setting.model, suite, reads, short), *usual])
    high = known_sum([*[_cost(setting.model, suite, reads, None)] * own, *dear])
    if low is None or high is None:
        return ExpectedCost(setting.name, None, None)
    most = _most_written(setting.model.parameters.options())
    return ExpectedCost(setting.name, low, high, (min(short, most), most))


def _always_called(model: HelperSettings, help_: Help | None) -> Iterator[HelperSettings]:
    """Yields the helpers that each sample calls. Further secondaries are substitutes, so they don't count."""
    if help_ is None:
        return
    traits = strategies.traits(help_.strategy, trusted=False)
    yield from (model for _ in traits.own_calls(has_secondary=bool(help_.secondary)))
    for steps, helper in strategies.helpers_of(help_):
        stands_in = steps[0] == "secondary" and steps[1:] not in ((), (0,))
        called = traits.call_of(str(steps[0]))
        if called.often == "each turn" and not stands_in:
            yield from [helper] * called.calls


def _cost(settings: HelperSettings, suite: Suite, reads: float, written: int | None) -> float | None:
    if settings.type.startswith(RECORDED):
        return 0.0
    return _call(ClientPool(suite.around).model(settings), reads, written)


def _call(model: Model, reads: float, written: int | None) -> float | None:
    """Returns the dollars of a call that writes as many tokens, or as many as it may for None."""
    most = _most_written(model.options)
    return model.price.cost(Usage(int(reads), min(written or most, most))) if model.price else None


def _most_written(options: Mapping[str, Any]) -> int:
    return int(options.get("max_tokens") or LONG_ANSWER)
