"""State that the calls of an event loop share: connection pools, and circuit breakers for upstreams and models."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from ..core.errors import ProviderError, RateLimited, TimedOut, Unreachable


class Closable(Protocol):
    async def close(self) -> None: ...


T = TypeVar("T")
C = TypeVar("C", bound=Closable)

_kept: dict[asyncio.AbstractEventLoop, dict[Hashable, Any]] = {}


def loop_value(key: Hashable, make: Callable[[], T]) -> T:
    """Returns the value of `key` in the running event loop, made on first use."""
    here = _loop_values()
    if key not in here:
        here[key] = make()
    value: T = here[key]
    return value


async def loop_resource(key: Hashable, opening: Callable[[], C]) -> C:
    """Returns the resource that `opening()` opens once per event loop, which closes it at its shutdown."""
    here = _loop_values()
    if key not in here:
        holder = _hold(opening())
        here[key] = (await anext(holder), holder)
    resource: C = here[key][0]
    return resource


async def _hold(resource: C) -> AsyncGenerator[C]:
    """Holds a resource open until `loop.shutdown_asyncgens()` (asyncio.run, pytest) closes this generator."""
    try:
        yield resource
    finally:
        _kept.pop(asyncio.get_running_loop(), None)
        await resource.close()


def _loop_values() -> dict[Hashable, Any]:
    loop = asyncio.get_running_loop()
    if loop not in _kept:
        for closed in [other for other in _kept if other.is_closed()]:
            del _kept[closed]
        _kept[loop] = {}
    return _kept[loop]


FAILURES, ENOUGH_CALLS = 5, 20
MINUTE, PROBE_AFTER = 60.0, 30.0
"""Seconds."""
LIMITED_IN_A_ROW = 10
"""This many 429 in a row, without another answer between them, are not one client's own rate limit."""
MAX_PAUSE_SECONDS = 60.0
"""Seconds for which they close a model's circuit at most, even if the provider asks for more."""
PROBE_SECONDS = 5.0
"""Seconds that a caller is told to wait while another call probes."""
MOST_MODELS = 1_000
"""Models of one upstream whose failures are remembered; the least recently used one is dropped first."""


class Outage(NamedTuple):
    """The reason why no calls are made, for `seconds` as the provider asked, or if that is 0 until a probe succeeds."""

    reason: str
    seconds: float


class CircuitName(NamedTuple):
    """The URL of an upstream and, for a model's circuit, the model's name and role."""

    endpoint: str
    model: str = ""
    role: str = ""


class NotCalled(Unreachable):
    """A call was not made, so it tells nothing about the upstream."""


