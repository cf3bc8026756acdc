"""Plays a series of runs: one discussion in several modes or several times, a folder of them, or forks of one run."""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import click

from ..config.loading import LoadedDiscussion
from ..conversation.journal import create_run_dir, require_free
from ..conversation.manager import RunResult
from ..conversation.reading import FILE
from ..conversation.stopping import RunUse, nearest
from ..core import plugins
from ..core.errors import BudgetExceeded, JobLost, JournalError
from ..core.events import BudgetReached, Emit, RunStarted
from ..core.exchange import NOTHING_USED, Wants
from ..core.files import copy_of
from ..core.ledger import NO_LIMITS, Budget, SpendingLimits, charge_to
from ..core.object_store import shown_path
from ..core.texts import one_line
from ..executors import EXECUTORS, LOCAL, Executor, ExecutorTraits
from ..reporting.account import account
from ..reporting.comparison import COMPARISON, ComparedRun, MeasuredChange, measured_changes, write_comparison
from ..reporting.figures import clock, count_of, dollars
from . import INTERRUPTED
from .output import bill, print_json, show_columns, tokens
from .planned import DISCUSSION, MODE, PlannedRun, RunPlayer
from .running import Display, document, exit_code, play, play_together, print_summary

LONGEST_REASON = 300


@dataclass(frozen=True, slots=True)
class _FinishedRun:
    run: PlannedRun
    result: RunResult
    seconds: float

    def to_json(self, kind: str) -> dict[str, Any]:
        return {**document(self.result), kind: self.run.variant, "repeat": self.run.repeat}


