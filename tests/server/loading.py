"""Many clients at once, of which some leave, before an upstream that fails now and then."""

import asyncio
from collections import Counter
from typing import Any

import aiohttp

from ai_battle.testing import FakeProvider, fault, reply

FAULTS = ("http_500", "http_429", "close_mid_stream", "reset_before_headers", "html_502", "malformed_json")
TEXT = "One two three four five six seven eight nine ten."
PATHS = ("/v1/messages", "/v1/chat/completions", "/v1/responses")
WAIT_SECONDS = 20.0
"""Seconds after which a request counts as hung."""


def trouble(upstream: FakeProvider) -> None:
    """One in ten of its answers is a fault; the others take a moment."""
    count = 0

    def next_one(body: Any) -> Any:
        nonlocal count
        count += 1
        return fault(FAULTS[count // 10 % len(FAULTS)]) if count % 10 == 0 else reply(TEXT, delay=0.01, pace=0.002)

    upstream.always(next_one)


async def load(address: str, numbers: range, at_once: int) -> Counter[str]:
    """What became of the requests: a status, "left", "cut" or "hung"."""
    turns = asyncio.Semaphore(at_once)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(address, connector=connector) as session:

        async def one(number: int) -> str:
            async with turns:
                try:
                    async with asyncio.timeout(WAIT_SECONDS):
                        return await _ask(session, number)
                except TimeoutError:
                    return "hung"
                except aiohttp.ClientError:
                    return "cut"

        return Counter(await asyncio.gather(*(one(number) for number in numbers)))


async def _ask(session: aiohttp.ClientSession, number: int) -> str:
    path, stream = PATHS[number % 3], number % 2 == 0
    body: dict[str, Any] = {"model": "opus", "stream": stream}
    said = f"Hello {number}? " * 50
    if path == "/v1/responses":
        body |= {"input": said}
    else:
        body |= {"max_tokens": 99, "messages": [{"role": "user", "content": said}]}
    try:
        async with asyncio.timeout(0.003 * (number % 9) if number % 10 == 7 else None):
            async with session.post(path, json=body) as answer:
                await answer.read()
                return str(answer.status)
    except TimeoutError:
        return "left"
