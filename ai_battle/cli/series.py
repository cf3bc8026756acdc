"""A series of runs, one after another: the same discussion in several modes, several times, or forks of one run."""

import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from ai_battle.config import Loaded
from ai_battle.config.discussion import MODES as SPELLINGS
from ai_battle.conversation.manager import NO_LIMITS, ConversationManager, RunResult
from ai_battle.conversation.plan import MODES
from ai_battle.conversation.rundir import LONGEST_NAME, require_free
from ai_battle.conversation.stopping import RunUse, nearest
from ai_battle.core.events import BudgetReached, Emit
from ai_battle.core.exchange import NOTHING_USED, Wants
from ai_battle.core.ledger import Budget, SpendingLimits, charge_to
from ai_battle.core.plugins import near
from ai_battle.reporting.comparison import COMPARISON, ComparedRun, MeasuredChange, measured_changes, write_comparison
from ai_battle.reporting.figures import count_of

from . import INTERRUPTED
from .output import dollars, print_json, tokens
from .running import Display, document, exit_code, play, play_together, print_summary
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

    With `at_once` above 1 so many run at the same time, and are not shown while they do. `kind` is what their variants
    are; `original` is a run before them that they stand beside, `expected` what the ending of each should have.
    `change` is what the title of their page says of them all.
    """

    runs: Sequence[PlannedRun]
    display: Display
    limits: SpendingLimits = NO_LIMITS
    allow_unsandboxed: bool = False
    kind: str = "mode"
    original: tuple[ComparedRun, ...] = ()
    expected: re.Pattern[str] | None = None
    at_once: int = 1
    change: str = ""
    _used: RunUse = field(default_factory=RunUse)
    _budget: Budget = field(init=False)
    _begun: dict[str, float] = field(default_factory=dict)
    _ended: list[_Ended] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._budget = Budget(self.limits, self._used.ledger, "all runs")

    def play(self) -> int:
        """The worst exit code of all. What ended is reported also when the series breaks off."""
        for run in self.runs:
            if run.out:
                require_free(run.out)
        try:
            return max(self._codes_together() if self.at_once > 1 else self._codes())
        finally:
            self._report()

    def _codes(self) -> Iterator[int]:
        for run in self.runs:
            if self._used_up:
                yield self._tell_limit()
                return
            code = self._code(run)
            yield code
            if code == INTERRUPTED:
                return

    def _codes_together(self) -> Iterator[int]:
        discussions = [partial(self._discuss, run) for run in self.runs]
        is_whole = play_together(discussions, self.at_once, lambda: not self._used_up, self._end_one)
        self._ended.sort(key=lambda ended: self.runs.index(ended.run))
        yield from (exit_code(ended.result.status) for ended in self._ended)
        if not is_whole:
            yield INTERRUPTED
        elif len(self._begun) < len(self.runs):
            yield self._tell_limit()

    @property
    def _used_up(self) -> BudgetReached | None:
        return nearest(self.limits, self._used)

    def _tell_limit(self) -> int:
        if reached := self._used_up:
            spent = f"{dollars(reached.used)} of {dollars(reached.allowed)}"
            click.echo(f"--max-cost is used up by the runs before ({spent}).", err=True)
        return exit_code("limit")

    def _end_one(self, place: int, result: RunResult | None) -> None:
        if not result:
            return
        self._note_end(self.runs[place], result)
        if not self.display.quiet:
            words = f"{self.runs[place].label}: {result.status} after {count_of(result.turns, 'turn')}"
            click.echo(f"{len(self._ended)} of {len(self.runs)}  {words}, {dollars(result.usage.cost_usd)}", err=True)

    def _note_end(self, run: PlannedRun, result: RunResult) -> None:
        self._ended.append(_Ended(run, result, time.monotonic() - self._begun[run.label]))

    def _code(self, run: PlannedRun) -> int:
        if len(self.runs) > 1:
            self._announce(run)
        result = play(partial(self._discuss, run), self.display)
        if result is None:
            return INTERRUPTED
        self._note_end(run, result)
        if not self.display.quiet and not self.display.as_json:
            print_summary(result, self.display)
        return exit_code(result.status)

    async def _discuss(self, run: PlannedRun, emit: Emit, wants: Wants) -> RunResult:
        self._begun[run.label] = time.monotonic()
        loaded = self._within_limits(run.loaded)
        person, allowed = self.display.person, self.allow_unsandboxed
        manager = ConversationManager.from_config(
            loaded, out=run.out, ask=person.line, allow_unsandboxed=allowed, approve=person.approve
        )
        # Beside the limit of the run itself, as several that run at once could pass the one of all together.
        with charge_to(self._budget):
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
        place = len(self._begun) + 1
        words = f"Run {place} of {len(self.runs)}: {run.variant}, {run.repeat} of {repeats}"
        click.secho(words if place == 1 else f"\n{words}", bold=True, err=self.display.as_json)

    def _report(self) -> None:
        self._tell_rest()
        ended = [each.to_compare(self.expected) for each in self._ended]
        changes = [*measured_changes(ended)]
        if self.display.as_json:
            print_json(self._document(changes))
        elif ended and (len(self.runs) > 1 or self.display.quiet):
            self._show_figures(ended, changes)
        if ended and len(runs := [*self.original, *ended]) > 1:
            self._write_page(runs, changes)

    def _tell_rest(self) -> None:
        if rest := [run.label for run in self.runs if run.label not in self._begun]:
            click.echo(f"Not started: {', '.join(rest)}.", err=True)

    def _document(self, changes: Sequence[MeasuredChange]) -> dict[str, Any]:
        runs = [ended.to_json(self.kind) for ended in self._ended]
        return {"runs": runs, "changes": [change.to_json() for change in changes]}

    def _show_figures(self, ended: Sequence[ComparedRun], changes: Sequence[MeasuredChange]) -> None:
        if not self.display.quiet:
            click.echo()
        heads = ("run", self.kind, "repeat", "status", "turns", "tokens", "cost", "seconds")
        show_rows(heads, map(_cells, self._ended), padding=(0, 2, 0, 0))
        judging = sum((run.account.judging for run in ended), NOTHING_USED)
        used = sum((each.result.usage for each in self._ended), NOTHING_USED)
        click.echo(f"All together: {tokens(used)}, {dollars(used.cost_usd)}.")
        if judging.total_tokens:
            click.echo(f"Judging them took {tokens(judging)}, {dollars(judging.cost_usd)}.")
        for change in changes:
            click.echo(change.sentence)

    def _write_page(self, runs: Sequence[ComparedRun], changes: Sequence[MeasuredChange]) -> None:
        first = self._ended[0]
        folder = first.result.run_dir.parent
        path = folder / (COMPARISON if first.run.out else f"{first.result.run_dir.name}-{COMPARISON}")
        title = f"{first.run.loaded.name.removesuffix(f'-{first.run.label}')}{self.change}: {len(runs)} runs"
        write_comparison(path, title, runs, changes)
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
    """Returns one run of a series, which is called after its variant and has a directory of its own in `out`."""
    run = PlannedRun(loaded, variant, number, play=play)
    name = f"{loaded.name[: LONGEST_NAME - len(run.label) - 1]}-{run.label}"
    return replace(run, loaded=replace(loaded, name=name), out=out / run.label if out else None)


def runs_at_once(runs: Sequence[PlannedRun], wanted: int | None, *, usual: int = 1) -> int:
    """Raises `click.BadParameter` where somebody is to take part in several runs at once."""
    has_person = any(spec.role == "user" for spec in runs[0].loaded.file.discussion.models.values())
    if has_person and (wanted or 1) > 1:
        raise click.BadParameter("a person takes part, in one run after another", param_hint="--at-once")
    return min(len(runs), 1 if has_person else wanted or usual)


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
