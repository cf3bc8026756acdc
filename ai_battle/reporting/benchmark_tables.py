"""The tables of a benchmark's report, as values that its template renders."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from markupsafe import Markup

from ..benchmark.cascade import BySignal
from ..benchmark.paired import ComparedPair, Verdict
from ..benchmark.summary import BenchmarkSummary, SettingRow
from ..benchmark.sweep import SweepResult
from ..core.texts import about, printable
from .figures import NO_FIGURE, TASKS, UNKNOWN_FIGURE, colour, count, dollars, percent, price, seconds, short

MOST_MATRIX = 16
MOST_SIGNALS = 20
MOST_BEATEN = 6
KINDS: Mapping[Verdict, str] = {
    "better": "better",
    "worse": "worse",
    "no difference shown": "same",
    "not enough data": "unsure",
}
_OPPOSITE: Mapping[Verdict, Verdict] = {"better": "worse", "worse": "better"}
LEAST_SHOWN = 0.05
COST_HEAD = f"$ / {TASKS:,} tasks"
HELP_PRICE = f"help $ / {TASKS:,} tasks"
TOKENS = f"tokens / {TASKS:,} tasks"
"""The column that replaces dollars if no prices are known."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of a cell, the value it is sorted by if that differs, and its 95 % interval."""

    text: str
    by: float | None = None
    interval: str = ""

    @property
    def words(self) -> str:
        return f"{self.text} ({self.interval})" if self.interval else self.text


TERMS: Mapping[str, str] = {
    "quality": "the mean score of the answers, and the 95 % interval in which it lies",
    "tasks": "tasks that the settings are compared on",
    COST_HEAD: "what all calls cost, those of helpers and of dropped answers included",
    TOKENS: "what all calls read and wrote",
    "right / $": "right answers for a dollar",
    "median": "half of the answers take no longer",
    "p95": "95 of 100 answers take no longer",
    "help": "the share of the tasks in which another model was asked for help",
    "asked": "how often another model was asked, and how many questions a model asked in vain",
    HELP_PRICE: "what the replies of helpers, peers and judges cost",
    "missing": "samples without a score: the call failed, or no scorer could read the answer",
    "beaten by": "a setting that is no worse and no dearer, and shown to be better in one of both",
    "help rate": "the share of the tasks in which another model was asked for help",
    "before": "the mean score of first answers, of samples that got help after one",
    "after": "the mean score of the same samples in the end",
    "rescued": "first answers that were wrong, and ended right",
    "spoilt": "first answers that were right, and ended wrong",
    "$ / rescued": "dollars beyond the small model alone for one more right answer",
    "drafts wasted": "samples with an answer that was paid for and dropped",
    "APGR": "the part of the large model's advantage that help recovers, over all help rates; 0.5 is chance",
    "CPT 50 %": "the smallest help rate that recovers half of the large model's advantage",
    "CPT 80 %": "the smallest help rate that recovers 80 % of the large model's advantage",
    "signal of the detector": "what was found in first answers of the small model",
    "answers": "first answers in which it was found",
    "wrong": "the share of these that are wrong",
    "95 %": "the interval in which that share lies",
    "wrong without it": "the share of all other first answers that are wrong",
    "helped": "those of them that got help",
    "$ wasted": "what their dropped answers cost",
    "95 %, or bounds": "the interval of the quality, or between what it must lie",
    "needs new answers": "tasks in which a model would have to answer once more",
}
"""Explanations of the tables' heads."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under `heads`, each with its CSS class."""

    heads: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell]]]

    @property
    def terms(self) -> list[tuple[str, str]]:
        """The heads that need an explanation, with it."""
        return [(head, TERMS[head]) for head in self.heads if head in TERMS]


def over_tasks(summary: BenchmarkSummary) -> str:
    """Returns how many tasks the figures cover, if that is not all of them."""
    return f" (over {summary.compared:,} of {summary.tasks:,} tasks)" if summary.compared < summary.tasks else ""


def beaten(summary: BenchmarkSummary) -> Iterator[str]:
    """Yields a sentence for each setting that beats others."""
    names_by: dict[str, list[str]] = {}
    for row in summary.settings:
        if row.dominated:
            names_by.setdefault(row.dominated, []).append(row.name)
    for by, names in names_by.items():
        who = ", ".join(names) if len(names) <= MOST_BEATEN else f"{len(names):,} other settings"
        verb = "is" if len(names) == 1 else "are"
        yield f"{who} {verb} beaten by {by}, which is no worse, no dearer, and shown to be better in one of both"


def _interval(low: float | None, high: float | None, shown: Callable[[float], str]) -> str:
    """Formats a 95 % interval, which may be open. Returns nothing if it is unknown or has no width."""
    if (low is None and high is None) or low == high:
        return ""
    if high is None:
        return f"from {shown(low or 0.0)}"
    return f"{shown(low)} to {shown(high)}" if low is not None else f"to {shown(high)}"


