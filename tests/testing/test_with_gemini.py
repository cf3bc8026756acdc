"""The official google-genai client takes the fake for the real thing."""

import warnings
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from ai_battle.core.exchange import Usage
from ai_battle.testing import FakeProviders, call, fault, reply

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from google import genai
    from google.genai import errors, types

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")


@pytest_asyncio.fixture
async def client(fakes: FakeProviders) -> AsyncIterator[genai.client.AsyncClient]:
    options = types.HttpOptions(base_url=fakes.environment["GOOGLE_GEMINI_BASE_URL"], timeout=5000)
    running = genai.Client(api_key=fakes.environment["GEMINI_API_KEY"], http_options=options)
    async with running.aio as client:
        yield client
    running.close()


async def test_thinking_text_and_usage(fakes: FakeProviders, client: Any) -> None:
    """Thoughts are counted apart from the answer."""
    usage = Usage(12, 7, cache_read_tokens=4, reasoning_tokens=2)
    fakes.gemini.says(reply("Grüße, 世界!", thinking="Let me see", usage=usage))
    answer = await client.models.generate_content(model="gemini-2.5-flash", contents="Hello?")

    assert answer.text == "Grüße, 世界!"
    parts = answer.candidates[0].content.parts
    assert (parts[0].text, parts[0].thought) == ("Let me see", True)
    counted = answer.usage_metadata
    assert counted is not None
    assert (counted.prompt_token_count, counted.candidates_token_count, counted.thoughts_token_count) == (12, 5, 2)
    assert (counted.total_token_count, counted.cached_content_token_count) == (19, 4)
    assert fakes.gemini.requests[-1].headers["x-goog-api-key"] == "test-key"


async def test_a_stream_adds_up_and_ends_with_a_reason(fakes: FakeProviders, client: Any) -> None:
    fakes.gemini.says("one two three")
    stream = await client.models.generate_content_stream(model="gemini-2.5-flash", contents="Hello?")
    chunks = [chunk async for chunk in stream]

    assert "".join(chunk.text or "" for chunk in chunks) == "one two three"
    reasons = [chunk.candidates[0].finish_reason for chunk in chunks if chunk.candidates]
    assert reasons[-2:] == [None, types.FinishReason.STOP]


@pytest.mark.parametrize("streamed", [False, True])
async def test_tool_calls(fakes: FakeProviders, client: Any, streamed: bool) -> None:
    fakes.gemini.says(reply(calls=[call("add", a=1), call("clock")]))
    if streamed:
        stream = await client.models.generate_content_stream(model="m", contents="Hello?")
        calls = [c for chunk in [chunk async for chunk in stream] for c in chunk.function_calls or ()]
    else:
        calls = (await client.models.generate_content(model="m", contents="Hello?")).function_calls or []
    assert [(c.name, c.args) for c in calls] == [("add", {"a": 1}), ("clock", {})]


async def test_errors_bear_status_and_words(fakes: FakeProviders, client: Any) -> None:
    fakes.gemini.says(fault("context_length"), fault("http_503"))
    with pytest.raises(errors.ClientError, match="exceeds the maximum number of tokens") as error:
        await client.models.generate_content(model="m", contents="Hello?")
    assert error.value.code == 400
    with pytest.raises(errors.ServerError, match="UNAVAILABLE"):
        await client.models.generate_content(model="m", contents="Hello?")


async def test_models_and_token_counts(fakes: FakeProviders, client: Any) -> None:
    names = [model.name async for model in await client.models.list()]
    assert "models/gemini-2.5-pro" in names
    assert (await client.models.get(model="gemini-2.5-pro")).input_token_limit
    assert (await client.models.count_tokens(model="gemini-2.5-pro", contents="Hello?")).total_tokens


async def test_refusal_filter_and_length(fakes: FakeProviders, client: Any) -> None:
    fakes.gemini.says(fault("refusal"), fault("content_filter"), fault("length"))
    blocked, filtered, cut = [await client.models.generate_content(model="m", contents="Hello?") for _ in range(3)]

    assert blocked.prompt_feedback is not None
    assert blocked.prompt_feedback.block_reason == types.BlockedReason.PROHIBITED_CONTENT
    reasons = [answer.candidates[0].finish_reason for answer in (filtered, cut) if answer.candidates]
    assert reasons == [types.FinishReason.SAFETY, types.FinishReason.MAX_TOKENS]
