"""When a call is made again, when it is not, and what others of the same provider do meanwhile."""

import asyncio
from collections.abc import Callable

import pytest

from ai_battle.core.client import ModelClient
from ai_battle.core.errors import BadReply, ProviderError, RateLimited, TimedOut, Unreachable
from ai_battle.core.events import AttemptFailed, Emit, EventLog, TextDelta, ignore
from ai_battle.core.events import Retrying as Again
from ai_battle.core.exchange import ModelRequest, ModelResponse
from ai_battle.core.messages import assistant
from ai_battle.providers import RetryingClient, RetryPolicy, Stalled
from ai_battle.providers._breaker import ENOUGH_CALLS, FAILURES, MINUTE, PROBE_AFTER, CircuitBreaker
from ai_battle.providers._retry import jitter, may_go_on

Outcome = str | ProviderError | Callable[[], ProviderError]


class Playing(ModelClient):
    """Answers or fails as it is told, in order; the last outcome stays."""

    def __init__(self, *outcomes: Outcome, seconds: float = 0.0) -> None:
        self.outcomes = list(outcomes)
        self.seconds = seconds
        self.calls = 0

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        self.calls += 1
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        await asyncio.sleep(self.seconds)
        if isinstance(outcome, str):
            await emit(TextDelta(outcome))
            return ModelResponse(assistant(outcome))
        raise outcome if isinstance(outcome, ProviderError) else outcome()


def down() -> ProviderError:
    return Unreachable("down", again="always", status=503, raw="<raw>", request_id="r1")


def broken_off() -> ProviderError:
    return Unreachable("broken", again="always", partial="half")


def retrying(client: ModelClient, retries: int = 3, total: float = 5.0) -> RetryingClient:
    return RetryingClient(client, "fake/model", RetryPolicy(retries, total, pauses=(0.001, 0.002)))


async def test_each_failure_is_told_with_what_it_left_behind(asked: ModelRequest) -> None:
    response = await retrying(Playing(down(), "fine")).complete(asked, log := EventLog())

    failed, again, _ = log.events
    assert isinstance(failed, AttemptFailed)
    assert (failed.model, failed.attempt, failed.reason) == ("fake/model", 1, "down")
    assert (failed.status, failed.request_id, failed.partial, failed.raw) == (503, "r1", "", "<raw>")
    assert isinstance(again, Again)
    assert (again.attempt, again.reason) == (2, "down")
    assert response.text == "fine"


async def test_a_failure_of_a_clock_is_marked_as_one(asked: ModelRequest) -> None:
    client = Playing(Stalled("silent", again="always"), down(), "late", seconds=0.0)
    await retrying(client).complete(asked, log := EventLog())
    with pytest.raises(TimedOut):
        await retrying(Playing("late", seconds=5.0), total=0.01).complete(asked, log)

    assert [event.timed_out for event in log.events if isinstance(event, AttemptFailed)] == [True, False, True]


async def test_attempts_are_one_more_than_retries(asked: ModelRequest) -> None:
    client = Playing(down)

    with pytest.raises(Unreachable, match=r"down \(3 attempts\)"):
        await retrying(client, retries=2).complete(asked, log := EventLog())

    assert client.calls == sum(isinstance(event, AttemptFailed) for event in log.events) == 3


async def test_without_retries_there_is_one_attempt(asked: ModelRequest) -> None:
    client = Playing(down)

    with pytest.raises(Unreachable, match=r"^down$"):
        await retrying(client, retries=0).complete(asked)

    assert client.calls == 1


@pytest.mark.parametrize(
    ("failures", "goes_on"),
    [
        ([ProviderError("no")], False),
        ([BadReply("odd", again="once")], True),
        ([BadReply("odd", again="once"), BadReply("odd", again="once")], False),
        ([down(), BadReply("odd", again="once")], True),
        ([Stalled("silent", again="always")] * 2, True),
        ([Stalled("silent", again="always")] * 3, False),
        ([down()] * 3, True),
        ([down()] * 4, False),
    ],
)
def test_the_kind_of_failure_decides_how_often(failures: list[ProviderError], goes_on: bool) -> None:
    assert may_go_on(failures, retries=3) is goes_on