def _cell(value: float | None, shown: Callable[[float], str], interval: str = "") -> Cell:
    return Cell(NO_FIGURE if value is None else shown(value), value, interval)


def _share(value: float | None, low: float | None = None, high: float | None = None) -> Cell:
    return _cell(value, percent, _interval(low, high, percent))


def _price(row: SettingRow) -> Cell:
    if row.cost_per_task is None:
        return Cell(UNKNOWN_FIGURE)
    text = about(estimated=row.estimated) + price(row.cost_per_task)
    return Cell(text, row.cost_per_task, _interval(row.cost_low, row.cost_high, price))


def _missing_cell(row: SettingRow) -> Cell:
    kinds = ((row.failed, "failed"), (row.unscored, "unscored"))
    return Cell(", ".join(f"{amount} {what}" for amount, what in kinds if amount) or NO_FIGURE)


def _question_count(row: SettingRow) -> Cell:
    """Returns how often other models were asked, and how many questions were declined."""
    declined = f"{count(row.help.declined)} declined" if row.help.declined else ""
    return Cell(count(row.help.asked), row.help.asked, declined) if row.help.asked or declined else Cell(NO_FIGURE)


def _apgr(row: SettingRow) -> Cell:
    order = row.order
    return _cell(order.apgr, "{:.3f}".format, _interval(order.apgr_low, order.apgr_high, "{:.2f}".format))


_SETTINGS: Mapping[str, Callable[[SettingRow], Cell]] = {
    "quality": lambda row: _share(row.quality, row.low, row.high),
    "tasks": lambda row: _cell(row.n, "{:,}".format),
    COST_HEAD: _price,
    TOKENS: lambda row: _cell(row.effort, lambda value: count(round(value * TASKS))),
    "right / $": lambda row: _cell(row.quality_per_dollar, "{:,.0f}".format),
    "median": lambda row: _cell(
        row.seconds_p50, seconds, _interval(row.seconds_p50_low, row.seconds_p50_high, seconds)
    ),
    "p95": lambda row: _cell(row.seconds_p95, seconds, _interval(row.seconds_p95_low, row.seconds_p95_high, seconds)),
    "help": lambda row: _share(row.help.help_rate, row.help.help_rate_low, row.help.help_rate_high),
    "asked": _question_count,
    HELP_PRICE: lambda row: _cell(row.help.help_usd, price) if row.help.asked else Cell(NO_FIGURE),
    "APGR": _apgr,
    "missing": _missing_cell,
    "beaten by": lambda row: Cell(short(row.dominated) or NO_FIGURE),
}


def settings_table(summary: BenchmarkSummary, *left_out: str) -> Table:
    """Returns the table of all settings, without the columns `left_out` and empty ones."""
    without = {*left_out, *(() if summary.axis == "tokens" else (TOKENS,))}
    heads = [head for head in _SETTINGS if head not in without and _says(head, summary)]
    return Table(["setting", *heads], _rows(summary, lambda row: [_SETTINGS[head](row) for head in heads]))


def datasets_table(summary: BenchmarkSummary) -> Table | None:
    """Returns the quality of all settings on each dataset, or None if there is only one."""
    if len(names := summary.datasets) < 2:
        return None
    return Table(["quality on", *names], _rows(summary, lambda row: [quality_on(name, row) for name in names]))


def quality_on(dataset: str, row: SettingRow) -> Cell:
    found = row.by_dataset.get(dataset)
    return _share(found.quality, found.low, found.high) if found else Cell(NO_FIGURE)


def _rows(summary: BenchmarkSummary, cells: Callable[[SettingRow], Sequence[Cell]]) -> list[tuple[str, Sequence[Cell]]]:
    return [
        ("dominated" if row.dominated else "", [_name(row, n), *cells(row)]) for n, row in enumerate(summary.settings)
    ]


def _says(head: str, summary: BenchmarkSummary) -> bool:
    return any(_SETTINGS[head](row).text not in (NO_FIGURE, UNKNOWN_FIGURE) for row in summary.settings)


def _name(row: SettingRow, n: int) -> Cell:
    help_ = f"{row.strategy} by {', '.join(row.helpers) or 'itself'}" if row.strategy else ""
    models = " ".join(filter(None, (row.model, help_)))
    name = Markup('<b class="name {0}" title="{1}" data-of="{2}">{2}</b>')
    return Cell(name.format(colour_of(row, n), printable(models), printable(row.name)))


def colour_of(row: SettingRow, n: int) -> str:
    """Returns the CSS class of the `n`th setting: grey if another one beats it."""
    return "grey" if row.dominated else colour(n)


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """The comparison of one setting with another, as the matrix shows it."""

    text: str = ""
    title: str = ""
    kind: str = ""


