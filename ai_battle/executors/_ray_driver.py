"""The process that is connected to a Ray cluster, and the work of its workers.

It reads requests from its input and writes answers to its output, as pickles with numbers: first how to make players
and where the cluster is, then jobs. When its input ends, it leaves the cluster.
"""

import asyncio
import os
import pickle
import socket
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

from .. import __version__
from ..core import plugins
from ..core.errors import AIBattleError, BudgetExceeded, ConfigError, JobLost, JournalError, ProviderError
from ..core.exchange import Usage
from ..core.files import write_private
from ..core.ledger import Budget, Dollars, Ledger, SpendingLimits, charge_to
from ..core.plugins import translate_errors
from ..core.texts import one_line

LENGTH_BYTES = 8
"""The size of the length in front of each pickle, in bytes."""

CONNECT_SECONDS = 5.0
"""Seconds until something has to answer at the address of a cluster."""

MESSAGE_CHARACTERS = 500
KINDS: tuple[type[AIBattleError], ...] = (BudgetExceeded, ConfigError, JournalError, ProviderError, AIBattleError)
"""An error arrives as the first of these classes that it is an instance of."""

LOSSES = {
    "NodeDiedError": "its node was lost",
    "WorkerCrashedError": "its process was lost",
    "OutOfMemoryError": "its node had no memory left",
}


class JobLimit(NamedTuple):
    """The limit for all jobs of a payer together."""

    cost_usd: float | None
    unpriced: Literal["refuse", "allow"]
    payer: str


class ClusterBudget:
    """An actor in the cluster to which each job reports what it has spent and set aside. `before` was spent by others.

    The total is also in a file on the machine that hands out jobs, and so outlives the node.
    """

    def __init__(self, before: float, path: str) -> None:
        self._sums = {0: Dollars(before)}
        self._path = path

    def claim(self, job: int, own: Dollars, limit: float) -> tuple[bool, Dollars]:
        others = self.others(job)
        is_granted = sum(own) + sum(others) <= limit
        if is_granted:
            self.publish(job, own)
        return is_granted, others

    def others(self, job: int) -> Dollars:
        sums = [dollars for other, dollars in self._sums.items() if other != job]
        return Dollars(sum(each.spent for each in sums), sum(each.aside for each in sums))

    def publish(self, job: int, own: Dollars) -> None:
        self._sums[job] = own
        with suppress(OSError):  # with ray:// the file is on another machine
            write_sum(self._path, sum(map(sum, self._sums.values())))

    def lose(self, job: int) -> float:
        """Returns the most that a lost job may have cost: the outcome of its last calls is unknown."""
        spent = sum(self._sums.pop(job, Dollars()))
        self._sums[0] = Dollars(self._sums[0].spent + spent)
        return spent


def read_sum(path: str) -> float:
    return float(Path(path).read_text(encoding="ascii")) if path else 0.0


def write_sum(path: str, dollars: float) -> None:
    write_private(Path(path), [repr(dollars)])


class BudgetShare:
    """One job's access to a `ClusterBudget`, whose handle is `remote`."""

    def __init__(self, remote: Any, job: int) -> None:
        self._remote = remote
        self._job = job

    async def claim(self, own: Dollars, limit: float) -> tuple[bool, Dollars]:
        answer: tuple[bool, Dollars] = await self._remote.claim.remote(self._job, own, limit)
        return answer

    async def look(self, own: Dollars, limit: float) -> Dollars:
        others: Dollars = await self._remote.others.remote(self._job)
        return others

    def publish(self, own: Dollars) -> None:
        self._remote.publish.remote(self._job, own)


def frame(message: Any) -> bytes:
    body = pickle.dumps(message)
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


async def read_frame(reader: asyncio.StreamReader) -> Any:
    """Returns the next message. Raises `IncompleteReadError` at the end."""
    length = int.from_bytes(await reader.readexactly(LENGTH_BYTES), "big")
    return pickle.loads(await reader.readexactly(length))  # noqa: S301 - of a process of ours


