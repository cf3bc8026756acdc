"""What a setting did: its samples without their texts, gathered by task."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any, Self

from .sample import Sample
from .settings import RECORDED
from .store import Store


@dataclass(frozen=True)
class Played:
    """`described` is the setting as the suite says it, after multiplying out.

    `unreadable` counts the answers that no scorer could read, whatever they count.
    """

    name: str
    described: Mapping[str, Any]
    samples: tuple[Sample, ...]
    unreadable: int = 0

    @cached_property
    def answered(self) -> tuple[Sample, ...]:
        """Those that failed neither when they were asked nor when they were scored."""
        return tuple(sample for sample in self.samples if not sample.has_failed)

    def on_tasks(self, tasks: Collection[str]) -> Self:
        """The samples of some tasks alone."""
        return replace(self, samples=tuple(sample for sample in self.samples if sample.task in tasks))

    @cached_property
    def values(self) -> dict[str, float]:
        """The mean score by task, of what was scored."""
        return by_task(self.answered, lambda sample: sample.score.value)

    @cached_property
    def costs(self) -> dict[str, float] | None:
        """Dollars by task; None where any is not known."""
        found = by_task(self.answered, lambda sample: sample.usage.cost_usd)
        return found if all(sample.usage.cost_usd is not None for sample in self.answered) else None

    @property
    def model(self) -> str:
        """The type of the model, or the file of the discussion."""
        of_dataset = self.described.get("recorded")
        return str(self.described.get("model") or (f"{RECORDED}{of_dataset}" if of_dataset else self._discussion))

    @property
    def helpers(self) -> tuple[str, ...]:
        """The types of all models that may answer or advise beside it."""
        said = [self.described.get(key) for key in ("secondary", "models", "peers", "judge")]
        return tuple(str(name) for each in said if each for name in (each if isinstance(each, list) else [each]))

    @property
    def strategy(self) -> str:
        """How it is helped; empty for a model that is alone."""
        return str(self.described.get("strategy", "rescue")) if self.is_helped else ""

    @property
    def is_helped(self) -> bool:
        return bool(self.helpers or "strategy" in self.described)

    @property
    def _discussion(self) -> str:
        return str(self.described.get("discussion", ""))


def played(store: Store) -> list[Played]:
    """All settings in the order of the suite."""
    return [_played(store, name, described) for name, described in store.settings().items()]


def _played(store: Store, name: str, described: Mapping[str, Any]) -> Played:
    samples = tuple(map(_without_texts, store.samples(name)))
    counted = tuple(sample.scored_by(store.unscored) for sample in samples)
    return Played(name, described, counted, sum(sample.is_unreadable for sample in samples))


def alone(settings: Iterable[Played], model: str) -> Played | None:
    """The setting that is this model and nothing else."""
    return next((each for each in settings if each.model == model and not each.is_helped), None)


def by_task(samples: Iterable[Sample], of: Callable[[Sample], float | None]) -> dict[str, float]:
    """The mean over repeats, where there is anything."""
    found: dict[str, list[float]] = {}
    for sample in samples:
        value = of(sample)
        if value is not None:
            found.setdefault(sample.task, []).append(value)
    return {task: fmean(values) for task, values in found.items()}


def _without_texts(sample: Sample) -> Sample:
    return replace(sample, answer="", small_answer="", large_answer="")
