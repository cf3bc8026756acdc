"""The clocks of a call, on one timer for each event loop."""

import asyncio
from collections.abc import Callable
from contextvars import Context, ContextVar
from dataclasses import dataclass
from math import inf
from types import TracebackType

from ..core.errors import TimedOut
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
        self._watch = _scope.loop_value(_Watch, _Watch)
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


_ends: ContextVar[float] = ContextVar("ends", default=inf)


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


class ending:  # noqa: N801 - used like a function of contextlib
    """No call that is begun inside takes longer than until `at` (loop time), however long its own deadlines are."""

    __slots__ = ("_at", "_token")

    def __init__(self, at: float) -> None:
        self._at = at

    def __enter__(self) -> None:
        self._token = _ends.set(min(self._at, _ends.get()))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _ends.reset(self._token)


class Clocks:
    """Ends what runs inside when a clock runs out, with an error that names the clock.

    `heard()` costs one reading of the time.
    """

    def __init__(self, deadlines: Deadlines, where: str) -> None:
        self._deadlines = deadlines
        self._where = where
        self._last = 0.0
        self._deadline = Deadline(self._due, deadlines.silence)

    async def __aenter__(self) -> "Clocks":
        self._loop = asyncio.get_running_loop()
        begun = self._loop.time()
        self._ends = min(begun + self._deadlines.total, _ends.get())
        self._first = min(begun + self._deadlines.first_content, self._ends)
        self._seconds = self._ends - begun
        await self._deadline.__aenter__()
        return self

    def mark_content(self) -> None:
        """Content came: from now on silence counts."""
        self._last = self._loop.time()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._deadline.__aexit__(kind, error, trace)
        except TimeoutError:
            if not self._deadline.expired():
                raise
            raise self._ran_out() from None

    def _due(self) -> float:
        return min(self._last + self._deadlines.silence, self._ends) if self._last else self._first

    def _ran_out(self) -> TimedOut:
        if self._due() >= self._ends:
            return TimedOut(f"{self._where}: no complete answer within {self._seconds:.3g} s (the total clock).")
        if self._last:
            idle = self._deadlines.silence
            return Stalled(f"{self._where}: silent for {idle:.4g} s amid the answer (the idle clock).", again="always")
        first = self._deadlines.first_content
        return Stalled(f"{self._where}: nothing came within {first:.4g} s (the first-byte clock).", again="always")
