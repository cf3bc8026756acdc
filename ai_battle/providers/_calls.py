"""A call of a provider from end to end: reserve, attempt, book; after a passing fault wait, and attempt again."""

import asyncio
import random
from asyncio import CancelledError
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..core.client import ClientWrapper, ModelClient
from ..core.errors import CutShort, ProviderError, RateLimited, TimedOut
from ..core.events import AttemptFailed, Emit, Retrying, Warned, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.ledger import reserve
from ..core.telemetry import span
from ._breaker import Circuit, CircuitBreaker, NotCalled, upstream_at
from ._capabilities import LearnedRefusals
from ._deadlines import Deadline, Deadlines, Stalled
from ._endpoints import provider_traits
from ._metered import FOR_NOTHING, CallTerms, Meter, ReplyListener

if TYPE_CHECKING:
    from ..config.discussion import Timeouts

MOST_STALLS = 2


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


class ProviderCaller(ClientWrapper):
    """A provider's client as everybody calls it; `name` is "provider/model".

    Clients of one endpoint share its rate limit, those of one model its failures, and what it refuses. Without `retry`
    a request is a single attempt: of a recording nothing passes with time.
    """

    def __init__(
        self, client: ModelClient, name: str, terms: CallTerms = FOR_NOTHING, retry: RetryPolicy | None = PATIENT
    ) -> None:
        provider, _, model = name.partition("/")
        self.endpoint: str = getattr(client, "endpoint", "")
        super().__init__(client)
        self._name = name
        self._model = model
        called = provider_traits(provider).telemetry or provider
        self._told = {"provider": called, "model": model, "address": urlsplit(self.endpoint).hostname}
        self._retry = retry
        self._upstream = self.endpoint or provider
        self._meter = Meter(name, terms)
        self._refusals = LearnedRefusals(self._upstream, model, learns=terms.bounded)
        self._has_warned = False

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        with span("chat", self._model, request=request, **self._told) as told:
            told["response"] = response = await self._call(request, emit)
        return response

    async def _call(self, request: ModelRequest, emit: Emit) -> ModelResponse:
        if (retry := self._retry) is None:
            return await self._attempt(request, emit)
        ends = _now() + retry.seconds
        circuit = upstream_at(self._upstream).circuit(self._name, retry.role)
        late = f"{self._name}: no complete answer within {retry.seconds:.4g} s (the total clock)."
        failures: list[ProviderError] = []
        asked = await self._refusals.without_known(request, emit)
        while True:
            await self._wait_for_others(circuit, retry, len(failures) + 1, ends, emit)
            begun = _now()
            try:
                # The deadline is outermost, so that waiting for another call's probe counts too. The client's own
                # clocks, where it has some, run out a moment before: they know what had come.
                async with Deadline(ends, late), circuit.attempt():
                    return await self._attempt(asked, emit)
            except ProviderError as error:
                if changed := await self._refusals.without_refused(asked, error, emit):
                    asked = changed
                    continue
                failures.append(error)
                await emit(self._failure_event(error, len(failures), _now() - begun))
                await self._pause(circuit, retry, failures, ends, emit)

    async def _attempt(self, request: ModelRequest, emit: Emit) -> ModelResponse:
        """Makes a call and books its reply before anybody judges it: an empty, refused or broken one costs as well."""
        meter = self._meter
        reservation = await reserve(partial(meter.quote, request) if meter.is_bounded else None)
        asked, reply = meter.within(reservation, request), ReplyListener(emit)
        try:
            if asked is not request:
                await self._warn_of_limit(reservation.output_tokens, emit)
            reply.is_sent = True
            reply.response = await self.client.complete(asked, reply)
        except CutShort:
            reply.was_left = reply.is_enough = True
            raise
        except CancelledError:
            # The provider writes on, and charges: before the request was sent there is nothing to pay.
            reply.was_left = reply.is_sent
            raise
        finally:
            # `settle` never waits: a cancelled call books before anything can interrupt it once more.
            entries = meter.settle(asked, reply, reservation)
            for entry in entries:
                await emit(entry)
        if not entries or entries[0].usage is reply.response.usage:
            return reply.response
        return replace(reply.response, usage=entries[0].usage)

    async def _warn_of_limit(self, tokens: int | None, emit: Emit) -> None:
        if not self._has_warned:
            self._has_warned = True
            words = f"Answers of {self._name} are kept to what is left of a limit, {tokens} tokens now"
            await emit(Warned(f"{words}; set max_tokens to say how long they may be."))

    async def _wait_for_others(
        self, circuit: Circuit, retry: RetryPolicy, attempt: int, ends: float, emit: Emit
    ) -> None:
        """Waits while the provider is left alone, because of what happened to any call."""
        delay, breaker = circuit.waiting(for_probe=retry.waits)
        if delay and not retry.waits:
            raise self._not_called(ceil(delay), breaker)
        while delay:
            if _now() + delay >= ends:
                text = f"{self._name}: not called for another {delay:.3g} s ({breaker.reason})."
                raise RateLimited(text, retry_after=delay)
            await emit(Retrying(self._name, attempt, delay, breaker.reason))
            await asyncio.sleep(_spread(delay))
            delay, breaker = circuit.waiting()

    def _not_called(self, wait: int, breaker: CircuitBreaker) -> ProviderError:
        text = f"{self._name} is not called for another {wait} s: {breaker.reason.rstrip('.')}."
        if breaker.is_limited:
            return RateLimited(text, status=429, retry_after=wait)
        return NotCalled(text, status=503, retry_after=wait)

    async def _pause(
        self, circuit: Circuit, retry: RetryPolicy, failures: Sequence[ProviderError], ends: float, emit: Emit
    ) -> None:
        """Waits until the next attempt, or raises the last failure when there is none."""
        error, left = failures[-1], ends - _now()
        if not _may_go_on(failures, retry.retries):
            if len(failures) > 1:
                error.args = (f"{error} ({len(failures)} attempts)",)
            raise error
        # As the provider says; else a random pause that leaves half of the time for the next attempt.
        delay = min(_jitter(len(failures), *retry.pauses), left / 2)
        if error.retry_after is not None:
            delay = error.retry_after
            if delay >= left:
                error.args = (f"{error} Come back in {delay:.4g} s; this call may take {retry.seconds:.4g} s.",)
        if delay >= left:
            raise error
        await emit(Retrying(self._name, len(failures) + 1, delay, str(error)))
        if error.retry_after is not None:
            # Whoever else calls it now would be refused as well, and make the time longer.
            circuit.upstream.close_for(delay)
            delay = _spread(delay)
        await asyncio.sleep(delay)

    def _failure_event(self, error: ProviderError, attempt: int, seconds: float) -> AttemptFailed:
        facts = (str(error), seconds, error.status, error.request_id, error.partial, error.raw)
        return AttemptFailed(self._name, attempt, *facts, timed_out=isinstance(error, TimedOut))


def _may_go_on(failures: Sequence[ProviderError], retries: int) -> bool:
    """Says whether the same request may be sent once more."""
    last = failures[-1]
    if last.again == "never" or len(failures) > retries:
        return False
    if last.again == "once":
        return sum(error.again == "once" for error in failures) == 1
    return not isinstance(last, Stalled) or sum(isinstance(error, Stalled) for error in failures) <= MOST_STALLS


def _jitter(failures: int, first: float, longest: float) -> float:
    """Full jitter: anything from nothing to a bound that doubles with each failure."""
    return random.uniform(0, min(longest, first * 2 ** (failures - 1)))  # noqa: S311


def _spread(delay: float) -> float:
    """A bit more than a time that many may wait for, so that not all come at once."""
    return delay + random.uniform(0, min(1.0, delay / 10))  # noqa: S311


def _now() -> float:
    return asyncio.get_running_loop().time()
