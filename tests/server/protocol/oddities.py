"""An upstream that says in OpenAI's API what well-behaved servers do not: its chunks are written by the tests."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from .speaking import Speaker

FOREVER = float("inf")
Body = dict[str, Any]
Said = Body | tuple[Body, ...] | float | None
"""A delta or a whole chunk, several in one piece, a pause in seconds, or None: the connection is closed."""


class Odd:
    """`said` is what it streams, or answers where `whole` is set; `open` and `left` count its requests."""

    client: Speaker

    def __init__(self) -> None:
        self.url = ""
        self.said: Iterable[Said] = ()
        self.whole: dict[str, Any] | None = None
        self.open = 0
        self.left = 0
        self.asked = 0
        self._news = asyncio.Event()

    @classmethod
    @asynccontextmanager
    async def running(cls) -> AsyncIterator["Odd"]:
        upstream = cls()
        runner = web.ServerRunner(web.Server(upstream._handle, handler_cancellation=True), shutdown_timeout=0.05)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        upstream.url = "http://{}:{}".format(*runner.addresses[0][:2])
        try:
            yield upstream
        finally:
            await runner.cleanup()

    async def until_left(self, number: int = 1) -> None:
        """Raises TimeoutError when its client does not leave within three seconds."""
        await self._until(lambda: self.left >= number)

    async def until_asked(self, number: int = 1) -> None:
        await self._until(lambda: self.asked >= number)

    async def _until(self, happened: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not happened():
                self._news.clear()
                await self._news.wait()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        await request.read()
        self.open += 1
        self.asked += 1
        self._news.set()
        try:
            return await self._answer(request)
        except (asyncio.CancelledError, ConnectionError):
            self.left += 1
            self._news.set()
            raise
        finally:
            self.open -= 1

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if self.whole is not None:
            for pause in (each for each in self.said if isinstance(each, float)):
                await _pause(pause)
            return web.json_response(self.whole)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        for step in self.said:
            if isinstance(step, float):
                await _pause(step)
            elif step is None:
                assert request.transport
                request.transport.close()
                return response
            else:
                await self._send(request, response, step if isinstance(step, tuple) else (step,))
        return response

    async def _send(self, request: web.BaseRequest, response: web.StreamResponse, steps: tuple[Body, ...]) -> None:
        if not response.prepared:
            await response.prepare(request)
        await response.write(b"".join(map(_event, steps)))


def _event(step: Body) -> bytes:
    body = step if step.keys() & {"choices", "error"} else chunk(step)
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-odd", "object": "chat.completion.chunk", "created": 1, "model": "odd", "choices": [choice]}


def finish_chunk(finish: str) -> dict[str, Any]:
    return chunk({}, finish)


def usage_chunk(prompt: int, completion: int) -> dict[str, Any]:
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return {**chunk({}), "choices": [], "usage": usage}


def fragment(index: int, arguments: str = "", **head: str) -> dict[str, Any]:
    """A piece of a tool call; `head` has its `id` and its `name`."""
    function: dict[str, Any] = {"arguments": arguments}
    if "name" in head:
        function["name"] = head["name"]
    identity = {"id": head["id"], "type": "function"} if "id" in head else {}
    return {"tool_calls": [{"index": index, **identity, "function": function}]}


def whole(message: dict[str, Any], finish: str = "stop") -> dict[str, Any]:
    usage = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
    choice = {"index": 0, "message": {"role": "assistant", "content": None, **message}, "finish_reason": finish}
    return {
        "id": "chatcmpl-odd",
        "object": "chat.completion",
        "created": 1,
        "model": "odd",
        "choices": [choice],
        "usage": usage,
    }


def call_deltas(*calls: tuple[str, str, str]) -> list[dict[str, Any]]:
    """Whole calls of (id, name, arguments); those without an id have none."""
    return [
        {**({"id": id_} if id_ else {}), "type": "function", "function": {"name": name, "arguments": arguments}}
        for id_, name, arguments in calls
    ]


async def _pause(seconds: float) -> None:
    await (asyncio.Event().wait() if seconds == FOREVER else asyncio.sleep(seconds))
