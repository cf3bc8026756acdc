"""What all calls to one provider share while the event loop lives: the rate-limit gate and the circuit breaker."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType

from ..core.errors import ProviderError, RateLimited, TimedOut, Unreachable
from . import _scope

FAILURES, ENOUGH_CALLS = 5, 20
MINUTE, PROBE_AFTER = 60.0, 30.0
"""Seconds."""


class Traffic:
    """Entered by each attempt: `async with traffic: ...`, when `waiting()` is over.

    After `FAILURES` in a row, or when half of a minute's calls failed (of `ENOUGH_CALLS` at least), the circuit is
    broken: nobody calls for `PROBE_AFTER`, then one call probes and the others wait for its outcome. Failures of calls
    that overlapped count once, as one outage hits them all.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._closed_until = 0.0
        self._failures = 0
        self._calls: deque[float] = deque()  # when those of the last minute ended
        self._failed: deque[float] = deque()
        self._failed_at = 0.0
        self._last = ""
        self._probe: asyncio.Event | None = None

    def waiting(self) -> float:
        """Seconds until the next attempt may be made."""
        probing = self._failed_at + PROBE_AFTER if self._is_broken and self._probe is None else 0.0
        return max(max(self._closed_until, probing) - self.clock(), 0.0)

    @property
    def is_probed(self) -> bool:
        """One call is finding out whether the provider is back; others would wait for its outcome."""
        return self._is_broken and self._probe is not None

    @property
    def reason(self) -> str:
        """Why there is a waiting time."""
        if not self._is_broken:
            return "rate limit"
        if self._failures >= FAILURES:
            return f"{self._failures} failures in a row, the last: {self._last}"
        return f"{len(self._failed)} failures in {len(self._calls)} calls of a minute, the last: {self._last}"

    def close_for(self, seconds: float) -> None:
        """The provider asked to be left alone: this holds for all calls."""
        self._closed_until = max(self._closed_until, self.clock() + seconds)

    def attempt(self) -> "Attempt":
        return Attempt(self)

    @property
    def _is_broken(self) -> bool:
        mostly = len(self._calls) >= ENOUGH_CALLS and 2 * len(self._failed) >= len(self._calls)
        return mostly or self._failures >= FAILURES

    async def enter(self) -> bool:
        """Lets a call pass; true when it is the one that probes."""
        while self._is_broken:
            if self._probe is None:
                self._probe = asyncio.Event()
                return True
            failed_at = self._failed_at
            await self._probe.wait()
            if self._is_broken and self._failed_at != failed_at:
                raise Unreachable(f"Not called after {self.reason}")
        return False

    def leave(self, error: BaseException | None, begun: float) -> None:
        """A cancelled call says nothing about the provider; any answer, even a 4xx, shows that it is up."""
        if error is None or (isinstance(error, ProviderError) and not _is_outage(error)):
            self._answered(begun)
        elif isinstance(error, ProviderError) and begun >= self._failed_at:
            self._failures += 1
            self._failed_at = self.clock()
            self._last = str(error)
            self._failed.append(self._failed_at)
            self._count()

    def _answered(self, begun: float) -> None:
        """An answer to a call that began when the circuit was broken ends the outage."""
        if self._is_broken and begun >= self._failed_at:
            self._failed.clear()
        self._failures = 0
        self._count()

    def _count(self) -> None:
        """One more call, and only those of a minute."""
        now = self.clock()
        self._calls.append(now)
        for ended in (self._calls, self._failed):
            while ended and ended[0] < now - MINUTE:
                ended.popleft()

    def probed(self) -> None:
        """Those that waited for the outcome go on, or give up."""
        if self._probe is not None:
            self._probe.set()
            self._probe = None


class Attempt:
    """One call on its way."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic

    async def __aenter__(self) -> None:
        self._probes = await self._traffic.enter()
        self._begun = self._traffic.clock()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._traffic.leave(error, self._begun)
        if self._probes:
            self._traffic.probed()
            if isinstance(error, ProviderError) and _is_outage(error):
                error.again = "never"  # it has waited long enough, and the others have given up


def traffic_of(endpoint: str) -> Traffic:
    return _scope.kept((Traffic, endpoint), Traffic)


def _is_outage(error: ProviderError) -> bool:
    """Faults that pass, of the kind that hits everyone: no connection, silence, 5xx; not an answer that breaks off."""
    broke_off = error.partial and not isinstance(error, TimedOut)
    if error.again != "always" or broke_off or isinstance(error, RateLimited):
        return False
    return isinstance(error, Unreachable) or (error.status or 0) >= 500