def matrix(summary: BenchmarkSummary) -> tuple[Sequence[str], Sequence[tuple[str, Sequence[MatrixCell]]]]:
    """Returns the names and the comparison of every setting with every other, of many only of the best."""
    best = sorted(summary.settings, key=lambda row: -(row.quality or 0.0))[:MOST_MATRIX]
    kept = {row.name for row in best}
    names = [row.name for row in summary.settings if row.name in kept]
    pairs = {(pair.a, pair.b): pair for pair in summary.pairs}
    rows = [(row, [_difference(row, column, pairs) for column in names]) for row in names]
    return names, rows


def _difference(row: str, column: str, pairs: Mapping[tuple[str, str], ComparedPair]) -> MatrixCell:
    pair, sign = pairs.get((column, row)), 1
    if pair is None:
        pair, sign = pairs.get((row, column)), -1
    if pair is None or row == column:
        return MatrixCell()
    points = sign * 100 * pair.found.mean
    verdict = _OPPOSITE.get(pair.verdict, pair.verdict) if sign < 0 else pair.verdict
    low, high = sorted(sign * 100 * end for end in pair.found.interval)
    title = f"{row} against {column}: {points:+.1f} points, 95 % {low:+.1f} to {high:+.1f}, p {pair.p_holm:.3g}"
    text = f"{points:+.1f}" if abs(points) >= LEAST_SHOWN else "0.0"
    mark = " ?" if verdict == "not enough data" else ""
    return MatrixCell(f"{text}{mark}", f"{title}: {verdict}", KINDS[verdict])


def _wasted_drafts(row: SettingRow) -> Cell:
    price_ = f", {dollars(row.help.wasted_usd)}" if row.help.wasted_usd else ""
    return Cell(f"{count(row.help.drafts_wasted)}{price_}", row.help.drafts_wasted)


_ORDER: Mapping[str, Callable[[SettingRow], Cell]] = {
    "setting": lambda row: Cell(row.name),
    "help rate": lambda row: _share(row.help.help_rate, row.help.help_rate_low, row.help.help_rate_high),
    "before": lambda row: _share(row.help.before),
    "after": lambda row: _share(row.help.after),
    "rescued": lambda row: _cell(row.help.rescued, "{:g}".format),
    "spoilt": lambda row: _cell(row.help.spoilt, "{:g}".format),
    "$ / rescued": lambda row: _cell(row.usd_per_rescued, dollars),
    "drafts wasted": _wasted_drafts,
    "APGR": _apgr,
    "CPT 50 %": lambda row: _share(row.order.cpt50),
    "CPT 80 %": lambda row: _share(row.order.cpt80),
}


def order_table(rows: Sequence[SettingRow]) -> Table:
    return Table([*_ORDER], [("", [cell(row) for cell in _ORDER.values()]) for row in rows])


_SIGNALS: Mapping[str, Callable[[BySignal], Cell]] = {
    "signal of the detector": lambda each: Cell(each.signal),
    "answers": lambda each: _cell(each.spoke, "{:,}".format),
    "wrong": lambda each: _share(each.wrong),
    "95 %": lambda each: Cell(_interval(each.wrong_low, each.wrong_high, percent) or NO_FIGURE),
    "wrong without it": lambda each: _share(each.wrong_else),
    "helped": lambda each: _cell(each.helped, "{:,}".format),
    "rescued": lambda each: _cell(each.rescued, "{:g}".format),
    "$ wasted": lambda each: Cell(dollars(each.wasted_usd), each.wasted_usd),
}


def signals_table(signals: Sequence[BySignal]) -> Table:
    """Lists first the signals that separate wrong answers from right ones best and most often."""
    most = sorted(signals, key=_signal_rank)[:MOST_SIGNALS]
    return Table([*_SIGNALS], [("", [cell(each) for cell in _SIGNALS.values()]) for each in most])


def _signal_rank(each: BySignal) -> float:
    if each.wrong is None or each.wrong_else is None:
        return 0.0
    return -abs(each.wrong - each.wrong_else) * sqrt(each.spoke)


def _bounds(each: SweepResult) -> Cell:
    if each.interval is not None:
        return Cell(f"{percent(each.interval.low)} to {percent(each.interval.high)}")
    return Cell(f"between {percent(each.least)} and {percent(each.most)}")


_SWEEP: Mapping[str, Callable[[SweepResult], Cell]] = {
    "setting": lambda each: Cell(each.policy.name),
    "help rate": lambda each: _share(each.help_rate),
    "quality": lambda each: _share(each.quality),
    "95 %, or bounds": _bounds,
    COST_HEAD: lambda each: _cell(each.cost_per_task, price),
    "needs new answers": lambda each: _cell(each.unknown, "{:,}".format),
}


def sweep_table(swept: Sequence[SweepResult]) -> Table:
    return Table([*_SWEEP], [("", [cell(each) for cell in _SWEEP.values()]) for each in swept])
