"""`ray`: plays jobs on the nodes of a Ray cluster, and again if a node is lost.

Ray ends any process whose own node is lost. So a separate process connects to the cluster (`_ray_driver`) and is
replaced if lost, while this process hands out jobs and keeps their results.
"""

import asyncio
import os
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from tempfile import TemporaryDirectory
from typing import Any

from ..core.errors import ConfigError, JobLost
from ..core.events import ModelReplied
from ..core.exchange import Usage
from ..core.ledger import Budget, book, open_budgets
from . import Executor, ExecutorTraits
from ._ray_driver import JobLimit, frame, read_frame, read_sum, write_sum

TRAITS = ExecutorTraits(is_elsewhere=True)
MOST_LOSSES = 4
"""A job that was lost this often is given up, because it may be what kills its workers."""

START_SECONDS = 60.0
"""Seconds until a cluster has to answer."""

CLOSE_SECONDS = 10.0
LOSS_SECONDS = 1.0
"""Losses within this many seconds are reported in one sentence."""

QUIET_ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"}


class RayDriver:
    """The separate process that is connected to the cluster."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.is_gone = False
        self._process = process
        self._asked = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, make: bytes, address: str, path: str) -> "RayDriver":
        """Starts the process. Raises `ConfigError` if the cluster can't be used."""
        environment = {**os.environ, **QUIET_ENVIRONMENT}
        named = address or environment.pop("RAY_ADDRESS", "")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", "from ai_battle.executors._ray_driver import main; main()"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # Ctrl-C is for this process, which decides about the jobs
        )
        driver = cls(process)
        is_there = False
        try:
            async with asyncio.timeout(START_SECONDS):
                await driver.ask((make, named, path))
            is_there = True
        except (TimeoutError, JobLost) as error:
            where = f"at {named} answers" if named else "starts"
            raise ConfigError(f"No Ray {where} within {START_SECONDS:g} seconds, or it ended at once.") from error
        finally:
            if not is_there:
                process.kill()
                await driver.aclose()
        return driver

    async def ask(self, question: Any) -> Any:
        """Returns the answer, or raises it; `JobLost` if the process ends before that."""
        self._asked = number = self._asked + 1
        self._waiting[number] = answer = asyncio.get_running_loop().create_future()
        assert self._process.stdin
        self._process.stdin.write(frame((number, question)))
        return await answer

    async def aclose(self) -> None:
        """Ends all jobs: the process leaves the cluster, which then ends its workers."""
        assert self._process.stdin
        self._process.stdin.close()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        await self._reading

    async def _read(self) -> None:
        assert self._process.stdout
        with suppress(asyncio.IncompleteReadError):
            while True:
                number, answer = await read_frame(self._process.stdout)
                _settle(self._waiting.pop(number), answer)
        self.is_gone = True
        self._end()

    def _end(self) -> None:
        while self._waiting:
            _settle(self._waiting.popitem()[1], JobLost("the node of this machine was lost"))


def _settle(waiting: asyncio.Future[Any], answer: Any) -> None:
    if waiting.done():  # cancelled meanwhile
        return
    if isinstance(answer, BaseException):
        waiting.set_exception(answer)
    else:
        waiting.set_result(answer)


class OnRay:
    """Hands jobs to a driver, which is started for the first job and whenever the last one is gone."""

    def __init__(self, make: bytes, address: str, tell: Callable[[str], None]) -> None:
        self._make = make
        self._address = address
        self._tell = tell
        self._driver: asyncio.Task[RayDriver] | None = None
        self._losses = 0
        self._folder = TemporaryDirectory(prefix="ai-battle-")
        self._sum = ""

    async def play(self, *job: Any) -> Any:
        budget = next((budget for budget in open_budgets() if budget.limits.cost_usd is not None), None)
        limit = JobLimit(budget.limits.cost_usd, budget.limits.unpriced, budget.payer) if budget else None
        pickled = pickle.dumps(job)
        reasons: list[str] = []
        lost_driver: RayDriver | None = None
        while len(reasons) < MOST_LOSSES:
            driver = await self._live_driver(budget)
            try:
                result, usage = await driver.ask((pickled, limit))
            except JobLost as lost:
                book(ModelReplied("", Usage(cost_usd=lost.spent_usd), 0.0, estimated=True))
                if driver is not lost_driver or not driver.is_gone:  # a lost node's jobs end before its driver
                    reasons.append(str(lost))
                    self._note_loss()
                lost_driver = driver
                continue
            book(ModelReplied("", usage, 0.0))  # paid for in another process
            if isinstance(result, BaseException):
                raise result
            return result
        raise JobLost(f"It was lost {MOST_LOSSES} times: {'; '.join(reasons)}.")

    async def aclose(self) -> None:
        self._tell_losses()
        if self._driver:
            with suppress(ConfigError):
                await (await self._driver).aclose()
        self._folder.cleanup()

    async def _live_driver(self, budget: Budget | None) -> RayDriver:
        """Returns a running driver. Raises `ConfigError` if there is no cluster, for all later callers too."""
        if self._driver is None or _is_lost(self._driver):
            self._driver = asyncio.create_task(self._start(budget))
        # Shielded, because all jobs wait for it: one that is cancelled must not end it for the others.
        return await asyncio.shield(self._driver)

    async def _start(self, budget: Budget | None) -> RayDriver:
        if budget and not self._sum:
            self._sum = os.path.join(self._folder.name, "dollars")
            write_sum(self._sum, budget.spent)
        driver = await RayDriver.start(self._make, self._address, self._sum)
        if budget:  # what the jobs of a lost driver had spent, or set aside and perhaps spent, is not booked yet
            unbooked = max(0.0, read_sum(self._sum) - budget.spent)
            book(ModelReplied("", Usage(cost_usd=unbooked), 0.0, estimated=True))
        return driver

    def _note_loss(self) -> None:
        self._losses += 1
        if self._losses == 1:
            asyncio.get_running_loop().call_later(LOSS_SECONDS, self._tell_losses)

    def _tell_losses(self) -> None:
        """Reports all losses in one sentence, because a node takes several jobs with it."""
        if self._losses:
            self._tell(f"A process or a node of Ray was lost. Played again elsewhere: {self._losses}.")
        self._losses = 0


def _is_lost(driver: asyncio.Task[RayDriver]) -> bool:
    return driver.done() and not driver.exception() and driver.result().is_gone


def create(make: Callable[..., Executor], *here: Any, tell: Callable[[str], None], address: str = "") -> OnRay:
    """Returns an executor for the cluster at `address`, else at RAY_ADDRESS, else for one started on this machine."""
    return OnRay(pickle.dumps(make), address, tell)
