"""Every fault, on every wire and transport, ends in a defined state: survived, told, or part of the answer."""

import asyncio
import tracemalloc

import pytest

from ai_battle.core.errors import BadReply, ContextTooLong, ProviderError, RateLimited, Refused, Unreachable
from ai_battle.core.events import AttemptFailed, EventLog, TextDelta
from ai_battle.core.exchange import ModelRequest
from ai_battle.providers import openai
from ai_battle.providers._deadlines import Deadlines
from ai_battle.providers._retry import Retrying
from ai_battle.testing import FAULTS, FakeProviders, fault

from .conftest import Way

QUICK = Deadlines(connect=1.0, first_byte=0.3, idle=0.3, total=5.0)

SURVIVED = [
    "http_408", "http_409", "http_425", "http_429", "http_500", "http_502", "http_503", "http_504", "http_529",
    "rate_limited", "rate_limited_past", "rate_limited_nan", "stall_before_headers", "stall_after_headers",
    "stall_mid_stream", "reset_before_headers", "reset_mid_stream", "close_before_headers", "close_mid_stream",
    "end_mid_stream", "ping_for_ever", "error_event_mid_stream", "error_200", "truncated_json", "malformed_json",
    "empty_body", "empty_answer", "empty_choices", "html_200", "html_502",
]  # fmt: skip
TOLD: dict[str, type[ProviderError]] = {
    "http_400": ProviderError,
    "http_401": ProviderError,
    "http_403": ProviderError,
    "http_404": ProviderError,
    "http_422": ProviderError,
    "http_413": ContextTooLong,
    "context_length": ContextTooLong,
    "insufficient_quota": RateLimited,
    "rate_limited_long": RateLimited,
    "tools_unsupported": ProviderError,
    "redirect_other_origin": Unreachable,
    "huge_answer": BadReply,
    "gzip_bomb": BadReply,
}
ANSWERED = ["redirect_same_origin", "invalid_utf8", "length", "duplicate_tool_ids", "missing_tool_ids"]


def retrying(way: Way, deadlines: Deadlines = QUICK) -> Retrying:
    return Retrying(way.client(deadlines=deadlines), f"{way.wire}/{way.model}", total=5.0, pauses=(0.01, 0.05))


async def outcome(client: Retrying, request: ModelRequest) -> str | type[ProviderError]:
    try:
        return (await client.complete(request)).stop
    except ProviderError as error:
        return type(error)


@pytest.mark.parametrize("name", SURVIVED)
async def test_one_passing_fault_costs_no_answer(way: Way, asked: ModelRequest, name: str) -> None:
    way.fake.says(fault(name, seconds=0.1), "The whole answer.")

    response = await retrying(way).complete(asked, log := EventLog())

    assert response.text == log.text == "The whole answer."
    (failed,) = [event for event in log.events if isinstance(event, AttemptFailed)]
    assert way.wire in failed.reason
    before = "".join(e.text for e in log.events[: log.events.index(failed)] if isinstance(e, TextDelta))
    assert failed.partial.startswith(before)
    assert len(way.fake.questions) == 2


@pytest.mark.parametrize("name", TOLD)
async def test_what_does_not_pass_is_told_after_one_attempt(way: Way, asked: ModelRequest, name: str) -> None:
    way.fake.says(fault(name))

    with pytest.raises(TOLD[name]) as told:
        await retrying(way).complete(asked, log := EventLog())

    assert way.wire in str(told.value)
    assert "test-key" not in f"{told.value!r} {told.value.raw}"
    assert len(way.fake.questions) == 1
    assert sum(isinstance(event, AttemptFailed) for event in log.events) == 1


@pytest.mark.parametrize("name", ANSWERED)
async def test_what_spoils_nothing_is_an_answer(way: Way, asked: ModelRequest, name: str) -> None:
    way.fake.says(fault(name))

    response = await retrying(way).complete(asked, log := EventLog())

    assert response.message.parts
    assert log.text == response.text
    ids = [call.id for call in response.tool_calls]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", ["refusal", "content_filter"])
async def test_a_refusal_is_marked_as_one_and_not_asked_again(way: Way, asked: ModelRequest, name: str) -> None:
    if way.wire not in FAULTS[name].wires:
        pytest.skip(f"{way.wire} knows no {name}")
    way.fake.says(fault(name))

    assert await outcome(retrying(way), asked) in ("refusal", "content_filter", Refused)
    assert len(way.fake.questions) == 1


async def test_an_answer_that_drips_is_ended_by_the_total_clock(way: Way, asked: ModelRequest) -> None:
    way.fake.says(fault("slow_drip", seconds=0.05))

    with pytest.raises(Unreachable, match="total clock"):
        await Retrying(way.client(), way.wire, total=0.5).complete(asked)


@pytest.mark.parametrize("transport", ["aiohttp", "sdk"])
async def test_a_gzip_bomb_does_not_fill_the_memory(fakes: FakeProviders, asked: ModelRequest, transport: str) -> None:
    fakes.openai.always(fault("gzip_bomb"))
    client = openai.create("gpt-4o", transport=transport)
    with pytest.raises(BadReply):
        await client.complete(asked)

    tracemalloc.start()
    with pytest.raises(BadReply, match="16 MiB"):
        await client.complete(asked)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 64 * 2**20


async def test_another_origin_gets_neither_key_nor_prompt(way: Way, asked: ModelRequest) -> None:
    way.fake.says(fault("redirect_other_origin"))

    with pytest.raises(Unreachable, match="nothing was sent there"):
        await way.client().complete(asked)


LASTING = [(wire, name) for name, f in FAULTS.items() for wire in f.wires if not name.startswith("http_")]


@pytest.mark.parametrize(("wire", "name"), LASTING)
async def test_a_lasting_fault_ends_in_time(fakes: FakeProviders, asked: ModelRequest, wire: str, name: str) -> None:
    way = Way(wire, "aiohttp", getattr(fakes, wire))
    way.fake.always(fault(name, seconds=0.1))
    client = Retrying(way.client(deadlines=Deadlines(1.0, 0.05, 0.05, 1.0)), wire, total=1.5, pauses=(0.001, 0.005))

    async with asyncio.timeout(2):
        await outcome(client, asked)
    assert len(way.fake.questions) <= 4
