"""Claude on Bedrock through the official client, whose server streams in Amazon's own encoding."""

import json
import struct
from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any
from zlib import crc32

import anthropic as sdk
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from ai_battle.core.errors import BadReply, ProviderError, RateLimited
from ai_battle.core.events import EventLog
from ai_battle.core.exchange import ModelRequest, ToolSpec
from ai_battle.core.messages import user
from ai_battle.providers import anthropic

ASKED = ModelRequest((user("Hello?"),), tools=(ToolSpec("clock"),))
BEGIN = {
    "type": "message_start",
    "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": [], "stop_reason": None,
        "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 1},
    },
}  # fmt: skip
TEXT = [
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Grüße "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "from Bedrock."}},
    {"type": "content_block_stop", "index": 0},
]
CALL = [
    {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t1", "name": "clock"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"z": 1}'}},
    {"type": "content_block_stop", "index": 1},
]
END = [
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}},
    {"type": "message_stop"},
]


def frame(payload: dict[str, Any], **headers: str) -> bytes:
    named = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in ((f":{key.replace('_', '-')}", value) for key, value in headers.items())
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(named) + len(body), len(named))
    whole = prelude + struct.pack(">I", crc32(prelude)) + named + body
    return whole + struct.pack(">I", crc32(whole))


def chunk(event: Any) -> bytes:
    said = {"bytes": b64encode(json.dumps(event).encode()).decode()}
    return frame(said, message_type="event", event_type="chunk", content_type="application/json")


class Bedrock:
    """Sends `stream` in pieces of `size` bytes, and remembers what it was asked."""

    def __init__(self) -> None:
        self.stream = b""
        self.size = 1000
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.path, await request.json()))
        response = web.StreamResponse(headers={"content-type": "application/vnd.amazon.eventstream"})
        await response.prepare(request)
        for start in range(0, len(self.stream), self.size):
            await response.write(self.stream[start : start + self.size])
        return response


@pytest.fixture
async def bedrock() -> AsyncIterator[tuple[Bedrock, Any]]:
    there = Bedrock()
    app = web.Application()
    app.router.add_post("/model/{model}/invoke-with-response-stream", there.answer)
    async with TestServer(app) as server:
        client = sdk.AsyncAnthropicBedrock(api_key="k", aws_region="eu-west-1", base_url=str(server.make_url("")))
        async with client as brought:
            yield there, anthropic.create("anthropic.claude-x", client=brought, environment={})


@pytest.mark.parametrize("size", [1, 7, 100_000])
async def test_an_answer_is_put_together_from_frames_of_any_pieces(bedrock: tuple[Bedrock, Any], size: int) -> None:
    there, client = bedrock
    there.stream, there.size = b"".join(map(chunk, [BEGIN, *TEXT, *CALL, *END])), size

    response = await client.complete(ASKED, log := EventLog())

    assert (response.text, log.text) == ("Grüße from Bedrock.", "Grüße from Bedrock.")
    assert response.tool_calls[0].arguments == {"z": 1}
    assert (response.usage.input_tokens, response.usage.output_tokens) == (9, 7)
    path, body = there.asked[0]
    assert path == "/model/anthropic.claude-x/invoke-with-response-stream"
    assert body["anthropic_version"]
    assert not {"model", "stream"} & body.keys()


async def test_an_exception_in_the_stream_is_an_error(bedrock: tuple[Bedrock, Any]) -> None:
    there, client = bedrock
    exception = frame({"message": "Slow down."}, message_type="exception", exception_type="throttlingException")
    there.stream = b"".join(map(chunk, [BEGIN, *TEXT[:2]])) + exception

    with pytest.raises(RateLimited, match="Slow down") as caught:
        await client.complete(ASKED)

    assert caught.value.partial == "Grüße "


async def test_a_cut_stream_is_no_answer(bedrock: tuple[Bedrock, Any]) -> None:
    there, client = bedrock
    there.stream = b"".join(map(chunk, [BEGIN, *TEXT]))[:-9]

    with pytest.raises(BadReply):
        await client.complete(ASKED)


@pytest.mark.parametrize("place", [2, 9, 60])
async def test_a_damaged_frame_is_told(bedrock: tuple[Bedrock, Any], place: int) -> None:
    there, client = bedrock
    damaged = bytearray(chunk(BEGIN))
    damaged[place] ^= 0xFF
    there.stream = bytes(damaged)

    with pytest.raises(ProviderError, match=r"encoding|damaged"):
        await client.complete(ASKED)
