"""What a model answered to a request is its answer to the same request again, and to no other."""

import asyncio
from dataclasses import replace
from time import perf_counter

import pytest

from ai_battle.benchmark.clients import Cache, CachedClient, CallTimes, ConcurrencyLimit, LimitedClient, key_of
from ai_battle.core.client import ModelClient
from ai_battle.core.events import Emit, EventLog, ModelReplied, TextDelta, ToolCallDelta, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse, ToolSpec, Usage
from ai_battle.core.messages import Message, Text, Thinking, ToolCall, user
from ai_battle.wire.bodies import dumps, loads

REQUEST = ModelRequest((user("What time is it?"),), "Be brief.", (ToolSpec("clock"),), options={"seed": 1})
SAID = ModelResponse(
    Message(
        "assistant", (Thinking("Hm.", "signed"), Text("Let me look: 時."), ToolCall("clock", {"in": "Paris"}, "c1"))
    ),
    stop="tool_calls",
    usage=Usage(12, 7, 3, 0, 2, 0.25),
    model="clever-1",
    extra={"openai": {"fingerprint": "fp_1"}},
)


class Clever(ModelClient):
    """Says `SAID`, and counts how often."""

    def __init__(self) -> None:
        self.count = 0

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        self.count += 1
        return SAID


class Slow(Clever):
    seconds = 0.1

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        await asyncio.sleep(self.seconds)
        return await super().complete(request, emit)


def with_cache(client: ModelClient, cache: Cache, times: CallTimes | None = None) -> CachedClient:
    noted = times or CallTimes()
    return CachedClient(LimitedClient(client, ConcurrencyLimit(1), noted), cache, "clever", noted)


class MemoryStore:
    def __init__(self) -> None:
        self.kept: dict[bytes, str] = {}

    def answer(self, key: bytes) -> str | None:
        return self.kept.get(key)

    def keep_answer(self, key: bytes, response: str) -> None:
        self.kept[key] = response


async def test_an_answer_that_was_kept_is_the_whole_answer() -> None:
    """With its signature, its calls and what only its API knows; listeners hear text, calls and usage."""
    clever, cache, heard = Clever(), Cache(MemoryStore()), EventLog()
    first = await with_cache(clever, cache).complete(REQUEST)
    again = with_cache(clever, cache)

    assert await again.complete(REQUEST, heard) == first == SAID
    assert clever.count == 1
    assert TextDelta("Let me look: 時.") in heard.events
    assert ToolCallDelta(0, "c1", "clock", '{"in":"Paris"}') in heard.events
    assert [event.usage for event in heard.events if isinstance(event, ModelReplied)] == [SAID.usage]


async def test_answers_from_the_cache_take_the_time_of_the_calls_but_no_longer_for_being_asked_at_once() -> None:
    store, times = MemoryStore(), CallTimes()
    client = with_cache(Clever(), Cache(store), times)
    await client.complete(REQUEST)
    store.kept = {key: dumps({**loads(kept.encode()), "seconds": 100.0}).decode() for key, kept in store.kept.items()}

    await asyncio.gather(*(client.complete(REQUEST) for _ in range(3)))
    await client.complete(REQUEST)

    assert 200 <= times.seconds() < 210


async def test_waiting_for_a_free_place_takes_no_time() -> None:
    times, begun = CallTimes(), perf_counter()
    client = LimitedClient(Slow(), ConcurrencyLimit(1), times)

    await asyncio.gather(*(client.complete(REQUEST) for _ in range(3)))

    assert Slow.seconds <= times.seconds() <= perf_counter() - begun - 2 * Slow.seconds


@pytest.mark.parametrize(
    "other",
    [
        replace(REQUEST, messages=(user("What day is it?"),)),
        replace(REQUEST, system="Be long."),
        replace(REQUEST, tools=(ToolSpec("clock", "Tells the time."),)),
        replace(REQUEST, tool_choice="required"),
        replace(REQUEST, output_schema={"type": "object"}),
        replace(REQUEST, options={"seed": 2}),
        replace(REQUEST, extra={"openai": {"service_tier": "flex"}}),
    ],
)
def test_whatever_has_an_influence_on_the_answer_makes_another_request(other: ModelRequest) -> None:
    assert key_of("clever", other) != key_of("clever", REQUEST) == key_of("clever", replace(REQUEST))
    assert key_of("other", REQUEST) != key_of("clever", REQUEST)
