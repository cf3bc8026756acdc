"""The official ollama client takes the fake for the real thing."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from ollama import AsyncClient, ResponseError

from ai_battle.testing import FakeProviders, ModelCard, call, fault, reply

ASKED: dict[str, Any] = {"model": "gemma3:1b", "messages": [{"role": "user", "content": "Hello?"}]}


@pytest_asyncio.fixture
async def client(fakes: FakeProviders) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(host=fakes.environment["OLLAMA_HOST"], timeout=5) as running:
        yield running


async def test_thinking_text_and_usage(fakes: FakeProviders, client: Any) -> None:
    fakes.ollama.says(reply("Grüße, 世界!", thinking="Let me see"))
    answer = await client.chat(**ASKED)

    assert (answer.message.content, answer.message.thinking) == ("Grüße, 世界!", "Let me see")
    assert (answer.done, answer.done_reason, answer.model) == (True, "stop", "gemma3:1b")
    assert (answer.prompt_eval_count or 0) > 0
    assert (answer.eval_count or 0) > 0


async def test_a_stream_is_lines_of_json_and_the_last_one_counts(fakes: FakeProviders, client: Any) -> None:
    fakes.ollama.says(reply("one two three", thinking="hm hm"))
    chunks = [chunk async for chunk in await client.chat(**ASKED, stream=True)]

    assert "".join(chunk.message.content or "" for chunk in chunks) == "one two three"
    assert "".join(chunk.message.thinking or "" for chunk in chunks) == "hm hm"
    assert [chunk.done for chunk in chunks][-2:] == [False, True]
    assert chunks[-1].eval_count


@pytest.mark.parametrize("streamed", [False, True])
async def test_tool_calls(fakes: FakeProviders, client: Any, streamed: bool) -> None:
    fakes.ollama.says(reply(calls=[call("add", a=1), call("clock")]))
    if streamed:
        messages = [chunk.message async for chunk in await client.chat(**ASKED, stream=True)]
    else:
        messages = [(await client.chat(**ASKED)).message]
    calls = [c.function for message in messages for c in message.tool_calls or ()]
    assert [(c.name, dict(c.arguments)) for c in calls] == [("add", {"a": 1}), ("clock", {})]


async def test_errors_say_what_ollama_says(fakes: FakeProviders, client: Any) -> None:
    fakes.ollama.says(fault("tools_unsupported"), fault("http_503"))
    with pytest.raises(ResponseError, match="gemma3:1b does not support tools") as error:
        await client.chat(**ASKED)
    assert error.value.status_code == 400
    with pytest.raises(ResponseError, match="503"):
        await client.chat(**ASKED)


async def test_an_error_in_mid_stream_is_raised(fakes: FakeProviders, client: Any) -> None:
    fakes.ollama.says(fault("error_event_mid_stream"))
    with pytest.raises(ResponseError, match="server busy"):
        _ = [chunk async for chunk in await client.chat(**ASKED, stream=True)]


async def test_models_are_listed_and_described(fakes: FakeProviders, client: Any) -> None:
    fakes.ollama.models["tiny:1b"] = ModelCard(context_window=2048, capabilities=("completion",))
    assert "tiny:1b" in [model.model for model in (await client.list()).models]
    shown = await client.show("tiny:1b")

    assert shown.capabilities == ["completion"]
    assert (shown.modelinfo or {})["llama.context_length"] == 2048
    assert await client.show("phi4")
    with pytest.raises(ResponseError, match="model 'nobody' not found"):
        await client.show("nobody")
