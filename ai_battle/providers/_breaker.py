"""What the calls of one event loop share: connection pools, and circuit breakers for upstreams and models that fail."""

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
    """The value of `key` in the running event loop, made when it is first asked for."""
    here = _of_this_loop()
    if key not in here:
        here[key] = make()
    value: T = here[key]
    return value


async def loop_resource(key: Hashable, opening: Callable[[], C]) -> C:
    """Returns what `opening()` opens, once per event loop; the loop closes it when it shuts down."""
    here = _of_this_loop()
    if key not in here:
        holder = _hold(opening())
        here[key] = (await anext(holder), holder)
    resource: C = here[key][0]
    return resource


async def _hold(resource: C) -> AsyncGenerator[C]:
    """Suspended while in use: `loop.shutdown_asyncgens()` (asyncio.run, pytest) ends it, which closes the resource."""
    try:
        yield resource
    finally:
        _kept.pop(asyncio.get_running_loop(), None)
        await resource.close()


def _of_this_loop() -> dict[Hashable, Any]:
    loop = asyncio.get_running_loop()
    if loop not in _kept:
        for closed in [other for other in _kept if other.is_closed()]:
            del _kept[closed]
        _kept[loop] = {}
    return _kept[loop]


FAILURES, ENOUGH_CALLS = 5, 20
MINUTE, PROBE_AFTER = 60.0, 30.0
"""Seconds."""
LIMITED = 10
"""So many 429 in a row, and no other answer between them, are no matter of one client."""
LONGEST = 60.0
"""Seconds for which a model is left alone at most because of them, whatever it says."""
PROBE = 5.0
"""Seconds after which it is worth coming back while another call probes."""
MOST_MODELS = 1_000
"""Of one upstream whose failures are remembered; the least recently used goes first."""


class Outage(NamedTuple):
    """Why nobody calls: for `seconds`, as the provider has asked for, or where that is 0 until a probe is answered."""

    reason: str
    seconds: float


class CircuitName(NamedTuple):
    """The address of an upstream, and for the circuit of a model its name and the role that it is asked in."""

    endpoint: str
    model: str = ""
    role: str = ""


class NotCalled(Unreachable):
    """Nobody was called, so nothing new is known of the upstream."""


class CircuitBreaker:
    """Entered by each attempt, when `waiting()` is over.

    After `FAILURES` in a row the circuit is open: nobody calls for `PROBE_AFTER`, then one call probes and the others
    wait for its outcome. Failures of calls that overlapped count once, as one outage hits them all; `is_failure` says
    which count. Of a model (`of_model`) it is open as well when half of a minute's calls failed (of `ENOUGH_CALLS` at
    least), and it is closed for a while after `LIMITED` 429 in a row.
    """

    def __init__(self, is_failure: Callable[[ProviderError], bool], *, of_model: bool = True) -> None:
        self.is_failure = is_failure
        self._of_model = of_model
        self._closed_until = 0.0
        self._failures = 0
        self._limited = 0
        self._calls: deque[float] = deque()  # when those of the last minute ended
        self._failed: deque[float] = deque()
        self._failed_at = 0.0
        self._answered_at = float("-inf")
        self._last = ""
        self._probe: asyncio.Event | None = None

    def waiting(self, *, for_probe: bool = True) -> float:
        """Seconds until the next attempt may be made, by one who waits `for_probe` of another call, or does not."""
        until = self._closed_until
        if self._is_open:
            if self._probe is not None and not for_probe:
                return PROBE
            if self._probe is None:
                until = max(until, self._failed_at + PROBE_AFTER)
        return max(until - asyncio.get_running_loop().time(), 0.0) if until else 0.0

    @property
    def outage(self) -> Outage | None:
        """Why nobody but a probe may call, where that is so."""
        if self._is_open:
            return Outage(self._last, 0.0)
        seconds = self._closed_until - asyncio.get_running_loop().time()
        return Outage("", seconds) if seconds > 0 else None

    def take_over(self, outage: Outage | None) -> None:
        """Counts an outage that others have met, or its end, as if it had been met here and now."""
        if outage is None:
            self._failures, self._closed_until = 0, 0.0
            self._failed.clear()
        elif outage.seconds:
            self.close_for(outage.seconds)
        else:
            self._failures, self._failed_at, self._last = FAILURES, asyncio.get_running_loop().time(), outage.reason

    def has_answered_within(self, seconds: float) -> bool:
        """Says whether the last call was answered, and so short a time ago."""
        return not self._failures and asyncio.get_running_loop().time() - self._answered_at <= seconds

    @property
    def is_limited(self) -> bool:
        """There is a waiting time because the provider asked for it."""
        return not self._is_open

    @property
    def reason(self) -> str:
        """Why there is a waiting time."""
        if self.is_limited:
            return "rate limit"
        if self._failures >= FAILURES:
            return f"{self._failures} failures in a row, the last: {self._last}"
        return f"{len(self._failed)} failures in {len(self._calls)} calls of a minute, the last: {self._last}"

    def close_for(self, seconds: float) -> None:
        """The provider asked to be left alone: this holds for all calls."""
        self._closed_until = max(self._closed_until, asyncio.get_running_loop().time() + seconds)

    @property
    def _is_open(self) -> bool:
        if self._failures >= FAILURES:
            return True
        return self._of_model and 2 * len(self._failed) >= len(self._calls) >= ENOUGH_CALLS

    async def enter(self) -> bool:
        """Lets a call pass; true when it is the one that probes."""
        while self._is_open:
            if self._probe is None:
                self._probe = asyncio.Event()
                return True
            failed_at = self._failed_at
            await self._probe.wait()
            if self._is_open and self._failed_at != failed_at:
                raise NotCalled(f"Not called after {self.reason}")
        return False

    def record(self, error: ProviderError | None, begun: float) -> None:
        """Counts how a call ended: any answer, even a 4xx, shows that the provider is up."""
        is_limit = isinstance(error, RateLimited) and not self.is_failure(error)
        self._limited = self._limited + 1 if is_limit else 0
        if error is None or not self.is_failure(error):
            self._record_answer(begun)
            # A single 429 may be a matter of one client's limit.
            if error and error.retry_after and self._of_model and self._limited >= LIMITED:
                self.close_for(min(error.retry_after, LONGEST))
        elif begun >= self._failed_at:
            self._failures += 1
            self._failed_at = asyncio.get_running_loop().time()
            self._last = str(error)
            self._failed.append(self._failed_at)
            self._count_call(self._failed_at)

    def end_probe(self) -> None:
        """Ends a probe; those that waited for its outcome go on, or give up."""
        if self._probe is not None:
            self._probe.set()
            self._probe = None

    def _record_answer(self, begun: float) -> None:
        """An answer to a call that began when the circuit was open ends the outage."""
        if self._is_open and begun >= self._failed_at:
            self._failed.clear()
        self._failures = 0
        self._answered_at = asyncio.get_running_loop().time()
        self._count_call(self._answered_at)

    def _count_call(self, now: float) -> None:
        """Counts one more call, and keeps only those of the last minute."""
        self._calls.append(now)
        for ended in (self._calls, self._failed):
            while ended and ended[0] < now - MINUTE:
                ended.popleft()


