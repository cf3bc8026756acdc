"""When a call is made again, when it is not, and what others of the same provider do meanwhile."""

import asyncio
from collections.abc import Callable

import pytest

from ai_battle import create_client
from ai_battle.assembly.models import RetryPolicy
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import BadReply, ProviderError, RateLimited, TimedOut, Unreachable
from ai_battle.core.events import AttemptFailed, Emit, EventLog, ModelReplied, Retrying, TextDelta, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse
from ai_battle.core.messages import assistant
from ai_battle.providers._calls import Stalled
from tests.clocks import set_forward

MODEL = "tests.providers.plugin/model"
FAILURES, PROBE_AFTER, MINUTE, ENOUGH_CALLS = 5, 30, 60, 20
"""The limits of the circuit breaker that the documents state."""

Outcome = str | ProviderError | Callable[[], ProviderError]


class Playing(ModelClient):
    """Answers or fails as it is told, in order, when `go` is set; the last outcome stays."""

    def __init__(self, *outcomes: Outcome, seconds: float = 0.0, go: asyncio.Event | None = None) -> None:
        self.outcomes = list(outcomes)
        self.seconds = seconds
        self.go = go
        self.calls = 0

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        self.calls += 1
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        await asyncio.sleep(self.seconds)
        if self.go:
            await self.go.wait()
        if isinstance(outcome, str):
            await emit(TextDelta(outcome))
            return ModelResponse(assistant(outcome))
        raise outcome if isinstance(outcome, ProviderError) else outcome()


def down() -> ProviderError:
    return Unreachable("down", again="always", status=503, raw="<raw>", request_id="r1")


def broken_stream() -> ProviderError:
    return Unreachable("broken", again="always", partial="half")


def stall() -> ProviderError:
    return Stalled("silent", again="always")


def odd() -> ProviderError:
    return BadReply("odd", again="once")


def retrying(client: ModelClient, retries: int = 3, total: float = 5.0, model: str = MODEL) -> ModelClient:
    return create_client(model, inner=client, retry=RetryPolicy(retries, total, pauses=(0.001, 0.002)))


async def test_each_failure_is_told_with_what_it_left_behind(model_request: ModelRequest) -> None:
    response = await retrying(Playing(down(), "fine")).complete(model_request, log := EventLog())

    failed, again = log.events[:2]
    assert isinstance(failed, AttemptFailed)
    assert (failed.model, failed.attempt, failed.reason) == (MODEL, 1, "down")
    assert (failed.status, failed.request_id, failed.partial, failed.raw) == (503, "r1", "", "<raw>")
    assert isinstance(again, Retrying)
    assert (again.attempt, again.reason) == (2, "down")
    assert [type(event) for event in log.events[2:]] == [TextDelta, ModelReplied]
    assert response.text == "fine"


async def test_a_failure_of_a_clock_is_marked_as_one(model_request: ModelRequest) -> None:
    await retrying(Playing(stall(), down(), "late")).complete(model_request, log := EventLog())
    with pytest.raises(TimedOut):
        await retrying(Playing("late", seconds=5.0), total=0.01).complete(model_request, log)

    assert [event.timed_out for event in log.events if isinstance(event, AttemptFailed)] == [True, False, True]


async def test_attempts_are_one_more_than_retries(model_request: ModelRequest) -> None:
    client = Playing(down)

    with pytest.raises(Unreachable, match=r"down \(3 attempts\)"):
        await retrying(client, retries=2).complete(model_request, log := EventLog())

    assert client.calls == sum(isinstance(event, AttemptFailed) for event in log.events) == 3


async def test_without_retries_there_is_one_attempt(model_request: ModelRequest) -> None:
    client = Playing(down)

    with pytest.raises(Unreachable, match=r"^down$"):
        await retrying(client, retries=0).complete(model_request)

    assert client.calls == 1


@pytest.mark.parametrize(
    ("outcomes", "calls"),
    [
        ([ProviderError("no")], 1),
        ([odd(), "fine"], 2),
        ([odd(), odd(), "fine"], 2),
        ([down(), odd(), "fine"], 3),
        ([stall(), stall(), "fine"], 3),
        ([stall(), stall(), stall(), "fine"], 3),
        ([down(), down(), down(), "fine"], 4),
        ([down(), down(), down(), down(), "fine"], 4),
    ],
)
async def test_the_kind_of_failure_decides_how_often(
    model_request: ModelRequest, outcomes: list[Outcome], calls: int
) -> None:
    client = Playing(*outcomes)
    is_answered = outcomes[calls - 1] == "fine"
    try:
        assert (await retrying(client).complete(model_request)).text == "fine"
    except ProviderError:
        assert not is_answered
    assert client.calls == calls


