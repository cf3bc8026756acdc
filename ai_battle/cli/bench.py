"""`ai-battle bench`: compares settings on real tasks, and shows the progress and the results."""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import click

from ..benchmark import compare as comparing
from ..benchmark.checking import named_code, require_models, require_sound_code
from ..benchmark.compare import BenchmarkComparison, Change
from ..benchmark.datasets import DATASETS
from ..benchmark.forecast import Forecast, forecast
from ..benchmark.loading import LoadOptions, load
from ..benchmark.paired import PairedDifference, conclusions
from ..benchmark.run import BenchmarkProgress, RunOptions, begin, reopen
from ..benchmark.run import run as play
from ..benchmark.scorers import SCORERS
from ..benchmark.store import Store
from ..benchmark.suite import Suite
from ..benchmark.summary import BenchmarkSummary
from ..config.loading import LoadedDiscussion
from ..conversation.manager import ConversationManager
from ..core import plugins
from ..core.errors import AIBattleError, EmptyAnswer
from ..core.events import Concluded, Emit, Event, ModelReplied, TurnFailed
from ..core.exchange import WHOLE_ANSWER
from ..core.files import lock_directory
from ..core.object_store import shown_path
from ..core.telemetry import set_up_telemetry
from ..core.texts import printable
from ..reporting.benchmark_report import REPORT, write_benchmark_reports
from ..reporting.benchmark_tables import Table, beaten, datasets_table, over_tasks, settings_table
from ..reporting.figures import NO_FIGURE, TASKS, clock, count_of, dollars, percent, with_sign
from . import DONE, FAILED, INTERRUPTED
from .options import (
    FOLDER,
    UNCLAIMED,
    address,
    allow_unsandboxed,
    as_json,
    executor,
    quiet,
    require_trust_in,
    together,
    trust,
)
from .output import print_json, show_columns
from .screen import show_paragraph

for_samples = together(executor, address, quiet, trust, allow_unsandboxed, as_json)
"""Options of commands that play samples."""


