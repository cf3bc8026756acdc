"""What a benchmark found, on the terminal or as JSON."""

import json
from collections.abc import Iterator, Sequence

import click
from rich.table import Table

from ai_battle.benchmark.compare import Change, Comparison
from ai_battle.benchmark.store import Store
from ai_battle.benchmark.summary import Row, Summary
from ai_battle.reporting.benchmark_charts import NONE, PER, percent, seconds
from ai_battle.reporting.benchmark_files import REPORT, write_benchmark_reports

from ._money import dollars
from ._options import show_table

MOST_SAID = 5
COLOURS = {"worse": "red", "better": "green", "not enough data": "yellow"}


def show(store: Store, *, as_json: bool) -> None:
    """The settings and which differ; writes the reports beside the results, and prints where they are last."""
    summary = write_benchmark_reports(store)
    if as_json:
        click.echo(json.dumps({"results": str(store.folder), **summary.as_json()}, indent=2, ensure_ascii=False))
        return
    show_table(_settings(summary))
    for line in (*_conclusions(summary), *(f"note: {note}" for note in summary.notes)):
        click.echo(line)
    click.echo(str(store.folder / REPORT))


def show_comparison(found: Comparison, *, as_json: bool) -> None:
    """Regressions first."""
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=2, ensure_ascii=False))
        return
    show_table(_changes(found.changes))
    for where, name in found.only:
        click.echo(f"only {where}: {name}")
    for change in found.changes:
        if change.verdict in COLOURS:
            which = "" if change.setting == change.found.b else f"{change.setting}: "
            click.echo(click.style(f"{which}{change.found.said}", fg=COLOURS[change.verdict]))


def _settings(summary: Summary) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("setting", overflow="fold")
    for head in ("quality", "95 %", "tasks", f"$ / {PER:,} tasks", "median", "p95", "help", "APGR", "missing"):
        table.add_column(head, justify="right", no_wrap=True)
    for row in summary.settings:
        table.add_row(*_cells(row), style="dim" if row.dominated else None)
    return table


def _cells(row: Row) -> Iterator[str]:
    yield row.name
    yield percent(row.quality)
    yield NONE if row.low is None else f"{percent(row.low)} to {percent(row.high)}"
    yield str(row.n)
    yield NONE if row.cost_per_task is None else dollars(row.cost_per_task * PER)
    yield NONE if row.seconds_p50 is None else seconds(row.seconds_p50)
    yield NONE if row.seconds_p95 is None else seconds(row.seconds_p95)
    yield percent(row.help_rate)
    yield NONE if row.apgr is None else f"{row.apgr:.3f}"
    yield ", ".join(f"{n} {what}" for n, what in ((row.failed, "failed"), (row.unscored, "unscored")) if n) or NONE


def _conclusions(summary: Summary) -> Iterator[str]:
    if summary.front:
        yield f"worth their price, the cheapest first: {', '.join(row.name for row in summary.front)}"
    beaten = [row.name for row in summary.settings if row.dominated]
    if beaten:
        yield f"beaten in quality and cost, as measured: {', '.join(beaten)}"
    for pair in sorted(summary.pairs, key=lambda each: (each.p_holm, -abs(each.found.mean)))[:MOST_SAID]:
        yield f"- {pair.said}"
    if len(summary.pairs) > MOST_SAID:
        yield f"- {len(summary.pairs) - MOST_SAID:,} more comparisons are in the report"


def _changes(changes: Sequence[Change]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("setting", overflow="fold")
    for head in ("verdict", "before", "after", "points", "95 %", "p (Holm)", "tasks", f"$ / {PER:,} tasks"):
        table.add_column(head, justify="right", no_wrap=True)
    for change in changes:
        found = change.found.found
        ends = " to ".join(f"{100 * end:+.1f}" for end in found.interval)
        dearer = NONE if change.cost is None else f"{change.cost * PER:+.4f}"
        points = f"{100 * found.mean:+.1f}"
        sure = (f"{change.found.p_holm:.3g}", str(found.count), dearer)
        table.add_row(
            change.setting, change.verdict, percent(change.before), percent(change.after), points, ends, *sure
        )
    return table