async def test_pauses_are_jittered_and_grow_to_a_bound(model_request: ModelRequest) -> None:
    pauses: list[list[float]] = [[], [], [], []]
    for number in range(40):
        policy = RetryPolicy(4, pauses=(0.001, 0.004))
        client = create_client(f"{MODEL}{number}", inner=Playing(down), retry=policy)
        with pytest.raises(ProviderError):
            await client.complete(model_request, log := EventLog())
        for place, event in zip(pauses, (each for each in log.events if isinstance(each, Retrying)), strict=True):
            place.append(event.delay)

    bounds = (0.001, 0.002, 0.004, 0.004)
    assert all(0.5 < max(delays) / bound <= 1 for delays, bound in zip(pauses, bounds, strict=True))
    assert min(pauses[3]) < 0.002


async def test_retry_after_is_obeyed(model_request: ModelRequest) -> None:
    client = Playing(RateLimited("slow down", again="always", retry_after=0.2), "fine")
    began = asyncio.get_running_loop().time()

    await retrying(client).complete(model_request)

    assert asyncio.get_running_loop().time() - began >= 0.2


async def test_retry_after_beyond_the_deadline_ends_the_call_at_once(model_request: ModelRequest) -> None:
    client = Playing(RateLimited("slow down", again="always", retry_after=3600))

    with pytest.raises(RateLimited, match="Come back in 3600 s; this call may take 5 s"):
        await asyncio.wait_for(retrying(client).complete(model_request), 4)

    assert client.calls == 1


async def test_other_calls_of_a_limited_provider_wait_too(model_request: ModelRequest) -> None:
    limited = Playing(RateLimited("slow down", again="always", retry_after=0.3), "fine")
    other = Playing("other")
    began = asyncio.get_running_loop().time()
    first = asyncio.create_task(retrying(limited).complete(model_request))
    await asyncio.sleep(0.05)

    await retrying(other).complete(model_request, log := EventLog())

    assert asyncio.get_running_loop().time() - began >= 0.3
    assert any(isinstance(event, Retrying) and event.reason == "rate limit" for event in log.events)
    await first


class Elsewhere(Playing):
    endpoint = "https://elsewhere.example"


async def test_calls_of_other_providers_do_not_wait(model_request: ModelRequest) -> None:
    limited = Playing(RateLimited("slow down", again="always", retry_after=4), "fine")
    first = asyncio.create_task(retrying(limited).complete(model_request))
    await asyncio.sleep(0.05)

    await retrying(Elsewhere("other")).complete(model_request)
    assert not first.done()
    first.cancel()


async def test_the_total_clock_holds_over_all_attempts(model_request: ModelRequest) -> None:
    client = Playing("never", seconds=60)

    with pytest.raises(Unreachable, match="total clock"):
        await asyncio.wait_for(retrying(client, total=0.1).complete(model_request), 30)


async def test_a_listener_that_times_out_is_not_the_provider(model_request: ModelRequest) -> None:
    async def emit(event: object) -> None:
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine"):
        await retrying(Playing("fine")).complete(model_request, emit)


async def test_a_provider_whose_answers_break_off_is_not_down(model_request: ModelRequest) -> None:
    """They had begun; the next one may be whole."""
    log = EventLog()
    for _ in range(FAILURES):
        with pytest.raises(Unreachable, match="broken"):
            await retrying(Playing(broken_stream), retries=0).complete(model_request, log)

    assert (await retrying(Playing("fine")).complete(model_request)).text == "fine"
    assert {event.partial for event in log.events if isinstance(event, AttemptFailed)} == {"half"}


async def test_failures_do_not_outlive_the_event_loop() -> None:
    asked = ModelRequest(())

    async def fail_often() -> None:
        for _ in range(FAILURES):
            with pytest.raises(Unreachable):
                await retrying(Playing(down), retries=0).complete(asked)

    await asyncio.to_thread(asyncio.run, fail_often())
    assert (await retrying(Playing("fine")).complete(asked)).text == "fine"


class Upstream:
    """Calls of one model."""

    async def call(self, client: Playing, total: float = 5.0) -> str:
        return (await retrying(client, retries=0, total=total).complete(ModelRequest(()))).text

    async def fail(self, times: int, error: Outcome = down) -> None:
        for _ in range(times):
            with pytest.raises(ProviderError) as caught:
                await self.call(Playing(error))
            assert "call" not in str(caught.value)

    def start(self, client: Playing, times: int = 1) -> "list[asyncio.Task[str]]":
        """Calls with so much time that a clock which is set on ends none of them."""
        return [asyncio.create_task(self.call(client, total=600.0)) for _ in range(times)]

    async def refusal(self) -> str:
        """Returns why nobody is called now; empty where somebody is."""
        client = Playing("fine")
        try:
            await self.call(client)
        except ProviderError as error:
            assert client.calls == 0
            return str(error)
        return ""


