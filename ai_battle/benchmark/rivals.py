"""Settings that are compared: on the tasks that they share, in quality and effort, and which of them others beat."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from statistics import fmean

from .played import Played, by_task
from .sample import Sample
from .statistics import Compared, compared, mean_interval
from .summary import Axis

EFFORT: Mapping[Axis, Callable[[Sample], float | None]] = {
    "dollars": lambda sample: sample.usage.cost_usd,
    "tokens": lambda sample: float(sample.usage.total_tokens),
    "seconds": lambda sample: sample.seconds,
}


@dataclass(frozen=True)
class Rivals:
    """The settings of a benchmark, those that can be compared cut to the tasks that each of them has a score for."""

    settings: tuple[Played, ...]
    names: frozenset[str]
    tasks: frozenset[str]

    @cached_property
    def compared(self) -> tuple[Played, ...]:
        return tuple(each for each in self.settings if each.name in self.names)

    @cached_property
    def pairs(self) -> tuple[Compared, ...]:
        both = combinations(self.compared, 2)
        return tuple(compared([((a.name, b.name), a.values, b.values) for a, b in both]))

    @cached_property
    def axis(self) -> Axis:
        """Dollars where all are known and any is paid, else tokens, else seconds."""
        samples = [sample for each in self.settings for sample in each.answered]
        costs = [sample.usage.cost_usd for sample in samples]
        if None not in costs and any(costs):
            return "dollars"
        return "tokens" if any(sample.usage.total_tokens for sample in samples) else "seconds"

    def efforts(self, of: Played) -> dict[str, float]:
        """What each task took, in the unit of the axis."""
        return by_task(of.answered, EFFORT[self.axis])

    @cached_property
    def beaten(self) -> Mapping[str, str]:
        """Names of settings that another one beats, each with the first that does."""
        found = {each.name: next((a.name for a in self.compared if self._beats(a, each)), "") for each in self.compared}
        return {name: by for name, by in found.items() if by}

    def _beats(self, one: Played, other: Played) -> bool:
        """Whether `one` is no worse and no dearer, and the difference in one of both is shown."""
        mine, its = self._efforts_of_compared[one.name], self._efforts_of_compared[other.name]
        saved = [its[task] - effort for task, effort in mine.items() if task in its]
        if one is other or not saved or fmean(saved) < 0 or fmean(one.values.values()) < fmean(other.values.values()):
            return False
        # The bootstrap comes last: a grid has thousands of pairs, and most of them are decided without it.
        return self._is_better(one.name, other.name) or mean_interval(saved).low > 0

    @cached_property
    def _efforts_of_compared(self) -> Mapping[str, Mapping[str, float]]:
        return {each.name: self.efforts(each) for each in self.compared}

    @cached_property
    def _verdicts(self) -> Mapping[tuple[str, str], str]:
        return {(pair.a, pair.b): pair.verdict for pair in self.pairs}

    def _is_better(self, one: str, other: str) -> bool:
        return self._verdicts.get((other, one)) == "better" or self._verdicts.get((one, other)) == "worse"


def rivals(settings: Sequence[Played]) -> Rivals:
    """Compares the settings with scores for at least half of the tasks of the best.

    One whose provider failed nearly always would leave no task that all have in common.
    """
    most = max((len(each.values) for each in settings), default=0)
    able = [each for each in settings if each.values and 2 * len(each.values) >= most]
    shared = frozenset.intersection(*(frozenset(each.values) for each in able)) if able else frozenset()
    names = frozenset(each.name for each in able)
    return Rivals(tuple(each.on_tasks(shared) if each.name in names else each for each in settings), names, shared)
