"""Each fault is on each wire what its name says, streamed and not."""

import asyncio
import gzip
import json
import socket
from email.utils import parsedate_to_datetime
from pathlib import Path
from time import time
from typing import Any

import aiohttp
import pytest

from ai_battle.testing import FAULTS, FakeProvider, FakeProviders, fault

WIRES = ("openai", "anthropic", "ollama", "gemini")
PATHS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages", "ollama": "/api/chat"}
END_MARKS = {"openai": b"[DONE]", "anthropic": b"message_stop", "ollama": b'"done":true', "gemini": b"finishReason"}
EVERYWHERE = [(wire, stream) for wire in WIRES for stream in (False, True)]
everywhere = pytest.mark.parametrize(("wire", "stream"), EVERYWHERE)


def url_and_body(fake: FakeProvider, stream: bool) -> tuple[str, dict[str, Any]]:
    if fake.name == "gemini":
        method = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return f"{fake.url}/v1beta/models/m:{method}", {"contents": [{"parts": [{"text": "Hello?"}]}]}
    said = [{"role": "user", "content": "Hello?"}]
    return fake.url + PATHS[fake.name], {"model": "m", "max_tokens": 9, "stream": stream, "messages": said}


async def fetch(fake: FakeProvider, name: str, stream: bool, seconds: float = 60) -> tuple[int, bytes, dict[str, str]]:
    """Returns what comes back when this fault is met."""
    fake.says(fault(name))
    url, body = url_and_body(fake, stream)
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(seconds), auto_decompress=False) as http,
        http.post(url, json=body, allow_redirects=False) as response,
    ):
        return response.status, await response.read(), {k.lower(): v for k, v in response.headers.items()}


def test_each_fault_has_a_sentence() -> None:
    for name, found in FAULTS.items():
        assert found.name == name
        assert found.sentence.endswith(".")
        assert len(found.sentence) < 80


@everywhere
async def test_a_status_comes_as_the_provider_words_it(fakes: FakeProviders, wire: str, stream: bool) -> None:
    for name in (name for name in FAULTS if name.startswith("http_")):
        status, body, headers = await fetch(getattr(fakes, wire), name, stream)
        assert status == int(name.removeprefix("http_"))
        assert "error" in json.loads(body)
        assert "retry-after" not in headers


@everywhere
async def test_retry_after_has_many_forms(fakes: FakeProviders, wire: str, stream: bool) -> None:
    found = {name: (await fetch(getattr(fakes, wire), name, stream))[2]["retry-after"]
             for name in FAULTS if name.startswith("rate_limited")}  # fmt: skip
    assert (found["rate_limited"], found["rate_limited_long"], found["rate_limited_nan"]) == ("1", "3600", "nan")
    assert 0 <= parsedate_to_datetime(found["rate_limited_date"]).timestamp() - time() <= 3
    assert parsedate_to_datetime(found["rate_limited_past"]).timestamp() < time() - 3000


@everywhere
async def test_refusals_are_in_the_words_of_the_provider(fakes: FakeProviders, wire: str, stream: bool) -> None:
    words = {
        "context_length": ("maximum context length", "prompt is too long", "context length", "exceeds the maximum"),
        "tools_unsupported": (
            "'tools' is not supported",
            "does not support tool",
            "does not support tools",
            "Function",
        ),
        "parameter_refused": ("max_tokens", "temperature", "thinking", "temperature"),
        "insufficient_quota": ("insufficient_quota", "credit balance", "usage limit", "quota"),
    }
    for name, expected in words.items():
        status, body, _ = await fetch(getattr(fakes, wire), name, stream)
        assert status in (400, 429)
        assert expected[WIRES.index(wire)] in body.decode()


@pytest.mark.parametrize("name", ["stall_before_headers", "stall_after_headers", "stall_mid_stream", "slow_drip"])
async def test_stalls_keep_a_client_waiting(fakes: FakeProviders, name: str) -> None:
    waiting = (fetch(getattr(fakes, wire), name, stream, seconds=0.5) for wire, stream in EVERYWHERE)
    ends = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(end) for end in ends] == [TimeoutError] * len(EVERYWHERE)


@everywhere
async def test_connections_break(fakes: FakeProviders, wire: str, stream: bool) -> None:
    """A reset is a reset: the socket sees RST where it would otherwise see the end."""
    fake = getattr(fakes, wire)
    for name in ("reset_before_headers", "reset_mid_stream", "close_before_headers", "close_mid_stream"):
        with pytest.raises(aiohttp.ClientError):
            await fetch(fake, name, stream)
    for name, end in (("reset_before_headers", "reset"), ("close_before_headers", b"")):
        fake.says(fault(name))
        assert await asyncio.to_thread(raw_answer, *url_and_body(fake, stream)) == end