class CircuitBreaker:
    """Stops calls to a failing upstream or model. Each attempt enters it once `waiting()` is 0.

    After `FAILURES` in a row the circuit is open: no calls for `PROBE_AFTER` seconds, then one call probes while the
    others wait for its outcome. Overlapping failures count once, as one outage hits them all; `is_failure` says which
    errors count. A model's circuit (`of_model`) also opens if half of a minute's calls failed (of `ENOUGH_CALLS` or
    more), and calls pause after `LIMITED_IN_A_ROW` 429 in a row.
    """

    def __init__(self, is_failure: Callable[[ProviderError], bool], *, of_model: bool = True) -> None:
        self.is_failure = is_failure
        self._of_model = of_model
        self._closed_until = 0.0
        self._failures = 0
        self._limited = 0
        self._calls: deque[float] = deque()  # the times at which the calls of the last minute ended
        self._failed: deque[float] = deque()
        self._failed_at = 0.0
        self._answered_at = float("-inf")
        self._last = ""
        self._probe: asyncio.Event | None = None

    def waiting(self, *, for_probe: bool = True) -> float:
        """Returns the seconds until the next attempt, for a caller that waits `for_probe` of another call or not."""
        until = self._closed_until
        if self._is_open:
            if self._probe is not None and not for_probe:
                return PROBE_SECONDS
            if self._probe is None:
                until = max(until, self._failed_at + PROBE_AFTER)
        return max(until - asyncio.get_running_loop().time(), 0.0) if until else 0.0

    @property
    def outage(self) -> Outage | None:
        """The reason why only a probe may call, or None."""
        if self._is_open:
            return Outage(self._last, 0.0)
        seconds = self._closed_until - asyncio.get_running_loop().time()
        return Outage("", seconds) if seconds > 0 else None

    def take_over(self, outage: Outage | None) -> None:
        """Applies an outage that other processes saw, or its end (None), as if it were seen here now."""
        if outage is None:
            self._failures, self._closed_until = 0, 0.0
            self._failed.clear()
        elif outage.seconds:
            self.close_for(outage.seconds)
        else:
            self._failures, self._failed_at, self._last = FAILURES, asyncio.get_running_loop().time(), outage.reason

    def has_answered_within(self, seconds: float) -> bool:
        """Returns whether the last call was answered, at most `seconds` ago."""
        return not self._failures and asyncio.get_running_loop().time() - self._answered_at <= seconds

    @property
    def is_limited(self) -> bool:
        """Whether a waiting time is due to the provider's request, not to failures."""
        return not self._is_open

    @property
    def reason(self) -> str:
        """The reason for the waiting time."""
        if self.is_limited:
            return "rate limit"
        if self._failures >= FAILURES:
            return f"{self._failures} failures in a row, the last: {self._last}"
        return f"{len(self._failed)} failures in {len(self._calls)} calls of a minute, the last: {self._last}"

    def close_for(self, seconds: float) -> None:
        """Pauses all calls, as the provider asked."""
        self._closed_until = max(self._closed_until, asyncio.get_running_loop().time() + seconds)

    @property
    def _is_open(self) -> bool:
        if self._failures >= FAILURES:
            return True
        return self._of_model and 2 * len(self._failed) >= len(self._calls) >= ENOUGH_CALLS

    async def enter(self) -> bool:
        """Lets a call pass. Returns whether it is the probe; raises `NotCalled` if another call's probe failed."""
        while self._is_open:
            if self._probe is None:
                self._probe = asyncio.Event()
                return True
            failed_at = self._failed_at
            await self._probe.wait()
            # A cancelled probe has shown nothing; then the next turn of the loop makes this call the probe.
            if self._is_open and self._failed_at != failed_at:
                raise NotCalled(f"Not called after {self.reason}")
        return False

    def record(self, error: ProviderError | None, begun: float) -> None:
        """Counts the outcome of a call that began at `begun` (loop time). Any answer, even a 4xx, shows it is up."""
        is_limit = isinstance(error, RateLimited) and not self.is_failure(error)
        self._limited = self._limited + 1 if is_limit else 0
        if error is None or not self.is_failure(error):
            self._record_answer(begun)
            # Fewer 429 may be due to one client's own limit.
            if error and error.retry_after and self._of_model and self._limited >= LIMITED_IN_A_ROW:
                self.close_for(min(error.retry_after, MAX_PAUSE_SECONDS))
        elif begun >= self._failed_at:  # else it overlapped a failed call, and the same outage must not count twice
            self._failures += 1
            self._failed_at = asyncio.get_running_loop().time()
            self._last = str(error)
            self._failed.append(self._failed_at)
            self._count_call(self._failed_at)

    def end_probe(self) -> None:
        """Ends a probe and wakes the calls that wait for its outcome."""
        if self._probe is not None:
            self._probe.set()
            self._probe = None

    def _record_answer(self, begun: float) -> None:
        """Counts an answer, which ends the outage. One to a call from before the outage keeps the minute's failures."""
        if self._is_open and begun >= self._failed_at:
            self._failed.clear()
        self._failures = 0
        self._answered_at = asyncio.get_running_loop().time()
        self._count_call(self._answered_at)

    def _count_call(self, now: float) -> None:
        """Counts a call and drops those older than a minute."""
        self._calls.append(now)
        for ended in (self._calls, self._failed):
            while ended and ended[0] < now - MINUTE:
                ended.popleft()


