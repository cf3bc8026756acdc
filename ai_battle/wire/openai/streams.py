"""Streams of Chat Completions: read from a provider, and written for a client."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from ...core.errors import AIBattleError, ProviderError
from ...core.events import Event, ThinkingDelta, ToolCallDelta
from ...core.exchange import UNKNOWN_USAGE, ModelResponse
from ...core.messages import Message, Part, Text, Thinking, ToolCall
from .. import streams
from ..blocks import AnswerBlock, BlockWriter
from ..bodies import dumps, given, loads, read_arguments
from ..errors import empty, in_stream, readable_answer
from ..failures import Failed, failure
from ..messages import new_id
from ..streams import DONE
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
from .parts import REFUSES, WIRE, decode_content, is_refusal, kept, own, refusal, refuses

NONE: frozenset[str] = frozenset()
END = b"data: [DONE]\n\n"
CHUNK_ENDS = b'},"finish_reason":null}]}\n\n'
CALL_ENDS = b"}}]" + CHUNK_ENDS


class StreamReader(streams.StreamReader):
    """One per stream. The answer is whole when a finish reason has come; `[DONE]` may follow or not.

    Of a server that has no field for that reason, `[DONE]` is enough.
    """

    def __init__(self) -> None:
        super().__init__()
        self._thinking: list[str] = []
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
    def done(self) -> bool:
        return self._ended

    @property
    def whole(self) -> bool:
        return self._ended or bool(self._reason)

    def finish(self) -> ModelResponse:
        if not (self._reason or (self._ended and self._first and not self._gives_reasons)):
            raise self._not_whole()
        with readable_answer(self._first):
            return self._answer()

    def _answer(self) -> ModelResponse:
        said = refusal(self.text) if self._refused else Text(self.text)
        thought = Thinking("".join(self._thinking))
        parts: list[Part] = [part for part in (thought, said) if part.text]
        message = Message(
            "assistant",
            (*parts, *self._calls.calls()),
            extra={WIRE: self._message_extra} if self._message_extra else {},
        )
        extra = kept({**self._first, "choice": self._choice_extra}, KNOWN)
        return answer(message, self._reason, self._usage, given(self._first, "model", ""), extra)

    def _not_whole(self) -> ProviderError:
        if not self._first and (self._ended or self._usage is not UNKNOWN_USAGE):
            return empty("the server sent no choices")
        return self._unfinished(has_begun=self._tokens.is_event_stream)

    def _read(self, name: str, payload: bytes, events: list[Event]) -> str:
        if payload == DONE:
            self._ended = True
            return ""
        chunk = loads(payload)
        if name == "error" or chunk.get("error"):
            raise in_stream(chunk, self.text)
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
            events.extend(self._calls.take(fragment) for fragment in fragments)
        self._end_choice(choice)
        return content if is_plain and isinstance(content, str) else ""

    def _end_choice(self, choice: Mapping[str, Any]) -> None:
        self._gives_reasons = self._gives_reasons or "finish_reason" in choice
        if reason := choice.get("finish_reason"):
            if reason == "error":
                raise in_stream(choice, self.text)
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

    def _think(self, thought: str, events: list[Event]) -> None:
        self._thinking.append(thought)
        events.append(ThinkingDelta(thought))

    def _read_rare(self, delta: dict[str, Any], events: list[Event]) -> None:
        if thought := given(delta, "reasoning_content", "") or given(delta, "reasoning", ""):
            self._think(thought, events)
        if refused := given(delta, "refusal", ""):
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
    arguments: list[str] = field(default_factory=list)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        text = "".join(self.arguments)
        return bool(text) and not read_arguments(text)[1]


class _Calls:
    """Several servers give every call the same index: a new id, or a new name after complete arguments, starts one."""

    def __init__(self) -> None:
        self._all: list[_GrowingCall] = []
        self._at: dict[Any, _GrowingCall] = {}

    def take(self, fragment: Mapping[str, Any]) -> ToolCallDelta:
        function = fragment.get("function") or {}
        identity, name = given(fragment, "id", ""), given(function, "name", "")
        arguments = _arguments_text(function.get("arguments"))
        growing = self._going_on(fragment.get("index"), identity)
        if growing is None or _starts_anew(growing, identity, name):
            growing = self._start(fragment, identity, name)
            growing.arguments.append(arguments)
            return ToolCallDelta(growing.position, growing.id, name, arguments)
        growing.name = growing.name or name
        growing.arguments.append(arguments)
        return ToolCallDelta(growing.position, arguments=arguments)

    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(_call(growing) for growing in self._all)

    def _going_on(self, index: Any, identity: str) -> _GrowingCall | None:
        """The call that a fragment belongs to; without an index its id tells, and else it is the one before."""
        if index is None and identity:
            return next((growing for growing in self._all if growing.given_id == identity), None)
        return self._at.get(index)

    def _start(self, fragment: Mapping[str, Any], given_id: str, name: str) -> _GrowingCall:
        taken = {growing.id for growing in self._all}
        own_id = given_id if given_id and given_id not in taken else new_id()
        growing = _GrowingCall(len(self._all), own_id, name, given_id, extra=kept(fragment, KNOWN_IN_CALLS))
        self._all.append(growing)
        self._at[fragment.get("index")] = growing
        return growing


def _starts_anew(growing: _GrowingCall, given_id: str, name: str) -> bool:
    if given_id and growing.given_id:
        return given_id != growing.given_id
    return bool(name) and growing.is_complete


def _call(growing: _GrowingCall) -> ToolCall:
    arguments, wrong = read_arguments("".join(growing.arguments))
    return ToolCall(growing.name, arguments, growing.id, wrong, extra=growing.extra)


def _arguments_text(arguments: Any) -> str:
    """Ollama's relatives send the object itself."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return dumps(arguments).decode()


class StreamWriter(BlockWriter):
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
