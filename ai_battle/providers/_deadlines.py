"""The clocks of a call: until the first content, between two pieces, and over all of it."""

import asyncio
from abc import ABC, abstractmethod
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from types import TracebackType
from typing import Self

from ..core.errors import TimedOut

_ends: ContextVar[float] = ContextVar("ends", default=inf)
GRACE = 0.25


class _Timed(ABC):
    """Like `asyncio.timeout_at`, for a time that may move: what runs inside is ended when `due()` (loop time) has come.

    A time that may come nearer is looked at again within `every` seconds: to set a timer with each piece of an answer
    would cost more than to read it.
    """

    every = inf
    _timer: asyncio.TimerHandle | None = None

    @abstractmethod
    def due(self) -> float: ...

    @abstractmethod
    def error(self) -> TimedOut:
        """Returns what is raised when the time has come."""

    async def __aenter__(self) -> Self:
        self._timeout = await asyncio.timeout(None).__aenter__()
        self._look()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        try:
            await self._timeout.__aexit__(kind, error, trace)
        except TimeoutError:
            # Also a timeout of what runs inside comes by here, and is none of ours.
            if not self._timeout.expired():
                raise
            raise self.error() from None

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        now, due = loop.time(), self.due()
        if due > now:
            self._timer = loop.call_at(min(due, now + self.every), self._look)
        else:
            self._timeout.reschedule(now)


class Deadline(_Timed):
    """Nothing inside takes longer than until `ends` (loop time), and `Clocks` inside run out by then.

    They go first, as they know what had come; this one waits `GRACE` for them.
    """

    def __init__(self, ends: float, message: str) -> None:
        self._ends = ends
        self._message = message

    async def __aenter__(self) -> Self:
        self._token = _ends.set(min(self._ends, _ends.get()))
        return await super().__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _ends.reset(self._token)
        await super().__aexit__(kind, error, trace)

    def due(self) -> float:
        return self._ends + GRACE

    def error(self) -> TimedOut:
        return TimedOut(self._message)


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds. Until the first content only `first_byte` counts, as local models load slowly.

    Without it, that is most of the total; and silence ends an attempt when half of the total is gone, if not before.
    So there is time left to ask once more, unless the attempt `is_last`.
    """

    connect: float = 10.0
    first_byte: float | None = None
    idle: float = 60.0
    total: float = 600.0
    is_last: bool = False

    @property
    def first_content(self) -> float:
        return self.first_byte or PATIENT * self.total

    @property
    def silence(self) -> float:
        return min(self.idle, self.total / 2)


PATIENT = 0.75
DEFAULT = Deadlines()


class Stalled(TimedOut):
    """The provider was connected and then silent for too long."""


class Clocks(_Timed):
    """Ends what runs inside when a clock runs out, with an error that names the clock."""

    def __init__(self, deadlines: Deadlines, where: str) -> None:
        self._deadlines = deadlines
        self._where = where
        self._last = 0.0
        self.every = deadlines.silence

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        begun = self._loop.time()
        self._ends = min(begun + self._deadlines.total, _ends.get())
        self._first = min(begun + self._deadlines.first_content, self._ends)
        self._seconds = max(0.0, self._ends - begun)
        return await super().__aenter__()

    def mark_content(self) -> None:
        """Content came: from now on silence counts. This costs one reading of the time."""
        self._last = self._loop.time()

    def due(self) -> float:
        return min(self._last + self._deadlines.silence, self._ends) if self._last else self._first

    def error(self) -> TimedOut:
        if self.due() >= self._ends:
            return TimedOut(f"{self._where}: no complete answer within {self._seconds:.3g} s (the total clock).")
        if self._last:
            idle = self._deadlines.silence
            return Stalled(f"{self._where}: silent for {idle:.4g} s amid the answer (the idle clock).", again="always")
        first = self._deadlines.first_content
        return Stalled(f"{self._where}: nothing came within {first:.4g} s (the first-byte clock).", again="always")
