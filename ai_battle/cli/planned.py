"""Plans the runs of a series, each in a directory of its own, forecasts them, and plays one of them on any machine."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import chain, product
from math import inf
from pathlib import Path
from time import time

import click

from ..config.documents import YAML
from ..config.loading import LoadedDiscussion
from ..conversation.forecast import Expected, ExpectedHelp, forecast
from ..conversation.manager import ConversationManager, RunResult
from ..conversation.person import keyboard
from ..conversation.reading import CONFIG, FILE, read
from ..core import plugins
from ..core.errors import BudgetExceeded, ConfigError
from ..core.events import Emit, Event, RunForked, RunStarted, Warned, ignore
from ..core.exchange import NOTHING_USED, WHOLE_ANSWER, Usage, Wants
from ..core.files import LONGEST_NAME, is_locked
from ..core.object_store import WorkingCopy, shown_path
from ..core.texts import printable
from ..executors import EXECUTORS, ExecutorTraits
from ..reporting.figures import cost, count_of
from ..wire.genai import usage_to_json
from .output import bill, opening_text, print_json
from .terminal import TerminalPrompt
from .tools import tool_descriptions

MODE, DISCUSSION = "mode", "discussion"
"""Kinds of variants: named by options, or the files of a folder."""

AT_ONCE = 64
"""How many runs a cluster is given; it queues those for which it has no room."""

LOCK_CHECKS, LOCK_CHECK_SECONDS = 300, 0.2
"""A lost process may still hold a run directory: how often that is checked, and the seconds between two checks."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run: the `repeat`th of its `variant`, which is a mode, a file, or a fork's change.

    `origin` is the run and turn it is forked from. `ends` is the time at which the whole series has to end. `addresses`
    are the object-store addresses of `out` and the origin, of which another machine makes its own copies.
    """

    loaded: LoadedDiscussion
    variant: str
    repeat: int
    out: Path | None = None
    origin: tuple[Path, int] | None = None
    ends: float = inf
    addresses: tuple[str, str] = ("", "")

    @property
    def label(self) -> str:
        return f"{self.variant}-{self.repeat}".replace(" ", "-")


@dataclass(frozen=True, slots=True)
class RunPlayer:
    """Plays runs. `person` answers questions meanwhile; None on another machine."""

    allow_unsandboxed: bool
    person: TerminalPrompt | None = None

    async def play(self, run: PlannedRun, emit: Emit = ignore, wants: Wants = WHOLE_ANSWER) -> RunResult:
        """Plays a run, or resumes it if a lost process has begun it.

        Raises `BudgetExceeded` if no time is left: on a cluster it may have waited.
        """
        async with _with_local_folders(run) as run:
            return await self._play(run, emit, wants)

    async def _play(self, run: PlannedRun, emit: Emit, wants: Wants) -> RunResult:
        manager = ConversationManager.from_config(
            _in_time(run),
            out=run.out,
            ask=self.person.line if self.person else keyboard,
            allow_unsandboxed=self.allow_unsandboxed,
            approve=self.person.approve if self.person else None,
        )
        if not self.person and await _has_begun(run):
            assert run.out
            return await manager.resume(run.out, emit, wants)
        if run.origin:
            return await manager.fork(*run.origin, emit, wants)
        return await manager.run_discussion(emit, wants)

    async def aclose(self) -> None:
        """Does nothing, as each run closes its own clients."""


@asynccontextmanager
async def _with_local_folders(run: PlannedRun) -> AsyncIterator[PlannedRun]:
    """Yields the run with local copies of its folders in an object store."""
    copies: list[WorkingCopy] = []
    at, origin_at = run.addresses
    try:
        if origin_at and run.origin:
            copies.append(await asyncio.to_thread(WorkingCopy, origin_at, claim=False))
            run = replace(run, origin=(copies[-1].folder, run.origin[1]))
        if at:
            copies.append(await asyncio.to_thread(WorkingCopy, at))
            run = replace(run, out=copies[-1].folder)
        yield run
    finally:
        for copy in reversed(copies):
            await asyncio.to_thread(copy.close)


def _in_time(run: PlannedRun) -> LoadedDiscussion:
    if run.ends == inf:
        return run.loaded
    if (left := run.ends - time()) <= 0:
        raise BudgetExceeded(f"There is no time left for {run.label}.")
    allowed = run.loaded.file.discussion.limits.seconds
    return run.loaded.with_overrides(f"discussion.limits.seconds={min(left, allowed or inf):.9f}")


async def _has_begun(run: PlannedRun) -> bool:
    """Checks whether a lost process has begun the run. Waits until that process has released the directory."""
    if not run.out or not run.out.is_dir():
        raise ConfigError(f"{run.out} is not on all nodes of the cluster; name a folder that they share: --out DIR")
    await _wait_for(run.out)
    if (run.out / FILE).exists() and any(_begins(run, event) for _, event in read(run.out)):
        return True
    for name in (FILE, CONFIG):  # left by a process that was lost before its first event
        (run.out / name).unlink(missing_ok=True)
    return False


async def _wait_for(folder: Path) -> None:
    for _ in range(LOCK_CHECKS):
        if not is_locked(folder):
            return
        await asyncio.sleep(LOCK_CHECK_SECONDS)


def _begins(run: PlannedRun, event: Event) -> bool:
    return event == RunForked(shown_path(run.origin[0]), run.origin[1]) if run.origin else isinstance(event, RunStarted)


def load_folder(folder: Path, load: Callable[[str], LoadedDiscussion]) -> dict[str, LoadedDiscussion]:
    """Returns the discussions of a folder by file name. Raises `ConfigError` if there are none."""
    files = sorted(path for path in folder.iterdir() if path.suffix in YAML)
    if not files:
        raise ConfigError(f"{folder} has no discussions: no file in it ends with {' or '.join(YAML)}.")
    return {path.stem: replace(load(str(path)), name=folder.resolve().name) for path in files}


def plan_runs(
    discussions: Mapping[str, LoadedDiscussion], modes: str, repeats: int | None, out: Path | None
) -> tuple[PlannedRun, ...]:
    """Returns the runs of a series in order: all of one variant, then all of the next, each with its own directory.

    Discussions are called by the names of their files, a single one by none. Without `modes` (separated by commas) each
    keeps its own. Raises `click.BadParameter` for an unknown mode.
    """
    return tuple(
        plan_run(loaded, variant, number, out)
        for variant, loaded in _variants(discussions, modes).items()
        for number in range(1, (repeats or 1) + 1)
    )


def _variants(discussions: Mapping[str, LoadedDiscussion], modes: str) -> Mapping[str, LoadedDiscussion]:
    names = modes.replace(",", " ").split() if modes else [""]
    if not names:
        raise click.BadParameter("it names no mode", param_hint="--modes")
    variants: dict[str, LoadedDiscussion] = {}
    for (name, loaded), mode in product(discussions.items(), names):
        variant, chosen = _variant(name, loaded, mode)
        if variant in variants:
            said = f"{variant} is named twice; --repeat runs a mode more than once"
            raise click.BadParameter(said, param_hint="--modes")
        variants[variant] = chosen
    return variants


def _variant(name: str, loaded: LoadedDiscussion, mode: str) -> tuple[str, LoadedDiscussion]:
    """Returns a discussion in a mode, by default its own, and what that is called."""
    if name and not mode:
        return name, loaded
    try:
        chosen = loaded.with_overrides(f"discussion.mode={mode}") if mode else loaded
    except ConfigError as error:
        raise click.BadParameter(str(error).partition(": ")[2], param_hint="--modes") from error
    return f"{name} {chosen.file.discussion.mode}".strip(), chosen


def plan_run(
    loaded: LoadedDiscussion, variant: str, number: int, out: Path | None, origin: tuple[Path, int] | None = None
) -> PlannedRun:
    """Returns one run of a series, named after its variant and with its own directory in `out`."""
    run = PlannedRun(loaded, variant, number, origin=origin)
    name = f"{loaded.name[: LONGEST_NAME - len(run.label) - 1]}-{run.label}"
    return replace(run, loaded=replace(loaded, name=name), out=out / run.label if out else None)


def runs_at_once(runs: Sequence[PlannedRun], wanted: int | None, executor: str, *, usual: int = 1) -> int:
    """Returns how many runs to play at once. Raises `click.BadParameter` if a person can't take part in that."""
    is_elsewhere = plugins.traits(EXECUTORS, executor, ExecutorTraits()).is_elsewhere
    if not any(map(_has_person, runs)):
        return min(len(runs), wanted or (AT_ONCE if is_elsewhere else usual))
    if (wanted or 1) > 1 or is_elsewhere:
        option = "--executor" if is_elsewhere else "--at-once"
        raise click.BadParameter("a person takes part here, in one run after another", param_hint=option)
    return 1


