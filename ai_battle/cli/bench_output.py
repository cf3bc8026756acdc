"""Shows the progress and the results of a benchmark on the terminal or as JSON."""

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from time import monotonic

import click

from ..benchmark.compare import BenchmarkComparison, Change
from ..benchmark.forecast import Forecast
from ..benchmark.paired import PairedDifference, conclusions
from ..benchmark.run import BenchmarkProgress
from ..benchmark.store import Store
from ..benchmark.summary import BenchmarkSummary, SettingRow
from ..core.object_store import shown_path
from ..core.texts import about, printable
from ..reporting.benchmark_report import REPORT, write_benchmark_reports
from ..reporting.benchmark_tables import COST_HEAD, HELP_PRICE, TOKENS, beaten, over_tasks, quality_on
from ..reporting.figures import NO_FIGURE, TASKS, clock, count, count_of, dollars, percent, seconds, with_sign
from .output import print_json, show_columns

OFTEN, SELDOM = 0.2, 10.0
"""Seconds between two updates, on a terminal and elsewhere."""


class StatusLine:
    """A progress line on stderr: rewritten in place on a terminal, repeated now and then elsewhere."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._out = sys.stderr
        self._live = self._out.isatty()
        self._next = 0.0

    def show(self, line: str, *, is_last: bool = False) -> None:
        if self._quiet or (monotonic() < self._next and not is_last):
            return
        self._next = monotonic() + (OFTEN if self._live else SELDOM)
        if self._live:
            self._out.write(f"\r\x1b[2K{line[: shutil.get_terminal_size().columns - 1]}")
        else:
            self._out.write(f"{line}\n")
        self._out.flush()

    def show_step(self, step: str) -> None:
        """Shows each step on a terminal, as any may take long; elsewhere only if all together take long."""
        if self._live:
            self._next = 0.0
        elif not self._next:
            self._next = monotonic() + SELDOM
        self.show(step)

    def close(self) -> None:
        """Leaves the last line on the screen."""
        if self._live and self._next:
            self._out.write("\n")

    def erase(self) -> None:
        if self._live and self._next:
            self._out.write("\r\x1b[2K")
            self._out.flush()


class ProgressDisplay:
    """Shows a benchmark's progress on stderr."""

    def __init__(self, limit: float | None, *, quiet: bool) -> None:
        self._limit = limit
        self._quiet = quiet
        self._line = StatusLine(quiet=quiet)
        self._failure = ""

    def __call__(self, progress: BenchmarkProgress) -> None:
        if progress.failure and not self._failure:  # the first, as it may be why all fail; the notes have the rest
            self._failure = progress.failure
            self.tell(f"a sample failed: {printable(progress.failure)}")
        self._line.show(progress_line(progress, self._limit), is_last=progress.finished >= progress.total)

    def tell(self, words: str) -> None:
        """Shows a line that stays."""
        if not self._quiet:
            self._line.erase()
            click.echo(words, err=True)

    def close(self) -> None:
        self._line.close()


def progress_line(progress: BenchmarkProgress, limit: float | None) -> str:
    """Returns a line such as `120/600 samples (20 %), 2 failed, 0:40, 2:40 left, $0.31 of $5.00 spent, $1.24 more`."""
    share = 100 * progress.finished // max(1, progress.total)
    parts = [f"{progress.finished}/{progress.total} samples ({share} %)"]
    if progress.failed:
        parts.append(f"{progress.failed} failed")
    parts.append(clock(progress.seconds))
    if progress.left is not None and progress.finished < progress.total:
        parts.append(f"{clock(progress.left)} left")
    of = f" of {dollars(limit)}" if limit is not None else ""
    parts.append(f"{dollars(progress.spent)}{of} spent")
    if progress.to_come:
        parts.append(f"{dollars(progress.to_come)} to come")
    return ", ".join(parts)


def forecast_line(expected: Forecast) -> str:
    """Returns the expected cost of a run as a sentence."""
    low, high = dollars(expected.low), dollars(expected.high)
    cost = low if expected.low == expected.high else f"{low} to {high}"
    unknown = f"; not known beforehand is what these cost: {', '.join(expected.unknown)}" if expected.unknown else ""
    return f"{count_of(expected.samples, 'sample')}, about {cost}{unknown}"


MOST_SAID = 5
COLOURS = {"worse": "red", "better": "green", "not enough data": "yellow"}


def show(store: Store, *, as_json: bool, quiet: bool = False) -> BenchmarkSummary:
    """Writes the reports into the results' folder and shows the settings, how they differ, and the reports' path."""
    status = StatusLine(quiet=quiet)
    summary = write_benchmark_reports(store, status.show_step)
    status.erase()
    if as_json:
        print_json({"results": shown_path(store.folder), **summary.as_json()})
        return summary
    _show_settings(summary)
    if len(summary.datasets) > 1:
        click.echo()
        _show_datasets(summary)
    for line in (*_conclusions(summary), *(f"note: {note}" for note in summary.notes)):
        _say(line)
    click.echo(shown_path(store.folder / REPORT))
    return summary


