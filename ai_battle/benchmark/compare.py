"""Compares two benchmarks of the same tasks: what became worse, and what better."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from ..core.errors import ConfigError
from ..core.plugins import near
from .intervals import Interval, known_mean, mean_interval
from .paired import ComparedPair, PairedDifference, Verdict, compare_pairs, difference
from .setting_results import SettingResult, setting_results
from .store import Store, json_text
from .suite import DATASET_KEY

BEFORE, AFTER = "before", "after"
VERDICT_ORDER: Sequence[Verdict] = ("worse", "better", "not enough data", "no difference shown")


@dataclass(frozen=True, slots=True)
class Change:
    """A setting in both benchmarks. The change in dollars per task is None if a cost is unknown.

    `by_dataset` has the differences on each dataset if there are several. They show where a change comes from, and are
    not tested.
    """

    setting: str
    before: float
    after: float
    found: ComparedPair
    cost: float | None = None
    cost_interval: Interval | None = None
    seconds: float | None = None
    by_dataset: Mapping[str, PairedDifference] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        return self.found.verdict

    def as_json(self) -> dict[str, Any]:
        cost = {"cost_usd": self.cost, "cost_interval": self.cost_interval, "seconds": self.seconds}
        parts = {
            name: {"n": found.count, "difference": found.mean, "low": found.interval.low, "high": found.interval.high}
            for name, found in self.by_dataset.items()
        }
        points = {"setting": self.setting, "before": self.before, "after": self.after}
        return {**points, **self.found.as_json(), **cost, "by_dataset": parts}


@dataclass(frozen=True, slots=True)
class BenchmarkComparison:
    """`changes` has the regressions first. `only` has the settings in one benchmark alone, with that benchmark.

    `changed_tasks` have the same id in both benchmarks but ask something else, so they are not compared.
    """

    changes: tuple[Change, ...]
    only: tuple[tuple[str, str], ...] = ()
    changed_tasks: tuple[str, ...] = ()

    @property
    def regressions(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.verdict == "worse")

    def as_json(self) -> dict[str, Any]:
        return {
            "changes": [change.as_json() for change in self.changes],
            "only": [{"in": where, "setting": name} for where, name in self.only],
            "regressions": [change.setting for change in self.regressions],
            "changed_tasks": [*self.changed_tasks],
        }


def compare(before: Path, after: Path) -> BenchmarkComparison:
    """Compares two benchmarks. Raises `ConfigError` if they share nothing, `JournalError` for invalid results."""
    (first, tasks, datasets), (second, tasks_after, _) = _read(before), _read(after)
    if first.keys().isdisjoint(second):
        names = ", ".join(name for _, name in _settings_in_one(first, second))
        raise ConfigError(f"{before} and {after} have no setting in common: {names}.")
    partners = _partners(tasks, tasks_after)
    changed = sorted((tasks.keys() & tasks_after.keys()) - partners.keys(), key=[*tasks_after].index)
    first = {name: each.on_tasks({*partners.values()}) for name, each in first.items()}
    second = {name: each.on_tasks(partners).with_task_names(partners) for name, each in second.items()}
    if not (shared := _in_both(first, second)):
        other = f" {len(changed):,} have the same id but ask something else." * bool(changed)
        raise ConfigError(f"{before} and {after} have no scored task in common.{other}")
    only = _settings_in_one(_with_results(first), _with_results(second))
    pairs = compare_pairs([((BEFORE, AFTER), first[name].values, second[name].values) for name in shared])
    changes = [_change(first[name], second[name], pair, datasets) for name, pair in zip(shared, pairs, strict=True)]
    changes.sort(key=lambda change: (VERDICT_ORDER.index(change.verdict), change.found.found.mean))
    return BenchmarkComparison(tuple(changes), only, tuple(changed))


def _in_both(first: Mapping[str, SettingResult], second: Mapping[str, SettingResult]) -> list[str]:
    """Returns the settings with a scored task in both benchmarks."""
    return [name for name in first if name in second and first[name].values.keys() & second[name].values.keys()]


def _with_results(settings: Mapping[str, SettingResult]) -> Collection[str]:
    return [name for name, found in settings.items() if found.values]


def _settings_in_one(first: Collection[str], second: Collection[str]) -> tuple[tuple[str, str], ...]:
    gone, new = (name for name in first if name not in second), (name for name in second if name not in first)
    return (*((BEFORE, name) for name in gone), *((AFTER, name) for name in new))


def compare_settings(folder: Path, before: str, after: str) -> BenchmarkComparison:
    """Compares two settings of one benchmark. Raises `ConfigError` for an unknown one."""
    found, _, datasets = _read(folder)
    for name in (before, after):
        if name not in found:
            raise ConfigError(f"{folder} has no setting {name!r}{near(name, list(found))}")
    [pair] = compare_pairs([((before, after), found[before].values, found[after].values)])
    if not pair.found.count:
        raise ConfigError(f"{before} and {after} have no scored task in common.")
    return BenchmarkComparison((replace(_change(found[before], found[after], pair, datasets), setting=after),))


def _read(folder: Path) -> tuple[dict[str, SettingResult], dict[str, str], dict[str, str]]:
    """Returns the settings by name, what each task asks, as text, and the dataset that has it."""
    with closing(Store.open(folder)) as store:
        tasks = {task.id: json_text(replace(task, id="", recorded={}, extra={})) for task in store.tasks()}
        datasets = {task.id: str(task.extra.get(DATASET_KEY, "")) for task in store.tasks()}
        return {each.name: each for each in setting_results(store)}, tasks, datasets


def _partners(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """Returns for each later task the earlier one that asks the same, if possible of the same id.

    Ids alone are not enough: if they are line numbers, a new row gives all tasks below it those of others.
    """
    kept = {name: name for name, text in after.items() if before.get(name) == text}
    others = {text: name for name, text in before.items() if name not in kept}
    moved = {text: name for name, text in after.items() if name not in kept and text in others}
    return kept | {name: others[text] for text, name in moved.items()}


def _change(before: SettingResult, after: SettingResult, found: ComparedPair, datasets: Mapping[str, str]) -> Change:
    shared = [task for task in before.values if task in after.values]
    first, second = (known_mean(each.values[task] for task in shared) for each in (before, after))
    by_dataset = _by_dataset({task: before.values[task] for task in shared}, after.values, datasets)
    change = Change(before.name, first or 0.0, second or 0.0, found, None, None, _slowdown(before, after), by_dataset)
    if cost := _cost_change(before, after):
        change = replace(change, cost=fmean(cost), cost_interval=mean_interval(cost))
    return change


def _by_dataset(
    before: Mapping[str, float], after: Mapping[str, float], datasets: Mapping[str, str]
) -> dict[str, PairedDifference]:
    """Returns the difference on each dataset, nothing if all tasks are of one."""
    parts: dict[str, dict[str, float]] = {}
    for task, value in before.items():
        parts.setdefault(datasets[task], {})[task] = value
    return {name: difference(part, after) for name, part in parts.items() if len(parts) > 1}


def _slowdown(before: SettingResult, after: SettingResult) -> float | None:
    first, second = (known_mean(sample.seconds for sample in each.answers) for each in (before, after))
    return None if first is None or second is None else second - first


def _cost_change(before: SettingResult, after: SettingResult) -> list[float]:
    """Returns the change in cost by task, or nothing if a cost is unknown."""
    if before.costs is None or after.costs is None:
        return []
    return [after.costs[task] - cost for task, cost in before.costs.items() if task in after.costs]