def test_pauses_are_jittered_and_grow_to_a_bound() -> None:
    longest = [max(jitter(failures, 0.5, 8.0) for _ in range(2000)) for failures in (1, 2, 3, 9)]

    assert [0.4 < longest[0] <= 0.5, 0.8 < longest[1] <= 1, 1.6 < longest[2] <= 2, 6.4 < longest[3] <= 8] == [True] * 4
    assert min(jitter(9, 0.5, 8.0) for _ in range(2000)) < 0.5


async def test_retry_after_is_obeyed(asked: ModelRequest) -> None:
    client = Playing(RateLimited("slow down", again="always", retry_after=0.2), "fine")
    began = asyncio.get_running_loop().time()

    await retrying(client).complete(asked)

    assert asyncio.get_running_loop().time() - began >= 0.2


async def test_retry_after_beyond_the_deadline_ends_the_call_at_once(asked: ModelRequest) -> None:
    client = Playing(RateLimited("slow down", again="always", retry_after=3600))

    with pytest.raises(RateLimited, match="Come back in 3600 s; this call may take 5 s"):
        await asyncio.wait_for(retrying(client).complete(asked), 4)

    assert client.calls == 1


async def test_other_calls_of_a_limited_provider_wait_too(asked: ModelRequest) -> None:
    limited = Playing(RateLimited("slow down", again="always", retry_after=0.3), "fine")
    other = Playing("other")
    began = asyncio.get_running_loop().time()
    first = asyncio.create_task(retrying(limited).complete(asked))
    await asyncio.sleep(0.05)

    await retrying(other).complete(asked, log := EventLog())

    assert asyncio.get_running_loop().time() - began >= 0.3
    assert any(isinstance(event, Again) and event.reason == "rate limit" for event in log.events)
    await first


async def test_calls_of_other_providers_do_not_wait(asked: ModelRequest) -> None:
    limited = Playing(RateLimited("slow down", again="always", retry_after=4), "fine")
    first = asyncio.create_task(retrying(limited).complete(asked))
    await asyncio.sleep(0.05)

    await RetryingClient(Playing("other"), "elsewhere/model").complete(asked)
    assert not first.done()
    first.cancel()


async def test_the_total_clock_holds_over_all_attempts(asked: ModelRequest) -> None:
    client = Playing("never", seconds=60)

    with pytest.raises(Unreachable, match="total clock"):
        await asyncio.wait_for(retrying(client, total=0.1).complete(asked), 30)


async def test_a_listener_that_times_out_is_not_the_provider(asked: ModelRequest) -> None:
    async def emit(event: object) -> None:
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine"):
        await retrying(Playing("fine")).complete(asked, emit)


async def test_after_failures_in_a_row_nobody_calls_for_a_while(asked: ModelRequest) -> None:
    client = Playing(down)
    for _ in range(FAILURES):
        with pytest.raises(Unreachable):
            await retrying(client, retries=0).complete(asked)

    with pytest.raises(ProviderError, match=f"{FAILURES} failures in a row, the last: down"):
        await retrying(client).complete(asked)

    assert client.calls == FAILURES


async def test_a_provider_whose_answers_break_off_is_not_down(asked: ModelRequest) -> None:
    """They had begun; the next one may be whole."""
    log = EventLog()
    for _ in range(FAILURES):
        with pytest.raises(Unreachable, match="broken"):
            await retrying(Playing(broken_off), retries=0).complete(asked, log)

    assert (await retrying(Playing("fine")).complete(asked)).text == "fine"
    assert {event.partial for event in log.events if isinstance(event, AttemptFailed)} == {"half"}


async def test_failures_do_not_outlive_the_event_loop() -> None:
    asked = ModelRequest(())

    async def broken() -> None:
        for _ in range(FAILURES):
            with pytest.raises(Unreachable):
                await retrying(Playing(down), retries=0).complete(asked)

    await asyncio.to_thread(asyncio.run, broken())
    assert (await retrying(Playing("fine")).complete(asked)).text == "fine"


