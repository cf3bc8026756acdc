"""Streams of Chat Completions: read from a provider, and written for a client."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from secrets import token_hex
from typing import Any

from ...core.events import Event, ToolCallDelta
from ...core.exchange import ModelResponse
from ...core.messages import Text, Thinking
from ..blocks import AnswerBlock, BlockWriter, Failure
from ..bodies import dumps, field_or, read_arguments
from ..errors import empty_answer, error_in_answer
from ..streams import DONE, StreamReader
from .answers import (
    KNOWN_IN_CHOICES,
    OF_ITS_OWN,
    bill_in,
    decode_response,
    encode_error,
    encode_response,
    encode_usage,
    reason_of,
)
from .messages import KNOWN as KNOWN_IN_MESSAGES
from .messages import REFUSES, decode_words, is_refusal, own, refusal, refuses

NONE: frozenset[str] = frozenset()
PLAIN = frozenset(("role", "content"))
END = b"data: [DONE]\n\n"
CHUNK_ENDS = b'},"finish_reason":null}]}\n\n'
CALL_ENDS = b"}}]" + CHUNK_ENDS


class ChatReader(StreamReader):
    """One per stream. The answer is whole when a finish reason has come; `[DONE]` may follow or not.

    Of a server that has no field for that reason, `[DONE]` is enough.
    """

    end_mark = DONE

    def __init__(self) -> None:
        super().__init__()
        self._first: Mapping[str, Any] = {}
        self._choice: dict[str, Any] = {}
        self._message: dict[str, Any] = {}
        self._reason = ""
        self._gives_reasons = self._refused = False
        self._calls: list[_GrowingCall] = []
        self._latest: dict[Any, _GrowingCall] = {}  # by the index and by the id of its fragments

    @property
    def whole(self) -> bool:
        return self.is_done or bool(self._reason)

    def finish(self) -> ModelResponse:
        if not self._first and (self.is_done or self.bill):
            raise empty_answer("the server sent no choices")
        if not self._reason and (self._gives_reasons or not self.is_done):
            raise self._cut_error()
        choice = {**self._choice, "message": self._whole_message(), "finish_reason": self._reason}
        return decode_response({**self._first, "choices": [choice], "usage": bill_in(self.bill)})

    def _whole_message(self) -> dict[str, Any]:
        said = {"refusal" if self._refused else "content": self.text, "reasoning_content": "".join(self._thoughts)}
        return {**self._message, **said, "tool_calls": [growing.whole() for growing in self._calls]}

    def _read(self, name: str, chunk: Mapping[str, Any], events: list[Event]) -> str:
        if bill_in(chunk):
            self.bill = chunk
        if not (choices := chunk.get("choices")):
            self.is_done = bool(self.bill and self._reason)
            return ""
        self._first = self._first or chunk
        said = [self._read_choice(choice, events) for choice in choices]
        return said[0] if len(said) == 1 and self.bill is not chunk else ""

    def _read_choice(self, choice: dict[str, Any], events: list[Event]) -> str:
        """Returns the text of a choice that brings a text and nothing else."""
        if choice.get("index"):
            return ""  # one answer is asked for
        delta = choice.get("delta") or {}
        content = delta.get("content")
        if isinstance(content, str) and delta.keys() <= PLAIN:
            self._say(content, events)
            return "" if self._has_ended(choice) else content
        self._read_rare(delta, events)
        self._has_ended(choice)
        return ""

    def _has_ended(self, choice: Mapping[str, Any]) -> bool:
        """Reads what stands beside the delta, and says whether there was anything."""
        reason, probabilities = choice.get("finish_reason"), choice.get("logprobs")
        self._gives_reasons = self._gives_reasons or "finish_reason" in choice
        if reason == "error":
            raise error_in_answer(choice, "always", self.text)
        if reason:
            self._reason = reason
            _merge(self._choice, choice, KNOWN_IN_CHOICES | {"logprobs"})
        if probabilities:
            _merge(self._choice, {"logprobs": probabilities}, NONE)
        return bool(reason or probabilities)

    def _read_rare(self, delta: dict[str, Any], events: list[Event]) -> None:
        if len(delta) > 1 or "tool_calls" not in delta:
            self._read_words(delta, events)
        events += [self._grow_call(fragment) for fragment in delta.get("tool_calls") or ()]

    def _read_words(self, delta: dict[str, Any], events: list[Event]) -> None:
        for part in decode_words(delta):
            if is_refusal(part) and not self._refused:
                self._refused = True
                events.append(REFUSES)
            if isinstance(part, Text | Thinking):
                (self._say if isinstance(part, Text) else self._think)(part.text, events)
        _merge(self._message, delta, KNOWN_IN_MESSAGES)

    def _grow_call(self, fragment: Mapping[str, Any]) -> ToolCallDelta:
        """Finds the call of a fragment: by its index, without one by its id, and without an id it is the one before."""
        function, index = fragment.get("function") or {}, fragment.get("index")
        id_, name = field_or(fragment, "id", ""), field_or(function, "name", "")
        arguments = _arguments_text(function.get("arguments") or "")
        growing = self._latest.get(id_ if index is None and id_ else index)
        if growing and not growing.ends_before(id_, name):
            growing.name = growing.name or name
            growing.fragments.append(arguments)
            return ToolCallDelta(growing.number, arguments=arguments)
        number, own_id = self._number_call(id_)
        growing = _GrowingCall(number, id_, name, {**fragment, "id": own_id}, [arguments])
        self._calls.append(growing)
        self._latest |= {id_: growing, index: growing}  # later fragments name one of them, or neither
        return ToolCallDelta(number, own_id, name, arguments)


def _arguments_text(arguments: Any) -> str:
    """Returns arguments as text; Ollama's relatives send the object itself."""
    return arguments if isinstance(arguments, str) else dumps(arguments).decode()


