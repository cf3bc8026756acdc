"""`ai-battle bench`: compares settings on real tasks."""

import asyncio
import os
import tempfile
from contextlib import closing
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import click

from ..benchmark import compare as comparing
from ..benchmark.checking import named_code, require_models, require_sound_code
from ..benchmark.datasets import DATASETS
from ..benchmark.forecast import Forecast, forecast
from ..benchmark.loading import LoadOptions, load
from ..benchmark.run import RunOptions, begin, reopen
from ..benchmark.run import run as play
from ..benchmark.scorers import SCORERS
from ..benchmark.store import Store
from ..benchmark.suite import Suite
from ..config.loading import LoadedDiscussion
from ..conversation.manager import ConversationManager
from ..core import plugins
from ..core.errors import AIBattleError, EmptyAnswer
from ..core.events import Concluded, Emit, Event, ModelReplied, TurnFailed
from ..core.exchange import WHOLE_ANSWER
from ..core.files import lock_directory
from ..core.object_store import shown_path
from ..core.telemetry import set_up_telemetry
from ..reporting.figures import dollars
from . import DONE, FAILED, INTERRUPTED
from .bench_output import ProgressDisplay, forecast_line, show, show_comparison
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
from .output import print_json

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
