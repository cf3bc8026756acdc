"""`ai-battle run` and `resume`: play one discussion, or a series of it, live on the terminal."""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from ..assembly.models import NO_RECORDING, RecordingFiles
from ..config.loading import LoadedDiscussion
from ..conversation.manager import ConversationManager
from ..conversation.reading import messages
from ..conversation.run_config import of_run
from ..conversation.setup import load_checked
from ..core.ledger import SpendingLimits
from ..core.texts import printable
from ..executors import LOCAL
from ..reporting.account import account
from .arguments import config, run_dir_to_write
from .live import ViewOptions
from .options import (
    FOLDER,
    USD,
    WithStrategies,
    changes,
    dry_run,
    for_several,
    for_tools,
    quiet,
    require_trust,
    shortcuts,
    turns,
    verbose,
)
from .running import Display, run
from .screen import show_paragraph
from .terminal import with_approval

MOST_RUNS = 1000
SEVERAL = "a folder, --modes, --repeat and --executor"


@click.command("run", cls=WithStrategies)
@config
@changes
@turns
@click.option("--modes", metavar="A,B", default="", help="Run it in each of these modes: ai-ai,no-meta.")
@click.option("--repeat", type=click.IntRange(1, MOST_RUNS), metavar="N", help="Run it N times in each mode.")
@click.option(
    "--max-cost",
    type=USD,
    metavar="USD",
    help="The most that it may cost; with --modes or --repeat, that all runs together may cost.",
)
@click.option(
    "--out",
    type=FOLDER,
    help="The run directory, by default one under runs/; with --modes or --repeat, the folder of all of them.",
)
@click.option("--record", metavar="FILE", default="", help="Write every exchange with a model to FILE.")
@click.option("--replay", metavar="FILE", default="", help="Answer from such a FILE, without calling a model.")
@for_several
@quiet
@verbose
@dry_run
@for_tools
def command(config: str, changes: tuple[str, ...], **how: Any) -> int:
    """Run the discussion of CONFIG. That is a YAML file, or the name of a packaged one such as quickstart.

    CONFIG may also be a folder: all discussions in it are run.
    """
    several = Path(config).is_dir() or any(how[option] for option in ("modes", "repeat", "executor", "address"))
    recordings = RecordingFiles(str(how["record"]), str(how["replay"]))
    if several and recordings != NO_RECORDING:
        raise click.UsageError(f"A recording is of one run: --record and --replay don't go with {SEVERAL}.")
    limits = () if several else ("max_cost", "max_time")
    settings = (*changes, *shortcuts(how, "turns", "judge", *limits))

    def load(path: str) -> LoadedDiscussion:
        return with_approval(load_checked(path, settings, recordings), str(how["approve"]))

    if several:
        return _run_series(config, load, how)
    return run_once(load(config), recordings, how)


def _run_series(config: str, load: Callable[[str], LoadedDiscussion], how: dict[str, Any]) -> int:
    from .planned import DISCUSSION, MODE, load_folder, plan_runs, runs_at_once
    from .series import Series

    is_folder = Path(config).is_dir()
    discussions = load_folder(Path(config), load) if is_folder else {"": load(config)}
    kind = DISCUSSION if is_folder else MODE
    runs, executor = plan_runs(discussions, how["modes"], how["repeat"], how["out"]), how["executor"] or LOCAL
    for loaded in discussions.values():
        require_trust(loaded, given=how["trust"])
    if how["dry_run"]:
        return _forecast(runs[0].loaded, how, series=runs, kind=kind)
    return Series(
        runs,
        _display(runs[0].loaded, how),
        SpendingLimits(how["max_cost"], seconds=how["max_time"]),
        how["allow_unsandboxed"],
        kind,
        at_once=runs_at_once(runs, how["at_once"], executor),
        executor=executor,
        address=how["address"],
    ).play()


def run_once(loaded: LoadedDiscussion, recordings: RecordingFiles, how: dict[str, Any]) -> int:
    """Plays a discussion, or forecasts it; `how` holds the command's options. Returns the exit code."""
    require_trust(loaded, given=how["trust"])
    if how["dry_run"]:
        return _forecast(loaded, how)
    display = _display(loaded, how)
    manager = ConversationManager.from_config(
        loaded,
        out=how["out"],
        ask=display.person.line,
        recordings=recordings,
        allow_unsandboxed=how["allow_unsandboxed"],
        approve=display.person.approve,
    )
    return run(manager.run_discussion, display)


def _display(loaded: LoadedDiscussion, how: dict[str, Any]) -> Display:
    return Display(how["quiet"], how["as_json"], ViewOptions.of(loaded, verbose=how["verbose"]))


def _forecast(loaded: LoadedDiscussion, how: dict[str, Any], **several: Any) -> int:
    from .planned import show_forecast

    show_forecast(loaded, as_json=how["as_json"], **several)
    return 0


SHOWN, LONGEST = 3, 1_500
"""Messages that are shown before a run continues, and characters of each."""


@click.command("resume")
@run_dir_to_write
@click.option("--accept-changes", is_flag=True, help="Continue although config.yaml has changed since the start.")
@quiet
@for_tools
def resume(run_dir: Path, accept_changes: bool, quiet: bool, approve: str, **how: bool) -> int:
    """Continue the run of RUN_DIR. Finished turns are not repeated, and a finished run stays as it is."""
    loaded = with_approval(of_run(run_dir), approve)
    require_trust(loaded, given=how["trust"])
    if not (quiet or how["as_json"]) and sys.stdout and sys.stdout.isatty():
        _show_last_messages(run_dir)
    options = replace(ViewOptions.of(loaded), spent=account(run_dir).usage)
    display = Display(quiet, how["as_json"], options)
    manager = ConversationManager.from_config(
        loaded,
        ask=display.person.line,
        allow_unsandboxed=how["allow_unsandboxed"],
        approve=display.person.approve,
    )
    return run(partial(manager.resume, run_dir, accept_changes=accept_changes), display, str(run_dir))


def _show_last_messages(run_dir: Path) -> None:
    """Shows the last messages, so that the user knows where the talk stopped; of a long message its end."""
    all_messages = messages(run_dir)
    for message in all_messages[-SHOWN:]:
        text = printable(message.text.strip())
        click.secho(f"{printable(message.speaker) or 'The topic'}:", bold=True)
        show_paragraph(f"[...] {text[-LONGEST:]}" if len(text) > LONGEST else text)
    if len(all_messages) > SHOWN:
        click.secho(f"These are the last {SHOWN} of {len(all_messages)} messages.", dim=True)
