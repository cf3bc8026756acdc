"""The official openai client takes the fake for the real thing."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from openai import APIError, APIStatusError, AsyncOpenAI, RateLimitError

from ai_battle.core.exchange import Usage
from ai_battle.testing import FakeProviders, call, fault, reply

ASKED = [{"role": "user", "content": "Hello?"}]


@pytest_asyncio.fixture
async def client(fakes: FakeProviders) -> AsyncIterator[AsyncOpenAI]:
    base_url, key = fakes.environment["OPENAI_BASE_URL"], fakes.environment["OPENAI_API_KEY"]
    async with AsyncOpenAI(base_url=base_url, api_key=key, max_retries=0, timeout=5) as running:
        yield running


async def listen(stream: AsyncIterator[Any], heard: list[str]) -> None:
    async for chunk in stream:
        heard += [choice.delta.content or "" for choice in chunk.choices]


async def test_a_text_and_its_usage(fakes: FakeProviders, client: Any) -> None:
    fakes.openai.says(reply("Grüße, 世界!", usage=Usage(12, 7, cache_read_tokens=4, reasoning_tokens=2)))
    answer = await client.chat.completions.create(model="gpt-4o", messages=ASKED)

    assert answer.choices[0].message.content == "Grüße, 世界!"
    assert (answer.choices[0].finish_reason, answer.model) == ("stop", "gpt-4o")
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (12, 7, 19)
    assert answer.usage.prompt_tokens_details.cached_tokens == 4
    assert answer.usage.completion_tokens_details.reasoning_tokens == 2
    assert fakes.openai.requests[-1].headers["Authorization"] == "Bearer test-key"
    assert fakes.openai.requests[-1].body["messages"] == ASKED


async def test_a_stream_brings_text_in_pieces_and_usage_when_asked(fakes: FakeProviders, client: Any) -> None:
    fakes.openai.says(reply("one two three", thinking="hm, hm", chunks=5))
    stream = client.chat.completions.stream(model="m", messages=ASKED, stream_options={"include_usage": True})
    async with stream as events:
        pieces = [event.delta async for event in events if event.type == "content.delta" and event.delta]
        final = await events.get_final_completion()

    assert ("".join(pieces), len(pieces)) == ("one two three", 5)
    assert final.choices[0].message.content == "one two three"
    assert final.choices[0].finish_reason == "stop"
    assert final.usage is not None
    assert final.usage.completion_tokens > 0


async def test_a_stream_without_the_option_has_no_usage(fakes: FakeProviders, client: Any) -> None:
    stream = await client.chat.completions.create(model="m", messages=ASKED, stream=True)
    assert [chunk.usage async for chunk in stream if chunk.usage or not chunk.choices] == []


@pytest.mark.parametrize("streamed", [False, True])
async def test_tool_calls(fakes: FakeProviders, client: Any, streamed: bool) -> None:
    fakes.openai.says(reply(calls=[call("add", a=1, text='"quoted"'), call("clock")]))
    if streamed:
        async with client.chat.completions.stream(model="m", messages=ASKED) as events:
            choice = (await events.get_final_completion()).choices[0]
    else:
        choice = (await client.chat.completions.create(model="m", messages=ASKED)).choices[0]

    calls = choice.message.tool_calls
    assert [(c.function.name, c.function.arguments) for c in calls] == [
        ("add", '{"a": 1, "text": "\\"quoted\\""}'),
        ("clock", "{}"),
    ]
    assert len({c.id for c in calls}) == 2
    assert choice.finish_reason == "tool_calls"


async def test_errors_bear_status_code_and_waiting_time(fakes: FakeProviders, client: Any) -> None:
    fakes.openai.says(fault("rate_limited", seconds=7), fault("context_length"), fault("insufficient_quota"))
    with pytest.raises(RateLimitError) as limited:
        await client.chat.completions.create(model="m", messages=ASKED)
    assert limited.value.response.headers["retry-after"] == "7"
    for status, code in ((400, "context_length_exceeded"), (429, "insufficient_quota")):
        with pytest.raises(APIStatusError) as error:
            await client.chat.completions.create(model="m", messages=ASKED)
        assert (error.value.status_code, error.value.code) == (status, code)


async def test_an_error_in_mid_stream_is_raised_after_the_text(fakes: FakeProviders, client: Any) -> None:
    fakes.openai.says(fault("error_event_mid_stream"))
    stream = await client.chat.completions.create(model="m", messages=ASKED, stream=True)
    heard: list[str] = []
    with pytest.raises(APIError, match="overloaded"):
        await listen(stream, heard)
    assert "".join(heard).startswith("An answer")


async def test_models_are_listed(fakes: FakeProviders, client: Any) -> None:
    assert "gpt-4o" in [model.id async for model in client.models.list()]
    assert (await client.models.retrieve("gpt-4o")).id == "gpt-4o"


async def test_a_refusal_and_a_filter(fakes: FakeProviders, client: Any) -> None:
    fakes.openai.says(fault("refusal"), fault("content_filter"), fault("length"))
    answers = [await client.chat.completions.create(model="m", messages=ASKED) for _ in range(3)]

    assert answers[0].choices[0].message.refusal == "I can't help with that."
    assert [answer.choices[0].finish_reason for answer in answers] == ["stop", "content_filter", "length"]