def raw_answer(url: str, body: dict[str, Any]) -> bytes | str:
    address, _, path = url.removeprefix("http://").partition("/")
    host, _, port = address.partition(":")
    data = json.dumps(body).encode()
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(f"POST /{path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
        try:
            return connection.recv(100)
        except ConnectionResetError:
            return "reset"


@everywhere
async def test_a_cut_body_has_no_end_mark(fakes: FakeProviders, wire: str, stream: bool) -> None:
    fake = getattr(fakes, wire)
    status, body, _ = await fetch(fake, "end_mid_stream", stream)
    assert (status, b"An answer" in body or b"An " in body) == (200, True)
    assert not stream or END_MARKS[wire] not in body
    _, truncated, _ = await fetch(fake, "truncated_json", stream)
    with pytest.raises(ValueError, match=r"Expecting|Unterminated|Invalid"):
        json.loads(truncated.strip().splitlines()[-1].removeprefix(b"data: "))
    status, malformed, _ = await fetch(fake, "malformed_json", stream)
    assert status == 200
    assert b'"=' in malformed
    assert not stream or END_MARKS[wire] in malformed


@everywhere
async def test_errors_come_with_status_200(fakes: FakeProviders, wire: str, stream: bool) -> None:
    fake = getattr(fakes, wire)
    status, body, _ = await fetch(fake, "error_200", stream)
    assert (status, "error" in json.loads(body)) == (200, True)
    status, body, _ = await fetch(fake, "error_event_mid_stream", stream)
    assert (status, b'"error"' in body) == (200, True)
    assert not stream or body.index(b"An ") < body.index(b'"error"')


@everywhere
async def test_bodies_may_be_empty_foreign_or_ill_encoded(fakes: FakeProviders, wire: str, stream: bool) -> None:
    fake = getattr(fakes, wire)
    assert (await fetch(fake, "empty_body", stream))[:2] == (200, b"")
    status, page, headers = await fetch(fake, "html_200", stream)
    assert (status, page[:9], headers["content-type"]) == (200, b"<!DOCTYPE", "text/html")
    assert (await fetch(fake, "html_502", stream))[0] == 502
    with pytest.raises(UnicodeDecodeError):
        (await fetch(fake, "invalid_utf8", stream))[1].decode()
    for name in ("empty_answer", "empty_choices"):
        status, body, _ = await fetch(fake, name, stream)
        assert status == 200
        assert body
        assert b"An answer" not in body


@pytest.mark.slow
@everywhere
async def test_answers_may_be_huge(fakes: FakeProviders, wire: str, stream: bool) -> None:
    fake = getattr(fakes, wire)
    fake.says(fault("huge_answer"), fault("gzip_bomb"))
    url, body = url_and_body(fake, stream)
    async with aiohttp.ClientSession(auto_decompress=False) as http:
        async with http.post(url, json=body) as response:
            assert len(await response.read()) > 16 * 2**20
        async with http.post(url, json=body) as response:
            bomb = await response.read()
            assert response.headers["Content-Encoding"] == "gzip"
    assert len(bomb) < 500_000
    assert bomb[:2] == gzip.compress(b"")[:2]


async def test_signs_of_life_come_for_ever(fakes: FakeProviders) -> None:
    fakes.anthropic.says(fault("ping_for_ever", seconds=0.001))
    url, body = url_and_body(fakes.anthropic, stream=True)
    async with aiohttp.ClientSession() as http, http.post(url, json=body) as response:
        pings = [line async for line in first_lines(response.content, 40) if line == b"event: ping\n"]
    assert len(pings) > 5


async def first_lines(lines: aiohttp.StreamReader, count: int) -> Any:
    for _ in range(count):
        yield await lines.readline()


@everywhere
async def test_redirects_lead_within_and_away(fakes: FakeProviders, wire: str, stream: bool) -> None:
    fake = getattr(fakes, wire)
    status, _, headers = await fetch(fake, "redirect_other_origin", stream)
    assert (status, headers["location"].startswith(fakes.elsewhere.url)) == (307, True)
    fake.says(fault("redirect_same_origin"), "Found.")
    url, body = url_and_body(fake, stream)
    async with aiohttp.ClientSession() as http, http.post(url, json=body) as response:
        assert b"Found." in await response.read()
    assert fake.requests[-1].body == body


@pytest.mark.parametrize("wire", WIRES)
async def test_tool_ids_may_be_the_same_or_missing(fakes: FakeProviders, wire: str) -> None:
    fake = getattr(fakes, wire)
    _, same, _ = await fetch(fake, "duplicate_tool_ids", stream=False)
    assert same.count(b"call_same") == 2
    _, missing, _ = await fetch(fake, "missing_tool_ids", stream=False)
    assert missing.count(b'"add"') == 2
    assert b"call_" not in missing.replace(b"tool_calls", b"").replace(b"tool_call_", b"")


def test_the_fakes_are_written_without_the_code_that_they_test() -> None:
    """An error that both sides made would show nowhere."""
    package = Path(__file__).parents[2] / "ai_battle" / "testing"
    for path in package.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "..wire" not in text
        assert "import wire" not in text
