"""Runs a suite: begins its results or goes on with them; each sample is durable when it is done, within limits."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any, Literal

from ..core import plugins
from ..core.errors import BudgetExceeded, ConfigError, JobLost, NoSuchRecord
from ..core.files import write_private
from ..core.ledger import Budget, Ledger, SpendingLimits, charge_to
from ..core.texts import each_text
from ..executors import EXECUTORS, Executor
from .forecast import forecast
from .loading import LoadOptions, frozen_heap, load
from .playing import Discuss, Player, SampleContext
from .sample import Sample, SampleKey
from .scoring import ScorerFactory
from .settings import Setting
from .store import Store
from .suite import Suite
from .tasks import Task

SUITE_FILE = "suite.yaml"
GATHERED = 0.05
"""Seconds that finished samples are gathered before they are written together."""

MARGIN = 1.5
"""A sample may cost this many times what the dearest of its setting has cost so far."""

KNOWN = 5
"""So many samples of a setting say what one may cost; before that, the forecast says it."""

Status = Literal["done", "limit"]


@dataclass(frozen=True, slots=True)
class BenchmarkProgress:
    """Tells how far a run is. `left` is seconds, None while nobody can know; `failed` are samples without an answer.

    `spent` is dollars of this and earlier runs, `to_come` what the rest will cost if it goes on like that.
    """

    finished: int
    total: int
    failed: int = 0
    seconds: float = 0.0
    left: float | None = None
    spent: float = 0.0
    to_come: float = 0.0


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """`reason` says which limit was reached; empty when all samples were played."""

    status: Status
    reason: str
    progress: BenchmarkProgress


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Says how a suite is run: who hears of its progress, what runs discussions, and whether failures are repeated.

    `tell` is given what else its user should know; `address` is where the executor is, for one that is elsewhere.
    """

    hear: Callable[[BenchmarkProgress], None] = lambda progress: None
    discuss: Discuss | None = None
    again: bool = False
    allow_unsandboxed: bool = False
    tell: Callable[[str], None] = lambda words: None
    address: str = ""


def begin(suite: Suite, folder: Path) -> Store:
    """New results, with all that is needed to go on with them, the suite last; raises `JournalError`."""
    hide = suite.document.expansion.hide
    settings = {setting.name: each_text(setting_document(setting), hide) for setting in suite.settings}
    with ExitStack() as undoing:
        store = undoing.enter_context(closing(Store.create(folder)))
        store.begin(suite.tasks, settings)
        store.set_fact("name", suite.name)
        store.set_fact("repeats", suite.benchmark.repeats)
        store.set_fact("unscored", suite.benchmark.unscored)
        store.set_fact("forecast", asdict(forecast(suite)))
        write_private(folder / SUITE_FILE, [suite.document.as_yaml()])
        undoing.pop_all()
    return store


def reopen(folder: Path, options: LoadOptions) -> tuple[Suite, Store]:
    """The suite of results as it was begun, and the results to go on with; raises `ConfigError`, `JournalError`."""
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
    """Plays what is lacking; the store stays open."""
    with frozen_heap():
        return asyncio.run(play(suite, store, options))


async def play(suite: Suite, store: Store, options: RunOptions = RunOptions()) -> RunOutcome:
    make = partial(Player, _sample_context(suite, options, store.folder))
    keeper = [store] if suite.benchmark.cache and suite.benchmark.repeats == 1 and _asked_twice(suite) else []
    there = {"address": options.address} if options.address else {}
    executor = plugins.create(EXECUTORS, suite.benchmark.executor, make, *keeper, tell=options.tell, **there)
    try:
        return await BenchmarkRunner(suite, store, executor, options).run()
    finally:
        await executor.aclose()


def _expected_costs(suite: Suite) -> Mapping[str, float]:
    """Returns what a sample of each setting may cost, by forecast, where that is limited."""
    expected = forecast(suite).settings if suite.benchmark.limits.cost_usd is not None else ()
    return {each.setting: each.high or 0.0 for each in expected}


def setting_document(setting: Setting) -> Mapping[str, Any]:
    """Returns what a setting is made of, as the suite says it after multiplying out; models by their types."""
    return {key: _by_type(value) for key, value in (setting.written or {}).items()}


def _by_type(value: Any) -> Any:
    if isinstance(value, list):
        return [_by_type(each) for each in value]
    return value["type"] if isinstance(value, dict) and "type" in value else value


def _sample_context(suite: Suite, options: RunOptions, folder: Path) -> SampleContext:
    """Returns it with a place beside the results for what pairs show: no benchmark knows what another has learned."""
    return SampleContext(
        {setting.name: setting for setting in suite.settings},
        suite.scorers,
        replace(suite.around, evidence=folder),
        ScorerFactory(suite.around, suite.benchmark.sandbox, options.allow_unsandboxed),
        suite.benchmark.concurrency,
        options.discuss,
        str(suite.document.base),
    )


def _asked_twice(suite: Suite) -> bool:
    """Checks whether two settings have a model in common: only then the cache has something to find."""
    models = [{model.type for model in setting.models} for setting in suite.settings]
    return sum(map(len, models)) > len(set().union(*models))