def _has_person(run: PlannedRun) -> bool:
    return any(spec.role == "user" for spec in run.loaded.file.discussion.models.values())


def show_forecast(
    loaded: LoadedDiscussion, series: Sequence[PlannedRun] = (), *, as_json: bool, kind: str = MODE
) -> None:
    """Shows the forecast of one run, or of a `series` by its variants of a `kind` and in total."""
    if series:
        _show_series(series, kind, as_json=as_json)
    else:
        _show_run(forecast(loaded, _show_warning), as_json=as_json)
    if loaded.file.discussion.judge and not as_json:
        click.echo("A judge reads the whole discussion twice, and once more if a quotation is false.")


async def _show_warning(event: Event) -> None:
    if isinstance(event, Warned):
        click.echo(f"! {printable(event.message)}", err=True)


def _show_run(expected: Sequence[Expected], *, as_json: bool) -> None:
    if as_json:
        print_json([one.to_json() for one in expected])
        return
    _show(expected)
    _show_total(_usage(expected), expected)


def _show_series(runs: Sequence[PlannedRun], kind: str, *, as_json: bool) -> None:
    variants = Counter(run.variant for run in runs)
    expected = {run.variant: forecast(run.loaded, _show_warning) for run in runs if run.repeat == 1}
    total = sum((_usage(expected[run.variant]) for run in runs), NOTHING_USED)
    if as_json:
        entries = [
            {kind: variant, "runs": number, "forecast": [one.to_json() for one in expected[variant]]}
            for variant, number in variants.items()
        ]
        print_json({f"{kind}s": entries, "usage": usage_to_json(total)})
        return
    for variant, number in variants.items():
        click.secho(f"\n{kind.capitalize()} {variant}, {count_of(number, 'run')}", bold=True)
        _show(expected[variant])
    _show_total(total, chain.from_iterable(expected.values()))


