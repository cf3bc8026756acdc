"""Writes the reports of a benchmark into its folder: summary.json, results.csv and report.html.

The report is one self-contained HTML file. It is readable without its script, which adds filters.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..benchmark.paired import conclusions
from ..benchmark.sample import Sample
from ..benchmark.setting_results import Latency
from ..benchmark.store import Store
from ..benchmark.summary import BenchmarkSummary, Item, SettingRow, summary_of
from ..benchmark.tasks import Task
from .benchmark_tables import (
    MOST_MATRIX,
    beaten,
    colour_of,
    datasets_table,
    matrix,
    order_table,
    over_tasks,
    settings_table,
    signals_table,
    sweep_table,
)
from .charts import BOTTOM, LEFT, RIGHT, TOP, Axes, Box, Points, Scale, fitting, label_boxes, shares, square
from .exports import csv_row, no_formula, write_whole
from .figures import count_of, dollars, effort, seconds, short
from .pages import page

SUMMARY, TABLE, REPORT = "summary.json", "results.csv", "report.html"
COLUMNS = (
    "setting", "task", "repeat", "score", "why", "helped", "quality", "reason", "small_score", "large_score",
    "input_tokens", "output_tokens", "cost_usd", "wasted_usd", "asked", "declined", "help_usd", "seconds", "error",
)  # fmt: skip
MOST_CONCLUSIONS, MOST_CURVES = 6, 3
MOST_ITEMS, MOST_ANSWERS = 200, 2_000
"""Tasks shown, and answers of all settings to them."""

MOST_HELPED, MOST_MAPPED = 24, 400
"""Settings and tasks in the map of help."""

MOST_LABELLED, MOST_HILLS = 14, 14
WIDTH, HEIGHT = 760, 400
LETTER, LINE = 7.2, 14
SIDES, HILL = 24, 34


def write_benchmark_reports(store: Store, hear: Callable[[str], None] = lambda step: None) -> BenchmarkSummary:
    """Writes each file atomically and passes each step to `hear`. Raises `JournalError` if one can't be written."""
    summary = summary_of(store, hear)
    hear("writing the report")
    kept = f"The results themselves are kept; once that is fixed, write it with: ai-battle bench report {store.folder}"
    write_whole(store.folder / SUMMARY, [summary.text()], kept)
    write_whole(store.folder / TABLE, table(store), kept)
    write_whole(store.folder / REPORT, render(summary, store), kept)
    return summary


def table(store: Store) -> Iterator[str]:
    """Yields a CSV row for each sample, without the answers. Texts that look like formulas get an apostrophe."""
    yield csv_row(COLUMNS)
    for sample in store.samples():
        yield csv_row(no_formula(each) if isinstance(each, str) else each for each in _values(sample))


def _values(sample: Sample) -> tuple[object, ...]:
    score, usage = sample.score, sample.usage
    return (
        *(sample.setting, sample.task, sample.repeat, score.value, score.why, int(sample.helped), sample.quality),
        *(sample.reason, sample.small_score, sample.large_score, usage.input_tokens, usage.output_tokens),
        *(usage.cost_usd, sample.wasted.cost_usd, sample.help.asked, sample.help.declined, sample.help.cost_usd),
        *(round(sample.seconds, 6), sample.error),
    )


def render(summary: BenchmarkSummary, store: Store) -> Iterator[str]:
    """Yields the page in pieces."""
    helped = [row for row in summary.settings if row.help.help_rate is not None]
    shown = _most_telling(summary)
    left_out = f"The {len(shown):,} most telling of {len(summary.items):,} tasks; results.sqlite has all."
    return page(
        "benchmark.html",
        title=summary.name,
        styles=("report.css", "benchmark.css"),
        script="benchmark.js",
        summary=summary,
        colours={row.name: colour_of(row, n) for n, row in enumerate(summary.settings)},
        front=front(summary),
        latency=latency(summary),
        most_helped=sorted(summary.items, key=lambda item: -sum(item.helped.values()))[:MOST_MAPPED],
        helped=helped[:MOST_HELPED],
        square=square(),
        facts=[*filter(None, _facts(summary))],
        over_tasks=over_tasks(summary),
        beaten=[*beaten(summary)],
        conclusions=[*conclusions(summary.pairs, MOST_CONCLUSIONS)],
        settings=settings_table(summary, "APGR"),  # which the table of orders has
        datasets=datasets_table(summary),
        matrix=matrix(summary),
        most_matrix=MOST_MATRIX,
        order=order_table(helped) if helped else None,
        curves=[(row, square([y for _, y in curve])) for curve, row in _by_order(helped)[:MOST_CURVES]],
        signals=[(name, signals_table(found)) for name, found in summary.by_signal.items()],
        sweep=sweep_table(summary.sweep),
        items=_items(shown, store),
        left_out=left_out if len(shown) < len(summary.items) else "",
    )


def _facts(summary: BenchmarkSummary) -> Iterator[str]:
    yield count_of(summary.tasks, "task")
    yield count_of(len(summary.settings), "setting")
    yield count_of(sum(row.samples for row in summary.settings), "sample")
    yield f"{summary.repeats} of each task" if summary.repeats > 1 else ""
    forecast = summary.forecast or {}
    low, high = forecast.get("low"), forecast.get("high")
    expected = f" (forecast: {dollars(low)} to {dollars(high)})" if low or high else ""
    yield f"spent {dollars(summary.spent_usd)}{expected}"


def _by_order(rows: Sequence[SettingRow]) -> list[tuple[Points, SettingRow]]:
    """Returns one setting for each order of the answers, as thresholds do not change the order."""
    return list({row.order.curve: row for row in rows if row.order.curve}.items())


