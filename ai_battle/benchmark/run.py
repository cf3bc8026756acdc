"""Runs a suite: starts or continues its results, and stores each finished sample, within the limits."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from functools import partial
from itertools import product
from math import inf
from pathlib import Path
from time import monotonic
from typing import Literal

from ..core import plugins
from ..core.errors import BudgetExceeded, ConfigError, JobLost, NoSuchRecord
from ..core.files import write_private
from ..core.ledger import Budget, Ledger, SpendingLimits, charge_to
from ..core.texts import each_text, in_dollars
from ..executors import EXECUTORS, Executor
from .forecast import forecast
from .loading import LoadOptions, load
from .playing import Discuss, Player, SampleContext
from .sample import Sample, SampleKey
from .scorers import ScorerFactory
from .store import Store
from .suite import Suite
from .tasks import Task

SUITE_FILE = "suite.yaml"
COST_MARGIN = 1.5
"""A sample may cost this many times the dearest one of its setting so far."""

MEASURED_FROM = 5
"""From this many samples of a setting on, these bound the cost of the next one instead of the forecast."""

LimitKey = Literal["", "cost_usd", "seconds"]


@dataclass(frozen=True, slots=True)
class BenchmarkProgress:
    """The progress of a run. `left` is in seconds, or None if unknown; `failed` counts samples without an answer.

    `spent` is in dollars and includes earlier runs, `to_come` is the expected cost of the rest. `failure` says why the
    last of them failed.
    """

    finished: int
    total: int
    failed: int = 0
    seconds: float = 0.0
    left: float | None = None
    spent: float = 0.0
    to_come: float = 0.0
    failure: str = ""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The end of a run; `limit` is the key of the limit that was reached, or "" if all samples were played."""

    limit: LimitKey
    reason: str
    progress: BenchmarkProgress


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a suite is run. `hear` gets its progress, `discuss` runs discussions, `again` repeats failures.

    `tell` gets further messages for the user; `address` is that of a remote executor.
    """

    hear: Callable[[BenchmarkProgress], None] = lambda progress: None
    discuss: Discuss | None = None
    again: bool = False
    allow_unsandboxed: bool = False
    tell: Callable[[str], None] = lambda words: None
    address: str = ""


def begin(suite: Suite, folder: Path) -> Store:
    """Creates results with all that is needed to continue them. Raises `JournalError`."""
    hide = suite.document.expansion.hide
    settings = {setting.name: each_text(setting.described, hide) for setting in suite.settings}
    with ExitStack() as undoing:
        store = undoing.enter_context(closing(Store.create(folder)))
        store.begin(suite.tasks, settings)
        store.set_fact("name", suite.name)
        store.set_fact("repeats", suite.benchmark.repeats)
        store.set_fact("unscored", suite.benchmark.unscored)
        store.set_fact("forecast", asdict(forecast(suite)))
        # Last, so that a folder with a suite file is complete and `reopen` can tell results that were not begun.
        write_private(folder / SUITE_FILE, [suite.document.as_yaml()])
        undoing.pop_all()
    return store


def reopen(folder: Path, options: LoadOptions) -> tuple[Suite, Store]:
    """Returns the suite of existing results, and the results for writing. Raises `ConfigError` or `JournalError`."""
    with ExitStack() as undoing:
        store = undoing.enter_context(closing(Store.open(folder, to_write=True)))
        if not (folder / SUITE_FILE).is_file():
            raise NoSuchRecord(f"{folder} was not begun: it has no {SUITE_FILE}. Remove it, and run the suite again.")
        suite = load(str(folder / SUITE_FILE), replace(options, tasks=tuple(store.tasks())))
        if [setting.name for setting in suite.settings] != [*store.settings()]:
            raise ConfigError(f"{folder / SUITE_FILE} has other settings than the results; run it as a new benchmark.")
        undoing.pop_all()
    return suite, store


def run(suite: Suite, store: Store, options: RunOptions = RunOptions()) -> RunOutcome:
    """Plays the missing samples and leaves the store open."""
    return asyncio.run(play(suite, store, options))


async def play(suite: Suite, store: Store, options: RunOptions = RunOptions()) -> RunOutcome:
    make = partial(Player, _sample_context(suite, options, store.folder))
    here = [store] if suite.benchmark.cache and suite.benchmark.repeats == 1 and _share_a_model(suite) else []
    there = {"address": options.address} if options.address else {}
    executor = plugins.create(EXECUTORS, suite.benchmark.executor, make, *here, tell=options.tell, **there)
    try:
        return await BenchmarkRunner(suite, store, executor, options).run()
    finally:
        await executor.aclose()


def _expected_costs(suite: Suite) -> Mapping[str, float]:
    """Returns the forecast cost of a sample by setting, if costs are limited."""
    expected = forecast(suite).settings if suite.benchmark.limits.cost_usd is not None else ()
    return {each.setting: each.high or 0.0 for each in expected}


def _sample_context(suite: Suite, options: RunOptions, folder: Path) -> SampleContext:
    """Returns the context. Pairs keep evidence next to the results, so that benchmarks don't share it."""
    return SampleContext(
        {setting.name: setting for setting in suite.settings},
        suite.scorers,
        replace(suite.around, evidence=folder),
        ScorerFactory(suite.around, suite.benchmark.sandbox, options.allow_unsandboxed),
        suite.document.tree,
        suite.benchmark.concurrency,
        options.discuss,
    )


def _share_a_model(suite: Suite) -> bool:
    """Checks whether two settings share a model, since otherwise the cache finds nothing."""
    models = [{model.type for model in setting.models} for setting in suite.settings]
    return sum(map(len, models)) > len(set().union(*models))


