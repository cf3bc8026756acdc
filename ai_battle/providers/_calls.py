"""Makes a call to a provider: reserves money, attempts it under timeouts, books its cost, retries transient faults."""

import asyncio
import random
from asyncio import CancelledError
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, inf
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..core.client import ClientWrapper, ModelClient, require_response
from ..core.errors import CutShort, ProviderError, RateLimited, TimedOut, failure_kind
from ..core.events import AttemptFailed, Emit, Retrying, Warned, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.ledger import reserve
from ..core.telemetry import span
from ._breaker import Circuit, CircuitBreaker, NotCalled, upstream_at
from ._capabilities import LearnedRefusals
from ._endpoints import provider_traits
from ._metered import DEFAULT_TERMS, CallTerms, Meter, ReplyListener

if TYPE_CHECKING:
    from ..config.discussion import Timeouts

_ends: ContextVar[float] = ContextVar("ends", default=inf)
GRACE_SECONDS = 0.25  # seconds
FIRST_CONTENT = 0.75  # of the total time, unless `first_byte` is given
MOST_SLACK = 8.0  # seconds
MOST_STALLS = 2  # that a call may have before it is given up at the next one


@asynccontextmanager
async def _deadline(ends: float, message: str) -> AsyncIterator[None]:
    """Ends the block at `ends` (loop time), and limits the `Clocks` inside to the same time.

    These end first, since their errors know how much had arrived; this deadline comes `GRACE_SECONDS` later.
    """
    token = _ends.set(min(ends, _ends.get()))
    timeout = asyncio.timeout_at(ends + GRACE_SECONDS)
    try:
        async with timeout:
            yield
    except TimeoutError:
        if timeout.expired():
            raise TimedOut(message) from None
        raise
    finally:
        _ends.reset(token)


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Timeouts in seconds. Until the first content only `first_byte` counts, as local models load slowly.

    Its default is most of `total`, and silence counts for at most half of `total`, so that time for a retry is left.
    `is_last` says that there will be none.
    """

    connect: float = 10.0
    first_byte: float | None = None
    idle: float = 60.0
    total: float = 600.0
    is_last: bool = False

    @property
    def first_content(self) -> float:
        return self.first_byte or FIRST_CONTENT * self.total

    @property
    def silence(self) -> float:
        return min(self.idle, self.total / 2)


DEFAULT = Deadlines()


class Stalled(TimedOut):
    """The provider accepted the connection but sent nothing for too long."""


class Clocks:
    """Ends the block when one of its timeouts has passed, with an error that names the timeout."""

    def __init__(self, deadlines: Deadlines, where: str) -> None:
        self._deadlines = deadlines
        self._where = where
        self._moved = 0.0

    async def __aenter__(self) -> None:
        begun = _now()
        self._ends = min(begun + self._deadlines.total, _ends.get())
        self._seconds = max(0.0, self._ends - begun)
        self._timeout = asyncio.timeout_at(min(begun + self._deadlines.first_content, self._ends))
        await self._timeout.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._timeout.__aexit__(kind, error, trace)
        except TimeoutError:
            raise self._error() from None

    def mark_content(self) -> None:
        """Notes that content came; from then on the timeout for silence counts.

        Setting a timer for each piece would cost more than reading it, so silence may last an eighth longer, and
        `MOST_SLACK` seconds at most.
        """
        now, slack = _now(), min(self._deadlines.silence / 8, MOST_SLACK)
        if now >= self._moved + slack and not self._timeout.expired():
            self._moved = now
            self._timeout.reschedule(min(now + self._deadlines.silence + slack, self._ends))

    def _error(self) -> TimedOut:
        if self._timeout.when() == self._ends:
            return TimedOut(f"{self._where}: no complete answer within {self._seconds:.3g} s (the total clock).")
        if self._moved:
            idle = self._deadlines.silence
            return Stalled(f"{self._where}: silent for {idle:.4g} s amid the answer (the idle clock).", again="always")
        first = self._deadlines.first_content
        return Stalled(f"{self._where}: nothing came within {first:.4g} s (the first-byte clock).", again="always")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The `retries` after a failed call, and the `seconds` for all attempts together.

    `pauses` are the first and the longest pause between attempts, in seconds. If not `waits`, a call during an
    outage fails at once and says when to retry. Failures count separately for each `role`.
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


DEFAULT_RETRY = RetryPolicy()


class ProviderCaller(ClientWrapper):
    """Adds retries, circuit breakers and billing to a provider's client; `name` is "provider/model".

    Clients of one endpoint share its rate limit; those of one model share its failures and refused options. Without
    `retry` a request is a single attempt, as for recordings, whose faults never pass.
    """

    def __init__(
        self,
        client: ModelClient,
        name: str,
        terms: CallTerms = DEFAULT_TERMS,
        retry: RetryPolicy | None = DEFAULT_RETRY,
    ) -> None:
        provider, _, model = name.partition("/")
        self.endpoint: str = getattr(client, "endpoint", "")
        super().__init__(client)
        self._name = name
        self._model = model
        called = provider_traits(provider).telemetry or provider
        self._span_attributes = {"provider": called, "model": model, "address": urlsplit(self.endpoint).hostname}
        self._retry = retry
        self._upstream = self.endpoint or provider
        self._meter = Meter(name, terms)
        self._refusals = LearnedRefusals(self._upstream, model, learns=terms.bounded)
        self._has_warned = False

    @property
    def known_outage(self) -> ProviderError | None:
        if (retry := self._retry) is None or retry.waits:
            return None
        delay, breaker = upstream_at(self._upstream).circuit(self._name, retry.role).waiting(for_probe=False)
        return self._not_called(ceil(delay), breaker) if delay else None

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        with span("chat", self._model, request=request, **self._span_attributes) as attributes:
            attributes["response"] = response = await self._call(request, emit)
        return response

    async def _call(self, request: ModelRequest, emit: Emit) -> ModelResponse:
        if (retry := self._retry) is None:
            return await self._attempt(request, emit)
        ends = _now() + retry.seconds
        circuit = upstream_at(self._upstream).circuit(self._name, retry.role)
        late = f"{self._name}: no complete answer within {retry.seconds:.4g} s (the total clock)."
        failures: list[ProviderError] = []
        sent = await self._refusals.without_known(request, emit)
        while True:
            await self._wait_for_others(circuit, retry, len(failures) + 1, ends, emit)
            begun = _now()
            try:
                # The deadline is outermost, so that waiting for another call's probe counts too. The client's own
                # clocks, if any, end a moment earlier, since their errors know how much had arrived.
                async with _deadline(ends, late):
                    return await circuit.attempt(partial(self._attempt, sent, emit))
            except ProviderError as error:
                if changed := await self._refusals.without_refused(sent, error, emit):
                    sent = changed  # no failure of the model, so without a pause and without counting as a retry
                    continue
                failures.append(error)
                facts = (str(error), _now() - begun, error.status, error.request_id, error.partial, error.raw)
                is_late, kind = isinstance(error, TimedOut), failure_kind(error)
                await emit(AttemptFailed(self._name, len(failures), *facts, timed_out=is_late, kind=kind))
                await self._pause(circuit, retry, failures, ends, emit)

    async def _attempt(self, request: ModelRequest, emit: Emit) -> ModelResponse:
        """Makes a call and books its cost whatever the outcome, since empty, refused and broken replies cost too."""
        meter = self._meter
        reservation = await reserve(partial(meter.quote, request) if meter.is_bounded else None)
        sent, reply = meter.within(reservation, request), ReplyListener(emit)
        try:
            if sent is not request:
                await self._warn_of_limit(reservation.output_tokens, emit)
            reply.is_sent = True
            reply.response = require_response(await self.client.complete(sent, reply))
        except CutShort:
            reply.was_left = reply.is_enough = True
            raise
        except CancelledError:
            # The provider goes on writing and charges for it, but only if the request was sent.
            reply.was_left = reply.is_sent
            raise
        finally:
            # `settle` never awaits, so a second cancellation can't keep a cancelled call from booking.
            entries = meter.settle(sent, reply, reservation)
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
        """Waits while a breaker pauses calls. Raises `RateLimited` or `NotCalled` if the call can't or won't wait."""
        delay, breaker = circuit.waiting(for_probe=retry.waits)
        while delay:
            if not retry.waits or _now() + delay >= ends:
                raise self._not_called(ceil(delay), breaker)
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
        """Waits before the next attempt, or raises the last failure if there is none."""
        error, left = failures[-1], ends - _now()
        if not _may_go_on(failures, retry.retries):
            if len(failures) > 1:
                error.args = (f"{error} ({len(failures)} attempts)",)
            raise error
        # The provider's own delay counts; else a random pause that leaves half of the time for the next attempt: from 0
        # to a bound that doubles with each failure (full jitter).
        first, longest = retry.pauses
        delay = min(random.uniform(0, min(longest, first * 2 ** (len(failures) - 1))), left / 2)  # noqa: S311
        if error.retry_after is not None:
            delay = error.retry_after
            if delay >= left:
                late = f"Come back in {ceil(delay)} s; this call may take {retry.seconds:.4g} s."
                error.args = (sentences(str(error), late),)
        if delay >= left:
            raise error
        await emit(Retrying(self._name, len(failures) + 1, delay, str(error)))
        if error.retry_after is not None:
            # Other calls now would be rejected too, and might make the provider's delay longer.
            circuit.upstream.close_for(delay)
            delay = _spread(delay)
        await asyncio.sleep(delay)


def _may_go_on(failures: Sequence[ProviderError], retries: int) -> bool:
    """Returns whether the same request may be sent once more."""
    last = failures[-1]
    if last.again == "never" or len(failures) > retries:
        return False
    if last.again == "once":
        return sum(error.again == "once" for error in failures) == 1
    return not isinstance(last, Stalled) or sum(isinstance(error, Stalled) for error in failures) <= MOST_STALLS


def sentences(first: str, more: str) -> str:
    """Joins two sentences, adding a missing full stop to the first."""
    return f"{first}{'' if first.endswith(('.', '!', '?', ':')) else '.'} {more}" if more else first


def _spread(delay: float) -> float:
    """Lengthens a delay by a random part of up to a second, so that waiting calls don't all come at once."""
    return delay + random.uniform(0, min(1.0, delay / 10))  # noqa: S311


def _now() -> float:
    return asyncio.get_running_loop().time()