@dataclass(frozen=True, slots=True)
class ShownItem:
    """A task with the first answer of each setting to it; `marks` are the classes that the script filters by.

    `small` and `large` are samples that contain the small and the large model's own answers.
    """

    item: Item
    task: Task
    answers: Mapping[str, Sample]

    @property
    def small(self) -> Sample | None:
        return next((sample for sample in self.answers.values() if sample.small_answer), None)

    @property
    def large(self) -> Sample | None:
        return next((sample for sample in self.answers.values() if sample.large_answer), None)

    @property
    def reason(self) -> str:
        return next(filter(None, (sample.reason for sample in self.answers.values() if sample.helped)), "")

    @property
    def marks(self) -> list[str]:
        scores = [score for score in self.item.scores.values() if score is not None]
        holding = {
            "differs": len(set(scores)) > 1,
            "helped": any(self.item.helped.values()),
            "failed": any(sample.error for sample in self.answers.values()),
            "all-wrong": bool(scores) and max(scores) <= 0.5,
        }
        return [name for name, holds in holding.items() if holds]


def _most_telling(summary: BenchmarkSummary) -> list[Item]:
    """Returns the tasks: first those that the settings answer differently, then those with help."""
    most = min(MOST_ITEMS, max(1, MOST_ANSWERS // max(1, len(summary.settings))))
    return sorted(summary.items, key=_place)[:most]


def _place(item: Item) -> tuple[float, float, str]:
    scores = [score for score in item.scores.values() if score is not None]
    return (-(max(scores) - min(scores)) if scores else 0.0, -sum(item.helped.values()), item.task)


def _items(shown: Sequence[Item], store: Store) -> Iterator[ShownItem]:
    wanted = {item.task for item in shown}
    tasks = {task.id: task for task in store.tasks() if task.id in wanted}
    answers: dict[str, dict[str, Sample]] = {}
    for setting in store.settings():
        for sample in store.samples(setting):
            if sample.task in wanted and not sample.repeat:
                answers.setdefault(sample.task, {})[setting] = sample
    return (ShownItem(item, tasks[item.task], answers.get(item.task, {})) for item in shown)


class FrontPicture(NamedTuple):
    """Cost and quality of each setting; `line` connects those on the Pareto front, `labels` are those with room."""

    axes: Axes
    rows: Sequence[SettingRow]
    line: Points
    labels: Sequence[tuple[SettingRow, float, float]]


def front(summary: BenchmarkSummary) -> FrontPicture | None:
    """Returns the picture, or None if no setting has both a cost and a quality."""
    rows = [row for row in summary.settings if row.quality is not None and row.effort is not None]
    if not rows:
        return None
    axes = _axes(rows, summary.axis)
    line = [_point_of(row, axes) for row in summary.front if row in rows]
    return FrontPicture(axes, rows, line, [*_labels(rows, axes)])


def _axes(rows: Sequence[SettingRow], axis: str) -> Axes:
    across = fitting([row.effort or 0.0 for row in rows], LEFT, WIDTH - RIGHT, logs=True)
    ends = [end for row in rows for end in (row.low, row.high) if end is not None]
    return Axes(across, shares(ends, HEIGHT - BOTTOM, TOP), lambda value: effort(value, axis))


def _point_of(row: SettingRow, axes: Axes) -> tuple[float, float]:
    return axes.at(row.effort or 0.0, row.quality or 0.0)


def _labels(rows: Sequence[SettingRow], axes: Axes) -> Iterator[tuple[SettingRow, float, float]]:
    """Places the names of all settings, or of the front's if there are many. Names without room are left out."""
    named = [row for row in rows if len(rows) <= MOST_LABELLED or not row.dominated]
    wanted = [(*_point_of(row, axes), LETTER * len(short(row.name))) for row in named]
    for row, box in zip(named, label_boxes(wanted, LINE, _is_inside), strict=True):
        if box:
            yield row, round(box[0], 1), round(box[3] - 3, 1)


def _is_inside(box: Box) -> bool:
    return box[0] > LEFT and box[2] < WIDTH and box[1] > 0 and box[3] < HEIGHT - BOTTOM


class RidgelinePicture(NamedTuple):
    """Counts of samples by their time: the outline of each setting's ridge, in heights above its base."""

    across: Scale
    rows: Sequence[tuple[SettingRow, Points]]
    left_out: str

    @property
    def ticks(self) -> Iterator[tuple[float, str]]:
        return self.across.readable_ticks(seconds)


def latency(summary: BenchmarkSummary) -> RidgelinePicture | None:
    """Returns the times of answers by setting, of many only the front's, or None if no times are known."""
    found, timed = summary.latency, [row for row in summary.settings if row.seconds_p50 is not None]
    if not found.edges or not timed:
        return None
    few = timed if len(timed) <= MOST_HILLS else [row for row in timed if not row.dominated][:MOST_HILLS]
    across = Scale(found.edges[0], found.edges[-1], SIDES, WIDTH - SIDES, is_log=True)
    left_out = "" if len(few) == len(timed) else "; settings that no other beats"
    return RidgelinePicture(
        across, [(row, _outline(found.counts.get(row.name, ()), found, across)) for row in few], left_out
    )


def _outline(counts: Sequence[int], found: Latency, across: Scale) -> Points:
    most = max(counts, default=0) or 1
    tops = [
        (across(edge), HILL * count / most)
        for start, end, count in zip(found.edges, found.edges[1:], counts, strict=False)
        for edge in (start, end)
    ]
    return [(across(found.edges[0]), 0.0), *tops, (across(found.edges[-1]), 0.0)]