@pytest.fixture
def upstream() -> Upstream:
    return Upstream()


async def test_after_failures_in_a_row_nobody_calls_for_a_while(upstream: Upstream) -> None:
    await upstream.fail(FAILURES)
    assert f"is not called for another {PROBE_AFTER:g} s: {FAILURES} failures in a row, the last: down." in (
        await upstream.refusal()
    )


async def test_after_a_while_one_call_probes_and_the_others_wait_for_it(upstream: Upstream) -> None:
    await upstream.fail(FAILURES)
    set_forward(PROBE_AFTER)
    client = Playing("answered", go=asyncio.Event())

    calls = upstream.start(client, 3)
    await asyncio.sleep(0.05)
    assert client.calls == 1
    client.go.set()  # type: ignore[union-attr]

    assert await asyncio.gather(*calls) == ["answered"] * 3
    assert await upstream.refusal() == ""


async def test_a_probe_that_fails_fails_those_that_wait_for_it(upstream: Upstream) -> None:
    await upstream.fail(FAILURES)
    set_forward(PROBE_AFTER)
    client = Playing(down, go=asyncio.Event())

    calls = upstream.start(client, 3)
    await asyncio.sleep(0.05)
    client.go.set()  # type: ignore[union-attr]
    outcomes = sorted(map(str, await asyncio.gather(*calls, return_exceptions=True)))

    assert client.calls == 1
    assert [outcome.partition(" after")[0] for outcome in outcomes] == ["Not called", "Not called", "down"]
    assert await upstream.refusal()


async def test_when_a_probe_is_cancelled_one_that_waited_for_it_probes(upstream: Upstream) -> None:
    await upstream.fail(FAILURES)
    set_forward(PROBE_AFTER)
    (probe,) = upstream.start(Playing("never", seconds=60))
    await asyncio.sleep(0.05)
    calls = upstream.start(Playing("fine"), 3)
    await asyncio.sleep(0.05)
    probe.cancel()

    assert await asyncio.gather(*calls) == ["fine"] * 3
    assert await upstream.refusal() == ""


async def test_a_call_that_began_before_the_outage_does_not_end_the_probe(upstream: Upstream) -> None:
    early, probe = Playing("late", go=asyncio.Event()), Playing("fine", go=asyncio.Event())
    begun = upstream.start(early)
    await asyncio.sleep(0.05)
    await upstream.fail(FAILURES)
    set_forward(PROBE_AFTER)

    calls = upstream.start(probe, 2)
    await asyncio.sleep(0.05)
    early.go.set()  # type: ignore[union-attr]
    await asyncio.gather(*begun)
    await asyncio.sleep(0.05)
    assert probe.calls == 1
    probe.go.set()  # type: ignore[union-attr]
    assert await asyncio.gather(*calls) == ["fine", "fine"]


@pytest.mark.parametrize(
    "error", [ProviderError("bad request", status=400), RateLimited("slow", again="always", status=429), BadReply("?")]
)
async def test_an_answer_of_any_kind_shows_that_the_provider_is_up(upstream: Upstream, error: ProviderError) -> None:
    await upstream.fail(FAILURES - 1)
    await upstream.fail(1, error)
    await upstream.fail(1)

    assert await upstream.refusal() == ""


async def test_one_outage_that_hits_many_calls_at_once_counts_once(upstream: Upstream) -> None:
    client = Playing(down, go=asyncio.Event())
    calls = upstream.start(client, 20)
    await asyncio.sleep(0.05)
    client.go.set()  # type: ignore[union-attr]
    await asyncio.gather(*calls, return_exceptions=True)

    assert client.calls == 20
    assert await upstream.refusal() == ""


async def test_when_half_of_a_minutes_calls_fail_nobody_calls_for_a_while(upstream: Upstream) -> None:
    for _ in range(ENOUGH_CALLS // 2):
        assert await upstream.call(Playing("fine")) == "fine"
        await upstream.fail(1)

    assert "10 failures in 20 calls of a minute, the last: down" in await upstream.refusal()

    set_forward(PROBE_AFTER)
    assert await upstream.call(Playing("fine")) == "fine"
    await upstream.fail(1)
    assert await upstream.refusal() == ""


async def test_failures_of_the_minute_before_are_forgotten(upstream: Upstream) -> None:
    for _ in range(3):
        for _ in range(ENOUGH_CALLS // 2 - 1):
            await upstream.call(Playing("fine"))
            await upstream.fail(1)
        set_forward(MINUTE)

    assert await upstream.refusal() == ""


async def test_few_failures_among_many_calls_break_nothing(upstream: Upstream) -> None:
    for _ in range(ENOUGH_CALLS):
        await upstream.call(Playing("fine"))
        await upstream.call(Playing("fine"))
        await upstream.fail(1)

    assert await upstream.refusal() == ""
