"""The only retry: again after a passing fault, after a jittered pause or when the provider says, in time."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from ..core import events
from ..core.client import ModelClient
from ..core.errors import ProviderError, RateLimited, TimedOut
from ..core.events import AttemptFailed, Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ._breaker import Circuit, NotCalled, upstream_at
from ._deadlines import Deadline, Deadlines, Stalled, ending

if TYPE_CHECKING:
    from ..config.discussion import Timeouts

MOST_STALLS = 2
_GRACE = 0.25  # the client's own clock goes first, as it knows what had come


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long a model is asked: `retries` of a failed call, `seconds` for an answer with all of them.

    `pauses` are the first and the longest one between two attempts. Who does not wait (`waits`) is told at once when to
    come back. Failures of models with another `role` are counted apart.
    """

    retries: int = 3
    seconds: float = 600.0
    pauses: tuple[float, float] = (0.5, 8.0)
    waits: bool = True
    role: str = ""

    @classmethod
    def of(cls, timeouts: "Timeouts") -> "RetryPolicy":
        return cls(timeouts.retry_count, timeouts.request)

    @property
    def deadlines(self) -> Deadlines:
        return Deadlines(total=self.seconds, is_last=not self.retries)


PATIENT = RetryPolicy()


class RetryingClient(ModelClient):
    """`name` is "provider/model"; clients of one endpoint share its rate limit, and those of one model its failures."""

    def __init__(self, client: ModelClient, name: str, policy: RetryPolicy = PATIENT) -> None:
        self._client = client
        self._name = name
        self._policy = policy
        self._endpoint = getattr(client, "endpoint", "") or name.partition("/")[0]

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        ends = _now() + self._policy.seconds
        circuit = upstream_at(self._endpoint).circuit(self._name, self._policy.role)
        failures: list[ProviderError] = []
        while True:
            await self._wait_for_others(circuit, len(failures) + 1, ends, emit)
            begun = _now()
            try:
                return await self._attempt(circuit, request, emit, ends)
            except ProviderError as error:
                failures.append(error)
                await emit(self._failure_event(error, len(failures), _now() - begun))
                await self._pause(circuit, failures, ends, emit)

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _attempt(self, circuit: Circuit, request: ModelRequest, emit: Emit, ends: float) -> ModelResponse:
        clock = Deadline(lambda: ends + _GRACE)
        try:
            async with clock, circuit.upstream.attempt(), circuit.model.attempt():
                with ending(ends):
                    return await self._client.complete(request, emit)
        except TimeoutError:
            if not clock.expired():
                raise
            text = f"{self._name}: no complete answer within {self._policy.seconds:.4g} s (the total clock)."
            raise TimedOut(text) from None

    async def _pause(self, circuit: Circuit, failures: Sequence[ProviderError], ends: float, emit: Emit) -> None:
        """Waits until the next attempt, or raises the last failure when there is none."""
        error, left = failures[-1], ends - _now()
        if not may_go_on(failures, self._policy.retries):
            if len(failures) > 1:
                error.args = (f"{error} ({len(failures)} attempts)",)
            raise error
        # As the provider says; else a random pause that leaves half of the time for the next attempt.
        delay = min(jitter(len(failures), *self._policy.pauses), left / 2)
        if error.retry_after is not None:
            delay = error.retry_after
            if delay >= left:
                total = self._policy.seconds
                error.args = (f"{error} Come back in {delay:.4g} s; this call may take {total:.4g} s.",)
        if delay >= left:
            raise error
        await emit(events.Retrying(self._name, len(failures) + 1, delay, str(error)))
        if error.retry_after is not None:
            circuit.upstream.close_for(delay)
            delay = spread(delay)
        await asyncio.sleep(delay)

    async def _wait_for_others(self, circuit: Circuit, attempt: int, ends: float, emit: Emit) -> None:
        """Waits while the provider is left alone, because of what happened to any call."""
        delay, breaker = circuit.waiting(for_probe=self._policy.waits)
        if delay and not self._policy.waits:
            raise self._refusal_of_call(ceil(delay), breaker.reason.rstrip("."), breaker.is_limited)
        while delay:
            if _now() + delay >= ends:
                text = f"{self._name}: not called for another {delay:.3g} s ({breaker.reason})."
                raise RateLimited(text, retry_after=delay)
            await emit(events.Retrying(self._name, attempt, delay, breaker.reason))
            await asyncio.sleep(spread(delay))
            delay, breaker = circuit.waiting()

    def _refusal_of_call(self, wait: int, reason: str, is_limited: bool) -> ProviderError:
        text = f"{self._name} is not called for another {wait} s: {reason}."
        if is_limited:
            return RateLimited(text, status=429, retry_after=wait)
        return NotCalled(text, status=503, retry_after=wait)

    def _failure_event(self, error: ProviderError, attempt: int, seconds: float) -> AttemptFailed:
        facts = (str(error), seconds, error.status, error.request_id, error.partial, error.raw)
        return AttemptFailed(self._name, attempt, *facts, timed_out=isinstance(error, TimedOut))


def may_go_on(failures: Sequence[ProviderError], retries: int) -> bool:
    """Whether the same request may be sent once more."""
    last = failures[-1]
    if last.again == "never" or len(failures) > retries:
        return False
    if last.again == "once":
        return sum(error.again == "once" for error in failures) == 1
    return not isinstance(last, Stalled) or sum(isinstance(error, Stalled) for error in failures) <= MOST_STALLS


def jitter(failures: int, first: float, longest: float) -> float:
    """Full jitter: anything from nothing to a bound that doubles with each failure."""
    return random.uniform(0, min(longest, first * 2 ** (failures - 1)))  # noqa: S311


def spread(delay: float) -> float:
    """A bit more than a time that many may wait for, so that not all come at once."""
    return delay + random.uniform(0, min(1.0, delay / 10))  # noqa: S311


def _now() -> float:
    return asyncio.get_running_loop().time()