class BenchmarkRunner:
    """Plays the missing samples. Each is written before it counts as finished, so reported progress is never lost."""

    def __init__(self, suite: Suite, store: Store, executor: Executor, options: RunOptions) -> None:
        limits, ledger = suite.benchmark.limits, Ledger(paid_only=True)
        self._suite = suite
        self._store = store
        self._executor = executor
        self._hear = options.hear
        self._finished = store.finished_keys(with_failed=not options.again)
        self._budget = Budget(SpendingLimits(limits.cost_usd, unpriced=limits.unpriced), ledger, "the benchmark")
        self._limit = inf if limits.cost_usd is None else limits.cost_usd
        self._earlier_dollars = ledger.known_cost = store.spent_dollars()
        self._expected = _expected_costs(suite)
        self._dearest: dict[str, float] = {}
        self._seen: Counter[str] = Counter()
        self._settled = asyncio.Event()
        self._ended_by: LimitKey = ""
        self._reason = ""
        self._running = 0
        self._failed = 0
        self._failure = ""
        self._played = 0
        self._begun = monotonic()
        self._ends = self._begun + (limits.seconds or inf)

    async def run(self) -> RunOutcome:
        """Plays all samples. Raises `JournalError` if results can't be written, and gives up running samples then."""
        try:
            with charge_to(self._budget):
                await self._play_all()
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None
        return RunOutcome(self._ended_by, self._reason, self._progress())

    async def _play_all(self) -> None:
        """Plays as many samples at once as the suite allows. A failing write ends them all."""
        jobs = self._jobs()
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._suite.benchmark.concurrency):
                    group.create_task(self._play(jobs))
        finally:
            # Also after an interruption, as what was called for unfinished samples was paid for.
            self._store.set_spent(self._dollars)

    def _jobs(self) -> Iterator[tuple[SampleKey, Task]]:
        """Yields the missing samples task by task, so that settings are comparable whenever a run ends."""
        suite = self._suite
        for repeat, task, setting in product(range(suite.benchmark.repeats), suite.tasks, suite.settings):
            if (key := SampleKey(setting.name, task.id, repeat)) not in self._finished:
                yield key, task

    async def _play(self, jobs: Iterator[tuple[SampleKey, Task]]) -> None:
        while not self._ended_by and (job := next(jobs, None)):
            key, task = job
            if self._out_of_time() or not await self._is_affordable(key.setting):
                return
            self._running += 1
            try:
                sample: Sample = await self._executor.play(key, task)
            except JobLost as lost:
                sample = Sample(*key, error=str(lost))
            except BudgetExceeded as refused:
                self._end_by("cost_usd", f"{self._limit_text}. {refused}")
                return
            finally:
                self._running -= 1
                self._settled.set()
            self._note(sample)

    async def _is_affordable(self, setting: str) -> bool:
        """Waits while running samples may leave enough budget: an aborted sample is wasted money."""
        while not self._ended_by and not self._fits(setting):
            if not self._running:
                spent, next_one = f"{in_dollars(self._dollars)} are spent", f"the next sample of {setting!r}"
                way_out = "" if self._is_measured(setting) else "; 'max_tokens' of its models makes that less"
                cost = f"may cost {in_dollars(self._may_cost(setting))}{way_out}"
                self._end_by("cost_usd", f"{self._limit_text}: {spent}, and {next_one} {cost}")
                break
            self._settled.clear()
            await self._settled.wait()
        return not self._ended_by

    def _end_by(self, limit: LimitKey, what: str) -> None:
        self._ended_by, self._reason = limit, f"the limit of {what}"
        self._settled.set()

    def _fits(self, setting: str) -> bool:
        is_spent = self._dollars >= self._limit > 0
        return not is_spent and self._dollars + (self._running + 1) * self._may_cost(setting) <= self._limit

    def _may_cost(self, setting: str) -> float:
        """Returns the most that a sample may cost, by forecast, later by the dearest sample so far."""
        dearest = self._dearest.get(setting, 0.0) * COST_MARGIN
        return dearest if self._is_measured(setting) else max(dearest, self._expected.get(setting, 0.0))

    def _is_measured(self, setting: str) -> bool:
        return self._seen[setting] >= MEASURED_FROM

    def _note(self, sample: Sample) -> None:
        """Writes a sample, and reports the progress."""
        self._store.add([sample])
        self._seen[sample.setting] += 1
        self._dearest[sample.setting] = max(self._dearest.get(sample.setting, 0.0), sample.spent_usd)
        self._played += 1
        if sample.has_failed:
            self._failed += 1
            self._failure = sample.error or sample.score.why
        self._hear(self._progress())

    @property
    def _dollars(self) -> float:
        return self._budget.ledger.known_cost

    @property
    def _limit_text(self) -> str:
        """The limit as written, never as 1e-05."""
        return f"${Decimal(f'{self._limit:.15g}'):f}"

    def _out_of_time(self) -> bool:
        if monotonic() >= self._ends:
            self._end_by("seconds", f"{self._suite.benchmark.limits.seconds:g} seconds")
        return bool(self._ended_by)

    def _progress(self) -> BenchmarkProgress:
        seconds, total = monotonic() - self._begun, self._suite.samples
        finished = len(self._finished) + self._played
        rest = total - finished
        each = seconds / self._played if self._played else None
        cost = (self._dollars - self._earlier_dollars) / self._played if self._played else 0.0
        left = each * rest if each is not None else None
        spent, to_come = self._dollars, cost * rest
        return BenchmarkProgress(finished, total, self._failed, seconds, left, spent, to_come, self._failure)
