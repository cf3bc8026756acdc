"""Points C: streams of the Messages API, held against the grammar of their events, over each API upstream."""

import asyncio
from typing import Any

import pytest

from ai_battle.core.exchange import Usage
from ai_battle.testing import call, fault, reply

from .conftest import Stage
from .oddities import FOREVER, Odd, chunk, finish_chunk, fragment, usage_chunk
from .speaking import Message, message_of
from .test_messages_answers import HELLO, TOOL

WITH_TOOL = {**HELLO, "tools": [TOOL]}


async def stream(stage: Stage, *says: Any, **body: Any) -> Message:
    stage.says(*says)
    return message_of(await stage.client.stream("messages", {**HELLO, **body}))


async def odd_stream(odd: Odd, *said: Any) -> Message:
    odd.said = [{"role": "assistant", "content": ""}, *said, usage_chunk(11, 5)]
    return message_of(await odd.client.stream("messages", WITH_TOOL))


async def test_c_text(stage: Stage) -> None:
    message = await stream(stage, "Good morning, all of you.")

    assert (message.kinds, message.stop_reason, message.text) == (["text"], "end_turn", "Good morning, all of you.")


async def test_c_length(stage: Stage) -> None:
    message = await stream(stage, reply("It is about", stop="length"))

    assert (message.kinds, message.stop_reason, message.text) == (["text"], "max_tokens", "It is about")


async def test_c_empty(odd: Odd) -> None:
    message = await odd_stream(odd, finish_chunk("stop"))

    assert (message.kinds, message.stop_reason) == ([], "end_turn")


async def test_c_empty_of_each(stage: Stage) -> None:
    message = await stream(stage, fault("empty_answer"))

    assert (message.kinds, message.stop_reason) == ([], "end_turn")


async def test_c_unicode(stage: Stage) -> None:
    text = "Grüße, 世界 👋🏽 \u2028 \x85 \u2029 ok"
    message = await stream(stage, text)

    assert (message.kinds, message.text) == (["text"], text)


async def test_c_tool(stage: Stage) -> None:
    message = await stream(stage, call("add", a=1, b=[2, {"c": "ü"}]), tools=[TOOL])

    assert (message.kinds, message.stop_reason) == (["tool_use"], "tool_use")
    assert message.calls == [("add", {"a": 1, "b": [2, {"c": "ü"}]})]


async def test_c_text_tool(stage: Stage) -> None:
    message = await stream(stage, reply("Let me add.", calls=[call("add", a=1)]), tools=[TOOL])

    assert (message.kinds, message.stop_reason) == (["text", "tool_use"], "tool_use")
    assert (message.text, message.calls) == ("Let me add.", [("add", {"a": 1})])


async def test_c_tool2(stage: Stage) -> None:
    message = await stream(stage, reply(calls=[call("add", a=1), call("sub", a=2)]), tools=[TOOL])

    assert (message.kinds, message.stop_reason) == (["tool_use", "tool_use"], "tool_use")
    assert message.calls == [("add", {"a": 1}), ("sub", {"a": 2})]
    assert len({block["id"] for block in message.content}) == 2


async def test_c_tool2mix(odd: Odd) -> None:
    """Fragments of two calls in turn."""
    message = await odd_stream(
        odd,
        fragment(0, id="c1", name="add"),
        fragment(1, id="c2", name="sub"),
        fragment(0, '{"a"'),
        fragment(1, '{"b"'),
        fragment(0, ": 1}"),
        fragment(1, ": 2}"),
        finish_chunk("tool_calls"),
    )

    assert (message.kinds, message.stop_reason) == (["tool_use", "tool_use"], "tool_use")
    assert message.calls == [("add", {"a": 1}), ("sub", {"b": 2})]


async def test_c_tool_idx0(odd: Odd) -> None:
    """Each call comes whole, under index 0, and the end is an ordinary one."""
    message = await odd_stream(
        odd,
        fragment(0, '{"a": 1}', id="c1", name="add"),
        fragment(0, '{"b": 2}', id="c2", name="sub"),
        finish_chunk("stop"),
    )

    assert (message.kinds, message.stop_reason) == (["tool_use", "tool_use"], "tool_use")
    assert message.calls == [("add", {"a": 1}), ("sub", {"b": 2})]