@dataclass(frozen=True, slots=True)
class Circuit:
    """The breakers of a model's upstream and of the model itself, which each call passes.

    Only missing connections and silence count against the upstream. Other failures count against the model alone, so
    that one failing model does not stop the others.
    """

    upstream: CircuitBreaker
    model: CircuitBreaker

    async def attempt(self, call: Callable[[], Awaitable[T]]) -> T:
        """Makes a call and counts its outcome, unless it is cancelled or never made."""
        probed: list[CircuitBreaker] = []
        try:
            await self._enter(probed)
            begun = asyncio.get_running_loop().time()
            answer = await call()
            self._record(None, begun)
            return answer
        except NotCalled:
            raise
        except ProviderError as error:
            self._record(error, begun)  # before `again` changes, since an error with "never" does not count as outage
            if any(breaker.is_failure(error) for breaker in probed):
                error.again = "never"  # the failed probe keeps the circuit open, so a retry would only wait again
            raise
        finally:
            for breaker in probed:
                breaker.end_probe()

    async def _enter(self, probed: list[CircuitBreaker]) -> None:
        """Enters both breakers, adding each to `probed` at once, as the second one may raise while the first probes."""
        if await self.upstream.enter():
            probed.append(self.upstream)
        if await self.model.enter():
            probed.append(self.model)

    def _record(self, error: ProviderError | None, begun: float) -> None:
        self.upstream.record(error, begun)
        self.model.record(error, begun)

    def waiting(self, *, for_probe: bool = True) -> tuple[float, CircuitBreaker]:
        """Returns the longer waiting time of the two breakers, in seconds, and its breaker."""
        upstream, model = self.upstream.waiting(for_probe=for_probe), self.model.waiting(for_probe=for_probe)
        return (upstream, self.upstream) if upstream >= model else (model, self.model)


class Upstream:
    """The circuit breakers of one URL and its models, kept for the life of the event loop."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._breaker = CircuitBreaker(_is_unreachable, of_model=False)
        self._circuits: OrderedDict[tuple[str, str], Circuit] = OrderedDict()

    def circuit(self, model: str, role: str = "") -> Circuit:
        """Returns the circuit of a model in a role. Roles count separately, as only one kind of request may fail."""
        key = model, role
        if key not in self._circuits:
            self._circuits[key] = Circuit(self._breaker, CircuitBreaker(_is_outage))
            if len(self._circuits) > MOST_MODELS:
                self._circuits.popitem(last=False)
        self._circuits.move_to_end(key)
        return self._circuits[key]

    def breakers(self) -> Iterator[tuple[CircuitName, CircuitBreaker]]:
        yield CircuitName(self._endpoint), self._breaker
        for (model, role), circuit in self._circuits.items():
            yield CircuitName(self._endpoint, model, role), circuit.model

    def waiting(self, model: str) -> float:
        """Returns the seconds until the model may be called in at least one of its roles."""
        roles = [role for name, role in self._circuits if name == model] or [""]
        return min(self.circuit(model, role).waiting(for_probe=False)[0] for role in roles)


def upstream_at(endpoint: str) -> Upstream:
    return loop_value((Upstream, endpoint), partial(Upstream, endpoint))


def circuit_breakers() -> Iterator[tuple[CircuitName, CircuitBreaker]]:
    """Yields all circuit breakers of this event loop."""
    for upstream in [value for value in _loop_values().values() if isinstance(value, Upstream)]:
        yield from upstream.breakers()


def _is_outage(error: ProviderError) -> bool:
    """Returns whether an error is transient and hits all calls: no connection, silence or 5xx, not a cut answer."""
    if error.again != "always" or isinstance(error, RateLimited):
        return False
    return _is_unreachable(error) or (not error.partial and (error.status or 0) >= 500)


def _is_unreachable(error: ProviderError) -> bool:
    """Returns whether an error means no connection or silence, without an HTTP status or a part of an answer."""
    if error.again != "always" or error.status is not None:
        return False
    return isinstance(error, TimedOut) or (isinstance(error, Unreachable) and not error.partial)
