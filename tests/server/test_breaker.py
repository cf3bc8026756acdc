"""Upstreams that are down, or want to be left alone."""

import asyncio
import time
from typing import Any

import aiohttp

from ai_battle.providers._traffic import traffic_of
from ai_battle.testing import FakeProviders, fault, reply

from .serving import asked, serving, until

HELLO: dict[str, Any] = {"model": "opus", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]}
TIERS = {"BIG_MODEL": "openai/large", "SMALL_MODEL": "ollama/phi4"}


async def answered(address: str, path: str, body: Any) -> tuple[int, str | None]:
    async with aiohttp.ClientSession(address) as session, session.post(path, json=body) as answer:
        return answer.status, answer.headers.get("retry-after")


async def test_one_request_is_one_call_and_retry_after_is_passed_on(fakes: FakeProviders) -> None:
    fakes.openai.says(fault("rate_limited_long"), fault(503), fault("close_before_headers"))
    async with serving(fakes, **TIERS) as address:
        limited = await answered(address, "/v1/messages", HELLO)
        streamed = await answered(address, "/v1/chat/completions", {**HELLO, "stream": True})
        broken, _ = await answered(address, "/v1/messages", HELLO)

    assert limited == (429, "3600")
    assert streamed[0] == 503
    assert broken == 502
    assert len(fakes.openai.questions) == 3


async def test_after_five_failures_an_upstream_is_left_alone_and_the_others_are_not(fakes: FakeProviders) -> None:
    fakes.openai.says(fault(500, times=5))
    async with serving(fakes, **TIERS) as address:
        statuses = [(await asked(address, "/v1/messages", HELLO))[0] for _ in range(5)]
        status, wait = await answered(address, "/v1/messages", {**HELLO, "stream": True})
        _, answer = await asked(address, "/v1/messages", HELLO)
        other, _ = await asked(address, "/v1/messages", {**HELLO, "model": "haiku"})
        async with aiohttp.ClientSession(address) as session, session.get("/readyz") as page:
            ready, told = page.status, await page.json()

    assert statuses == [500] * 5
    assert (status, wait) == (503, "30")
    assert "5 failures in a row" in answer["error"]["message"]
    assert other == 200
    assert len(fakes.openai.questions) == 5
    assert ready == 200
    assert told["upstreams"]["openai/large"] == {"up": False, "retry_after": 30}
    assert told["upstreams"]["ollama/phi4"] == {"up": True}


async def test_a_worker_without_any_upstream_is_not_ready(fakes: FakeProviders) -> None:
    fakes.openai.says(fault(500, times=5))
    async with serving(fakes, BIG_MODEL="openai/large") as address:
        for _ in range(5):
            await asked(address, "/v1/messages", HELLO)
        async with aiohttp.ClientSession(address) as session, session.get("/readyz") as page:
            assert page.status == 503


async def test_five_429_in_a_row_are_a_wish_to_be_left_alone(fakes: FakeProviders) -> None:
    """One alone may be a matter of one client's limit; an answer in between starts the count anew."""
    four = fault("rate_limited_long", times=4)
    fakes.openai.says(four, "Yes.", four, fault("rate_limited_long"))
    async with serving(fakes, **TIERS) as address:
        statuses = [(await asked(address, "/v1/messages", HELLO))[0] for _ in range(10)]
        status, wait = await answered(address, "/v1/messages", HELLO)

    assert statuses == [429] * 4 + [200] + [429] * 5
    assert (status, wait) == (429, "60")
    assert len(fakes.openai.questions) == 10


async def test_after_half_a_minute_one_request_probes_and_the_others_do_not_wait(fakes: FakeProviders) -> None:
    fakes.openai.says(fault(500, times=5), reply("I am back.", delay=0.3))
    async with serving(fakes, BIG_MODEL="openai/large") as address:
        for _ in range(5):
            await asked(address, "/v1/messages", HELLO)
        traffic_of(f"{fakes.openai.url}/v1").clock = lambda: time.monotonic() + 31
        probe = asyncio.create_task(asked(address, "/v1/messages", HELLO))
        await until(lambda: len(fakes.openai.questions) == 6)
        meanwhile = await answered(address, "/v1/messages", HELLO)
        status, answer = await probe
        after, _ = await asked(address, "/v1/messages", HELLO)

    assert meanwhile == (503, "5")
    assert (status, answer["content"][0]["text"]) == (200, "I am back.")
    assert after == 200
