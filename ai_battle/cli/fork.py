"""`ai-battle fork`: continues a run from one of its turns in new live runs, with or without a change."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from ..config.loading import LoadedDiscussion
from ..conversation.run_config import is_over_after, of_run, with_changes
from ..core.ledger import SpendingLimits
from ..executors import LOCAL
from ..reporting.comparison import RECORDED, ComparedRun
from .arguments import run_dir
from .live import ViewOptions
from .options import FOLDER, USD, changes, for_several, for_tools, quiet, shortcuts, split_swap, turns
from .planned import PlannedRun, plan_run, runs_at_once
from .running import Display
from .series import Series
from .terminal import with_approval
from .trust import require_trust

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
    goal = () if how["goal"] is None else (f"discussion.goal={json.dumps(how['goal'])}",)
    models, settings = dict(map(split_swap, how["swaps"])), (*how["changes"], *goal, *shortcuts(how["turns"], None))
    judged = (*shortcuts(None, None, how["judge"]),)
    with_change = with_approval(with_changes(run_dir, models, (*settings, *judged)), how["approve"])
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
        as_it_was = as_it_was.with_overrides(*shortcuts(None, None, how["judge"]))
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