@dataclass(frozen=True, slots=True)
class Circuit:
    """The breakers that a call of one model passes: that of its upstream, and its own.

    No connection and silence count for the upstream until anyone has an answer of it; failures of every kind count for
    the model alone, so that a model that fails closes none of its neighbours.
    """

    upstream: CircuitBreaker
    model: CircuitBreaker

    async def attempt(self, call: Callable[[], Awaitable[T]]) -> T:
        """Makes and counts a call when `waiting()` is over; one that is cancelled or never made says nothing."""
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
            self._record(error, begun)  # first, as what is never to be sent again counts as no outage
            if any(breaker.is_failure(error) for breaker in probed):
                error.again = "never"  # it has waited long enough, and the others have given up
            raise
        finally:
            for breaker in probed:
                breaker.end_probe()

    async def _enter(self, probed: list[CircuitBreaker]) -> None:
        """Adds the breakers that this call probes one by one: the first is one also where the second lets nobody in."""
        if await self.upstream.enter():
            probed.append(self.upstream)
        if await self.model.enter():
            probed.append(self.model)

    def _record(self, error: ProviderError | None, begun: float) -> None:
        self.upstream.record(error, begun)
        self.model.record(error, begun)

    def waiting(self, *, for_probe: bool = True) -> tuple[float, CircuitBreaker]:
        """The longest waiting time, and the breaker that says so."""
        upstream, model = self.upstream.waiting(for_probe=for_probe), self.model.waiting(for_probe=for_probe)
        return (upstream, self.upstream) if upstream >= model else (model, self.model)


class Upstream:
    """All that is known of one address while the event loop lives."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._breaker = CircuitBreaker(_is_unreachable, of_model=False)
        self._circuits: OrderedDict[tuple[str, str], Circuit] = OrderedDict()

    def circuit(self, model: str, role: str = "") -> Circuit:
        """Failures of a model in another `role` are counted apart: what a helper is asked may be what it fails at."""
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
        """The seconds for which a model is left alone in every role that it has been asked in."""
        roles = [role for name, role in self._circuits if name == model] or [""]
        return min(self.circuit(model, role).waiting(for_probe=False)[0] for role in roles)


def upstream_at(endpoint: str) -> Upstream:
    return loop_value((Upstream, endpoint), partial(Upstream, endpoint))


def circuit_breakers() -> Iterator[tuple[CircuitName, CircuitBreaker]]:
    """Yields those of this event loop."""
    for upstream in [value for value in _of_this_loop().values() if isinstance(value, Upstream)]:
        yield from upstream.breakers()


def _is_outage(error: ProviderError) -> bool:
    """Faults that pass, of the kind that hits everyone: no connection, silence, 5xx; not an answer that breaks off."""
    if error.again != "always" or isinstance(error, RateLimited):
        return False
    return _is_unreachable(error) or (not error.partial and (error.status or 0) >= 500)


def _is_unreachable(error: ProviderError) -> bool:
    """Says whether there is no connection, or silence; a status of HTTP is an answer, and so is one that breaks off."""
    if error.again != "always" or error.status is not None:
        return False
    return isinstance(error, TimedOut) or (isinstance(error, Unreachable) and not error.partial)