def _show(expected: Iterable[Expected]) -> None:
    for one in expected:
        click.secho(f"\n{printable(one.name)} {one.model}", bold=True)
        for role, text in (("system", one.request.system), *((m.role, opening_text(m)) for m in one.request.messages)):
            if text:
                click.echo(f"  {role}: {printable(text)}".replace("\n", "\n    "))
        _show_files(one)
        for tool in tool_descriptions(one.request.tools):
            click.echo(f"  tool: {tool}".replace("\n", "\n    "))
        click.echo(f"  expected: {count_of(one.turns, 'turn')}, {bill(one.usage)}")
        for help_ in one.help:
            click.echo(f"  {_help_line(help_)}")


def _show_files(one: Expected) -> None:
    for file in one.files:
        click.echo(f"  file: {printable(file.name)}, {printable(file.about)}: about {count_of(file.tokens, 'token')}")
    if one.files:
        read, price = count_of(one.file_usage.input_tokens, "token"), cost(one.file_usage.cost_usd)
        click.echo(f"  files: about {read} in {count_of(one.turns, 'turn')}, {price} if nothing is cached")


def _help_line(one: ExpectedHelp) -> str:
    """Describes a model that helps a participant, and says if its cost is not in the sum."""
    if one.calls is None:
        return f"{one.role} {printable(one.model)}, {one.when}: {bill(one.each)} each time, not in the sum"
    calls = "1 call" if one.calls == 1 else f"{one.calls:.4g} calls"
    return f"{one.role} {printable(one.model)}, {one.when}: {calls}, {bill(one.usage)}"


def _show_total(usage: Usage, expected: Iterable[Expected]) -> None:
    click.echo(f"\nAll together about {bill(usage)}. No model was called.")
    if any(one.calls is None for each in expected for one in each.help):
        click.echo("Calls that are not in the sum come on top: how often help is needed depends on the answers.")


def _usage(expected: Iterable[Expected]) -> Usage:
    return sum((one.total for one in expected), NOTHING_USED)
