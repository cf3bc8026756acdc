"""Streams of Chat Completions, as a server writes them."""

import time
from secrets import token_hex
from typing import Any, ClassVar

from ...core.errors import AIBattleError
from ...core.events import Event
from ...core.exchange import ModelResponse
from ...core.messages import Part
from .._blocks import Block, Blocks
from .._json import dumps
from .._rest import finished
from ..failures import Failed, failure
from .errors import encode_error
from .parts import is_refusal, own, refusal, refuses
from .response import OF_ITS_OWN, encode_response, encode_usage, reason_of

DONE = b"data: [DONE]\n\n"
ENDS = b'},"finish_reason":null}]}\n\n'
CALL_ENDS = b"}}]" + ENDS


class StreamWriter:
    """One per answer. `model` is the name that the client asked for, `usage` whether it wants to be told the usage."""

    answer: ClassVar[None] = None

    def __init__(self, model: str, *, usage: bool = True, input_tokens: int = 0) -> None:
        self._model = model
        self._usage = usage
        self._head = {
            "id": f"chatcmpl-{token_hex(16)}",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": model,
        }
        self._before = b"data: " + dumps(self._head)[:-1] + b',"choices":[{"index":0,"delta":{'
        self._blocks = Blocks(_Form(self._before))

    def begin(self) -> bytes:
        return self._before + b'"role":"assistant","content":""' + ENDS

    def feed(self, event: Event) -> bytes:
        if refuses(event):
            return self._blocks.begin(Block("text", part=refusal("")))
        return self._blocks.feed(event)

    def finish(self, response: ModelResponse) -> bytes:
        told = finished(self._blocks, response.message)
        extra = own(response.extra)
        choice = {"index": 0, "delta": own(response.message.extra), **extra.get("choice", {})}
        choice["finish_reason"] = reason_of(response)
        more = {name: value for name, value in extra.items() if name not in OF_ITS_OWN}
        last = _chunk({**self._head, "choices": [choice], **more})
        usage = {**self._head, "choices": [], "usage": encode_usage(response.usage)}
        return told + last + (_chunk(usage) if self._usage else b"") + DONE

    def whole(self, response: ModelResponse) -> bytes:
        """The answer in one piece."""
        return encode_response(response, self._model)

    def fail(self, error: AIBattleError | Failed) -> bytes:
        failed = failure(error)
        return b"data: " + encode_error(failed.status, failed.message, failed.kind) + b"\n\n"

    def ping(self) -> bytes:
        """This API has no event for it; one that says nothing is an event all the same, which a comment is not."""
        return self._before + ENDS


class _Form:
    interleaves = True

    def __init__(self, before: bytes) -> None:
        self._head = before
        self._before = {"text": before + b'"content":', "thinking": before + b'"reasoning_content":'}
        self._refusal = before + b'"refusal":'

    def is_whole(self, part: Part) -> bool:
        return False

    def opened(self, block: Block) -> bytes:
        if block.kind != "call":
            return b""
        extra = own(block.part.extra) if block.part else {}
        function = {"name": block.name, "arguments": ""}
        call = {"index": block.position, "id": block.id, "type": "function", "function": function, **extra}
        return self._head + b'"tool_calls":' + dumps([call]) + ENDS

    def grown(self, block: Block, fragment: str) -> bytes:
        if block.kind == "call":
            call = b'"tool_calls":[{"index":%d,"function":{"arguments":' % block.position
            return b"".join((self._head, call, dumps(fragment), CALL_ENDS))
        before = self._refusal if block.part and is_refusal(block.part) else self._before[block.kind]
        return b"".join((before, dumps(fragment), ENDS))

    def closed(self, block: Block) -> bytes:
        return b""


def _chunk(body: dict[str, Any]) -> bytes:
    return b"data: " + dumps(body) + b"\n\n"