class WithFormats(click.Command):
    """A command whose help lists the formats of datasets and the scorers that are installed."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formats, scorers = (", ".join(plugins.names(package)) for package in (DATASETS, SCORERS))
        self.epilog = f"Formats of datasets: {formats}. Scorers: {scorers}."
        super().format_epilog(ctx, formatter)


@click.group("bench")
def command() -> None:
    """Compare settings on real tasks: quality, cost and time. The report says how certain each difference is."""


@command.command("run", cls=WithFormats)
@click.argument("suite", type=click.Path(path_type=str))
@click.option("--out", type=FOLDER, help="The results, by default a folder under bench/.")
@click.option("--set", "changes", multiple=True, metavar="PATH=VALUE", help="Change a key: benchmark.repeats=3.")
@click.option("--max-cost", type=click.FloatRange(0), metavar="USD", help="The most that it may cost.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N tasks of each dataset.")
@click.option("--dry-run", is_flag=True, help="Check the suite and show a forecast of the cost; call no model.")
@for_samples
def run(suite: str, out: Path | None, **how: Any) -> int:
    """Run the benchmark of SUITE. That is a YAML file, or the name of a packaged one such as recorded-gsm8k."""
    loaded = load(suite, _load_options(how))
    require_trust_in(loaded.document, named_code(loaded), given=how["trust"])
    require_sound_code(loaded, allow_unsandboxed=how["allow_unsandboxed"])
    expected = forecast(loaded)
    if how["dry_run"]:
        return _forecast(expected, as_json=how["as_json"])
    if not how["quiet"]:
        click.echo(forecast_line(expected), err=True)
    asyncio.run(require_models(loaded))
    return _play(loaded, begin(loaded, out or Path("bench") / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{loaded.name}"), how)


@command.command("resume")
@click.argument("results", type=FOLDER)
@click.option("--max-cost", type=click.FloatRange(0), metavar="USD", help="Another limit for all that it may cost.")
@click.option("--retry-failed", is_flag=True, help="Play the samples again that failed or got no grade.")
@for_samples
def resume(results: Path, **how: Any) -> int:
    """Continue the benchmark in RESULTS that did not end. Nothing that is finished is done again."""
    loaded, store = reopen(results, _load_options(how))
    require_trust_in(loaded.document, named_code(loaded), given=how["trust"])
    return _play(loaded, store, how)


@command.command("report")
@click.argument("results", type=FOLDER)
@as_json
def report(results: Path, *, as_json: bool) -> None:
    """Write the report of RESULTS again. That is summary.json, results.csv and report.html in its folder."""
    with closing(Store.open(results)) as store, lock_directory(results):
        show(store, as_json=as_json)


@command.command("compare")
@click.argument("what", nargs=-1, type=UNCLAIMED, required=True, metavar="[RESULTS] BEFORE AFTER")
@click.option("--fail-on-regression", is_flag=True, help="Exit with 1 when a setting is worse.")
@as_json
def compare(what: tuple[Path, ...], *, fail_on_regression: bool, as_json: bool) -> int:
    """Compare two folders of results, setting by setting. With RESULTS it compares two settings of that one."""
    if len(what) not in (2, 3):
        raise click.UsageError(f"two folders of results, or one and two of its settings; these are {len(what)}")
    first, *rest = what
    inside = [first / name for name in rest]
    if len(what) == 2:
        found = comparing.compare(first, rest[0])
    elif all(path.is_dir() for path in inside):
        found = comparing.compare(*inside)
    else:
        found = comparing.compare_settings(first, *map(str, rest))
    show_comparison(found, as_json=as_json)
    return FAILED if fail_on_regression and found.regressions else DONE


def _load_options(how: dict[str, Any]) -> LoadOptions:
    changes = [*how.get("changes", ())]
    if how["max_cost"] is not None:
        changes.append(f"benchmark.limits.cost_usd={how['max_cost']}")
    if how["executor"]:
        changes.append(f"benchmark.executor={how['executor']}")
    return LoadOptions(changes, how.get("limit"), allow_unsandboxed=how["allow_unsandboxed"], trust=how["trust"])


def _forecast(expected: Forecast, *, as_json: bool) -> int:
    if as_json:
        print_json(asdict(expected))
        return DONE
    click.echo(forecast_line(expected))
    for each in (each for each in expected.settings if each.setting not in expected.unknown):
        short, long = each.answer
        cost = f"{dollars(each.low)} to {dollars(each.high)}"
        click.echo(f"  {each.setting}: {cost} a sample, for answers of {short:,} to {long:,} tokens")
    if expected.judging:
        click.echo(f"  judges: up to {dollars(expected.judging)} in all")
    return DONE


def _play(suite: Suite, store: Store, how: dict[str, Any]) -> int:
    """Returns the exit code: a limit, Ctrl-C, no answer at all, or success."""
    set_up_telemetry(os.environ, partial(click.echo, err=True))
    shown = ProgressDisplay(suite.benchmark.limits.cost_usd, quiet=how["quiet"])
    again, unfenced = how.get("retry_failed", False), how["allow_unsandboxed"]
    options = RunOptions(shown, discuss, again, unfenced, tell=shown.tell, address=how["address"])
    resume_it = f"ai-battle bench resume {shown_path(store.folder)}"
    try:
        with closing(shown):
            ended = play(suite, store, options)
        summary = show(store, as_json=how["as_json"], quiet=how["quiet"])
    except KeyboardInterrupt:
        click.echo(f"Interrupted; continue with: {resume_it}", err=True)
        return INTERRUPTED
    except AIBattleError:
        click.echo(f"Finished samples are kept; continue with: {resume_it}", err=True)
        raise
    finally:
        store.close()
    if ended.limit:
        higher = " --max-cost USD" if ended.limit == "cost_usd" else ""
        click.echo(f"Stopped by {ended.reason.rstrip('.')}. Continue with: {resume_it}{higher}", err=True)
    nothing = all(row.failed == row.samples for row in summary.settings)
    return FAILED if ended.limit or nothing else DONE


async def discuss(discussion: LoadedDiscussion, emit: Emit) -> str:
    """Returns the discussion's synthesis if it asks for an `outcome`, else the last message.

    Raises `EmptyAnswer` if it failed only because its models said nothing, which is their fault and nobody else's.
    """
    noted: list[Event] = []

    async def forward(event: Event) -> None:
        if isinstance(event, Concluded | TurnFailed):
            noted.append(event)
        if isinstance(event, ModelReplied):
            await emit(event)

    with tempfile.TemporaryDirectory(prefix="ai-battle-") as folder:
        manager = ConversationManager.from_config(_without_shadows(discussion), out=Path(folder) / "run")
        result = await manager.run_discussion(forward, WHOLE_ANSWER)
        last = next((message.text for message in reversed(result.messages)), "")
    if result.status == "failed":
        silent = {event.silent for event in noted if isinstance(event, TurnFailed)}
        raise (EmptyAnswer if silent == {True} else AIBattleError)(result.stop_reason)
    return next((event.text for event in reversed(noted) if isinstance(event, Concluded)), last)


def _without_shadows(loaded: LoadedDiscussion) -> LoadedDiscussion:
    """Removes shadows: benchmark tasks are not the user's requests, so they must not count as evidence of a pair."""
    file, discussion = loaded.file, loaded.file.discussion
    if not discussion.collaboration:
        return loaded
    pairs = tuple(pair.model_copy(update={"shadow": None}) for pair in discussion.pairs)
    collaboration = discussion.collaboration.model_copy(update={"pairs": pairs})
    discussion = discussion.model_copy(update={"collaboration": collaboration})
    return replace(loaded, file=file.model_copy(update={"discussion": discussion}))


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
VERDICT_COLOURS = {"worse": "red", "better": "green", "not enough data": "yellow"}


