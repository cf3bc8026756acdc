"""Runs a suite: samples at once, each durable when it is done, within limits, from where an earlier run stopped."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import inf
from time import monotonic
from typing import Literal

from ..core.errors import BudgetExceeded
from ..core.ledger import Budget, Ledger, SpendingLimits, charge_to
from .executors import Executor
from .sample import Sample, SampleKey
from .store import Store
from .suite import Suite
from .tasks import Task

GATHERED = 0.05
"""Seconds that finished samples are gathered before they are written together."""

MARGIN = 1.5
"""A sample may cost this many times what the dearest of its setting has cost so far."""

KNOWN = 5
"""So many samples of a setting say what one may cost; before that, the forecast says it."""

Status = Literal["done", "limit"]


@dataclass(frozen=True, slots=True)
class BenchmarkProgress:
    """How far a run is. `left` is seconds, None while nobody can know; `failed` are samples without an answer.

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


class BenchmarkRunner:
    """Plays what the results lack. `hear` is told how far it is, after each write; with `again`, failures are repeated.

    Only what has been written counts as finished, so what is told is never lost.
    """

    def __init__(
        self,
        suite: Suite,
        store: Store,
        executor: Executor,
        expected: Mapping[str, float],
        hear: Callable[[BenchmarkProgress], None] = lambda progress: None,
    ) -> None:
        self._suite = suite
        self._store = store
        self._executor = executor
        self._budget = _budget(suite)
        self._expected = expected
        self._dearest: dict[str, float] = {}
        self._seen: Counter[str] = Counter()
        self._hear = hear
        self._done: list[Sample] = []
        self._news = asyncio.Event()
        self._settled = asyncio.Event()
        self._reason = ""
        self._running = 0
        self._failed = 0
        self._played = 0
        self._before = 0
        self._begun = 0.0
        self._ends = inf
        self._paid_before = 0.0

    async def run(self, *, again: bool = False) -> RunOutcome:
        """Raises `JournalError` when results can't be written; what runs then is given up."""
        finished = self._store.finished_keys(with_failed=not again)
        self._before, self._begun = len(finished), monotonic()
        self._ends = self._begun + (self._suite.benchmark.limits.seconds or inf)
        self._paid_before = self._budget.ledger.known_cost = self._store.spent_dollars()
        try:
            with charge_to(self._budget):
                await self._all(self._jobs(finished))
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None
        return RunOutcome("limit" if self._reason else "done", self._reason, self._progress())

    async def _all(self, jobs: Iterator[tuple[SampleKey, Task]]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                writing = group.create_task(self._write())
                await asyncio.wait(
                    [group.create_task(self._play(jobs)) for _ in range(self._suite.benchmark.concurrency)]
                )
                writing.cancel()
        finally:
            self._write_down()
            self._store.set_spent(self._dollars)

    def _jobs(self, finished: set[SampleKey]) -> Iterator[tuple[SampleKey, Task]]:
        """All settings answer a task before the next one comes, so that they can be compared whenever a run ends."""
        suite = self._suite
        for repeat, task, setting in product(range(suite.benchmark.repeats), suite.tasks, suite.settings):
            if (key := SampleKey(setting.name, task.id, repeat)) not in finished:
                yield key, task

    async def _play(self, jobs: Iterator[tuple[SampleKey, Task]]) -> None:
        while not self._reason and (job := next(jobs, None)):
            key, task = job
            if self._out_of_time() or not await self._is_affordable(key.setting):
                return
            self._running += 1
            try:
                sample = await self._executor.play(key, task)
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
        """What a sample may cost: by forecast, and once some are known a bit more than the dearest."""
        dearest = self._dearest.get(setting, 0.0) * MARGIN
        return dearest if self._seen[setting] >= KNOWN else max(dearest, self._expected.get(setting, 0.0))

    def _note_cost(self, sample: Sample) -> None:
        self._seen[sample.setting] += 1
        self._dearest[sample.setting] = max(self._dearest.get(sample.setting, 0.0), sample.spent_usd)

    @property
    def _limit(self) -> float:
        limit = self._suite.benchmark.limits.cost_usd
        return inf if limit is None else limit

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
        finished = self._before + self._played
        rest = total - finished
        each = seconds / self._played if self._played else None
        cost = (self._dollars - self._paid_before) / self._played if self._played else 0.0
        left = each * rest if each is not None else None
        return BenchmarkProgress(finished, total, self._failed, seconds, left, self._dollars, cost * rest)


def _budget(suite: Suite) -> Budget:
    limits = suite.benchmark.limits
    return Budget(SpendingLimits(limits.cost_usd, unpriced=limits.unpriced), Ledger(paid_only=True), "the benchmark")
