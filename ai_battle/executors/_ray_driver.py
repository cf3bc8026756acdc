"""The process that is connected to a Ray cluster, and what its workers do.

It reads questions from its input and writes answers to its output, as pickles with numbers: first how players are made
and where the cluster is, then jobs. When its input ends, it leaves the cluster.
"""

import asyncio
import os
import pickle
import socket
import sys
from contextlib import suppress
from functools import cache
from typing import Any, BinaryIO

from .. import __version__
from ..core import plugins
from ..core.errors import (
    AIBattleError,
    BudgetExceeded,
    ConfigError,
    JobLost,
    JournalError,
    ProviderError,
    translate_errors,
)
from ..core.exchange import Usage
from ..core.ledger import Budget, Ledger, charge_to
from ..core.texts import one_line

LENGTH = 8
"""Bytes that say how long a pickle is."""

ANSWERING = 5.0
"""Seconds until something has to answer at the address of a cluster."""

LONGEST = 500
KINDS: tuple[type[AIBattleError], ...] = (BudgetExceeded, ConfigError, JournalError, ProviderError, AIBattleError)
"""Errors that arrive as what they are; others as the first of these that they are one of."""

LOSSES = {
    "NodeDiedError": "its node was lost",
    "WorkerCrashedError": "its process was lost",
    "OutOfMemoryError": "its node had no memory left",
}


def frame(message: Any) -> bytes:
    body = pickle.dumps(message)
    return len(body).to_bytes(LENGTH, "big") + body


async def read_frame(reader: asyncio.StreamReader) -> Any:
    """Returns the next message; raises `IncompleteReadError` where there is none."""
    length = int.from_bytes(await reader.readexactly(LENGTH), "big")
    return pickle.loads(await reader.readexactly(length))  # noqa: S301 - of a process of ours


class RayCluster:
    """A connection to a cluster; raises `ConfigError` where there is none."""

    def __init__(self, make: bytes, address: str) -> None:
        self._ray = ray = plugins.optional("ray", "ray")
        _require_answer(address)
        try:
            ray.init(address=address or None, log_to_driver=False, logging_level="CRITICAL", ignore_reinit_error=True)
        except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            words = one_line(str(error), LONGEST)
            raise ConfigError(f"The Ray cluster{f' at {address}' if address else ''} can't be used: {words}") from error
        self._make = ray.put(make)
        # Workers wait for models most of the time, so all nodes get some; who plays a lost job again is not for Ray.
        self._play = ray.remote(_play).options(max_retries=0, scheduling_strategy="SPREAD")

    async def play(self, job: bytes) -> Any:
        """Returns what became of a job, or the error."""
        errors = self._ray.exceptions
        try:
            return pickle.loads(await self._play.remote(__version__, self._make, job))  # noqa: S301
        except errors.RayTaskError as error:
            return ConfigError(f"A node of Ray can't play it: {one_line(str(error.cause), LONGEST)}")
        except errors.RayError as error:
            return JobLost(LOSSES.get(type(error).__name__, f"Ray reports {type(error).__name__}"))

    def leave(self) -> None:
        self._ray.shutdown()


def _require_answer(address: str) -> None:
    """Ray itself asks for minutes."""
    host, colon, port = address.rpartition("//")[2].rpartition(":")
    if not colon:
        return
    try:
        socket.create_connection((host, int(port)), ANSWERING).close()
    except (OSError, ValueError, OverflowError) as error:
        raise ConfigError(
            f"No Ray cluster answers at {address}: {error}. Name its head: --address HOST:PORT"
        ) from error


def _play(version: str, make: bytes, job: bytes) -> bytes:
    """Plays a job in a worker, on an event loop that stays, so that its connections are used again."""
    return pickle.dumps(_runner().run(_answer(version, make, job)))


@cache
def _runner() -> asyncio.Runner:
    return asyncio.Runner()


async def _answer(version: str, make: bytes, job: bytes) -> tuple[Any, Usage]:
    """Returns the result, or the error, and what was paid for it."""
    paid = Budget(ledger=Ledger(paid_only=True))
    try:
        if version != __version__:
            words = (
                f"{socket.gethostname()} has ai-battle {__version__}, not {version}; install one version everywhere."
            )
            raise ConfigError(words)
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
    number, (make, address) = await read_frame(questions)
    try:
        cluster = RayCluster(make, address)
    except ConfigError as error:
        replies.write(frame((number, ConfigError(str(error)))))
        return
    replies.write(frame((number, None)))

    async def play(number: int, job: bytes) -> None:
        replies.write(frame((number, await cluster.play(job))))

    playing = set[asyncio.Task[None]]()
    with suppress(asyncio.IncompleteReadError):
        while True:
            task = asyncio.create_task(play(*await read_frame(questions)))
            playing.add(task)
            task.add_done_callback(playing.discard)
    cluster.leave()


def main() -> None:
    """What Ray prints goes elsewhere than the answers."""
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0) as replies:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        asyncio.run(_serve(replies))
