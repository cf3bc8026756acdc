"""`ai-battle runs`: lists, searches, opens and deletes earlier runs."""

import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from ..conversation.runs import RUNS_FOLDER, RunOverview, delete, find_run, run_directories, search
from ..core.errors import ConfigError
from ..core.texts import one_line, printable
from ..reporting.exports import export, write_reports, write_whole
from ..reporting.figures import count_of, dollars
from .arguments import RunName
from .options import as_json
from .output import print_json, show_columns

SHOWN = 20
LINE_CHARACTERS = 140
COLOURS = {"done": "green", "limit": "yellow", "failed": "red", "running": "cyan"}

in_folder = click.option(
    "--in", "folder", type=click.Path(path_type=Path), default=RUNS_FOLDER, metavar="DIR", help="Where the runs are."
)


@click.group("runs", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List, search, open and delete earlier runs."""
    if context.invoked_subcommand is None:
        context.invoke(list_)


@command.command("list")
@in_folder
@click.option(
    "-n", "--limit", type=click.IntRange(1), default=SHOWN, metavar="N", help="How many to list at most, by default 20."
)
@as_json
def list_(folder: Path, limit: int, as_json: bool) -> None:
    """List runs, the most recent first."""
    places = run_directories(folder)
    found = [RunOverview.read(place) for place in places[:limit]]
    if as_json:
        print_json([{**asdict(run), "run_dir": str(run.run_dir)} for run in found])
        return
    if not found:
        click.echo(f'{folder} has no runs; to begin one: ai-battle talk "a topic" -m TYPE -m TYPE', err=True)
        return
    show_columns(("run", "status", "turns", "cost", "models"), map(_cells, found))
    if len(places) > limit:
        click.echo(f"{count_of(len(places) - limit, 'older run')}: --limit {len(places)} shows all.", err=True)


@command.command("search")
@click.argument("words", nargs=-1, required=True)
@in_folder
@as_json
def search_(words: Sequence[str], folder: Path, as_json: bool) -> int:
    """Find the runs with all the WORDS in one message, or in the name."""
    hits = list(search(words, folder))
    if as_json:
        print_json([{"run": str(hit.run_dir), "speaker": hit.speaker, "text": hit.text} for hit in hits])
        return 0
    for hit in hits:
        click.secho(printable(hit.run_dir.name), bold=True)
        if hit.text != hit.run_dir.name:
            line = f"{hit.speaker or 'the topic'}: {hit.excerpt(words)}"
            click.echo(f"  {one_line(line, LINE_CHARACTERS)}")
    if not hits:
        click.echo(f"No run in {folder} has {' and '.join(map(repr, words))} in one message.", err=True)
    return 0 if hits else 1


@command.command("open")
@click.argument("run", shell_complete=RunName().shell_complete)
@in_folder
@click.option("--no-browser", is_flag=True, help="Only print where the report is.")
def open_(run: str, folder: Path, no_browser: bool) -> None:
    """Open the report of RUN. That is a run directory, a part of its name, or `last`."""
    run_dir = find_run(run, folder)
    if RunOverview.read(run_dir).status == "running":
        click.echo("This run is not over; the report shows what there is so far.", err=True)
        report = run_dir.with_name(f"{run_dir.name}-so-far.html")  # the run directory belongs to the run until it ends
        write_whole(report, export(run_dir, "html"), "The journal has all of it.")
    else:
        _, report = write_reports(run_dir)
    if not (no_browser or webbrowser.open(report.resolve().as_uri())):
        click.echo("There is no browser here; open this file in one:", err=True)
    click.echo(str(report))


@command.command("delete")
@click.argument("runs", shell_complete=RunName().shell_complete, nargs=-1, required=True, metavar="RUN...")
@in_folder
@click.option("-y", "--yes", is_flag=True, help="Delete without asking.")
def delete_(runs: Sequence[str], folder: Path, yes: bool) -> None:
    """Delete each RUN for good. That is a run directory, a part of its name, or `last`."""
    found = list(dict.fromkeys(find_run(run, folder) for run in runs))
    if not yes and not (sys.stdin and sys.stdin.isatty()):
        raise ConfigError("There is no terminal to confirm the deletion on; add --yes.")
    if not yes:
        names = "".join(f"\n  {run}" for run in found)
        click.confirm(f"Delete {count_of(len(found), 'run')} for good?{names}\n", abort=True, err=True)
    for run in found:
        delete(run)
        click.echo(f"{run} deleted", err=True)


def _cells(run: RunOverview) -> tuple[str, ...]:
    status = click.style(run.status, fg=COLOURS.get(run.status))
    cost = "" if run.turns is None else dollars(run.cost_usd)
    turns = "" if run.turns is None else str(run.turns)
    return printable(run.run_dir.name), status, turns, cost, printable(", ".join(dict.fromkeys(run.models)))