def _merge(into: dict[str, Any], fields: Mapping[str, Any], known: frozenset[str]) -> None:
    """Adds fields of a chunk: lists grow chunk by chunk, and so do those inside of objects (`logprobs.content`)."""
    for key, value in fields.items():
        if key in known or value in (None, "", [], {}):
            continue
        if isinstance(value, dict):
            _merge(into.setdefault(key, {}), value, NONE)
        elif isinstance(value, list):
            into[key] = into.get(key, []) + value
        else:
            into[key] = value


@dataclass(slots=True)
class _GrowingCall:
    number: int
    given_id: str
    name: str
    body: Mapping[str, Any]
    fragments: list[str]

    def whole(self) -> dict[str, Any]:
        return {**self.body, "function": {"name": self.name, "arguments": "".join(self.fragments)}}

    def ends_before(self, given_id: str, name: str) -> bool:
        """Says whether another call starts: several servers give every call one index, so a new id or name shows it."""
        if given_id and self.given_id:
            return given_id != self.given_id
        return bool(name) and any(self.fragments) and not read_arguments("".join(self.fragments))[1]


class ChatWriter(BlockWriter):
    """One per answer. `model` is the name that the client asked for, `usage` whether it wants to be told the usage."""

    interleaves = True

    def __init__(self, model: str, *, usage: bool = True, input_tokens: int = 0) -> None:
        super().__init__()
        self._model = model
        self._usage = usage

    @cached_property
    def _head(self) -> dict[str, Any]:
        """What each chunk says of the answer; one that goes out whole has no chunks."""
        head = {"object": "chat.completion.chunk", "created": int(time.time()), "model": self._model}
        return {"id": f"chatcmpl-{token_hex(16)}", **head}

    @cached_property
    def _before(self) -> bytes:
        return b"data: " + dumps(self._head)[:-1] + b',"choices":[{"index":0,"delta":{'

    def begin(self) -> bytes:
        return self._before + b'"role":"assistant","content":""' + CHUNK_ENDS

    def feed(self, event: Event) -> bytes:
        if refuses(event):
            return self.add_block(AnswerBlock("text", part=refusal("")))
        return super().feed(event)

    def finish(self, response: ModelResponse) -> bytes:
        rest = self.finish_blocks(response.message)
        extra = own(response.extra)
        choice = {"index": 0, "delta": own(response.message.extra), **extra.get("choice", {})}
        choice["finish_reason"] = reason_of(response)
        more = {name: value for name, value in extra.items() if name not in OF_ITS_OWN}
        last = _chunk({**self._head, "choices": [choice], **more})
        usage = {**self._head, "choices": [], "usage": encode_usage(response.usage)}
        return rest + last + (_chunk(usage) if self._usage else b"") + END

    def whole(self, response: ModelResponse) -> bytes:
        return encode_response(response, self._model)

    def fail(self, failed: Failure) -> bytes:
        return b"data: " + encode_error(failed.status, failed.message, failed.kind) + b"\n\n"

    def ping(self) -> bytes:
        """This API has no event for it; one that says nothing is an event all the same, which a comment is not."""
        return self._before + CHUNK_ENDS

    def _open_block(self, block: AnswerBlock) -> bytes:
        if block.kind != "call":
            return b""
        extra = own(block.part.extra) if block.part else {}
        function = {"name": block.name, "arguments": ""}
        call = {"index": block.position, "id": block.id, "type": "function", "function": function, **extra}
        return self._before + b'"tool_calls":' + dumps([call]) + CHUNK_ENDS

    def _grow_block(self, block: AnswerBlock, fragment: str) -> bytes:
        if block.kind == "call":
            call = b'"tool_calls":[{"index":%d,"function":{"arguments":' % block.position
            return b"".join((self._before, call, dumps(fragment), CALL_ENDS))
        field = b'"content":' if block.kind == "text" else b'"reasoning_content":'
        if block.part and is_refusal(block.part):
            field = b'"refusal":'
        return b"".join((self._before, field, dumps(fragment), CHUNK_ENDS))

    def _close_block(self, block: AnswerBlock) -> bytes:
        return b""


def _chunk(body: dict[str, Any]) -> bytes:
    return b"data: " + dumps(body) + b"\n\n"
