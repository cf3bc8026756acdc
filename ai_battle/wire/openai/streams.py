"""Streams of Chat Completions: read from a provider, and written for a client."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from ...core.errors import AIBattleError
from ...core.events import Event, ToolCallDelta
from ...core.exchange import UNKNOWN_USAGE, ModelResponse
from ...core.messages import Message, Part, Text, Thinking, ToolCall
from ..blocks import AnswerBlock, BlockWriter
from ..bodies import dumps, field_or, loads, read_arguments
from ..errors import empty_answer, error_in_stream, readable_answer
from ..failures import Failed, failure
from ..messages import new_id
from ..streams import DONE, StreamReader
from .answers import (
    KNOWN,
    KNOWN_IN_CHOICES,
    OF_ITS_OWN,
    answer,
    decode_usage,
    encode_error,
    encode_response,
    encode_usage,
    reason_of,
)
from .messages import KNOWN as KNOWN_IN_MESSAGES
from .messages import KNOWN_IN_CALLS
from .parts import REFUSES, WIRE, decode_content, is_refusal, own, refusal, refuses, unknown_fields

NONE: frozenset[str] = frozenset()
END = b"data: [DONE]\n\n"
CHUNK_ENDS = b'},"finish_reason":null}]}\n\n'
CALL_ENDS = b"}}]" + CHUNK_ENDS


class ChatReader(StreamReader):
    """One per stream. The answer is whole when a finish reason has come; `[DONE]` may follow or not.

    Of a server that has no field for that reason, `[DONE]` is enough.
    """

    def __init__(self) -> None:
        super().__init__()
        self._refused = False
        self._calls = _Calls()
        self._first: Mapping[str, Any] = {}
        self._reason = ""
        self._gives_reasons = False
        self._usage = UNKNOWN_USAGE
        self._message_extra: dict[str, Any] = {}
        self._choice_extra: dict[str, Any] = {}
        self._ended = False

    @property
    def is_done(self) -> bool:
        return self._ended

    @property
    def whole(self) -> bool:
        return self._ended or bool(self._reason)

    def finish(self) -> ModelResponse:
        if not (self._reason or (self._ended and self._first and not self._gives_reasons)):
            if not self._first and (self._ended or self._usage is not UNKNOWN_USAGE):
                raise empty_answer("the server sent no choices")
            raise self._cut_error(has_begun=self._tokens.is_event_stream)
        said = refusal(self.text) if self._refused else Text(self.text)
        thought = Thinking("".join(self._thoughts))
        parts: list[Part] = [part for part in (thought, said) if part.text]
        extra = {WIRE: self._message_extra} if self._message_extra else {}
        with readable_answer(self._first):
            message = Message("assistant", (*parts, *self._calls.calls()), extra=extra)
            about = unknown_fields({**self._first, "choice": self._choice_extra}, KNOWN)
            return answer(message, self._reason, self._usage, field_or(self._first, "model", ""), about)

    def _read(self, name: str, payload: bytes, events: list[Event]) -> str:
        if payload == DONE:
            self._ended = True
            return ""
        chunk = loads(payload)
        if name == "error" or chunk.get("error"):
            raise error_in_stream(chunk, self.text)
        if usage := chunk.get("usage") or "x_groq" in chunk:
            self.bill, self._usage = chunk, decode_usage(chunk)
        choices = chunk.get("choices")
        if not choices:
            self._ended = self._ended or bool(self._reason and self._usage is not UNKNOWN_USAGE)
            return ""
        self._first = self._first or chunk
        said = [self._read_choice(choice, events) for choice in choices]
        return said[0] if len(said) == 1 and not usage else ""

    def _read_choice(self, choice: dict[str, Any], events: list[Event]) -> str:
        """Returns the text of a choice that brings a text and nothing else."""
        if choice.get("index"):
            return ""  # one answer is asked for
        delta = choice.get("delta") or {}
        is_plain = delta.keys() == {"content"} and not choice.get("finish_reason") and not choice.get("logprobs")
        if len(delta) > 1 or "content" not in delta:
            self._read_rare(delta, events)
        if content := delta.get("content"):
            self._say_content(content, events)
        if fragments := delta.get("tool_calls"):
            events.extend(self._calls.add(fragment) for fragment in fragments)
        self._end_choice(choice)
        return content if is_plain and isinstance(content, str) else ""

    def _end_choice(self, choice: Mapping[str, Any]) -> None:
        self._gives_reasons = self._gives_reasons or "finish_reason" in choice
        if reason := choice.get("finish_reason"):
            if reason == "error":
                raise error_in_stream(choice, self.text)
            self._reason = reason
            _merge(self._choice_extra, choice, KNOWN_IN_CHOICES | {"logprobs"})
        if probabilities := choice.get("logprobs"):
            _merge(self._choice_extra, {"logprobs": probabilities}, NONE)

    def _say_content(self, content: Any, events: list[Event]) -> None:
        if isinstance(content, str):
            self._say(content, events)
            return
        for part in decode_content(content):  # Mistral streams parts
            if isinstance(part, Thinking):
                self._think(part.text, events)
            elif isinstance(part, Text):
                self._say(part.text, events)

    def _read_rare(self, delta: dict[str, Any], events: list[Event]) -> None:
        self._think(field_or(delta, "reasoning_content", "") or field_or(delta, "reasoning", ""), events)
        if refused := field_or(delta, "refusal", ""):
            if not self._refused:
                events.append(REFUSES)
            self._refused = True
            self._say(refused, events)
        if not delta.keys() <= KNOWN_IN_MESSAGES:
            _merge(self._message_extra, delta, KNOWN_IN_MESSAGES)


def _merge(into: dict[str, Any], fields: Mapping[str, Any], known: frozenset[str]) -> None:
    """Lists grow chunk by chunk, and so do those inside of objects (`logprobs.content`)."""
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
    position: int
    id: str
    name: str
    given_id: str
    extra: Mapping[str, Any]
    fragments: list[str] = field(default_factory=list)

    def whole(self) -> ToolCall:
        arguments, wrong = read_arguments("".join(self.fragments))
        return ToolCall(self.name, arguments, self.id, wrong, extra=self.extra)

    def ends_before(self, given_id: str, name: str) -> bool:
        """Several servers give every call the same index: a new id, or a name after whole arguments, starts another."""
        if given_id and self.given_id:
            return given_id != self.given_id
        return bool(name) and any(self.fragments) and not self.whole().malformed


class _Calls:
    """Puts calls together from their fragments."""

    def __init__(self) -> None:
        self._all: list[_GrowingCall] = []
        self._at: dict[Any, _GrowingCall] = {}

    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(growing.whole() for growing in self._all)

    def add(self, fragment: Mapping[str, Any]) -> ToolCallDelta:
        """Without an index, the id of a fragment tells which call it belongs to, and else it is the one before."""
        function, index = fragment.get("function") or {}, fragment.get("index")
        id_, name = field_or(fragment, "id", ""), field_or(function, "name", "")
        arguments = function.get("arguments") or ""
        if not isinstance(arguments, str):  # Ollama's relatives send the object itself
            arguments = dumps(arguments).decode()
        growing = self._at.get(index)
        if index is None and id_:
            growing = next((each for each in self._all if each.given_id == id_), None)
        if growing is None or growing.ends_before(id_, name):
            taken = {each.id for each in self._all}
            own_id = id_ if id_ and id_ not in taken else new_id()
            extra = unknown_fields(fragment, KNOWN_IN_CALLS)
            growing = _GrowingCall(len(self._all), own_id, name, id_, extra, [arguments])
            self._all.append(growing)
            self._at[index] = growing
            return ToolCallDelta(growing.position, own_id, name, arguments)
        growing.name = growing.name or name
        growing.fragments.append(arguments)
        return ToolCallDelta(growing.position, arguments=arguments)


class ChatWriter(BlockWriter):
    """One per answer. `model` is the name that the client asked for, `usage` whether it wants to be told the usage."""

    interleaves = True

    def __init__(self, model: str, *, usage: bool = True, input_tokens: int = 0) -> None:
        super().__init__()
        self._model = model
        self._usage = usage
        self._head = {
            "id": f"chatcmpl-{token_hex(16)}",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": model,
        }
        self._before = b"data: " + dumps(self._head)[:-1] + b',"choices":[{"index":0,"delta":{'

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

    def fail(self, error: AIBattleError | Failed) -> bytes:
        failed = failure(error)
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