@dataclass(slots=True)
class Series:
    """Plays its runs and reports on them; `limits` apply to all of them together.

    With `at_once` above 1, that many run at the same time and are not shown meanwhile. `kind` says what their variants
    are; `original` is an earlier run to compare with, `expected` a pattern that each ending should match. `change` is
    what the title of the report says of all of them.
    """

    runs: Sequence[PlannedRun]
    display: Display
    limits: SpendingLimits = NO_LIMITS
    allow_unsandboxed: bool = False
    kind: str = MODE
    original: tuple[ComparedRun, ...] = ()
    expected: re.Pattern[str] | None = None
    at_once: int = 1
    change: str = ""
    executor: str = LOCAL
    address: str = ""
    _used: RunUse = field(default_factory=RunUse)
    _budget: Budget = field(init=False)
    _begun: dict[str, float] = field(default_factory=dict)
    _ended: list[_FinishedRun] = field(default_factory=list)
    _executor: Executor = field(init=False)
    _is_elsewhere: bool = field(init=False)
    _ends: float = inf

    def __post_init__(self) -> None:
        self._budget = Budget(self.limits, self._used.ledger, "all runs")
        make, there = partial(RunPlayer, self.allow_unsandboxed), {"address": self.address} if self.address else {}
        self._executor = plugins.create(EXECUTORS, self.executor, make, self.display.person, tell=self._tell, **there)
        self._is_elsewhere = plugins.traits(EXECUTORS, self.executor, ExecutorTraits()).is_elsewhere

    def play(self) -> int:
        """Plays the runs and returns the worst exit code. Reports finished runs even if the series is interrupted."""
        self._used.ledger.start()
        self._ends = time.time() + (self.limits.seconds or inf)
        for run in self.runs:
            if run.out:
                require_free(run.out)
        try:
            return max(self._codes_together() if self.at_once > 1 or self._is_elsewhere else self._codes())
        finally:
            self._report()

    def _codes(self) -> Iterator[int]:
        for run in self.runs:
            if self._reached_limit:
                yield self._tell_limit()
                return
            code = self._code(run)
            yield code
            if code == INTERRUPTED:
                return

    def _codes_together(self) -> Iterator[int]:
        discuss = self._discuss_elsewhere if self._is_elsewhere else self._discuss
        discussions = [partial(discuss, run) for run in self.runs]
        may_begin = lambda: not self._reached_limit  # noqa: E731
        is_whole = play_together(discussions, self._executor, self.at_once, may_begin, self._end_one)
        self._ended.sort(key=lambda ended: self.runs.index(ended.run))
        yield from (exit_code(ended.result.status) for ended in self._ended)
        if not is_whole:
            yield INTERRUPTED
        elif len(self._begun) < len(self.runs):
            yield self._tell_limit()

    @property
    def _reached_limit(self) -> BudgetReached | None:
        return nearest(self.limits, self._used)

    def _tell(self, words: str) -> None:
        if not self.display.quiet:
            click.echo(words, err=True)

    def _tell_limit(self) -> int:
        if reached := self._reached_limit:
            in_dollars = reached.limit == "cost_usd"
            option, form = ("--max-cost", dollars) if in_dollars else ("--max-time", clock)
            spent = f"{form(reached.used)} of {form(reached.allowed)}"
            click.echo(f"{option} is used up by the earlier runs ({spent}).", err=True)
        return exit_code("limit")

    def _end_one(self, place: int, result: RunResult | None) -> None:
        if not result:
            return
        self._note_end(self.runs[place], result)
        why = f" ({one_line(result.stop_reason, LONGEST_REASON)})" if result.status == "failed" else ""
        words = f"{self.runs[place].label}: {result.status}{why} after {count_of(result.turns, 'turn')}"
        spent = f"{dollars(result.usage.cost_usd)} of {dollars(self._used.ledger.known_cost)} for all"
        self._tell(f"{len(self._ended)} of {len(self.runs)}  {words}, {spent}")

    def _note_end(self, run: PlannedRun, result: RunResult) -> None:
        self._ended.append(_FinishedRun(run, result, time.monotonic() - self._begun[run.label]))

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
        run = self._begin(run)
        # On top of the run's own limit: several runs at once could together exceed the limit of all.
        with charge_to(self._budget):
            result: RunResult = await self._executor.play(run, emit, wants)
            return result

    async def _discuss_elsewhere(self, run: PlannedRun, emit: Emit, wants: Wants) -> RunResult | None:
        """Plays a run in a directory created here, by which a node checks that it shares the folder.

        Returns None if no node had room for it in time.
        """
        run_dir = create_run_dir(run.loaded.name, run.out).absolute()
        origin = run.origin[0] if run.origin else Path()
        addresses = (_address_of(run_dir), _address_of(origin))
        # Without the clients in `made`, which can't be sent to another machine.
        run = self._begin(replace(run, out=run_dir, addresses=addresses, loaded=replace(run.loaded, made={})))
        try:
            try:
                with charge_to(self._budget):
                    result: RunResult = await self._executor.play(run)
            finally:
                if copy := copy_of(run_dir):
                    copy.fetch(run_dir)  # synchronously, as a second cancellation would end an await
            return replace(result, run_dir=run_dir)
        except (BudgetExceeded, JobLost, JournalError) as error:
            if (run_dir / FILE).exists():
                used = account(run_dir)
                return RunResult("failed", str(error), used.turns, used.usage, run_dir)
            if not isinstance(error, BudgetExceeded):
                raise
            del self._begun[run.label]
            self._tell(str(error))
            return None
        finally:
            if (run_dir / FILE).exists():
                await emit(RunStarted(run.loaded.name, str(run_dir), {}))
            else:
                with suppress(OSError):  # fails if a node has just begun it
                    run_dir.rmdir()

    def _begin(self, run: PlannedRun) -> PlannedRun:
        self._begun[run.label] = time.monotonic()
        return replace(run, loaded=self._within_limits(run.loaded), ends=self._ends)

    def _within_limits(self, loaded: LoadedDiscussion) -> LoadedDiscussion:
        """Limits a run to what the earlier ones have left, and to what its file allows."""
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
        repeats = sum(each.variant == run.variant for each in self.runs)
        place = len(self._begun) + 1
        words = f"Run {place} of {len(self.runs)}: {run.variant}, {run.repeat} of {repeats}"
        click.secho(words if place == 1 else f"\n{words}", bold=True, err=self.display.as_json)

    def _report(self) -> None:
        self._tell_rest()
        ended = [
            ComparedRun(each.result.run_dir, each.run.variant, each.run.label, expected=self.expected)
            for each in self._ended
        ]
        changes = self._changes(ended)
        if self.display.as_json:
            print_json(self._document(changes))
        elif ended and (len(self.runs) > 1 or self.display.quiet):
            self._show_figures(ended, changes)
        if ended and len(runs := [*self.original, *ended]) > 1:
            self._write_page(runs, changes)

    def _tell_rest(self) -> None:
        if rest := [run.label for run in self.runs if run.label not in self._begun]:
            click.echo(f"Not started: {', '.join(rest)}.", err=True)

    def _changes(self, ended: Sequence[ComparedRun]) -> Sequence[MeasuredChange]:
        """Returns the differences of variants. Different discussions differ in everything, so they are not compared."""
        return [] if self.kind == DISCUSSION else [*measured_changes(ended)]

    def _document(self, changes: Sequence[MeasuredChange]) -> dict[str, Any]:
        runs = [ended.to_json(self.kind) for ended in self._ended]
        return {"runs": runs, "changes": [change.to_json() for change in changes]}

    def _show_figures(self, ended: Sequence[ComparedRun], changes: Sequence[MeasuredChange]) -> None:
        if not self.display.quiet:
            click.echo()
        heads = ("run", self.kind, "repeat", "status", "turns", "tokens", "cost", "seconds")
        show_columns(heads, map(_cells, self._ended))
        judging = sum((run.account.judging for run in ended), NOTHING_USED)
        used = sum((each.result.usage for each in self._ended), NOTHING_USED)
        click.echo(f"All together: {bill(used)}.")
        if judging.total_tokens:
            click.echo(f"Judging them took {bill(judging)}.")
        for change in changes:
            click.echo(change.sentence)

    def _write_page(self, runs: Sequence[ComparedRun], changes: Sequence[MeasuredChange]) -> None:
        first = self._ended[0]
        folder = first.result.run_dir.parent
        path = folder / (COMPARISON if first.run.out else f"{first.result.run_dir.name}-{COMPARISON}")
        title = f"{first.run.loaded.name.removesuffix(f'-{first.run.label}')}{self.change}: {len(runs)} runs"
        write_comparison(path, title, runs, changes)
        click.echo(f"Comparison of all: {shown_path(path)}", err=self.display.as_json)


def _address_of(path: Path) -> str:
    return shown_path(path) if copy_of(path) else ""


def _cells(ended: _FinishedRun) -> tuple[str, ...]:
    result = ended.result
    return (
        shown_path(result.run_dir),
        ended.run.variant,
        str(ended.run.repeat),
        result.status,
        str(result.turns),
        tokens(result.usage),
        dollars(result.usage.cost_usd),
        f"{ended.seconds:.1f}",
    )
