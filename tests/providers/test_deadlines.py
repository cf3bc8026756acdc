"""Each clock ends the call that it watches, names itself, and costs nothing while all is well."""

import asyncio
from typing import Any

import pytest

from ai_battle.core.client import ModelClient
from ai_battle.core.errors import Unreachable
from ai_battle.core.events import Emit, TextDelta, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse
from ai_battle.core.messages import assistant
from ai_battle.providers import openai
from ai_battle.providers._calls import Deadlines, ProviderCaller, RetryPolicy, Stalled
from ai_battle.testing import FakeProviders, fault, reply
from tests.clocks import set_forward
from tests.server.serving import until

SLOW = reply("one two three four five six", delay=0.3, pace=0.1)
ENDLESS = fault("stall_mid_stream")


def client(**seconds: Any) -> ModelClient:
    return openai.create("gpt-4o", deadlines=Deadlines(**seconds))


@pytest.fixture(autouse=True)
async def warm(fakes: FakeProviders, model_request: ModelRequest) -> None:
    """The connection is there, so that a clock measures the answer alone."""
    await client().complete(model_request)


async def test_what_is_in_time_is_left_alone(fakes: FakeProviders, model_request: ModelRequest) -> None:
    fakes.openai.says(SLOW)
    assert (await client(first_byte=30, idle=10, total=60).complete(model_request)).text == SLOW.text


async def test_nothing_but_the_first_byte_clock_counts_before_the_first_content(
    fakes: FakeProviders, model_request: ModelRequest
) -> None:
    fakes.openai.says(fault("stall_after_headers"), reply("Fine.", delay=0.3))
    with pytest.raises(Stalled, match=r"openai/gpt-4o at .*: nothing came within 0.05 s \(the first-byte clock\)"):
        await client(first_byte=0.05, idle=10, total=10).complete(model_request)
    assert (await client(idle=0.05, total=60).complete(model_request)).text == "Fine."


async def test_silence_amid_the_answer_ends_it(fakes: FakeProviders, model_request: ModelRequest) -> None:
    fakes.openai.says(ENDLESS)
    with pytest.raises(Stalled, match=r"silent for 0.2 s amid the answer \(the idle clock\)") as told:
        await client(first_byte=30, idle=0.2, total=60).complete(model_request)
    assert told.value.again == "always"


async def test_the_total_clock_ends_a_drip_and_is_not_asked_again(
    fakes: FakeProviders, model_request: ModelRequest
) -> None:
    fakes.openai.says(fault("slow_drip", seconds=0.01))
    with pytest.raises(Unreachable, match=r"no complete answer within 0.5 s \(the total clock\)") as told:
        await client(first_byte=60, idle=0.25, total=0.5).complete(model_request)
    assert told.value.again == "never"


async def test_there_is_time_left_to_ask_again_where_only_the_total_is_given(
    fakes: FakeProviders, model_request: ModelRequest
) -> None:
    fakes.openai.says(fault("stall_after_headers"), ENDLESS)
    with pytest.raises(Stalled, match=r"nothing came within 0\.15 s"):
        await client(total=0.2).complete(model_request)
    with pytest.raises(Stalled, match=r"silent for 0\.5 s amid the answer"):
        await client(total=1.0).complete(model_request)


async def test_the_clock_of_all_attempts_holds_inside(fakes: FakeProviders, model_request: ModelRequest) -> None:
    fakes.openai.says(fault("slow_drip", seconds=0.01), "Fine.")
    caller = ProviderCaller(client(idle=600, total=1200), "openai/gpt-4o", retry=RetryPolicy(seconds=200))
    calling = asyncio.create_task(caller.complete(model_request))
    await until(lambda: fakes.openai.open_requests == 1)
    set_forward(201)

    with pytest.raises(Unreachable, match=r"openai/gpt-4o.*: no complete answer within 200 s \(the total clock\)"):
        await calling
    assert (await client(total=60).complete(model_request)).text == "Fine."


async def test_cancelling_is_not_taken_for_a_clock(fakes: FakeProviders, model_request: ModelRequest) -> None:
    fakes.openai.says(ENDLESS)
    task = asyncio.create_task(client().complete(model_request))
    await asyncio.sleep(0.05)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


class Hurried(ModelClient):
    """Has a deadline of its own."""

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.sleep(60)
        except TimeoutError:
            await emit(TextDelta("In time."))
        return ModelResponse(assistant("In time."))


async def test_another_timeout_inside_is_not_taken_for_a_clock(model_request: ModelRequest) -> None:
    assert (await ProviderCaller(Hurried(), "hurried/model").complete(model_request)).text == "In time."


async def test_calls_and_pieces_that_come_in_time_leave_no_timers_behind(
    fakes: FakeProviders, model_request: ModelRequest
) -> None:
    fakes.openai.always(reply("word " * 400))
    caller = ProviderCaller(client(), "openai/gpt-4o")
    await caller.complete(model_request)
    before = timers()
    for _ in range(100):
        await caller.complete(model_request)

    assert timers() <= before + 150  # the event loop forgets cancelled ones by the hundred


def timers() -> int:
    """Those that this event loop still holds, of which it tells nothing in public."""
    return len(asyncio.get_running_loop()._scheduled)  # type: ignore[attr-defined]
