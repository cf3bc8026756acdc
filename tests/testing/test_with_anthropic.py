"""The official anthropic client takes the fake for the real thing."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from anthropic import APIStatusError, AsyncAnthropic

from ai_battle.core.exchange import Usage
from ai_battle.testing import FakeProviders, call, fault, reply

ASKED: dict[str, Any] = {"model": "claude", "max_tokens": 100, "messages": [{"role": "user", "content": "Hello?"}]}


@pytest_asyncio.fixture
async def client(fakes: FakeProviders) -> AsyncIterator[AsyncAnthropic]:
    base_url, key = fakes.environment["ANTHROPIC_BASE_URL"], fakes.environment["ANTHROPIC_API_KEY"]
    async with AsyncAnthropic(base_url=base_url, api_key=key, max_retries=0, timeout=5) as running:
        yield running


async def test_thinking_text_and_usage(fakes: FakeProviders, client: Any) -> None:
    """Tokens of the cache are counted apart from the others."""
    usage = Usage(12, 7, cache_read_tokens=4, cache_write_tokens=3)
    fakes.anthropic.says(reply("Grüße, 世界!", thinking="Let me see", usage=usage))
    answer = await client.messages.create(**ASKED)

    assert [block.type for block in answer.content] == ["thinking", "text"]
    assert answer.content[0].thinking == "Let me see"
    assert answer.content[1].text == "Grüße, 世界!"
    assert (answer.stop_reason, answer.stop_sequence) == ("end_turn", None)
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (5, 7)
    assert (answer.usage.cache_read_input_tokens, answer.usage.cache_creation_input_tokens) == (4, 3)
    assert fakes.anthropic.requests[-1].headers["Authorization"] == "Bearer test-key"


async def test_a_stream_adds_up_to_the_message(fakes: FakeProviders, client: Any) -> None:
    fakes.anthropic.says(reply("one two three", thinking="hm hm", calls=[call("add", a=1, b=[2]), call("clock")]))
    async with client.messages.stream(**ASKED) as stream:
        kinds = {event.type async for event in stream}
        message = await stream.get_final_message()

    assert {"message_start", "text", "thinking", "signature", "input_json", "message_stop"} <= kinds
    thinking, text, add, clock = message.content
    assert (thinking.thinking, text.text) == ("hm hm", "one two three")
    assert (add.name, add.input, clock.input) == ("add", {"a": 1, "b": [2]}, {})
    assert add.id != clock.id
    assert message.stop_reason == "tool_use"
    assert message.usage.output_tokens > 1


async def test_tool_calls_without_a_stream(fakes: FakeProviders, client: Any) -> None:
    fakes.anthropic.says(call("add", a=1))
    message = await client.messages.create(**ASKED)

    assert [(block.type, block.input) for block in message.content] == [("tool_use", {"a": 1})]


async def test_errors_bear_their_status_and_type(fakes: FakeProviders, client: Any) -> None:
    faults = {"http_401": "authentication_error", "http_529": "overloaded_error", "rate_limited": "rate_limit_error"}
    for name, kind in faults.items():
        fakes.anthropic.says(fault(name))
        with pytest.raises(APIStatusError) as error:
            await client.messages.create(**ASKED)
        assert error.value.type == kind


async def test_an_error_in_mid_stream_is_raised(fakes: FakeProviders, client: Any) -> None:
    fakes.anthropic.says(fault("error_event_mid_stream"))
    async with client.messages.stream(**ASKED) as stream:
        with pytest.raises(APIStatusError, match="Overloaded"):
            await stream.get_final_message()


async def test_what_the_version_refuses_is_refused(fakes: FakeProviders, client: Any) -> None:
    """The fake knows what clients get wrong: sampling parameters in the newer version, a missing `max_tokens`."""
    with pytest.raises(APIStatusError, match="temperature: Extra inputs are not permitted"):
        await client.messages.create(**ASKED, extra_body={"temperature": 0.5})
    older = {"anthropic-version": "2023-06-01"}
    assert await client.messages.create(**ASKED, extra_body={"temperature": 0.5}, extra_headers=older)
    with pytest.raises(APIStatusError, match="max_tokens: Field required"):
        await client.messages.create(**{**ASKED, "max_tokens": None})


async def test_models_and_token_counts(fakes: FakeProviders, client: Any) -> None:
    models = [model async for model in client.models.list()]
    assert "claude-haiku-4-5" in [model.id for model in models]
    assert (await client.models.retrieve("claude-haiku-4-5")).max_input_tokens == models[0].max_input_tokens
    short = {"model": "claude", "messages": ASKED["messages"]}
    count = (await client.messages.count_tokens(**short)).input_tokens
    more = (await client.messages.count_tokens(**short, system="word " * 800)).input_tokens
    assert 500 <= more - count <= 2000


async def test_refusal_and_length(fakes: FakeProviders, client: Any) -> None:
    fakes.anthropic.says(fault("refusal"), fault("length"))
    assert [(await client.messages.create(**ASKED)).stop_reason for _ in range(2)] == ["refusal", "max_tokens"]