async def test_c_tool_noid(odd: Odd) -> None:
    message = await odd_stream(odd, fragment(0, '{"a": 1}', name="add"), finish_chunk("tool_calls"))

    assert (message.kinds, message.stop_reason, message.calls) == (["tool_use"], "tool_use", [("add", {"a": 1})])


async def test_c_tool_noid_of_each(stage: Stage) -> None:
    message = await stream(stage, fault("missing_tool_ids"), tools=[TOOL])
    ids = [block["id"] for block in message.content if block["type"] == "tool_use"]

    assert len(ids) == len(set(ids)) == 2


async def test_c_tool_noargs(odd: Odd) -> None:
    message = await odd_stream(odd, fragment(0, "", id="c1", name="now"), finish_chunk("tool_calls"))

    assert (message.kinds, message.stop_reason, message.calls) == (["tool_use"], "tool_use", [("now", {})])


async def test_c_tool_rep(odd: Odd) -> None:
    """Id and name come with every fragment."""
    pieces = [fragment(0, piece, id="c1", name="add") for piece in ('{"a"', ": ", "1}")]
    message = await odd_stream(odd, *pieces, finish_chunk("tool_calls"))

    assert (message.kinds, message.stop_reason, message.calls) == (["tool_use"], "tool_use", [("add", {"a": 1})])


async def test_c_tool_text_after(odd: Odd) -> None:
    message = await odd_stream(
        odd, fragment(0, '{"a": 1}', id="c1", name="add"), {"content": "I am adding."}, finish_chunk("tool_calls")
    )

    assert (message.kinds, message.stop_reason) == (["tool_use", "text"], "tool_use")
    assert (message.text, message.calls) == ("I am adding.", [("add", {"a": 1})])


async def test_c_think(stage: Stage) -> None:
    message = await stream(stage, reply("It is 4.", thinking="Two and two."))

    assert (message.kinds, message.stop_reason, message.text) == (["thinking", "text"], "end_turn", "It is 4.")
    assert message.content[0]["thinking"] == "Two and two."


async def test_c_think_tool(stage: Stage) -> None:
    message = await stream(stage, reply(thinking="Add them.", calls=[call("add", a=1)]), tools=[TOOL])

    assert (message.kinds, message.stop_reason) == (["thinking", "tool_use"], "tool_use")
    assert message.calls == [("add", {"a": 1})]


async def test_c_model_echo(stage: Stage) -> None:
    assert (await stream(stage, "Hi.")).model == "claude-opus-4"


async def test_c_usage(stage: Stage) -> None:
    assert (await stream(stage, reply("Hi.", usage=Usage(40, 7)))).usage["output_tokens"] == 7


async def test_c_usage_input(stage: Stage) -> None:
    """An estimate at the start, the true number at the end."""
    stage.says(reply("Hi.", usage=Usage(4000, 7)))
    answered = await stage.client.stream("messages", HELLO)
    [start] = answered.of("message_start")

    assert start["message"]["usage"]["input_tokens"] > 0
    assert message_of(answered).usage["input_tokens"] == 4000


async def test_c_incremental(odd: Odd) -> None:
    """Text comes as it is produced: the first of eight pieces, each 50 ms after the other, long before the last."""
    said = [part for number in range(8) for part in (0.05, {"content": f"word{number} "})]
    odd.said = [*said, finish_chunk("stop"), usage_chunk(11, 5)]
    answered = await odd.client.stream("messages", HELLO)
    first = next(event for event in answered.events if event.name == "content_block_delta")
    last = answered.events[-1]

    assert first.seconds < last.seconds - 0.2
    assert message_of(answered).text == "".join(f"word{number} " for number in range(8))


async def test_c_tool_incremental(odd: Odd) -> None:
    """Of 203 fragments of arguments each is passed on."""
    text = "x" * 2000
    pieces = ['{"text": "', *(text[start : start + 10] for start in range(0, 2000, 10)), '"', "}"]
    message = await odd_stream(
        odd, fragment(0, id="c1", name="write"), *(fragment(0, piece) for piece in pieces), finish_chunk("tool_calls")
    )

    assert len(pieces) == message.deltas.count("input_json_delta") == 203
    assert message.calls == [("write", {"text": text})]


