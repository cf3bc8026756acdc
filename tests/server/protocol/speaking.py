"""Clients of each API that take nothing for granted: they read bytes, and object to what real clients trip over."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO
from time import perf_counter
from typing import Any

import aiohttp

PATHS = {"messages": "/v1/messages", "chat": "/v1/chat/completions", "responses": "/v1/responses"}
LARGE = 1024 * 1024
BLOCKS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
    "input_json_delta": "tool_use",
}
FIELDS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


@dataclass
class AnsweredQuestion:
    """An answer that came in one piece."""

    status: int
    body: Any
    headers: Mapping[str, str]


@dataclass
class Event:
    name: str
    data: Any
    seconds: float
    """After the request was sent."""


@dataclass
class Streamed:
    status: int
    headers: Mapping[str, str]
    events: list[Event] = field(default_factory=list)
    is_broken: bool = False

    def of(self, *names: str) -> list[Any]:
        return [event.data for event in self.events if event.name in names]


@dataclass
class Speaker:
    """One client of the server at `address`; `model` is the name that it asks for."""

    address: str
    session: aiohttp.ClientSession
    model: str = "claude-opus-4"

    async def post(
        self, api: str, body: Any, headers: Mapping[str, str] | None = None, path: str = ""
    ) -> AnsweredQuestion:
        """`body` may be bytes, to be sent as they are."""
        async with self._ask(path or PATHS[api], body, headers) as answer:
            return AnsweredQuestion(answer.status, await answer.json(content_type=None), answer.headers)

    async def get(self, path: str, headers: Mapping[str, str] | None = None, method: str = "GET") -> AnsweredQuestion:
        async with self.session.request(method, self.address + path, headers=headers) as answer:
            raw = await answer.read()
            return AnsweredQuestion(answer.status, json.loads(raw) if raw else None, answer.headers)

    async def stream(self, api: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Streamed:
        started = perf_counter()
        async with self._ask(PATHS[api], {"stream": True, **body}, headers) as answer:
            streamed = Streamed(answer.status, answer.headers)
            if answer.content_type != "text/event-stream":
                streamed.events.append(Event("", await answer.json(content_type=None), 0.0))
                return streamed
            try:
                async for event in events_of(answer.content.iter_any(), started):
                    streamed.events.append(event)
            except aiohttp.ClientError:
                streamed.is_broken = True
        return streamed

    @asynccontextmanager
    async def _ask(
        self, path: str, body: Any, headers: Mapping[str, str] | None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        if isinstance(body, Mapping):
            body = json.dumps({"model": self.model, **body}).encode()
        if len(body) > LARGE:
            body = BytesIO(body)
        version = {"anthropic-version": "2023-06-01"} if path.startswith(PATHS["messages"]) else {}
        sent = {"content-type": "application/json", **version, **(headers or {})}
        async with self.session.post(self.address + path, data=body, headers=sent) as answer:
            yield answer


@asynccontextmanager
async def speaking(address: str, model: str = "claude-opus-4") -> AsyncIterator[Speaker]:
    timeout = aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        yield Speaker(address, session, model)


async def events_of(chunks: AsyncIterator[bytes], started: float) -> AsyncIterator[Event]:
    """Split at empty lines only, as the specification of event streams has it."""
    waiting = b""
    async for chunk in chunks:
        waiting += chunk
        *whole, waiting = waiting.split(b"\n\n")
        for event in whole:
            if not event.startswith(b":"):
                yield _event(event, perf_counter() - started)
    assert not waiting, f"the stream ends within an event: {waiting!r}"


def _event(raw: bytes, seconds: float) -> Event:
    lines = dict(line.split(b": ", 1) for line in raw.split(b"\n"))
    assert lines.keys() <= {b"event", b"data"}
    text = lines[b"data"].decode()
    return Event(lines.get(b"event", b"").decode(), text if text == "[DONE]" else json.loads(text), seconds)


@dataclass
class Message:
    """What a client of the Messages API has after the last event."""

    content: list[dict[str, Any]]
    stop_reason: str | None
    usage: dict[str, Any]
    model: str
    deltas: list[str]

    @property
    def kinds(self) -> list[str]:
        return [block["type"] for block in self.content]

    @property
    def text(self) -> str:
        return "".join(block["text"] for block in self.content if block["type"] == "text")

    @property
    def calls(self) -> list[tuple[str, Any]]:
        return [(block["name"], block["input"]) for block in self.content if block["type"] == "tool_use"]


def message_of(streamed: Streamed) -> Message:
    """Raises AssertionError for every step that the grammar of the events does not have."""
    assert streamed.status == 200, streamed.events
    events = [event for event in streamed.events if event.name != "ping"]
    assert all(event.name == event.data["type"] for event in events)
    assert [event.name for event in events[:1]] == ["message_start"]
    assert [event.name for event in events[-2:]] == ["message_delta", "message_stop"]
    start, delta = events[0].data["message"], events[-2].data
    assert (start["content"], start["stop_reason"], start["role"]) == ([], None, "assistant")
    assert isinstance(delta["usage"]["output_tokens"], int)
    blocks, deltas = blocks_of([event.data for event in events[1:-2]])
    usage = {**start["usage"], **delta["usage"]}
    return Message(blocks, delta["delta"]["stop_reason"], usage, start["model"], deltas)


def blocks_of(events: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """The blocks as their events put them together, and the kinds of the deltas."""
    done: list[dict[str, Any]] = []
    deltas: list[str] = []
    now: dict[str, Any] | None = None
    said = ""
    for event in events:
        assert event["index"] == len(done), "blocks are numbered in the order of their starts, without gaps"
        match event["type"]:
            case "content_block_start":
                assert now is None, "a block starts when the one before it has stopped"
                now, said = dict(event["content_block"]), ""
            case "content_block_delta":
                assert now is not None
                delta = event["delta"]
                assert BLOCKS[delta["type"]] == now["type"].removeprefix("server_")
                deltas.append(delta["type"])
                if delta["type"] == "signature_delta":
                    now["signature"] = delta["signature"]
                else:
                    said += delta[FIELDS[delta["type"]]]
            case "content_block_stop":
                assert now is not None
                done.append(_stop_block(now, said))
                now = None
            case other:
                raise AssertionError(f"{other} is not an event of a block")
    assert now is None, "the last block has stopped"
    return done, deltas


def _stop_block(block: dict[str, Any], said: str) -> dict[str, Any]:
    if block["type"] in ("tool_use", "server_tool_use"):
        assert block["id"]
        assert (bool(block["name"]), block["input"]) == (True, {})
        return {**block, "input": json.loads(said) if said else {}}
    return {**block, block["type"]: block[block["type"]] + said} if block["type"] in block else block


@dataclass
class Completion:
    """What a client of Chat Completions has after the last chunk."""

    text: str
    reasoning: str
    calls: list[tuple[str, str, str]]
    finish: str | None
    model: str
    usage: dict[str, Any] | None
    chunks: list[dict[str, Any]]


def completion_of(streamed: Streamed) -> Completion:
    """Calls are put together by their indices alone, as SDKs do."""
    assert streamed.status == 200, streamed.events
    assert streamed.events[-1].data == "[DONE]"
    chunks = [event.data for event in streamed.events[:-1]]
    assert all(chunk["object"] == "chat.completion.chunk" for chunk in chunks)
    assert len({chunk["id"] for chunk in chunks}) == 1
    choices = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
    assert choices[0]["delta"]["role"] == "assistant"
    finishes = [choice["finish_reason"] for choice in choices if choice["finish_reason"]]
    assert len(finishes) == 1
    calls: dict[int, list[str]] = {}
    for fragment in (each for choice in choices for each in choice["delta"].get("tool_calls") or ()):
        call = calls.setdefault(fragment["index"], ["", "", ""])
        call[0] += fragment.get("id") or ""
        call[1] += fragment["function"].get("name") or ""
        call[2] += fragment["function"].get("arguments") or ""
    assert [*calls] == [*range(len(calls))]
    text = "".join(choice["delta"].get("content") or "" for choice in choices)
    reasoning = "".join(choice["delta"].get("reasoning_content") or "" for choice in choices)
    told: list[tuple[str, str, str]] = [(call[0], call[1], call[2]) for call in calls.values()]
    usage = next((chunk["usage"] for chunk in chunks if not chunk["choices"]), None)
    return Completion(text, reasoning, told, finishes[0], chunks[0]["model"], usage, chunks)


def response_of(streamed: Streamed) -> dict[str, Any]:
    """The last response of a stream of the Responses API, whose events have been held against each other."""
    assert streamed.status == 200, streamed.events
    events = [event.data for event in streamed.events]
    assert [event.name for event in streamed.events] == [event["type"] for event in events]
    assert [event["sequence_number"] for event in events] == [*range(len(events))]
    assert events[0]["type"] == "response.created"
    last = events[-1]
    assert last["type"] in ("response.completed", "response.incomplete")
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    added = [event["item"]["id"] for event in events if event["type"] == "response.output_item.added"]
    assert last["response"]["output"] == done
    assert added == [item["id"] for item in done]
    for item in done:
        assert _delta_text(events, item["id"]) == _item_text(item)
    response: dict[str, Any] = last["response"]
    return response


def _delta_text(events: list[dict[str, Any]], id_: str) -> str:
    mine = [event for event in events if event.get("item_id") == id_]
    return "".join(event["delta"] for event in mine if event["type"].endswith(".delta"))


def _item_text(item: dict[str, Any]) -> str:
    if item["type"] == "function_call":
        return str(item["arguments"])
    if item["type"] == "reasoning":
        return "".join(part["text"] for part in item["summary"])
    return "".join(part.get("text") or part.get("refusal") or "" for part in item.get("content", ()))