class At:
    """A breaker whose clock is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.breaker = CircuitBreaker(lambda error: (error.status or 0) >= 500, clock=lambda: self.now)

    async def call(self, outcome: ProviderError | None, seconds: float = 1.0) -> None:
        async with self.breaker.attempt():
            self.now += seconds
            if outcome:
                raise outcome

    async def fail(self, times: int) -> None:
        for _ in range(times):
            with pytest.raises(ProviderError):
                await self.call(down())


async def test_after_a_while_one_call_probes_and_the_others_wait_for_it() -> None:
    at = At()
    await at.fail(FAILURES)
    assert at.breaker.waiting() == PROBE_AFTER
    at.now += PROBE_AFTER
    answered = asyncio.Event()

    async def call() -> str:
        async with at.breaker.attempt():
            await answered.wait()
        return "answered"

    calls = [asyncio.create_task(call()) for _ in range(3)]
    await asyncio.sleep(0)
    assert at.breaker.waiting() == 0
    answered.set()

    assert await asyncio.gather(*calls) == ["answered"] * 3
    assert at.breaker.waiting() == 0


async def test_a_probe_that_fails_fails_those_that_wait_for_it() -> None:
    at = At()
    await at.fail(FAILURES)
    at.now += PROBE_AFTER
    failing = asyncio.Event()

    async def call() -> None:
        async with at.breaker.attempt():
            await failing.wait()
            raise down()

    calls = [asyncio.create_task(call()) for _ in range(3)]
    await asyncio.sleep(0)
    failing.set()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)

    probe = next(outcome for outcome in outcomes if str(outcome) == "down")
    assert isinstance(probe, ProviderError)
    assert probe.again == "never"
    assert sum("Not called" in str(outcome) for outcome in outcomes) == 2
    assert at.breaker.waiting() == PROBE_AFTER


async def test_when_a_probe_is_cancelled_one_that_waited_for_it_probes() -> None:
    at = At()
    await at.fail(FAILURES)
    at.now += PROBE_AFTER

    async def hang() -> None:
        async with at.breaker.attempt():
            await asyncio.sleep(60)

    probe = asyncio.create_task(hang())
    await asyncio.sleep(0)
    calls = [asyncio.create_task(at.call(None)) for _ in range(3)]
    await asyncio.sleep(0)
    probe.cancel()
    await asyncio.gather(*calls)

    assert probe.cancelled()
    assert at.breaker.waiting() == 0


async def test_a_call_that_began_before_the_outage_does_not_end_the_probe() -> None:
    at = At()
    early = at.breaker.attempt()
    await early.__aenter__()
    await at.fail(FAILURES)
    at.now += PROBE_AFTER

    async with at.breaker.attempt():
        waiting = asyncio.create_task(at.call(None))
        await asyncio.sleep(0)
        await early.__aexit__(Unreachable, down(), None)
        await asyncio.sleep(0)
        assert not waiting.done()
    await waiting


@pytest.mark.parametrize(
    "error", [ProviderError("bad request", status=400), RateLimited("slow", again="always", status=429), BadReply("?")]
)
async def test_an_answer_of_any_kind_shows_that_the_provider_is_up(error: ProviderError) -> None:
    at = At()
    await at.fail(FAILURES - 1)
    with pytest.raises(ProviderError):
        await at.call(error)
    await at.fail(1)

    assert at.breaker.waiting() == 0


async def test_one_outage_that_hits_many_calls_at_once_counts_once() -> None:
    at = At()
    together = asyncio.Event()

    async def call() -> None:
        async with at.breaker.attempt():
            await together.wait()
            at.now += 1
            raise down()

    calls = [asyncio.create_task(call()) for _ in range(20)]
    await asyncio.sleep(0)
    together.set()
    await asyncio.gather(*calls, return_exceptions=True)

    assert at.breaker.waiting() == 0


async def test_when_half_of_a_minutes_calls_fail_nobody_calls_for_a_while() -> None:
    at = At()
    for _ in range(ENOUGH_CALLS // 2):
        assert at.breaker.waiting() == 0
        await at.call(None)
        await at.fail(1)

    assert at.breaker.waiting() == PROBE_AFTER
    assert at.breaker.reason == "10 failures in 20 calls of a minute, the last: down"

    at.now += PROBE_AFTER
    await at.call(None)
    await at.fail(1)
    assert at.breaker.waiting() == 0


async def test_failures_of_the_minute_before_are_forgotten() -> None:
    at = At()
    for _ in range(3):
        for _ in range(ENOUGH_CALLS // 2 - 1):
            await at.call(None)
            await at.fail(1)
        at.now += MINUTE

    assert at.breaker.waiting() == 0


async def test_few_failures_among_many_calls_break_nothing() -> None:
    at = At()
    for _ in range(ENOUGH_CALLS):
        await at.call(None, seconds=0.1)
        await at.call(None, seconds=0.1)
        await at.fail(1)

    assert at.breaker.waiting() == 0
