"""`ai-battle run`: one discussion, or a series of the same one, live on the terminal."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ai_battle.assembly import NO_RECORDING, RecordingFiles
from ai_battle.config import Loaded
from ai_battle.conversation.manager import ConversationManager
from ai_battle.conversation.setup import load_checked
from ai_battle.core.ledger import SpendingLimits

from .approval import with_approval
from .live import ViewOptions
from .options import WithStrategies, allow_unsandboxed, approve, as_json, quiet, trust
from .running import Display, run
from .series import Series, plan_runs
from .trust import require_trust

MOST_RUNS = 1000


@click.command("run", cls=WithStrategies)
@click.argument("config")
@click.option("--set", "changes", multiple=True, metavar="PATH=VALUE", help="Change a key: discussion.turns=5.")
@click.option("--turns", type=click.IntRange(1), help="How many rounds: everyone speaks once per round.")
@click.option("--modes", metavar="A,B", default="", help="Run it in each of these modes: ai-ai,no-meta.")
@click.option("--repeat", type=click.IntRange(1, MOST_RUNS), metavar="N", help="Run it N times in each mode.")
@click.option(
    "--max-cost",
    type=click.FloatRange(0, min_open=True),
    metavar="USD",
    help="The most that it may cost; with --modes or --repeat, that all runs together may cost.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The run directory, by default one under runs/; with --modes or --repeat, the folder of all of them.",
)
@click.option("--record", metavar="FILE", default="", help="Write every exchange with a model to FILE.")
@click.option("--replay", metavar="FILE", default="", help="Answer from such a FILE; no model is called.")
@quiet
@click.option("-v", "--verbose", is_flag=True, help="Show the models' reasoning too.")
@click.option("--dry-run", is_flag=True, help="Show the first requests and a forecast of the cost; call no model.")
@trust
@allow_unsandboxed
@approve
@as_json
def command(
    config: str,
    changes: tuple[str, ...],
    turns: int | None,
    max_cost: float | None,
    **how: Any,
) -> int:
    """Run the discussion of CONFIG: a YAML file, or the name of a packaged one such as quickstart."""
    several = bool(how["modes"] or how["repeat"])
    tapes = RecordingFiles(str(how["record"]), str(how["replay"]))
    if several and tapes != NO_RECORDING:
        raise click.UsageError("A recording is of one run: --record and --replay don't go with --modes and --repeat.")
    shortcuts = _shortcuts(turns, None if several else max_cost)
    loaded = with_approval(load_checked(config, (*changes, *shortcuts), tapes), str(how["approve"]))
    runs = plan_runs(loaded, how["modes"], how["repeat"], how["out"]) if several else ()
    require_trust(loaded, given=bool(how["trust"]))
    if how["dry_run"]:
        from .forecasting import show_forecast

        show_forecast(loaded, runs, as_json=bool(how["as_json"]))
        return 0
    options = ViewOptions.of(loaded, verbose=bool(how["verbose"]))
    display = Display(bool(how["quiet"]), bool(how["as_json"]), options)
    if several:
        return Series(runs, display, SpendingLimits(max_cost), bool(how["allow_unsandboxed"])).play()
    return _run(loaded, tapes, how, display)


def _shortcuts(turns: int | None, max_cost: float | None) -> Iterator[str]:
    if turns is not None:
        yield f"discussion.turns={turns}"
    if max_cost is not None:
        yield f"discussion.limits.cost_usd={max_cost}"


def _run(loaded: Loaded, tapes: RecordingFiles, how: dict[str, Any], display: Display) -> int:
    manager = ConversationManager.from_config(
        loaded,
        out=how["out"],
        ask=display.person.line,
        tapes=tapes,
        allow_unsandboxed=how["allow_unsandboxed"],
        approve=display.person.approve,
    )
    return run(manager.run_discussion, display)
