"""Estimates the cost of a benchmark from prices and prompt lengths, without calling a model."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..assembly import strategies
from ..assembly.models import Model
from ..config.benchmark import ScorerSettings
from ..config.collaboration import Help, HelperSettings
from ..core.exchange import Usage
from ..core.tokens import estimate_text
from .clients import ClientPool
from .intervals import known_sum
from .scoring import judges
from .settings import RECORDED, Setting
from .suite import DATASET_KEY, Suite
from .tasks import Task

USUAL_ANSWER = 350
"""Tokens of an answer of unknown length."""

LONG_ANSWER = 1024
"""Tokens of a long answer without `max_tokens`."""

REQUEST_OVERHEAD = 20
"""Tokens of a request besides its text."""


@dataclass(frozen=True, slots=True)
class ExpectedCost:
    """The dollars for one sample, or None if a price is unknown.

    `low` assumes usual answers and the calls that are always made, `high` long answers that all need help.
    """

    setting: str
    low: float | None
    high: float | None


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
    samples, reads = suite.samples, _mean_prompt(suite.tasks)
    expected = tuple(_expected_cost(setting, suite, reads) for setting in suite.settings)
    unknown = tuple(each.setting for each in expected if each.low is None)
    judging, of_each = _judging(suite, reads, suite.scorers), samples / max(1, len(expected))
    certain = _judging(suite, reads, {name: scorers[:1] for name, scorers in suite.scorers.items()})
    low = sum(each.low or 0.0 for each in expected) * of_each
    high = sum(each.high or 0.0 for each in expected) * of_each
    return Forecast(samples, expected, low + certain, high + judging, unknown, judging)


def _judging(suite: Suite, reads: float, scorers_of: Mapping[str, Sequence[ScorerSettings]]) -> float:
    """Returns the dollars for the judges among the scorers of each dataset, if they score every answer."""
    tasks, of_each = Counter(task.extra[DATASET_KEY] for task in suite.tasks), suite.samples / max(1, len(suite.tasks))
    return sum(
        tasks[name] * of_each * (_call(model, reads + USUAL_ANSWER) or 0.0)
        for name, scorers in scorers_of.items()
        for model in judges(scorers, suite.around)
    )


def _mean_prompt(tasks: Sequence[Task]) -> float:
    sizes = [
        estimate_text(task.system + task.prompt + "".join(str(tool.schema) for tool in task.tools)) for task in tasks
    ]
    return REQUEST_OVERHEAD + sum(sizes) / max(1, len(sizes))


def _expected_cost(setting: Setting, suite: Suite, reads: float) -> ExpectedCost:
    """Returns the cost of a sample. Helpers read the attempt too, and recorded models are free."""
    if setting.model is None:
        return ExpectedCost(setting.name, None, None)
    own = (setting.help.max_retries + 1) if setting.help else 1
    usual = [_cost(each, suite, reads + USUAL_ANSWER) for each in _always_called(setting.model, setting.help)]
    dear = [_cost(each, suite, reads + LONG_ANSWER, long=True) for each in setting.models[1:]]
    low = known_sum([_cost(setting.model, suite, reads), *usual])
    high = known_sum([*[_cost(setting.model, suite, reads, long=True)] * own, *dear])
    return ExpectedCost(setting.name, None, None) if None in (low, high) else ExpectedCost(setting.name, low, high)


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


def _cost(settings: HelperSettings, suite: Suite, reads: float, *, long: bool = False) -> float | None:
    if settings.type.startswith(RECORDED):
        return 0.0
    return _call(ClientPool(suite.around).model(settings), reads, long=long)


def _call(model: Model, reads: float, *, long: bool = False) -> float | None:
    stated = model.options.get("max_tokens")
    written = int(stated or LONG_ANSWER) if long else min(int(stated or USUAL_ANSWER), USUAL_ANSWER)
    return model.price.cost(Usage(int(reads), written)) if model.price else None
