"""`ai-battle replay`: plays a finished run again, unchanged or with one participant replaced."""

import asyncio
import sys
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import click

from ..arbiter.judging import judge_run
from ..config.judge import load_rubric
from ..conversation import rundir
from ..conversation.journal import Journal
from ..conversation.reading import messages
from ..conversation.replay import Difference, replay, swap
from ..conversation.run_config import setup_of_swap
from ..core.events import RunStarted, ignore
from ..core.ledger import NO_LIMITS, Budget
from ..core.texts import printable
from ..reporting.comparison import COMPARISON, RECORDED, ComparedRun, write_comparison
from ..reporting.exports import write_reports
from ..reporting.sentences import verdict_words
from ..wire.genai import message_to_json
from .arguments import run_dir
from .judge import judge_all
from .live import view
from .options import FOLDER, as_json, split_swap
from .output import bill, print_json


@click.command("replay")
@run_dir
@click.option("--swap", metavar="PARTICIPANT=TYPE", help="Let another model speak for this participant.")
@click.option("--out", type=FOLDER, help="The run directory of --swap, by default one under runs/.")
@click.option("--judge", metavar="TYPE", help="With --swap: let this model judge both, by the usual rubric.")
@click.option("-q", "--quiet", is_flag=True, help="Show only the differences.")
@as_json
def command(run_dir: Path, swap: str | None, out: Path | None, judge: str | None, quiet: bool, as_json: bool) -> None:
    """Play the run of RUN_DIR again without calling a model. With --swap only that participant calls one.

    With --swap it becomes a new run, with a page that compares both.
    """
    if judge and swap is None:
        raise click.UsageError("--judge compares both runs of a --swap; to judge a single one: ai-battle judge RUN")
    if swap is None:
        asyncio.run(_replay(run_dir, quiet=quiet or as_json))
        if as_json:
            print_json([message_to_json(message) for message in messages(run_dir)])
    else:
        name, model = split_swap(swap)
        swapped = asyncio.run(_swap(run_dir, name, model, out, quiet=quiet, as_json=as_json))
        if judge:
            by = partial(judge_run, models=[judge], rubric=load_rubric())
            asyncio.run(judge_all((run_dir, swapped), by, Budget(NO_LIMITS)))
        _report(run_dir, swapped, f"{name}={model}", as_json=as_json)


async def _replay(run_dir: Path, *, quiet: bool) -> None:
    screen = None if quiet else view(sys.stdout)
    try:
        await replay(run_dir, screen or ignore)
    finally:
        if screen:
            screen.close()


async def _swap(run_dir: Path, name: str, model: str, out: Path | None, *, quiet: bool, as_json: bool) -> Path:
    screen = None if quiet or as_json else view(sys.stdout)
    source = setup_of_swap(run_dir, name, model)
    try:
        async with source.open({}) as setup:
            begin = RunStarted(source.name, "", setup.plan.model_types, rundir.settings(source.config))
            begin = replace(begin, run_dir=str(rundir.create(source.name, out)))
            async with Journal.create(Path(begin.run_dir), source.durability, source.config) as journal:
                swapped = swap(
                    run_dir, setup.plan, name, screen or ignore, journal=source.journal_writer(journal), begin=begin
                )
                differences = [difference async for difference in swapped]
    finally:
        if screen:
            screen.close()
    _show(differences, as_json=as_json)
    return Path(begin.run_dir)


def _report(run_dir: Path, swapped: Path, variant: str, *, as_json: bool) -> None:
    write_reports(swapped)
    runs = [ComparedRun(run_dir, RECORDED, run_dir.name), ComparedRun(swapped, variant, variant)]
    write_comparison(swapped / COMPARISON, runs[1].account.name, runs, ())
    for run in runs:
        if run.verdict:
            click.echo(printable(f"{run.label}: {verdict_words(run.verdict)}"), err=as_json)
    usage = runs[1].account.usage
    click.echo(f"The new answers took {bill(usage)}.", err=as_json)
    click.echo(f"Comparison of both: {swapped / COMPARISON}\n{swapped}", err=as_json)


def _show(differences: list[Difference], *, as_json: bool) -> None:
    if as_json:
        print_json([{**asdict(difference), "diff": difference.diff} for difference in differences])
        return
    for difference in differences:
        for line in difference.diff.splitlines():
            click.secho(line, fg={"+": "green", "-": "red"}.get(line[:1]))
    changed = sum(bool(difference.diff) for difference in differences)
    click.echo(f"{changed} of {len(differences)} turns are different.")
