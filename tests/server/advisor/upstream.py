"""An upstream that speaks Anthropic's API and has advisors of its own: its messages are written by the tests."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web


class NativeUpstream:
    """Answers each request with the next of `messages`, streamed where it is asked to."""

    def __init__(self) -> None:
        self.url = ""
        self.messages: list[dict[str, Any]] = []
        self.bodies: list[dict[str, Any]] = []
        self.betas: list[str] = []

    @classmethod
    @asynccontextmanager
    async def running(cls) -> AsyncIterator["NativeUpstream"]:
        upstream = cls()
        runner = web.ServerRunner(web.Server(upstream._handle), shutdown_timeout=0.05)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        upstream.url = "http://{}:{}".format(*runner.addresses[0][:2])
        try:
            yield upstream
        finally:
            await runner.cleanup()

    def says(self, *content: dict[str, Any], **usage: Any) -> None:
        fields = {"id": "msg_native", "type": "message", "role": "assistant", "model": "claude-haiku-4-5"}
        ended = {"stop_reason": "end_turn", "stop_sequence": None}
        self.messages.append({**fields, "content": [*content], **ended, "usage": usage})

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        raw = await request.read()
        self.bodies.append(json.loads(raw))
        self.betas.append(request.headers.get("anthropic-beta", ""))
        message = self.messages.pop(0)
        if not self.bodies[-1].get("stream"):
            return web.json_response(message)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for event in _events(message):
            await response.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        return response


def _events(message: dict[str, Any]) -> list[dict[str, Any]]:
    started = {**message, "content": [], "stop_reason": None}
    started["usage"] = {**message["usage"], "output_tokens": 1, "iterations": None}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    blocks = (event for index, block in enumerate(message["content"]) for event in _block(index, block))
    return [
        {"type": "message_start", "message": started},
        *blocks,
        {"type": "message_delta", "delta": delta, "usage": message["usage"]},
        {"type": "message_stop"},
    ]


def _block(index: int, block: dict[str, Any]) -> list[dict[str, Any]]:
    """A result comes whole in its first event, all else in deltas; after a question there is a pause with a ping."""
    deltas, start, after = [], block, []
    if block["type"] == "text":
        start = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": block["text"]}]
    elif block["type"] == "server_tool_use":
        deltas = [{"type": "input_json_delta", "partial_json": ""}]
        after = [{"type": "ping"}]
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
        *after,
    ]
