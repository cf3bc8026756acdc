"""Streams of the Messages API, as a server writes them."""

from collections.abc import Mapping
from secrets import token_hex
from typing import Any, ClassVar

from ...core.errors import AIBattleError
from ...core.events import Event, ThinkingDelta
from ...core.exchange import UNKNOWN_USAGE, ModelResponse, Usage
from ...core.messages import Document, Image, Part
from .._blocks import WAITING, Block, Blocks
from .._extra import own
from .._json import dumps
from .._rest import finished
from ..failures import Failed, failure
from .blocks import WIRE, encode_part, wire_id
from .errors import encode_error
from .responses import encode_response, encode_usage, stop_of

PING = b'event: ping\ndata: {"type":"ping"}\n\n'
STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
ENDS = b"}}\n\n"
DELTAS = {
    "text": b'"text_delta","text":',
    "thinking": b'"thinking_delta","thinking":',
    "call": b'"input_json_delta","partial_json":',
}
TOLD_LATE = ("container", "stop_details")  # fields of an answer that its stream tells with the reason of its stop


class StreamWriter:
    """One per answer. `model` is the name that the client asked for, `input_tokens` an estimate until usage is known.

    This API always tells the usage.
    """

    answer: ClassVar[None] = None

    def __init__(self, model: str, *, usage: bool = True, input_tokens: int = 0) -> None:
        self._model = model
        self._input_tokens = input_tokens
        self._blocks = Blocks(_Form())

    def begin(self) -> bytes:
        message: dict[str, Any] = {
            "id": f"msg_{token_hex(12)}",
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": encode_usage(Usage(self._input_tokens)),
        }
        return _event("message_start", {"message": message})

    def feed(self, event: Event) -> bytes:
        if type(event) is ThinkingDelta and event.extra:
            return self._cited(event.extra) or self._blocks.feed(event)
        return self._blocks.feed(event)

    def finish(self, response: ModelResponse) -> bytes:
        told = finished(self._blocks, response.message)
        reason, sequence = stop_of(response)
        extra = own(WIRE, response.extra)
        delta = {"stop_reason": reason, "stop_sequence": sequence}
        delta |= {name: extra[name] for name in TOLD_LATE if name in extra}
        usage = {"output_tokens": 0} if response.usage == UNKNOWN_USAGE else encode_usage(response.usage)
        managed = {"context_management": extra["context_management"]} if "context_management" in extra else {}
        return told + _event("message_delta", {"delta": delta, "usage": usage, **managed}) + STOP

    def whole(self, response: ModelResponse) -> bytes:
        """The answer in one piece."""
        return encode_response(response, self._model)

    def fail(self, error: AIBattleError | Failed) -> bytes:
        failed = failure(error)
        return b"event: error\ndata: " + encode_error(failed.status, failed.message, failed.kind) + b"\n\n"

    def ping(self) -> bytes:
        return PING

    def _cited(self, extra: Mapping[str, Any]) -> bytes:
        """Sources of the text that is being said."""
        citations, block = own(WIRE, extra).get("citations", ()), self._blocks.last
        if block is None or block.kind != "text" or block.index == WAITING:
            return b""
        deltas = ({"type": "citations_delta", "citation": citation} for citation in citations)
        return b"".join(_event("content_block_delta", {"index": block.index, "delta": delta}) for delta in deltas)


class _Form:
    interleaves = False

    def is_whole(self, part: Part) -> bool:
        return isinstance(part, Image | Document) or "block" in own(WIRE, part.extra)

    def opened(self, block: Block) -> bytes:
        if block.kind in DELTAS:
            head = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":{"type":'
            self._before = head % block.index + DELTAS[block.kind]
        return _event("content_block_start", {"index": block.index, "content_block": _started(block)})

    def grown(self, block: Block, fragment: str) -> bytes:
        return b"".join((self._before, dumps(fragment), ENDS))

    def closed(self, block: Block) -> bytes:
        end = _event("content_block_stop", {"index": block.index})
        if not block.signature:
            return end
        delta = {"type": "signature_delta", "signature": block.signature}
        return _event("content_block_delta", {"index": block.index, "delta": delta}) + end


def _started(block: Block) -> dict[str, Any]:
    """A block before its first delta, with what a part of this API has beside what deltas tell."""
    extra = own(WIRE, block.part.extra) if block.part else {}
    match block.kind:
        case "text":
            return {"type": "text", "text": "", **extra}
        case "thinking":
            return {"type": "thinking", "thinking": "", "signature": "", **extra}
        case "call":
            return {"type": "tool_use", "id": wire_id(block.id), "name": block.name, "input": {}, **extra}
    return (encode_part(block.part) if block.part else None) or {"type": "text", "text": ""}


def _event(name: str, fields: dict[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), dumps({"type": name, **fields}))
