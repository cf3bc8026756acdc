"""Plans the runs of a series, each in a directory of its own, and plays one of them on any machine."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from time import time

import click

from ..config.discussion import MODES as SPELLINGS
from ..config.documents import YAML
from ..config.loading import LoadedDiscussion
from ..conversation.manager import ConversationManager, RunResult
from ..conversation.person import keyboard
from ..conversation.plan import MODES
from ..conversation.reading import CONFIG, FILE, read
from ..core import plugins
from ..core.errors import BudgetExceeded, ConfigError
from ..core.events import Emit, Event, RunForked, RunStarted, ignore
from ..core.exchange import WHOLE_ANSWER, Wants
from ..core.files import LONGEST_NAME, is_locked
from ..core.object_store import WorkingCopy, shown_path
from ..core.plugins import near
from ..executors import EXECUTORS, ExecutorTraits
from .terminal import TerminalPrompt

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
    variants = {
        " ".join(filter(None, (name, mode))): _in_mode(loaded, mode)
        for name, loaded in discussions.items()
        for mode in _mode_names(modes) or ("" if name else loaded.file.discussion.mode,)
    }
    return tuple(
        plan_run(loaded, variant, number, out)
        for variant, loaded in variants.items()
        for number in range(1, (repeats or 1) + 1)
    )


def _in_mode(loaded: LoadedDiscussion, mode: str) -> LoadedDiscussion:
    return loaded.with_overrides(f"discussion.mode={mode}") if mode else loaded


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


def _mode_names(modes: str) -> tuple[str, ...]:
    found: list[str] = []
    for name in modes.split(",") if modes.strip() else ():
        plain = name.strip().lower().replace("_", "-")
        mode = SPELLINGS.get(plain, plain)
        if mode not in MODES:
            raise _bad_modes(f"there is no mode {name.strip()!r}{near(plain, [*MODES, *SPELLINGS])}")
        if mode in found:
            raise _bad_modes(f"{mode} is named twice; --repeat runs a mode more than once")
        found.append(mode)
    return tuple(found)


def _bad_modes(words: str) -> click.BadParameter:
    return click.BadParameter(words, param_hint="--modes")
