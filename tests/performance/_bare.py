"""The floor: the same exchanges with aiohttp and json alone, as one would write them in a minute."""

import asyncio
import json
import time
from typing import Any

import aiohttp

PROMPT = "Talk about the weather."


async def ask(session: aiohttp.ClientSession, url: str, messages: list[dict[str, Any]]) -> tuple[str, float]:
    """The streamed answer, and the seconds until its first piece."""
    body = json.dumps(
        {"model": "gpt-4o", "messages": messages, "stream": True, "stream_options": {"include_usage": True}}
    )
    headers = {"content-type": "application/json", "authorization": "Bearer test-key"}
    said: list[str] = []
    first, started = 0.0, time.perf_counter()
    async with session.post(f"{url}/chat/completions", data=body, headers=headers) as response:
        response.raise_for_status()
        async for line in response.content:
            if line.startswith(b"data: ") and not line.startswith(b"data: [DONE]"):
                chunk = json.loads(line[6:])
                if chunk["choices"] and (piece := chunk["choices"][0]["delta"].get("content")):
                    first = first or time.perf_counter() - started
                    said.append(piece)
    return "".join(said), first


async def discussion(session: aiohttp.ClientSession, url: str, turns: int) -> list[str]:
    """Two voices in turn; the whole history is encoded anew for each request."""
    said: list[str] = []
    for turn in range(turns):
        messages: list[dict[str, Any]] = [{"role": "user", "content": PROMPT}]
        for number, text in enumerate(said):
            messages.append({"role": "assistant" if number % 2 == turn % 2 else "user", "content": text})
        said.append((await ask(session, url, messages))[0])
    return said


async def discussions(url: str, turns: int, at_once: int = 1) -> None:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(discussion(session, url, turns) for _ in range(at_once)))
