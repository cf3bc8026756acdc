"""Streams of the Messages API."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...core.errors import ProviderError
from ...core.events import Event, TextDelta, ThinkingDelta, ToolCallDelta
from ...core.exchange import ModelResponse
from .._calls import new_id
from .._errors import UNREADABLE, cut, in_stream, malformed, no_answer
from .._hearing import heard
from .._json import dumps, loads, read_arguments
from .._shape import given, needed
from ..sse import EventTokenizer, ServerEvent
from .blocks import WIRE, Block
from .responses import decode_response


@dataclass(slots=True)
class _Growing:
    """A block as it opened, and the fragments of its text, its thinking or the JSON of its input."""

    block: Block
    fragments: list[str] = field(default_factory=list)
    untold: list[Any] = field(default_factory=list)  # sources that came before the text that they belong to

    @property
    def grows(self) -> str:
        kind: str = self.block["type"]
        return kind if kind in ("text", "thinking") else "input"

    def add(self, grows: str, fragment: str) -> None:
        if grows != self.grows:
            raise TypeError(f"{grows} in a block of {self.block['type']}")
        self.fragments.append(fragment)

    def whole(self) -> Block:
        text = "".join(self.fragments)
        if self.grows != "input":
            return {**self.block, self.grows: text}
        if not text:
            return self.block
        arguments, wrong = read_arguments(text)
        return {**self.block, "input": wrong or arguments}


class StreamReader:
    """Puts the message together from its events; whole only when `message_stop` has come."""

    def __init__(self) -> None:
        self.done = False
        self._tokenizer = EventTokenizer()
        self._message: dict[str, Any] = {}
        self._blocks: list[_Growing] = []
        self._open: dict[int, _Growing] = {}
        self._said: list[str] = []
        self._calls: dict[str, int] = {}

    @property
    def whole(self) -> bool:
        return self.done

    @property
    def text(self) -> str:
        return "".join(self._said)

    @property
    def bill(self) -> Mapping[str, Any]:
        """The part of the body in which the usage stands, as far as it has come."""
        return self._message

    def feed(self, data: bytes) -> list[Event]:
        return heard(self._read, self._tokenizer.feed(data))

    def close(self) -> list[Event]:
        return heard(self._read, self._tokenizer.close())

    def finish(self) -> ModelResponse:
        if not self.done:
            raise self._unfinished()
        return decode_response({**self._message, "content": [growing.whole() for growing in self._blocks]})

    def _read(self, tokens: Iterable[ServerEvent], events: list[Event]) -> None:
        for name, payload in () if self.done else tokens:
            try:
                event = self._hear(loads(payload), name)
            except UNREADABLE as error:
                raise malformed(payload, self.text) from error
            if event:
                events.append(event)

    def _hear(self, event: Mapping[str, Any], name: str) -> Event | None:
        match event.get("type", name):
            case "content_block_delta":
                return self._grow(self._open[event["index"]], event["delta"])
            case "content_block_start":
                return self._start(event["index"], dict(event["content_block"]))
            case "content_block_stop":
                return self._stop(self._open[event["index"]])
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
        self._open[index] = growing = _Growing(block)
        self._blocks.append(growing)
        match needed(block, "type", str):
            case "text":
                return self._add_text(growing, given(block, "text", ""))
            case "thinking":
                return self._add_thinking(growing, given(block, "thinking", ""))
            case "tool_use":
                return self._start_call(block)
        return None

    def _stop(self, growing: _Growing) -> Event | None:
        """Blocks that only this API knows are heard whole, so that they keep their place between the others."""
        if growing.block["type"] in ("text", "thinking", "tool_use"):
            return _cited(growing.untold) if growing.untold else None
        return ThinkingDelta("", extra={WIRE: {"block": growing.whole()}})

    def _start_call(self, block: Block) -> Event:
        if not given(block, "id", "") or block["id"] in self._calls:
            block["id"] = new_id()
        number = self._calls.setdefault(block["id"], len(self._calls))
        arguments = dumps(block["input"]).decode() if block.get("input") else ""
        return ToolCallDelta(number, block["id"], needed(block, "name", str), arguments)

    def _grow(self, growing: _Growing, delta: Mapping[str, Any]) -> Event | None:
        match delta["type"]:
            case "text_delta":
                return self._add_text(growing, needed(delta, "text", str))
            case "thinking_delta":
                return self._add_thinking(growing, needed(delta, "thinking", str))
            case "input_json_delta":
                return self._add_arguments(growing, needed(delta, "partial_json", str))
            case "signature_delta":
                growing.block["signature"] = delta["signature"]
                return ThinkingDelta("", delta["signature"])
            case "citations_delta":
                return self._cite(growing, delta["citation"])
        return None

    def _cite(self, growing: _Growing, citation: Any) -> Event | None:
        growing.block["citations"] = [*(growing.block.get("citations") or ()), citation]
        if any(growing.fragments):
            return _cited([citation])
        growing.untold.append(citation)
        return None

    def _add_text(self, growing: _Growing, text: str) -> Event | None:
        growing.add("text", text)
        self._said.append(text)
        return TextDelta(text) if text else None

    def _add_thinking(self, growing: _Growing, text: str) -> Event | None:
        growing.add("thinking", text)
        return ThinkingDelta(text) if text else None

    def _add_arguments(self, growing: _Growing, text: str) -> Event | None:
        """Those of a tool that the API runs itself are nobody else's concern."""
        growing.add("input", text)
        if not text or growing.block["type"] != "tool_use":
            return None
        return ToolCallDelta(self._calls[growing.block["id"]], arguments=text)

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


def _cited(citations: list[Any]) -> Event:
    return ThinkingDelta("", extra={WIRE: {"citations": citations}})
