"""Measures the CPU of a Redis in which workers of several machines count together."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import aiohttp

from ai_battle.core.exchange import Usage
from ai_battle.server.shared import Amounts
from ai_battle.server.stores import RedisCounts
from ai_battle.testing import FakeProviders, reply

from ..redis import redis_server
from ..server.starting import start_server

FILE = """
server:
  port: 0
  state: {url}
  keys: [{{key: k, name: k, budget_usd: 1000000, concurrent: 100000, per_minute: 1000000}}]
  limits: {{stored_mb: 0}}
  routes: {{large: openai/gpt-4o}}
prices: {{openai/gpt-4o: {{input: 0, output: 10}}}}
"""
BODY = {"model": "large", "max_tokens": 100, "messages": [{"role": "user", "content": "Hello?"}]}
REQUESTS, AT_ONCE, CLAIMS = 3_000, 64, 2_000


def redis_counts() -> None:
    """Prints the CPU of the Redis for a request whose key has all three limits, and for a claim by workers."""
    with tempfile.TemporaryDirectory() as folder, redis_server(Path(folder)) as redis:
        asyncio.run(_by_requests(Path(folder), redis.url))
        asyncio.run(_by_workers(redis.url))


async def _by_requests(folder: Path, url: str) -> None:
    (file := folder / "server.yaml").write_text(FILE.format(url=url))
    async with FakeProviders() as fakes, start_server(fakes, file, "--workers", "2") as server:
        fakes.openai.always(reply("Yes.", usage=Usage(10, 100), delay=0.05))
        await _ask(server.address, AT_ONCE)
        scripts, seconds = await _scripts(url), await _seconds(url)
        await _ask(server.address, REQUESTS)
        scripts, seconds = await _scripts(url) - scripts, await _seconds(url) - seconds
    print(f"a request, two workers: {scripts / REQUESTS:.2f} scripts, {seconds / REQUESTS * 1e3:.3f} ms of the Redis")


async def _ask(address: str, number: int) -> None:
    left = iter(range(number))

    async def send_requests(session: aiohttp.ClientSession) -> None:
        for _ in left:
            async with session.post("/v1/messages", json=BODY, headers={"x-api-key": "k"}) as answer:
                assert answer.status == 200, await answer.text()
                await answer.read()

    async with aiohttp.ClientSession(address, connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(send_requests(session) for _ in range(AT_ONCE)))


async def _by_workers(url: str) -> None:
    for workers in (2, 8, 80):
        store, name = RedisCounts(url), f"dollars/{workers}"
        before = 0.0
        for number in range(workers + CLAIMS):
            if number == workers:  # all of them have used the key now
                before = await _seconds(url)
            await store.claim(f"worker {number % workers}", name, Amounts(0.1, 0.1, number), 1e9)
        print(f"a claim, {workers} workers: {(await _seconds(url) - before) / CLAIMS * 1e3:.3f} ms of the Redis")
        await store.end("worker 0", [name])


async def _scripts(url: str) -> int:
    return int((await _info(url, "commandstats"))["cmdstat_evalsha"]["calls"])


async def _seconds(url: str) -> float:
    said = await _info(url, "cpu")
    return float(said["used_cpu_user"] + said["used_cpu_sys"])


async def _info(url: str, section: str) -> dict[str, Any]:
    from redis.asyncio import Redis

    async with Redis.from_url(url) as client:
        found: dict[str, Any] = await client.info(section)
        return found