def show_comparison(found: BenchmarkComparison, *, as_json: bool) -> None:
    """Shows the changes, regressions first."""
    if as_json:
        print_json(found.as_json())
        return
    _show_changes(found.changes)
    for where, name in found.only:
        click.echo(f"only {where}: {name}")
    if changed := found.changed_tasks:
        what = f"{count_of(len(changed), 'task')} with other questions than before under the same id"
        click.echo(f"not compared: {what}: {', '.join(changed[:MOST_SAID])}")
    for change in found.changes:
        if change.verdict in COLOURS:
            which = "" if change.setting == change.found.b else f"{change.setting}: "
            click.echo(click.style(f"{which}{change.found.sentence}", fg=COLOURS[change.verdict]))


def _say(line: str) -> None:
    """Prints a line. On a terminal it wraps between words and keeps a number with its percent sign."""
    if sys.stdout.isatty():
        tied = line.replace(" %", "\N{NO-BREAK SPACE}%")
        line = click.wrap_text(tied, shutil.get_terminal_size().columns, subsequent_indent="  ")
    click.echo(line)


def _show_settings(summary: BenchmarkSummary) -> None:
    rows, in_tokens = summary.settings, summary.axis == "tokens"
    heads = (
        *(
            "setting",
            "quality",
            "95 %",
            "tasks",
            TOKENS if in_tokens else COST_HEAD,
            "median",
            "p95",
            "help",
            "asked",
            "declined",
        ),
        *(HELP_PRICE, "APGR", "missing"),
    )
    names, *columns = zip(heads, *(_cells(row, in_tokens=in_tokens) for row in rows), strict=True)
    show_columns(names, columns, {place for place, row in enumerate(rows) if row.dominated})


def _show_datasets(summary: BenchmarkSummary) -> None:
    rows = summary.settings
    columns = [(name, *(quality_on(name, row).words for row in rows)) for name in summary.datasets]
    show_columns(("quality on", *(row.name for row in rows)), columns)


def _words_or_none(value: float | None, words: Callable[[float], str]) -> str:
    return NO_FIGURE if value is None else words(value)


def _cells(row: SettingRow, *, in_tokens: bool) -> Iterator[str]:
    yield row.name
    yield percent(row.quality)
    yield _words_or_none(row.low, lambda low: f"{percent(low)} to {percent(row.high)}")
    yield str(row.n)
    if in_tokens:
        yield _words_or_none(row.effort, lambda tokens: count(round(tokens * TASKS)))
    else:
        yield _words_or_none(row.cost_per_task, lambda cost: about(estimated=row.estimated) + dollars(cost * TASKS))
    yield _words_or_none(row.seconds_p50, seconds)
    yield _words_or_none(row.seconds_p95, seconds)
    yield percent(row.help.help_rate)
    yield str(row.help.asked or NO_FIGURE)
    yield str(row.help.declined or NO_FIGURE)
    yield _words_or_none(row.help.help_usd if row.help.asked else None, lambda cost: dollars(cost * TASKS))
    yield _words_or_none(row.order.apgr, "{:.3f}".format)
    yield ", ".join(f"{n} {what}" for n, what in ((row.failed, "failed"), (row.unscored, "unscored")) if n) or NO_FIGURE


def _conclusions(summary: BenchmarkSummary) -> Iterator[str]:
    if len(summary.settings) > 1 and summary.front:
        shown = ", ".join(f"{row.name} ({percent(row.quality)})" for row in summary.front)
        yield f"not beaten, the cheapest first{over_tasks(summary)}: {shown}"
    yield from beaten(summary)
    yield from (f"- {sentence}" for sentence in conclusions(summary.pairs, MOST_SAID))


def _show_changes(changes: Sequence[Change]) -> None:
    heads = ("setting", "verdict", "before", "after", "points", "95 %", "p (Holm)", "tasks", f"$ / {TASKS:,} tasks")
    names, *columns = zip(heads, *map(_change_cells, changes), strict=True)
    show_columns(names, columns)
    datasets = dict.fromkeys(name for change in changes for name in change.by_dataset)
    if datasets:
        click.echo()
        parts = [(name, *(_points_on(change.by_dataset.get(name)) for change in changes)) for name in datasets]
        show_columns(("points on", *(change.setting for change in changes)), parts)


def _points_on(found: PairedDifference | None) -> str:
    return f"{_points(found.mean)} ({' to '.join(map(_points, found.interval))})" if found else NO_FIGURE


def _points(share: float) -> str:
    return f"{100 * share:+.1f}"


def _change_cells(change: Change) -> Iterator[str]:
    found = change.found.found
    yield change.setting
    yield change.verdict
    yield percent(change.before)
    yield percent(change.after)
    yield _points(found.mean)
    yield " to ".join(map(_points, found.interval))
    yield f"{change.found.p_holm:.3g}"
    yield str(found.count)
    yield NO_FIGURE if change.cost_usd is None else with_sign(change.cost_usd * TASKS, dollars)
