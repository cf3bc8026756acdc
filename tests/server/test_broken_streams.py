"""Streams that do not come to a good end."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ai_battle.server.running import listening
from ai_battle.server.streaming import USUAL, StreamTiming
from ai_battle.testing import FakeProviders, fault, reply
from tests.clocks import set_forward, stop_clock

from .serving import connect, server_config, serving, serving_to, until
from .test_operating import boosting

HELLO: dict[str, Any] = {"model": "opus", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]}
TOOLS = [{"name": "add", "input_schema": {"type": "object", "properties": {}}}]
SUMMARY = reply("SUMMARY:\n" + "The first of many lines of an answer that is on its way.\n" * 40)
ENDS: Mapping[str, tuple[bytes, bytes]] = {
    "/v1/messages": (b"event: error", b"message_stop"),
    "/v1/chat/completions": (b'data: {"error"', b"[DONE]"),
    "/v1/responses": (b"response.failed", b"response.completed"),
}


async def stream(address: str, path: str, **more: Any) -> tuple[int, bytes]:
    body = {**stream_body(path), **more}
    async with aiohttp.ClientSession(address) as session, session.post(path, json=body) as answer:
        return answer.status, await answer.read()


def stream_body(path: str) -> dict[str, Any]:
    body = {"model": "opus", "input": "Hello?"} if path == "/v1/responses" else HELLO
    return {**body, "stream": True}


@pytest.mark.parametrize("path", ENDS)
@pytest.mark.parametrize("name", ["close_mid_stream", "reset_mid_stream", "end_mid_stream"])
async def test_an_answer_that_breaks_off_ends_in_an_error_of_the_api(
    fakes: FakeProviders, path: str, name: str
) -> None:
    fakes.openai.says(fault(name))
    async with serving(fakes, BIG_MODEL="openai/large") as address:
        status, said = await stream(address, path)

    error, good_end = ENDS[path]
    assert status == 200
    assert error in said
    assert good_end not in said
    assert b'"An ' in said


@pytest.mark.parametrize("path", ENDS)
async def test_a_summary_that_breaks_off_is_not_followed_by_another_answer(fakes: FakeProviders, path: str) -> None:
    """What a client has read can't be taken back, so the auxiliary model is not asked."""
    fakes.openai.says(fault("close_mid_stream", reply=SUMMARY))
    async with serving(fakes, **boosting(fakes)) as address:
        status, said = await stream(address, path)

    error, good_end = ENDS[path]
    assert status == 200
    assert b"first" in said
    assert error in said
    assert good_end not in said
    assert not fakes.ollama.questions


async def test_a_planner_that_fails_before_it_has_said_anything_is_stepped_over(fakes: FakeProviders) -> None:
    fakes.openai.says(fault("close_mid_stream", reply=reply("ANALYSIS:\nThis is hard, and I have to think about it.")))
    fakes.ollama.says("It is noon.")
    async with serving(fakes, **boosting(fakes)) as address:
        _, said = await stream(address, "/v1/messages")

    assert b"noon" in said
    assert b"message_stop" in said


@pytest.mark.parametrize("path", ENDS)
async def test_a_model_that_thinks_and_says_nothing_is_helped_though_its_thinking_was_read(
    fakes: FakeProviders, path: str, tmp_path: Path
) -> None:
    file = tmp_path / "server.yaml"
    file.write_text("server: {routes: {opus: {model: ollama/phi4, secondary: openai/gpt-4o}}}")
    fakes.ollama.says(reply("", thinking="It is late."), "It is noon.")
    fakes.openai.says("Look at the clock.")
    async with serving(fakes, str(file)) as address:
        _, said = await stream(address, path)

    error, good_end = ENDS[path]
    assert b"late" in said
    assert b"noon" in said
    assert good_end in said
    assert error not in said


async def test_a_failure_in_mid_stream_is_a_failure_in_the_log(fakes: FakeProviders) -> None:
    lines: list[bytes] = []
    fakes.openai.says(fault("close_mid_stream"))
    async with serving_to(fakes, lines.append, BIG_MODEL="openai/large") as (_, address):
        await stream(address, "/v1/messages")

    assert b'"status":502' in lines[0]


async def test_a_client_that_reads_nothing_is_let_go(fakes: FakeProviders) -> None:
    """Its upstream request ends, and nobody takes the upstream for a silent one."""
    plan = replace(server_config(fakes, BIG_MODEL="openai/large"), timing=StreamTiming(ping=0.1, stuck=0.2))
    fakes.openai.says(reply("word " * 1_600_000, chunks=400))
    body = b'{"model": "opus", "max_tokens": 9, "stream": true, "messages": [{"role": "user", "content": "Hello?"}]}'
    head = b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with listening(plan) as (served, address):
        async with connect(address) as (_, writer):
            writer.write(head + body)
            await until(lambda: bool(fakes.openai.questions))
            await until(lambda: not served.admission.running and not fakes.openai.open_requests)
        text = served.metrics.text()

    assert 'status="499"' in text
    assert "upstream_errors_total{" not in text


@pytest.mark.parametrize(
    ("path", "sign", "opening"),
    [
        ("/v1/messages", b'event: ping\ndata: {"type":"ping"}', 0),
        ("/v1/chat/completions", b'"delta":{},"finish_reason":null', 0),
        ("/v1/responses", b"event: response.in_progress", 1),
    ],
)
async def test_a_silence_is_filled_with_events_of_the_api(
    fakes: FakeProviders, path: str, sign: bytes, opening: int
) -> None:
    """Before the first word of the model too, and never more than the silence needs."""
    ping, said = USUAL.ping, b""
    fakes.openai.says(reply("One two", delay=2.5 * ping))
    async with serving(fakes, BIG_MODEL="openai/large") as address, aiohttp.ClientSession(address) as session:
        asking = asyncio.create_task(session.post(path, json=stream_body(path)))
        await until(lambda: fakes.openai.open_requests == 1)
        stop_clock()
        for number in (opening + 1, opening + 2):
            set_forward(ping)
            answer = await asking
            while said.count(sign) < number:
                said += await answer.content.readany()
        set_forward(0.6 * ping)
        said += await answer.content.read()

    assert said.partition(b"One")[0].count(sign) == opening + 2
    assert sign not in said.partition(b"two")[2].partition(b"response.completed")[0]


async def test_the_first_sign_of_life_is_a_ping_already(fakes: FakeProviders) -> None:
    """Some clients wait for one, and not for the head of an answer."""
    fakes.openai.says(reply("One two", delay=0.18))
    plan = replace(server_config(fakes, BIG_MODEL="openai/large"), timing=StreamTiming(ping=0.1))
    async with listening(plan) as (_, address):
        _, said = await stream(address, "/v1/messages")

    names = [line for line in said.split(b"\n") if line.startswith(b"event: ")]
    assert names[:2] == [b"event: message_start", b"event: ping"]


@pytest.mark.parametrize("path", ENDS)
async def test_no_sign_in_a_text_breaks_an_event_for_clients_that_split_lines(fakes: FakeProviders, path: str) -> None:
    """Those of Python's `str.splitlines` among them."""
    fakes.openai.says("one\u2028two\u2029three\u0085four")
    async with serving(fakes, BIG_MODEL="openai/large") as address:
        _, said = await stream(address, path)

    lines = [line for line in said.decode().splitlines() if line]
    assert all(line.startswith(("event: ", "data: ")) for line in lines)
    assert all(escape in said for escape in (b"one\\u2028", b"two\\u2029", b"three\\u0085"))
