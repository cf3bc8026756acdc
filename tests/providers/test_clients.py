"""Each provider over each transport: what is asked, what is answered, and what is heard on the way."""

import asyncio
import tracemalloc

import pytest
from aiohttp import web

from ai_battle import create_client
from ai_battle.core.errors import BadReply, ProviderError, Unreachable
from ai_battle.core.events import EventLog, ThinkingDelta
from ai_battle.core.exchange import ModelRequest, ToolSpec
from ai_battle.core.messages import Image, Message, Text, assistant, user
from ai_battle.providers import openai
from ai_battle.providers._calls import ProviderCaller, RetryPolicy
from ai_battle.testing import FakeProviders, call, fault, reply

from .conftest import Way

PIXEL = bytes.fromhex("89504e470d0a1a0a")


async def test_an_answer_is_streamed_and_comes_with_its_usage(way: Way, model_request: ModelRequest) -> None:
    way.fake.says("Forty-two, of course.")

    response = await way.client().complete(model_request, log := EventLog())

    assert response.text == log.text == "Forty-two, of course."
    assert len(log.events) > 1
    assert (response.stop, response.message.role) == ("end", "assistant")
    assert response.usage.input_tokens > 0
    assert response.usage.output_tokens > 0


async def test_the_system_prompt_images_and_the_conversation_are_sent(way: Way) -> None:
    picture = Message("user", (Text("Look."), Image("image/png", PIXEL)))
    request = ModelRequest((user("first words"), assistant("second words"), picture), "persona of mine")

    await way.client().complete(request)

    sent = way.fake.questions[-1].raw.decode()
    assert all(words in sent for words in ("first words", "second words", "persona of mine", "iVBORw0KGgo="))


async def test_a_tool_call_comes_whole(way: Way) -> None:
    way.fake.says(call("add", a=1, b=2))

    response = await way.client().complete(ModelRequest((user("Add."),), tools=(ToolSpec("add"),)))

    assert [(c.name, c.arguments) for c in response.tool_calls] == [("add", {"a": 1, "b": 2})]
    assert response.stop == "tool_calls"


async def test_reasoning_is_heard_apart_from_the_answer(way: Way, model_request: ModelRequest) -> None:
    way.fake.says(reply("Yes.", thinking="Hm, let me see."))

    response = await way.client().complete(model_request, log := EventLog())

    assert response.message.thinking == "Hm, let me see."
    assert "".join(e.text for e in log.events if isinstance(e, ThinkingDelta)) == "Hm, let me see."
    assert log.text == "Yes."


async def test_an_answer_in_one_piece_is_understood_too(way: Way, model_request: ModelRequest) -> None:
    """Some servers do not stream, although they are asked to."""
    way.fake.streams = False
    way.fake.says(reply("Forty-two.", thinking="Hm."), call("add", a=1, b=2))
    client = way.client()

    said = await client.complete(model_request, log := EventLog())
    called = await client.complete(model_request)

    assert (said.text, log.text, said.message.thinking) == ("Forty-two.", "Forty-two.", "Hm.")
    assert said.usage.output_tokens > 0
    assert [(c.name, c.arguments) for c in called.tool_calls] == [("add", {"a": 1, "b": 2})]


async def test_a_request_over_a_megabyte_is_sent(way: Way) -> None:
    picture = Message("user", (Text("Look."), Image("image/png", PIXEL * 200_000)))

    assert (await way.client().complete(ModelRequest((picture,)))).text


async def test_cancelling_closes_the_connection_at_once(way: Way, model_request: ModelRequest) -> None:
    way.fake.says(fault("stall_mid_stream"))
    client = way.client()
    heard = asyncio.Event()

    async def emit(event: object) -> None:
        heard.set()

    task = asyncio.create_task(client.complete(model_request, emit))
    await heard.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    async with asyncio.timeout(30):
        while way.fake.open_requests:  # noqa: ASYNC110 - the fake tells nobody when it has noticed
            await asyncio.sleep(0.01)
    assert way.fake.questions[-1].disconnected


async def test_a_listener_that_fails_is_not_taken_for_a_broken_connection(
    way: Way, model_request: ModelRequest
) -> None:
    async def emit(event: object) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await way.client().complete(model_request, emit)


async def test_an_answer_that_drips_is_ended_by_the_total_clock(way: Way, model_request: ModelRequest) -> None:
    way.fake.says(fault("slow_drip", seconds=0.05))

    with pytest.raises(Unreachable, match="total clock"):
        await ProviderCaller(way.client(), way.wire, retry=RetryPolicy(seconds=0.2)).complete(model_request)


@pytest.mark.parametrize("transport", ["aiohttp", "sdk"])
async def test_a_gzip_bomb_does_not_fill_the_memory(
    fakes: FakeProviders, model_request: ModelRequest, transport: str
) -> None:
    fakes.openai.always(fault("gzip_bomb"))
    client = openai.create("gpt-4o", transport=transport)
    with pytest.raises(BadReply):
        await client.complete(model_request)

    tracemalloc.start()
    with pytest.raises(BadReply, match="16 MiB"):
        await client.complete(model_request)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 64 * 2**20


async def test_an_error_in_a_compression_that_an_sdk_does_not_know_is_not_shown_as_text() -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        return web.Response(status=401, body=b"\x28\xb5\x2f\xfd\x04garbage", headers={"content-encoding": "zstd"})

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    client = create_client("openai/m", base_url=url, api_key="a-key", transport="sdk")
    with pytest.raises(ProviderError, match="HTTP 401: The answer is compressed with zstd") as raised:
        await client.complete(ModelRequest((user("Hello?"),)))
    await client.aclose()
    await runner.cleanup()

    assert "garbage" not in str(raised.value)
