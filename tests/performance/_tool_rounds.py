"""Runs turns in which a model calls eight tools at once over HTTP and then answers from their results."""

import asyncio
import json
from typing import Any

import aiohttp

from ai_battle import ConversationManager, Participant, create_client

from ._bare import PROMPT
from ._dispatching import AddTool
from ._product import Listener
from ._times import Times

_HEADERS = {"content-type": "application/json", "authorization": "Bearer test-key"}
_TOOL = {
    "type": "function",
    "function": {
        "name": AddTool.name,
        "description": AddTool.description,
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 1}},
            "required": ["a"],
        },
    },
}


async def ours(url: str, turns: int) -> list[Times]:
    client = create_client("gpt-4o", base_url=url, api_key="test-key")
    people = [Participant(name, client) for name in ("Ann", "Bob")]
    manager = ConversationManager(people, goal=PROMPT, mode="no-meta", turns=turns // 2, tools=[AddTool()])
    heard = Listener()
    try:
        result = await manager.run_discussion(heard)
    finally:
        await client.aclose()
    assert len(heard.times.cpu) == turns, result
    return [heard.times]


async def bare(url: str, turns: int) -> list[Times]:
    times, said, tool = Times(), list[str](), AddTool()
    async with aiohttp.ClientSession() as session:
        for turn in range(turns):
            times.begin()
            messages: list[dict[str, Any]] = [{"role": "user", "content": PROMPT}]
            for number, text in enumerate(said):
                messages.append({"role": "assistant" if number % 2 == turn % 2 else "user", "content": text})
            text, calls = await _ask(session, url, messages, times)
            while calls:
                given = [json.loads(one["function"]["arguments"]) for one in calls]
                results = await asyncio.gather(*(tool.execute({"b": 1, **arguments}) for arguments in given))
                messages.append({"role": "assistant", "content": text or None, "tool_calls": calls})
                for one, result in zip(calls, results, strict=True):
                    messages.append({"role": "tool", "tool_call_id": one["id"], "content": json.dumps(result)})
                text, calls = await _ask(session, url, messages, times)
            said.append(text)
            times.end()
    return [times]


async def _ask(
    session: aiohttp.ClientSession, url: str, messages: list[dict[str, Any]], times: Times
) -> tuple[str, list[dict[str, Any]]]:
    """Returns a streamed answer, and its calls joined from their pieces."""
    body = {"model": "gpt-4o", "messages": messages, "tools": [_TOOL], "stream": True}
    body["stream_options"] = {"include_usage": True}
    said, calls = list[str](), dict[int, dict[str, Any]]()
    async with session.post(f"{url}/chat/completions", data=json.dumps(body), headers=_HEADERS) as response:
        response.raise_for_status()
        async for line in response.content:
            if not line.startswith(b"data: ") or line.startswith(b"data: [DONE]"):
                continue
            chunk = json.loads(line[6:])
            delta = chunk["choices"][0]["delta"] if chunk["choices"] else {}
            if piece := delta.get("content"):
                times.text()
                said.append(piece)
            for part in delta.get("tool_calls", ()):
                function = part.get("function", {})
                empty = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
                whole = calls.setdefault(part["index"], empty)
                whole["id"] += part.get("id") or ""
                whole["function"]["name"] += function.get("name") or ""
                whole["function"]["arguments"] += function.get("arguments") or ""
    return "".join(said), [*calls.values()]
