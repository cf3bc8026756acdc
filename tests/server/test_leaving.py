"""Clients that do not wait for their answer."""

import asyncio
import json
import socket
import struct
from typing import Any

import aiohttp
import pytest

from ai_battle.server.state import ServerState
from ai_battle.testing import FakeProvider, FakeProviders, fault, reply

from .conftest import Upstream
from .serving import serving_to, until
from .test_operating import boosting

HELLO: dict[str, Any] = {"model": "opus", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]}
PATHS = ("/v1/messages", "/v1/chat/completions", "/v1/responses")
SLOW = reply("word " * 200, pace=0.05)


def body_for(path: str, *, stream: bool) -> dict[str, Any]:
    said = {"model": "opus", "input": "Hello?"} if path == "/v1/responses" else HELLO
    return {**said, "stream": stream}


async def wait_until_left(upstream: FakeProvider, served: ServerState) -> None:
    """The upstream request is closed, and nobody works on it any more."""
    await until(lambda: bool(upstream.questions) and upstream.questions[-1].disconnected)
    await until(lambda: not served.admission.running)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [True, False])
async def test_who_leaves_before_the_first_byte_ends_the_call(
    fakes: FakeProviders, upstream: Upstream, path: str, stream: bool
) -> None:
    upstream.fake.says(fault("stall_before_headers"))
    async with (
        serving_to(fakes, len, BIG_MODEL=upstream.model("large")) as (served, address),
        aiohttp.ClientSession(address) as session,
    ):
        asking = asyncio.create_task(session.post(path, json=body_for(path, stream=stream)))
        await until(lambda: bool(upstream.fake.questions))
        asking.cancel()
        await wait_until_left(upstream.fake, served)
        text = served.metrics.text()

    assert f'api="{path.split("/")[2]}",route="claude-opus",status="499"}} 1' in text


@pytest.mark.parametrize("path", PATHS)
async def test_who_leaves_in_mid_stream_ends_the_call(fakes: FakeProviders, upstream: Upstream, path: str) -> None:
    upstream.fake.says(SLOW)
    async with (
        serving_to(fakes, len, BIG_MODEL=upstream.model("large")) as (served, address),
        aiohttp.ClientSession(address) as session,
    ):
        answer = await session.post(path, json=body_for(path, stream=True))
        await answer.content.readany()
        answer.close()
        await wait_until_left(upstream.fake, served)


@pytest.mark.parametrize("upstream", ["anthropic/claude-opus-4-1", "ollama/phi4", "gemini/gemini-2.5-pro"])
async def test_who_leaves_ends_the_call_of_any_upstream(fakes: FakeProviders, upstream: str) -> None:
    provider: FakeProvider = getattr(fakes, upstream.partition("/")[0])
    provider.says(SLOW)
    async with (
        serving_to(fakes, len, BIG_MODEL=upstream) as (served, address),
        aiohttp.ClientSession(address) as session,
    ):
        answer = await session.post("/v1/messages", json=body_for("/v1/messages", stream=True))
        await answer.content.readany()
        answer.close()
        await wait_until_left(provider, served)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [True, False])
async def test_who_leaves_while_a_planner_works_ends_its_call(fakes: FakeProviders, path: str, stream: bool) -> None:
    fakes.openai.says(fault("stall_before_headers"))
    async with (
        serving_to(fakes, len, **boosting(fakes)) as (served, address),
        aiohttp.ClientSession(address) as session,
    ):
        asking = asyncio.create_task(session.post(path, json=body_for(path, stream=stream)))
        await until(lambda: bool(fakes.openai.questions))
        asking.cancel()
        await wait_until_left(fakes.openai, served)

    assert not fakes.ollama.questions


async def test_who_leaves_after_the_sign_of_life_ends_the_call(fakes: FakeProviders) -> None:
    fakes.openai.says(fault("stall_before_headers"))
    async with (
        serving_to(fakes, len, **boosting(fakes)) as (served, address),
        aiohttp.ClientSession(address) as session,
    ):
        answer = await session.post("/v1/messages", json=body_for("/v1/messages", stream=True))
        assert b"message_start" in await answer.content.readany()
        answer.close()
        await wait_until_left(fakes.openai, served)


LAST = {"/v1/messages": b"message_stop", "/v1/chat/completions": b"[DONE]", "/v1/responses": b"response.completed"}


@pytest.mark.parametrize("path", PATHS)
async def test_who_leaves_right_after_the_last_event_has_had_the_whole_answer(
    fakes: FakeProviders, upstream: Upstream, path: str
) -> None:
    lines: list[bytes] = []
    async with serving_to(fakes, lines.append, BIG_MODEL=upstream.model("large")) as (served, address):
        await asyncio.gather(*(asyncio.to_thread(read_to_the_last_event, address, path) for _ in range(50)))
        await until(lambda: len(lines) == 50)
        text = served.metrics.text()

    assert {(line["status"], line.get("error")) for line in map(json.loads, lines)} == {(200, None)}
    assert f'api="{path.split("/")[2]}",route="claude-opus",status="200"}} 50' in text


def read_to_the_last_event(address: str, path: str) -> None:
    """In a thread, as a client has a clock of its own. Then the connection is cut, not closed."""
    body = json.dumps(body_for(path, stream=True)).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(head.encode() + body)
        told = b""
        while LAST[path] not in told:
            told += connection.recv(65536)