class RayCluster:
    """A connection to a cluster. Raises `ConfigError` if there is none."""

    def __init__(self, make: bytes, address: str, path: str) -> None:
        self._ray = ray = plugins.optional("ray", "ray")
        _require_answer(address)
        try:
            ray.init(address=address or None, log_to_driver=False, logging_level="CRITICAL")
        except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            words = one_line(str(error), MESSAGE_CHARACTERS)
            raise ConfigError(f"The Ray cluster{f' at {address}' if address else ''} can't be used: {words}") from error
        self._make = ray.put(make)
        # On the node of this machine, so that it is not lost with another node.
        here = ray.get_runtime_context().get_node_id()
        place = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(here, soft=False)
        self._budget = (
            ray.remote(ClusterBudget).options(num_cpus=0, scheduling_strategy=place).remote(read_sum(path), path)
        )
        # Workers mostly wait for models, so they are spread over all nodes. Retries are up to `OnRay`, not Ray.
        self._play = ray.remote(_play).options(max_retries=0, scheduling_strategy="SPREAD")

    async def play(self, number: int, job: bytes, limit: JobLimit | None) -> Any:
        """Returns the result of a job, or its error."""
        errors = self._ray.exceptions
        share = BudgetShare(self._budget, number) if limit else None
        try:
            return pickle.loads(await self._play.remote(__version__, self._make, job, limit, share))  # noqa: S301
        except errors.LocalRayletDiedError:
            os._exit(1)  # Ray would end this process too, but only later
        except errors.RayTaskError as error:
            return ConfigError(f"A node of Ray can't play it: {one_line(str(error.cause), MESSAGE_CHARACTERS)}")
        except errors.RayError as error:
            reason = LOSSES.get(type(error).__name__, f"Ray reports {type(error).__name__}")
            spent = 0.0
            with suppress(errors.RayError):  # the budget may be lost as well
                spent = await self._budget.lose.remote(number)
            return JobLost(reason, spent)

    def leave(self) -> None:
        self._ray.shutdown()


def _require_answer(address: str) -> None:
    """Raises `ConfigError` if nothing answers at the address; Ray itself would try for minutes."""
    host, colon, port = address.rpartition("//")[2].rpartition(":")
    if not colon:
        return
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
    except (OSError, ValueError, OverflowError) as error:
        raise ConfigError(
            f"No Ray cluster answers at {address}: {error}. Name its head: --address HOST:PORT"
        ) from error


def _play(version: str, make: bytes, job: bytes, limit: JobLimit | None, share: BudgetShare | None) -> bytes:
    """Plays a job in a worker, on a persistent event loop, so that its connections are reused."""
    if version != __version__:
        raise ConfigError(f"{socket.gethostname()} has ai-battle {__version__}, not {version} as this machine has.")
    limits = SpendingLimits(limit.cost_usd, unpriced=limit.unpriced) if limit else None
    paid = Budget(limits, Ledger(paid_only=True), limit.payer if limit else "", share)
    return pickle.dumps(_runner().run(_answer(make, job, paid)))


@cache
def _runner() -> asyncio.Runner:
    return asyncio.Runner()


async def _answer(make: bytes, job: bytes, paid: Budget) -> tuple[Any, Usage]:
    """Returns the result or the error, and the usage that was paid for."""
    try:
        with translate_errors("It can't be played", AIBattleError), charge_to(paid):
            result = await _result(make, job)
    except AIBattleError as error:
        result = next(kind for kind in KINDS if isinstance(error, kind))(str(error))
    return result, paid.ledger.usage


async def _result(make: bytes, job: bytes) -> Any:
    player = pickle.loads(make)()  # noqa: S301 - of a process of ours
    try:
        return await player.play(*pickle.loads(job))  # noqa: S301
    finally:
        await player.aclose()


async def _serve(replies: BinaryIO) -> None:
    questions = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(questions), sys.stdin)
    number, cluster_at = await read_frame(questions)
    try:
        cluster = RayCluster(*cluster_at)
    except ConfigError as error:
        _reply(replies, number, ConfigError(str(error)))
        return
    _reply(replies, number, None)

    async def play(number: int, question: tuple[bytes, JobLimit | None]) -> None:
        _reply(replies, number, await cluster.play(number, *question))

    playing = set[asyncio.Task[None]]()
    with suppress(asyncio.IncompleteReadError):
        while True:
            task = asyncio.create_task(play(*await read_frame(questions)))
            playing.add(task)
            task.add_done_callback(playing.discard)
    cluster.leave()


def _reply(replies: BinaryIO, number: int, answer: Any) -> None:
    replies.write(frame((number, answer)))
    replies.flush()


def main() -> None:
    """Serves requests. What Ray prints goes to stderr, so that it does not mix with the answers."""
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as replies:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        asyncio.run(_serve(replies))
