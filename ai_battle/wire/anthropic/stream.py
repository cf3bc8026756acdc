"""Streams of the Messages API."""

from collections.abc import Mapping
from typing import Any

from ...core.errors import ProviderError
from ...core.events import Event, TextDelta, ThinkingDelta, ToolCallDelta
from ...core.exchange import ModelResponse
from .._calls import new_id
from .._errors import UNREADABLE, cut, in_stream, malformed, no_answer
from .._json import dumps, loads, read_arguments
from .._shape import given, needed
from ..sse import EventTokenizer
from .blocks import Block
from .responses import decode_response


class StreamReader:
    """Puts the message together from its events; whole only when `message_stop` has come."""

    def __init__(self) -> None:
        self.done = False
        self._tokenizer = EventTokenizer()
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, Block] = {}
        self._fragments: dict[int, list[str]] = {}
        self._said: list[str] = []
        self._calls: dict[str, int] = {}

    @property
    def text(self) -> str:
        return "".join(self._said)

    def feed(self, data: bytes) -> list[Event]:
        heard = []
        for name, payload in () if self.done else self._tokenizer.feed(data):
            try:
                event = self._hear(loads(payload), name)
            except UNREADABLE as error:
                raise malformed(payload, self.text) from error
            if event:
                heard.append(event)
        return heard

    def finish(self) -> ModelResponse:
        if not self.done:
            raise self._unfinished()
        blocks = [self._whole(index) for index in sorted(self._blocks)]
        return decode_response({**self._message, "content": blocks})

    def _hear(self, event: Mapping[str, Any], name: str) -> Event | None:
        match event.get("type", name):
            case "content_block_delta":
                return self._grow(event["index"], event["delta"])
            case "content_block_start":
                return self._start(needed(event, "index", int), dict(event["content_block"]))
            case "message_start":
                self._message = dict(event["message"])
            case "message_delta":
                self._update(event)
            case "message_stop":
                self.done = True
            case "error":
                raise in_stream(event, self.text)
        return None

    def _start(self, index: int, block: Block) -> Event | None:
        """Opens a block; some servers put all of it in here."""
        self._blocks[index] = block
        self._fragments[index] = []
        match block["type"]:
            case "text":
                return self._add_text(index, given(block, "text", ""))
            case "thinking":
                return self._add_thinking(index, given(block, "thinking", ""))
            case "tool_use":
                return self._start_call(block)
        return None

    def _start_call(self, block: Block) -> Event:
        if not given(block, "id", "") or block["id"] in self._calls:
            block["id"] = new_id()
        number = self._calls.setdefault(block["id"], len(self._calls))
        arguments = dumps(block["input"]).decode() if block.get("input") else ""
        return ToolCallDelta(number, block["id"], needed(block, "name", str), arguments)

    def _grow(self, index: int, delta: Mapping[str, Any]) -> Event | None:
        match delta["type"]:
            case "text_delta":
                return self._add_text(index, needed(delta, "text", str))
            case "thinking_delta":
                return self._add_thinking(index, needed(delta, "thinking", str))
            case "input_json_delta":
                return self._add_arguments(index, needed(delta, "partial_json", str))
            case "signature_delta":
                self._blocks[index]["signature"] = delta["signature"]
            case "citations_delta":
                block = self._blocks[index]
                block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
        return None

    def _add_text(self, index: int, text: str) -> Event | None:
        self._fragments[index].append(text)
        self._said.append(text)
        return TextDelta(text) if text else None

    def _add_thinking(self, index: int, text: str) -> Event | None:
        self._fragments[index].append(text)
        return ThinkingDelta(text) if text else None

    def _add_arguments(self, index: int, text: str) -> Event | None:
        self._fragments[index].append(text)
        block = self._blocks[index]
        return ToolCallDelta(self._calls[block["id"]], arguments=text) if text and block["type"] == "tool_use" else None

    def _update(self, event: Mapping[str, Any]) -> None:
        """Counts are cumulative; those that an event leaves out stand as they were."""
        self._message |= event["delta"]
        counts = {name: count for name, count in (event.get("usage") or {}).items() if count is not None}
        self._message["usage"] = {**(self._message.get("usage") or {}), **counts}

    def _unfinished(self) -> ProviderError:
        tokenizer = self._tokenizer
        if self._message:
            return cut(self.text, tokenizer.unread)
        return no_answer(tokenizer.unread or tokenizer.head)

    def _whole(self, index: int) -> Block:
        block, text = self._blocks[index], "".join(self._fragments[index])
        if block["type"] in ("text", "thinking"):
            return {**block, block["type"]: text}
        if not text:
            return block
        arguments, wrong = read_arguments(text)
        return {**block, "input": wrong or arguments}
