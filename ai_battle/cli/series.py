"""A series of runs, one after another: the same discussion in several modes, several times, or forks of one run."""

import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from ai_battle.config import Loaded
from ai_battle.config.discussion import MODES as SPELLINGS
from ai_battle.conversation.manager import NO_LIMITS, ConversationManager, RunResult
from ai_battle.conversation.plan import MODES
from ai_battle.conversation.rundir import LONGEST_NAME, require_free
from ai_battle.conversation.stopping import RunUse, nearest
from ai_battle.core.events import Emit
from ai_battle.core.exchange import Wants
from ai_battle.core.ledger import Budget, SpendingLimits, charge_to
from ai_battle.core.plugins import near
from ai_battle.reporting.comparison import COMPARISON, ComparedRun, MeasuredChange, comparison_page, measured_changes
from ai_battle.reporting.exports import write_whole

from . import INTERRUPTED
from .output import dollars, print_json, tokens
from .running import Display, document, exit_code, play, print_summary
from .tables import show_rows

Play = Callable[[ConversationManager, Emit, Wants], Awaitable[RunResult]]


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run: the `repeat`th of its `variant`, which is a mode or says what a fork has changed; `play` plays it."""

    loaded: Loaded
    variant: str
    repeat: int
    out: Path | None = None
    play: Play = ConversationManager.run_discussion

    @property
    def label(self) -> str:
        return f"{self.variant}-{self.repeat}".replace(" ", "-")


@dataclass(frozen=True, slots=True)
class _Ended:
    run: PlannedRun
    result: RunResult
    seconds: float

    def to_json(self, kind: str) -> dict[str, Any]:
        return {**document(self.result), kind: self.run.variant, "repeat": self.run.repeat}

    def to_compare(self, expected: re.Pattern[str] | None) -> ComparedRun:
        return ComparedRun(self.result.run_dir, self.run.variant, self.run.label, expected=expected)


@dataclass(slots=True)
class Series:
    """Plays its runs and reports on all of them; `limits` hold for what they use together.

    `kind` is what their variants are; `original` is a run before them that they stand beside, `expected` what the
    ending of each should have.
    """

    runs: Sequence[PlannedRun]
    display: Display
    limits: SpendingLimits = NO_LIMITS
    allow_unsandboxed: bool = False
    kind: str = "mode"
    original: tuple[ComparedRun, ...] = ()
    expected: re.Pattern[str] | None = None
    _used: RunUse = field(default_factory=RunUse)
    _started: int = 0
    _ended: list[_Ended] = field(default_factory=list)

    def play(self) -> int:
        """The worst exit code of all. What ended is reported also when the series breaks off."""
        for run in self.runs:
            if run.out:
                require_free(run.out)
        try:
            return max(self._codes())
        finally:
            self._report()

    def _codes(self) -> Iterator[int]:
        for run in self.runs:
            if reached := nearest(self.limits, self._used):
                spent = f"{dollars(reached.used)} of {dollars(reached.allowed)}"
                click.echo(f"--max-cost is used up by the runs before ({spent}).", err=True)
                yield exit_code("limit")
                return
            code = self._code(run)
            yield code
            if code == INTERRUPTED:
                return

    def _code(self, run: PlannedRun) -> int:
        self._started += 1
        if len(self.runs) > 1:
            self._announce(run)
        begun = time.monotonic()
        result = play(lambda emit, wants: self._discuss(run, emit, wants), self.display)
        if result is None:
            return INTERRUPTED
        self._ended.append(_Ended(run, result, time.monotonic() - begun))
        if not self.display.quiet and not self.display.as_json:
            print_summary(result, self.display)
        return exit_code(result.status)

    async def _discuss(self, run: PlannedRun, emit: Emit, wants: Wants) -> RunResult:
        loaded = self._within_limits(run.loaded)
        person, allowed = self.display.person, self.allow_unsandboxed
        manager = ConversationManager.from_config(
            loaded, out=run.out, ask=person.line, allow_unsandboxed=allowed, approve=person.approve
        )
        with charge_to(Budget(ledger=self._used.ledger)):
            return await run.play(manager, emit, wants)

    def _within_limits(self, loaded: Loaded) -> Loaded:
        """A run may use what the runs before have left, and no more than the file allows each run."""
        if self.limits.cost_usd is None:
            return loaded
        left = self.limits.cost_usd - self._used.ledger.known_cost
        allowed = loaded.file.discussion.limits.cost_usd
        return loaded.with_overrides(
            f"discussion.limits.cost_usd={left if allowed is None else min(left, allowed):.9f}"
        )

    def _announce(self, run: PlannedRun) -> None:
        if self.display.quiet:
            return
        repeats = runs_by_variant(self.runs)[run.variant]
        words = f"Run {self._started} of {len(self.runs)}: {run.variant}, {run.repeat} of {repeats}"
        click.secho(words if self._started == 1 else f"\n{words}", bold=True, err=self.display.as_json)

    def _report(self) -> None:
        self._tell_rest()
        if self.display.as_json:
            print_json(self._document())
        elif self._ended and (len(self.runs) > 1 or self.display.quiet):
            self._show_figures()
        if self._ended and len(self._runs) > 1:
            self._write_page()

    def _tell_rest(self) -> None:
        if rest := [run.label for run in self.runs[self._started :]]:
            click.echo(f"Not started: {', '.join(rest)}.", err=True)

    def _document(self) -> dict[str, Any]:
        runs = [ended.to_json(self.kind) for ended in self._ended]
        return {"runs": runs, "changes": [change.to_json() for change in self._changes]}

    @property
    def _runs(self) -> list[ComparedRun]:
        return [*self.original, *(ended.to_compare(self.expected) for ended in self._ended)]

    @property
    def _changes(self) -> list[MeasuredChange]:
        return [*measured_changes(self._runs[len(self.original) :])]

    def _show_figures(self) -> None:
        if not self.display.quiet:
            click.echo()
        heads = ("run", self.kind, "repeat", "status", "turns", "tokens", "cost", "seconds")
        show_rows(heads, map(_cells, self._ended), padding=(0, 2, 0, 0))
        used = self._used.ledger.usage
        click.echo(f"All together: {tokens(used)}, {dollars(used.cost_usd)}.")
        for change in self._changes:
            click.echo(change.sentence)

    def _write_page(self) -> None:
        first, runs = self._ended[0], self._runs
        folder = first.result.run_dir.parent
        path = folder / (COMPARISON if first.run.out else f"{first.result.run_dir.name}-{COMPARISON}")
        title = f"{first.run.loaded.name.removesuffix(f'-{first.run.label}')}: {len(runs)} runs"
        write_whole(path, comparison_page(title, runs, self._changes, folder), "The runs have all of it.")
        click.echo(f"All beside each other: {path}", err=self.display.as_json)


def plan_runs(loaded: Loaded, modes: str, repeats: int | None, out: Path | None) -> tuple[PlannedRun, ...]:
    """Every run of a series, in order: all of one mode, then all of the next, each with a directory of its own.

    Without `modes` (divided by commas) the discussion keeps its own. Raises `click.BadParameter` for an unknown one.
    """
    variants = {
        mode: loaded.with_overrides(f"discussion.mode={mode}")
        for mode in _mode_names(modes) or (loaded.file.discussion.mode,)
    }
    return tuple(
        plan_run(variants[mode], mode, number, out) for mode in variants for number in range(1, (repeats or 1) + 1)
    )


def plan_run(
    loaded: Loaded, variant: str, number: int, out: Path | None, play: Play = ConversationManager.run_discussion
) -> PlannedRun:
    """One run of a series, which is called after its variant and has a directory of its own in `out`."""
    run = PlannedRun(loaded, variant, number, play=play)
    name = f"{loaded.name[: LONGEST_NAME - len(run.label) - 1]}-{run.label}"
    return replace(run, loaded=replace(loaded, name=name), out=out / run.label if out else None)


def runs_by_variant(runs: Sequence[PlannedRun]) -> Counter[str]:
    """The variants in their order, each with the number of its runs."""
    return Counter(run.variant for run in runs)


def _mode_names(modes: str) -> tuple[str, ...]:
    found: list[str] = []
    for name in modes.split(",") if modes.strip() else ():
        plain = name.strip().lower().replace("_", "-")
        mode = SPELLINGS.get(plain, plain)
        if mode not in MODES:
            raise _wrong(f"there is no mode {name.strip()!r}{near(plain, [*MODES, *SPELLINGS])}")
        if mode in found:
            raise _wrong(f"{mode} is named twice; --repeat runs a mode more than once")
        found.append(mode)
    return tuple(found)


def _wrong(words: str) -> click.BadParameter:
    return click.BadParameter(words, param_hint="--modes")


def _cells(ended: _Ended) -> tuple[str, ...]:
    result = ended.result
    return (
        str(result.run_dir),
        ended.run.variant,
        str(ended.run.repeat),
        result.status,
        str(result.turns),
        tokens(result.usage),
        dollars(result.usage.cost_usd),
        f"{ended.seconds:.1f}",
    )
