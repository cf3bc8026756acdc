"""Deadlines that share one timer for each event loop: what ends in time, as almost all does, has cost no timer."""

import asyncio
from collections.abc import Callable
from contextvars import Context
from math import inf
from types import TracebackType

from . import _scope


class Deadline:
    """Like `asyncio.timeout_at`, for a time that may move: what runs inside is ended when `due()` (loop time) has come.

    A time that may come nearer is looked at again within `every` seconds.
    """

    def __init__(self, due: Callable[[], float], every: float = inf) -> None:
        self._due = due
        self._every = every

    async def __aenter__(self) -> "Deadline":
        self._timeout = await asyncio.timeout(None).__aenter__()
        self._watch = _scope.kept(_Watch, _Watch)
        self._watch.add(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watch.remove(self)
        await self._timeout.__aexit__(kind, error, trace)

    def expired(self) -> bool:
        return self._timeout.expired()

    def look(self, now: float) -> float:
        """When to look again; never, when the time has come."""
        due = self._due()
        if due > now:
            return min(due, now + self._every)
        self._watch.remove(self)
        self._timeout.reschedule(now)
        return inf


class _Watch:
    """Sleeps until the first deadline may be due. Those that are met meanwhile do not move its timer."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._open: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._wakes = inf

    def add(self, deadline: Deadline) -> None:
        self._open.add(deadline)
        self._wake(deadline.look(self._loop.time()))

    def remove(self, deadline: Deadline) -> None:
        self._open.discard(deadline)

    def _look(self) -> None:
        self._wakes, now = inf, self._loop.time()
        self._wake(min([deadline.look(now) for deadline in [*self._open]], default=inf))

    def _wake(self, at: float) -> None:
        if at >= self._wakes:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._wakes = at
        self._timer = self._loop.call_at(at, self._look, context=Context())
