"""`ai-battle fork` and `replay`: play a run again, from one of its turns or with one participant replaced."""

import asyncio
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from ..arbiter.judging import judge_run
from ..config.judge import load_rubric
from ..config.loading import LoadedDiscussion
from ..conversation.journal import Journal, create_run_dir
from ..conversation.reading import messages
from ..conversation.replay import Difference, replay, swap
from ..conversation.run_config import is_over_after, of_run, setup_of_swap, with_changes
from ..conversation.setup import config_settings
from ..core.events import RunStarted, ignore
from ..core.ledger import NO_LIMITS, Budget, SpendingLimits
from ..core.texts import printable
from ..executors import LOCAL
from ..reporting.comparison import COMPARISON, RECORDED, ComparedRun, write_comparison
from ..reporting.exports import write_reports
from ..reporting.sentences import verdict_words
from ..wire.genai import message_to_json
from .arguments import run_dir
from .judge import judge_all
from .live import ViewOptions, view
from .options import (
    FOLDER,
    USD,
    as_json,
    changes,
    for_several,
    for_tools,
    quiet,
    require_trust,
    shortcuts,
    split_swap,
    turns,
)
from .output import bill, print_json
from .planned import PlannedRun, plan_run, runs_at_once
from .running import Display
from .series import Series
from .terminal import with_approval

CHANGED, UNCHANGED = "changed", "as it was"
MAX_BRANCHES = 1000
AT_ONCE = 4


@click.command("fork")
@run_dir
@click.option("--at", "turn", type=click.IntRange(1), required=True, help="The last turn to keep.")
@click.option(
    "--swap", "swaps", multiple=True, metavar="PARTICIPANT=TYPE", help="Let another model speak from there on."
)
@click.option("--goal", help="Give all participants another goal from there on.")
@changes
@turns
@click.option(
    "-n", "--branches", type=click.IntRange(1, MAX_BRANCHES), default=1, help="How many branches; one by default."
)
@click.option(
    "--baseline",
    type=click.IntRange(0, MAX_BRANCHES),
    help="How many branches without the change to compare with; by default as many as with it, none for a single one.",
)
@click.option("--expect", metavar="REGEX", help="Compare how many branches end with this, case ignored.")
@click.option("--max-cost", type=USD, metavar="USD", help="The most that all branches may cost.")
@click.option("--out", type=FOLDER, help="The folder of all branches, instead of runs/.")
@for_several
@quiet
@for_tools
def command(run_dir: Path, turn: int, branches: int, expect: str | None, **how: Any) -> int:
    """Continue from a turn of the run in RUN_DIR, in a new run. It is live; -n makes several.

    Earlier turns are not paid for again. With a change and several branches, as many runs continue without the change,
    so that both can be compared, unless the run was over after that turn.
    """
    pattern = _pattern(expect)
    models, settings = dict(map(split_swap, how["swaps"])), (*how["changes"], *shortcuts(how, "goal", "turns"))
    changed = with_changes(run_dir, models, (*settings, *shortcuts(how, "judge")))
    with_change = with_approval(changed, how["approve"])
    require_trust(with_change, given=how["trust"])
    runs = tuple(_plan(run_dir, turn, with_change, branches, is_changed=bool(models or settings), how=how))
    display = Display(how["quiet"], how["as_json"], ViewOptions.of(with_change))
    original = (ComparedRun(run_dir, RECORDED, run_dir.name, turn, pattern),)
    limits = SpendingLimits(how["max_cost"], seconds=how["max_time"])
    executor = how["executor"] or LOCAL
    at_once = runs_at_once(runs, how["at_once"], executor, usual=AT_ONCE)
    # Without the values of settings, as one may be a secret key.
    named = ", ".join((*how["swaps"], *(each.partition("=")[0] for each in settings)))
    change = f" after turn {turn}{named and f', changed: {named}'}"
    unfenced, address = how["allow_unsandboxed"], how["address"]
    return Series(
        runs, display, limits, unfenced, "branch", original, pattern, at_once, change, executor, address
    ).play()


def _plan(
    run_dir: Path, turn: int, with_change: LoadedDiscussion, branches: int, *, is_changed: bool, how: Mapping[str, Any]
) -> Iterator[PlannedRun]:
    """Yields the runs. Those without the change come first, as the others are compared with them."""

    plan = partial(plan_run, out=how["out"], origin=(run_dir.absolute(), turn))
    baseline = _usual_baseline(run_dir, turn, branches) if how["baseline"] is None else how["baseline"]
    if is_changed and baseline:
        as_it_was = with_approval(of_run(run_dir), how["approve"])
        as_it_was = as_it_was.with_overrides(*shortcuts(how, "judge"))
        yield from (plan(as_it_was, UNCHANGED, number) for number in range(1, baseline + 1))
    variant = CHANGED if is_changed else UNCHANGED
    yield from (plan(with_change, variant, number) for number in range(1, branches + 1))


def _usual_baseline(run_dir: Path, turn: int, branches: int) -> int:
    """Returns how many branches without a change are compared: none with a single one, or if nothing can follow."""
    return 0 if branches == 1 or is_over_after(run_dir, turn) else branches


def _pattern(expect: str | None) -> re.Pattern[str] | None:
    try:
        return re.compile(expect, re.IGNORECASE) if expect else None
    except re.error as error:
        raise click.BadParameter(f"{expect!r} is not a regular expression: {error}", param_hint="--expect") from error


@click.command("replay")
@run_dir
@click.option("--swap", metavar="PARTICIPANT=TYPE", help="Let another model speak for this participant.")
@click.option("--out", type=FOLDER, help="The run directory of --swap, by default one under runs/.")
@click.option("--judge", metavar="TYPE", help="With --swap: let this model judge both, by the usual rubric.")
@click.option("-q", "--quiet", is_flag=True, help="Show only the differences.")
@as_json
def replay_command(
    run_dir: Path, swap: str | None, out: Path | None, judge: str | None, quiet: bool, as_json: bool
) -> None:
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
            begin = RunStarted(source.name, "", setup.plan.model_types, config_settings(source.config))
            begin = replace(begin, run_dir=str(create_run_dir(source.name, out)))
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
