"""Measures what a shadow adds to the answers of a pair, against the same pair without one in the same server."""

import asyncio
import json
import time
from statistics import median, quantiles

import aiohttp

from ._serving import our_server, upstream

SHADOW = "shadow: {share: 0.02, judge: openai/words-19, budget: {cost_usd: 1, unpriced: allow}}"
PAIR = "model: openai/words-20, secondary: openai/words-21, strategy: rescue"
ROUTES = f"server:\n  state: .\n  routes:\n    bare: {{{PAIR}}}\n    followed: {{{PAIR}, {SHADOW}}}\n"
NAMES = ("followed", "bare")
ROUNDS, BLOCKS, REQUESTS = 9, 10, 100


async def _milliseconds(session: aiohttp.ClientSession, url: str, name: str) -> float:
    body = {"model": name, "messages": [{"role": "user", "content": "What is in the file?"}]}
    data, begun = json.dumps(body).encode(), time.perf_counter()
    async with session.post(url, data=data, headers={"content-type": "application/json"}) as answer:
        assert answer.status == 200, await answer.text()
        await answer.read()
    return (time.perf_counter() - begun) * 1e3


async def _round(url: str) -> dict[str, list[float]]:
    """Returns the times of both routes, asked in turn in blocks, so that a shadow's work falls on its own route."""
    taken: dict[str, list[float]] = {name: [] for name in NAMES}
    async with aiohttp.ClientSession() as session:
        for number in range(BLOCKS):
            for name in NAMES if number % 2 else NAMES[::-1]:
                taken[name] += [await _milliseconds(session, url, name) for _ in range(REQUESTS)]
    return taken


def shadow() -> None:
    """Compares the wall time of answers of a pair whose shadow draws 2 % of the requests with the pair alone."""
    with upstream() as url, our_server(url, "/v1/chat/completions", ROUTES) as server:
        asyncio.run(_round(server.url + server.path))
        rounds = [asyncio.run(_round(server.url + server.path)) for _ in range(ROUNDS)]
    for percent in (50, 99):
        found = [[quantiles(taken[name], n=100)[percent - 1] for name in NAMES] for taken in rounds]
        ratios = sorted(followed / bare for followed, bare in found)
        costs = "".join(f"{median(column):9.2f} ms " for column in zip(*found, strict=True))
        name = f"wall, p{percent} of an answer with a shadow"
        print(f"{name:60} {costs}  {median(ratios):5.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})", flush=True)
