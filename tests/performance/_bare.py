"""The floor: the same exchanges with aiohttp and json alone."""

import asyncio
import json
from typing import Any

import aiohttp

from ._times import Times

PROMPT = "Talk about the weather."


async def ask(session: aiohttp.ClientSession, url: str, messages: list[dict[str, Any]], times: Times) -> str:
    """Returns a streamed answer."""
    body = json.dumps(
        {"model": "gpt-4o", "messages": messages, "stream": True, "stream_options": {"include_usage": True}}
    )
    headers = {"content-type": "application/json", "authorization": "Bearer test-key"}
    said: list[str] = []
    async with session.post(f"{url}/chat/completions", data=body, headers=headers) as response:
        response.raise_for_status()
        async for line in response.content:
            if line.startswith(b"data: ") and not line.startswith(b"data: [DONE]"):
                chunk = json.loads(line[6:])
                if chunk["choices"] and (piece := chunk["choices"][0]["delta"].get("content")):
                    times.text()
                    said.append(piece)
    return "".join(said)


async def ask_whole(session: aiohttp.ClientSession, url: str, messages: list[dict[str, Any]], times: Times) -> str:
    """Returns an answer that arrives in one piece."""
    body = json.dumps({"model": "gpt-4o", "messages": messages})
    headers = {"content-type": "application/json", "authorization": "Bearer test-key"}
    async with session.post(f"{url}/chat/completions", data=body, headers=headers) as response:
        response.raise_for_status()
        answer = json.loads(await response.read())
    times.text()
    text: str = answer["choices"][0]["message"]["content"]
    return text


async def discussion(session: aiohttp.ClientSession, url: str, turns: int, *, streamed: bool = True) -> Times:
    """Lets two speakers take turns. The whole history is encoded again for each request."""
    said: list[str] = []
    times = Times()
    for turn in range(turns):
        times.begin()
        messages: list[dict[str, Any]] = [{"role": "user", "content": PROMPT}]
        for number, text in enumerate(said):
            messages.append({"role": "assistant" if number % 2 == turn % 2 else "user", "content": text})
        said.append(await (ask if streamed else ask_whole)(session, url, messages, times))
        times.end()
    return times


async def discussions(url: str, turns: int, at_once: int = 1, *, streamed: bool = True) -> list[Times]:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        return await asyncio.gather(*(discussion(session, url, turns, streamed=streamed) for _ in range(at_once)))
