"""The summary of a benchmark: plain values for the terminal, summary.json, the CSV and the report."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from statistics import fmean, median
from typing import Any

from ..config.benchmark import Unscored
from ..core.exchange import NOTHING_USED
from .cascade import (
    NO_EFFECT,
    NOT_ORDERED,
    Bin,
    BySignal,
    HelpEffect,
    HelpOrder,
    bins,
    by_signal,
    calibration_error,
    doubts_of,
    first_scores,
    help_effect,
    order,
    per_rescued,
)
from .intervals import known_mean, mean_interval, quantile, quantile_interval, rate_interval
from .paired import ComparedPair
from .setting_results import (
    NO_LATENCY,
    Axis,
    ComparedSettings,
    Latency,
    SettingResult,
    alone,
    by_task,
    compared_settings,
    latency,
    setting_results,
)
from .store import Store
from .suite import DATASET_KEY, RECORDED
from .sweep import SweepResult, answer_pairs, grid, sweep
from .tasks import Task

VERSION = 1


@dataclass(frozen=True, slots=True)
class DatasetQuality:
    """The quality of a setting on the `n` compared tasks of one dataset."""

    n: int
    quality: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class SettingRow:
    """The figures of a setting. `_low` and `_high` are ends of 95 % intervals; None means unknown.

    All figures are over the `n` tasks shared by the compared settings. A setting that `is_apart` has too few scores to
    be compared, so its figures are over its own tasks. `samples` counts all samples, `unscored` unreadable answers,
    `failed` failures that are not the setting's fault. `effort` is the mean cost in the unit of comparison. `dominated`
    names a setting that is no worse and no dearer, and shown to be better in one of both. The most frequent reasons of
    failed samples are in `errors`, of unreadable answers in `unread`, of other models that gave no help in
    `help_errors`.
    """

    name: str
    model: str
    strategy: str
    helpers: tuple[str, ...]
    samples: int
    n: int
    unscored: int
    failed: int
    quality: float | None = None
    low: float | None = None
    high: float | None = None
    cost_usd: float | None = None
    cost_per_task: float | None = None
    estimated: bool = False
    cost_low: float | None = None
    cost_high: float | None = None
    quality_per_dollar: float | None = None
    effort: float | None = None
    seconds_p50: float | None = None
    seconds_p50_low: float | None = None
    seconds_p50_high: float | None = None
    seconds_p95: float | None = None
    seconds_p95_low: float | None = None
    seconds_p95_high: float | None = None
    help: HelpEffect = NO_EFFECT
    usd_per_rescued: float | None = None
    order: HelpOrder = NOT_ORDERED
    dominated: str = ""
    is_apart: bool = False
    errors: Mapping[str, int] = field(default_factory=dict)
    unread: Mapping[str, int] = field(default_factory=dict)
    help_errors: Mapping[str, int] = field(default_factory=dict)
    by_dataset: Mapping[str, DatasetQuality] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Item:
    """A task with each setting's mean score (None without one) and share of samples that got help."""

    task: str
    dataset: str
    scores: Mapping[str, float | None]
    helped: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class BenchmarkSummary:
    """The summary of a benchmark.

    `smallest` is the smallest difference that this number of tasks shows in 4 of 5 benchmarks, for the median pair.
    `compared` counts the tasks scored in all compared settings; `unscored` says how unreadable answers count.
    """

    name: str
    tasks: int
    compared: int
    unscored: Unscored
    repeats: int
    axis: Axis
    settings: tuple[SettingRow, ...]
    pairs: tuple[ComparedPair, ...] = ()
    smallest: float | None = None
    calibration: tuple[Bin, ...] = ()
    calibration_error: float | None = None
    by_signal: Mapping[str, tuple[BySignal, ...]] = field(default_factory=dict)
    sweep: tuple[SweepResult, ...] = ()
    sweep_of: str = ""
    latency: Latency = NO_LATENCY
    items: tuple[Item, ...] = ()
    forecast: Mapping[str, Any] | None = None
    spent_usd: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def front(self) -> tuple[SettingRow, ...]:
        """The settings that no other one dominates, the cheapest first."""
        kept = [row for row in self.settings if not row.dominated and not row.is_apart and row.quality is not None]
        return tuple(sorted(kept, key=lambda row: row.effort or 0.0))

    @property
    def datasets(self) -> tuple[str, ...]:
        """The datasets in their order."""
        return tuple(dict.fromkeys(item.dataset for item in self.items))

    @property
    def apart(self) -> tuple[SettingRow, ...]:
        """The settings with too few scores to be compared."""
        return tuple(row for row in self.settings if row.is_apart)

    def as_json(self) -> dict[str, Any]:
        """Returns the content of summary.json."""
        data = {"version": VERSION, **asdict(self)}
        for row in data["settings"]:
            row |= row.pop("help")
        data["pairs"] = [{"a": each.a, "b": each.b, **each.as_json(), "said": each.sentence} for each in self.pairs]
        data["front"] = [row.name for row in self.front]
        data["sweep"] = [{**asdict(each), "policy": each.policy.name} for each in self.sweep]
        return data

    def text(self) -> str:
        return json.dumps(self.as_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


MOST_ERRORS, LONGEST_ERROR = 3, 200


def summary_of(store: Store, hear: Callable[[str], None] = lambda step: None) -> BenchmarkSummary:
    """Returns the summary, the same each time. `hear` gets the name of each step before it starts."""
    hear("reading the samples")
    everything, tasks = setting_results(store), list(store.tasks())
    compared = compared_settings(everything)
    hear(f"comparing each of {len(compared.comparable)} settings with each other")
    pairs, rows = compared.pairs, list[SettingRow]()
    for each, whole in zip(compared.settings, everything, strict=True):
        hear(f"summing up {each.name} ({len(rows) + 1} of {len(everything)})")
        rows.append(_row(each, whole, compared, tasks))
    hear("working out settings that were not run")
    calibration = bins(compared.settings)
    items, of = answer_pairs(store, everything)
    return BenchmarkSummary(
        store.fact("name", store.folder.name),
        len(tasks),
        len(compared.tasks),
        store.unscored_rule,
        store.fact("repeats", 1),
        compared.axis,
        tuple(rows),
        pairs,
        median(pair.smallest for pair in pairs) if pairs else None,
        tuple(calibration),
        calibration_error(calibration),
        {each.name: found for each in compared.settings if each.is_helped and (found := by_signal(each.answers))},
        tuple(sweep(items, grid())),
        of,
        latency(compared.settings),
        tuple(_items(everything, tasks)),
        store.fact("forecast"),
        store.spent_dollars(),
        (*_omission_notes(rows, compared, len(tasks)), *_notes(rows, store)),
    )


def _row(of: SettingResult, whole: SettingResult, compared: ComparedSettings, tasks: Sequence[Task]) -> SettingRow:
    """Returns the row of a setting. `whole` has all its samples, `of` those of the compared tasks."""
    values = list(of.values.values())
    quality = known_mean(values)
    low, high = rate_interval(values) if values else (None, None)
    return SettingRow(
        of.name,
        of.model,
        of.strategy,
        of.helpers,
        samples=len(whole.samples),
        n=len(values),
        unscored=sum(whole.unread.values()),
        failed=len(whole.samples) - len(whole.answers),
        quality=quality,
        low=low,
        high=high,
        effort=known_mean(compared.efforts(of).values()),
        dominated=compared.beaten.get(of.name, ""),
        is_apart=of.name not in compared.names,
        errors=_errors(whole),
        unread=_most_frequent(whole.unread),
        help_errors=_help_errors(whole),
        by_dataset=_by_dataset(of, tasks),
        **_costs(of, quality),
        **_seconds(of),
        **(_help(of, compared.settings, tasks) if of.is_helped else {}),
    )


def _by_dataset(of: SettingResult, tasks: Sequence[Task]) -> dict[str, DatasetQuality]:
    """Returns the quality on each dataset, or nothing if there is only one."""
    values: dict[str, list[float]] = {}
    for task in tasks:
        found = values.setdefault(task.extra.get(DATASET_KEY, ""), [])
        found += [of.values[task.id]] if task.id in of.values else []
    return {
        name: DatasetQuality(len(found), fmean(found), *rate_interval(found))
        for name, found in values.items()
        if found and len(values) > 1
    }


def _costs(of: SettingResult, quality: float | None) -> dict[str, Any]:
    if not of.costs:
        return {}
    each = list(of.costs.values())
    low, high = mean_interval(each)
    spent, mean = sum((sample.usage for sample in of.answers), NOTHING_USED), fmean(each)
    worth = quality / mean if mean and quality is not None else None
    costs = {"cost_per_task": mean, "cost_low": max(0.0, low), "cost_high": high, "quality_per_dollar": worth}
    return {"cost_usd": spent.cost_usd, "estimated": spent.estimated, **costs}


def _seconds(of: SettingResult) -> dict[str, Any]:
    seconds, found = sorted(sample.seconds for sample in of.answers), dict[str, Any]()
    for name, share in (("seconds_p50", 0.5), ("seconds_p95", 0.95)) if seconds else ():
        low, high = quantile_interval(seconds, share)
        found |= {name: quantile(seconds, share), f"{name}_low": low, f"{name}_high": high}
    return found


def _help(of: SettingResult, settings: Sequence[SettingResult], tasks: Sequence[Task]) -> dict[str, Any]:
    effect = help_effect(of.answers)
    price = per_rescued(_extra_dollars(of, settings), effect.rescued)
    return {"help": effect, "usd_per_rescued": price, "order": _order(of, settings, tasks)}


def _extra_dollars(of: SettingResult, settings: Sequence[SettingResult]) -> float | None:
    """Returns the dollars beyond the cost of the small model alone on the same tasks."""
    small = alone(settings, of.model)
    if small is None or small.costs is None or of.costs is None:
        return None
    shared = [sample for sample in of.answers if sample.task in small.costs]
    return sum((sample.usage.cost_usd or 0.0) - small.costs[sample.task] for sample in shared) if shared else None


def _order(of: SettingResult, settings: Sequence[SettingResult], tasks: Sequence[Task]) -> HelpOrder:
    """Returns the order of help, which is not measured if the helper's scores or the detector's doubts are unknown."""
    doubts = doubts_of(of.answers)
    small = first_scores(of.answers)
    large = _own_scores(of.helpers[0], settings, tasks) if of.helpers else {}
    shared = [task for task in doubts if task in small and task in large]
    if not shared:
        return NOT_ORDERED
    return order(*(tuple(each[task] for task in shared) for each in (doubts, small, large)))


def _own_scores(model: str, settings: Sequence[SettingResult], tasks: Sequence[Task]) -> Mapping[str, float]:
    """Returns the scores of a model alone, from its own setting or from recorded answers."""
    if found := alone(settings, model):
        return found.values
    role = model.removeprefix(RECORDED) if model.startswith(RECORDED) else ""
    answers = {task.id: task.recorded[role].correct for task in tasks if role in task.recorded}
    return {task: correct for task, correct in answers.items() if correct is not None}


def _errors(of: SettingResult) -> Mapping[str, int]:
    return _most_frequent(Counter(sample.error or sample.score.why for sample in of.samples if sample.has_failed))


def _help_errors(of: SettingResult) -> Mapping[str, int]:
    found = Counter[str]()
    for sample in of.samples:
        found[sample.help.failure] += sample.help.failed
    return _most_frequent(+found)


def _most_frequent(reasons: Mapping[str, int]) -> Mapping[str, int]:
    found = Counter[str]()
    for reason, count in reasons.items():
        found[reason[:LONGEST_ERROR]] += count
    return dict(found.most_common(MOST_ERRORS))


def _items(settings: Sequence[SettingResult], tasks: Sequence[Task]) -> list[Item]:
    helps = {each.name: by_task(each.answers, lambda s: float(s.helped)) for each in settings if each.is_helped}
    return [
        Item(
            task.id,
            str(task.extra.get(DATASET_KEY, "")),
            {each.name: each.values.get(task.id) for each in settings},
            {name: shares[task.id] for name, shares in helps.items() if task.id in shares},
        )
        for task in tasks
    ]


def _notes(rows: Sequence[SettingRow], store: Store) -> list[str]:
    """Returns notes that qualify the figures."""
    notes = [*_not_scored(rows, store.unscored_rule)]
    notes += _reasons("failed with", (row.errors for row in rows))
    notes += _reasons("could not be read", (row.unread for row in rows))
    notes += chain.from_iterable(map(_notes_on, rows))
    if any(row.model.startswith(RECORDED) for row in rows):
        notes.append("recorded answers take no time: times are those of handing them over, not of a model")
    lacking = len(list(store.tasks())) * store.fact("repeats", 1) * len(rows) - sum(row.samples for row in rows)
    if lacking > 0:
        notes.append(f"the run is not finished: {lacking:,} {'sample is' if lacking == 1 else 'samples are'} missing")
    return notes


def _notes_on(row: SettingRow) -> Iterator[str]:
    yield from (f"{row.name}: help failed ({count:,}): {why}" for why, count in row.help_errors.items())
    if row.order.note:
        yield f"{row.name}: {row.order.note}"


def _not_scored(rows: Sequence[SettingRow], unscored: Unscored) -> Iterator[str]:
    unread = "count as wrong" if unscored == "wrong" else "are left out (`unscored: exclude`)"
    again = "; bench resume --retry-failed plays them again"
    for counts, what, way_out in (
        ([row.failed for row in rows], "failed, for no fault of the answer, and are left out", again),
        ([row.unscored for row in rows], f"could not be read by a scorer and {unread}", ""),
    ):
        named = [f"{row.name} ({n:,})" for row, n in zip(rows, counts, strict=True) if n]
        if named:
            yield f"{sum(counts):,} of {sum(row.samples for row in rows):,} samples {what}: {', '.join(named)}{way_out}"


def _omission_notes(rows: Sequence[SettingRow], compared: ComparedSettings, tasks: int) -> Iterator[str]:
    """Yields notes on tasks and settings outside the comparison."""
    if compared.tasks and len(compared.tasks) < tasks:
        yield f"the figures are over the {len(compared.tasks):,} of {tasks:,} tasks that all compared settings have"
    for row in rows if len(rows) > 1 else ():
        if row.is_apart:
            yield f"{row.name} has scores for {row.n:,} of {tasks:,} tasks and is compared with no other setting"


def _reasons(what: str, by_row: Iterable[Mapping[str, int]]) -> Iterator[str]:
    """Yields the most frequent reasons of all settings."""
    found: Counter[str] = Counter()
    for reasons in by_row:
        found.update(reasons)
    yield from (f"{count:,} {what}: {reason}" for reason, count in found.most_common(MOST_ERRORS) if reason)