async def test_c_miderr(stage: Stage) -> None:
    """What breaks in mid-stream is told as an error, and never ends cleanly."""
    stage.says(fault("error_event_mid_stream"))
    answered = await stage.client.stream("messages", HELLO)

    assert not answered.of("message_stop")
    if answered.status == 200:
        [error] = answered.of("error")
        assert error["type"] == "error"
        assert error["error"]["type"].endswith("_error")
        assert error["error"]["message"]


async def test_c_miderr_in_one_piece(odd: Odd) -> None:
    """What came with the error, in the same bytes, is passed on before it."""
    odd.said = [({"content": "Once "}, {"error": {"message": "boom", "type": "server_error"}})]
    answered = await odd.client.stream("messages", HELLO)

    assert answered.status == 200
    assert [delta["delta"]["text"] for delta in answered.of("content_block_delta")] == ["Once "]
    assert answered.events[-1].name == "error"


@pytest.mark.parametrize("name", ["close_mid_stream", "reset_mid_stream", "end_mid_stream", "malformed_json"])
async def test_c_midclose(stage: Stage, name: str) -> None:
    stage.says(fault(name))
    answered = await stage.client.stream("messages", HELLO)

    assert not answered.of("message_stop")
    assert answered.status >= 500 or answered.is_broken or answered.of("error")


@pytest.mark.parametrize("status", [429, 500, 529])
async def test_c_err_status(stage: Stage, status: int) -> None:
    """An error before the first byte keeps its status, also where a stream was asked for."""
    stage.says(fault(status))
    answered = await stage.client.stream("messages", HELLO)

    assert answered.status == status
    assert answered.events[0].data["type"] == "error"


async def test_c_cancel_mid(odd: Odd) -> None:
    """A client that leaves in mid-stream ends the work upstream."""
    odd.said = [{"content": "Once "}, FOREVER]
    await leaves(odd, stream=True, after=1)

    await odd.until_left()


async def test_c_cancel_ttft(odd: Odd) -> None:
    odd.said = [FOREVER]
    await leaves(odd, stream=True)

    await odd.until_left()


async def test_c_cancel_nonstream(odd: Odd) -> None:
    odd.said = [FOREVER]
    odd.whole = {}
    await leaves(odd, stream=False)

    await odd.until_left()


async def leaves(odd: Odd, *, stream: bool, after: int = 0, path: str = "messages") -> None:
    """Asks, waits until the model is at work and for some bytes, and hangs up."""
    task = asyncio.create_task(_waits(odd, stream, after, path))
    await odd.until_asked()
    if after:
        async with asyncio.timeout(30):
            await task
    else:
        task.cancel()
        await asyncio.wait((task,))


async def _waits(odd: Odd, stream: bool, after: int, path: str) -> None:
    body = {"model": odd.client.model, "stream": stream, "input": "Hello?", **HELLO}
    where = f"{odd.client.address}/v1/{path}"
    async with odd.client.session.post(where, json=body) as answer:
        if after:
            await answer.content.readany()
            answer.close()
        else:
            await answer.read()


@pytest.mark.slow
async def test_c_ping(odd: Odd) -> None:
    """Seventeen seconds of silence upstream are filled with events that clients count as signs of life."""
    odd.said = [{"content": "Once "}, 17.0, {"content": "upon."}, finish_chunk("stop"), usage_chunk(11, 5)]
    answered = await odd.client.stream("messages", HELLO)
    pings = [event for event in answered.events if event.name == "ping"]

    assert len(pings) == 1
    assert message_of(answered).text == "Once upon."


async def test_c_a_chunk_of_several_deltas(odd: Odd) -> None:
    """Thinking, text and a call in one chunk come in their order."""
    both = {"reasoning_content": "Add.", "content": "I add.", **fragment(0, '{"a": 1}', id="c1", name="add")}
    message = await odd_stream(odd, chunk(both), finish_chunk("tool_calls"))

    assert message.kinds == ["thinking", "text", "tool_use"]