class BenchmarkRunner:
    """Plays what the results lack, and tells how far it is after each write.

    Only what has been written counts as finished, so what is told is never lost.
    """

    def __init__(self, suite: Suite, store: Store, executor: Executor, options: RunOptions) -> None:
        limits, ledger = suite.benchmark.limits, Ledger(paid_only=True)
        self._suite = suite
        self._store = store
        self._executor = executor
        self._hear = options.hear
        self._finished = store.finished_keys(with_failed=not options.again)
        self._budget = Budget(SpendingLimits(limits.cost_usd, unpriced=limits.unpriced), ledger, "the benchmark")
        self._limit = inf if limits.cost_usd is None else limits.cost_usd
        self._paid_before = ledger.known_cost = store.spent_dollars()
        self._expected = _expected_costs(suite)
        self._dearest: dict[str, float] = {}
        self._seen: Counter[str] = Counter()
        self._done: list[Sample] = []
        self._news = asyncio.Event()
        self._settled = asyncio.Event()
        self._reason = ""
        self._running = 0
        self._failed = 0
        self._played = 0
        self._begun = monotonic()
        self._ends = self._begun + (limits.seconds or inf)

    async def run(self) -> RunOutcome:
        """Raises `JournalError` when results can't be written; what runs then is given up."""
        try:
            with charge_to(self._budget):
                await self._play_all()
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None
        return RunOutcome("limit" if self._reason else "done", self._reason, self._progress())

    async def _play_all(self) -> None:
        """Plays as many samples at once as the suite says; one that can't be written ends them all."""
        jobs = self._jobs()
        try:
            async with asyncio.TaskGroup() as group:
                writing = group.create_task(self._write())
                await asyncio.wait(
                    [group.create_task(self._play(jobs)) for _ in range(self._suite.benchmark.concurrency)]
                )
                writing.cancel()
        finally:
            # Also when it is interrupted: what was finished since the last write was paid for.
            self._write_down()
            self._store.set_spent(self._dollars)

    def _jobs(self) -> Iterator[tuple[SampleKey, Task]]:
        """All settings answer a task before the next one comes, so that they can be compared whenever a run ends."""
        suite = self._suite
        for repeat, task, setting in product(range(suite.benchmark.repeats), suite.tasks, suite.settings):
            if (key := SampleKey(setting.name, task.id, repeat)) not in self._finished:
                yield key, task

    async def _play(self, jobs: Iterator[tuple[SampleKey, Task]]) -> None:
        while not self._reason and (job := next(jobs, None)):
            key, task = job
            if self._out_of_time() or not await self._is_affordable(key.setting):
                return
            self._running += 1
            try:
                sample: Sample = await self._executor.play(key, task)
            except JobLost as lost:
                sample = Sample(*key, error=str(lost))
            except BudgetExceeded as refused:
                self._reason = f"the limit of ${self._limit:g}. {refused}"
                return
            finally:
                self._running -= 1
                self._settled.set()
            self._note_cost(sample)
            self._done.append(sample)
            self._news.set()

    async def _is_affordable(self, setting: str) -> bool:
        """Waits while samples that run may leave room for one more: one that is broken off is money for nothing."""
        while not self._reason and not self._fits(setting):
            if not self._running:
                self._reason = (
                    f"the limit of ${self._limit:g}: ${self._dollars:.4f} are spent, "
                    f"and the next sample of {setting!r} may cost ${self._may_cost(setting):.4f}"
                )
                self._settled.set()
                break
            self._settled.clear()
            await self._settled.wait()
        return not self._reason

    def _fits(self, setting: str) -> bool:
        used_up = self._dollars >= self._limit > 0
        return not used_up and self._dollars + (self._running + 1) * self._may_cost(setting) <= self._limit

    def _may_cost(self, setting: str) -> float:
        """Returns what a sample may cost: by forecast, and once some are known a bit more than the dearest."""
        dearest = self._dearest.get(setting, 0.0) * MARGIN
        return dearest if self._seen[setting] >= KNOWN else max(dearest, self._expected.get(setting, 0.0))

    def _note_cost(self, sample: Sample) -> None:
        self._seen[sample.setting] += 1
        self._dearest[sample.setting] = max(self._dearest.get(sample.setting, 0.0), sample.spent_usd)

    @property
    def _dollars(self) -> float:
        return self._budget.ledger.known_cost

    def _out_of_time(self) -> bool:
        if monotonic() >= self._ends:
            self._reason = f"the limit of {self._suite.benchmark.limits.seconds:g} seconds"
        return bool(self._reason)

    async def _write(self) -> None:
        while await self._news.wait():
            await asyncio.sleep(GATHERED)
            self._news.clear()
            self._write_down()

    def _write_down(self) -> None:
        if not self._done:
            return
        self._store.add(self._done)
        self._played += len(self._done)
        self._failed += sum(bool(sample.error) for sample in self._done)
        self._done.clear()
        self._hear(self._progress())

    def _progress(self) -> BenchmarkProgress:
        seconds, total = monotonic() - self._begun, self._suite.samples
        finished = len(self._finished) + self._played
        rest = total - finished
        each = seconds / self._played if self._played else None
        cost = (self._dollars - self._paid_before) / self._played if self._played else 0.0
        left = each * rest if each is not None else None
        return BenchmarkProgress(finished, total, self._failed, seconds, left, self._dollars, cost * rest)