def show(store: Store, *, as_json: bool, quiet: bool = False) -> BenchmarkSummary:
    """Writes the reports into the results' folder and shows the settings, how they differ, and the reports' path."""
    status = StatusLine(quiet=quiet)
    summary = write_benchmark_reports(store, status.show_step)
    status.erase()
    if as_json:
        print_json({"results": shown_path(store.folder), **summary.as_json()})
        return summary
    _show_table(summary, settings_table(summary, "right / $", "beaten by"))
    if by_dataset := datasets_table(summary):
        click.echo()
        _show_table(summary, by_dataset)
    for line in (*_conclusions(summary), *(f"note: {note}" for note in summary.notes)):
        show_paragraph(line)
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
        if change.verdict in VERDICT_COLOURS:
            which = "" if change.setting == change.found.b else f"{change.setting}: "
            click.echo(click.style(f"{which}{change.found.sentence}", fg=VERDICT_COLOURS[change.verdict]))


def _show_table(summary: BenchmarkSummary, table: Table) -> None:
    """Shows a table of the report, with the intervals of qualities only: those of all figures would not fit."""
    rows = [
        (row.name, *(cell.words if "quality" in (head, table.heads[0][:7]) else cell.text for head, cell in named))
        for row, (_, cells) in zip(summary.settings, table.rows, strict=True)
        if (named := [*zip(table.heads, cells, strict=True)][1:])
    ]
    show_columns(table.heads, rows, {place for place, row in enumerate(summary.settings) if row.dominated})


def _conclusions(summary: BenchmarkSummary) -> Iterator[str]:
    if len(summary.settings) > 1 and summary.front:
        shown = ", ".join(f"{row.name} ({percent(row.quality)})" for row in summary.front)
        yield f"not beaten, the cheapest first{over_tasks(summary)}: {shown}"
    yield from beaten(summary)
    yield from (f"- {sentence}" for sentence in conclusions(summary.pairs, MOST_SAID))


def _show_changes(changes: Sequence[Change]) -> None:
    heads = ("setting", "verdict", "before", "after", "points", "95 %", "p (Holm)", "tasks", f"$ / {TASKS:,} tasks")
    show_columns(heads, map(_change_cells, changes))
    datasets = dict.fromkeys(name for change in changes for name in change.by_dataset)
    if datasets:
        click.echo()
        rows = ([change.setting, *(_points_on(change.by_dataset.get(name)) for name in datasets)] for change in changes)
        show_columns(("points on", *datasets), rows)


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
    yield NO_FIGURE if change.cost is None else with_sign(change.cost * TASKS, dollars)
