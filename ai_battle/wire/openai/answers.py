"""Encodes and decodes answers of Chat Completions, whole and streamed."""

import time
from array import array
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import hypot, isfinite
from secrets import token_hex
from typing import Any

from ...core.errors import BadReply
from ...core.events import Event, ToolCallDelta
from ...core.exchange import UNKNOWN_USAGE, ModelResponse, Stop, Usage
from ...core.messages import Message, Text, Thinking, assistant
from ..blocks import AnswerBlock, BlockWriter, Failure
from ..bodies import count, dumps, field_or, given_id, read_arguments
from ..errors import empty_answer, error_in_answer, no_answer_error, plausible_usage, readable_answer, require_content
from ..streams import DONE, StreamReader, separate_thought
from .messages import KNOWN_FIELDS as MESSAGE_FIELDS
from .messages import REFUSES, Quirks, assistant_body, decode_answer, decode_words, is_refusal, own, unknown_fields

STOPS: Mapping[Any, Stop] = {
    "length": "length", "max_tokens": "length", "model_length": "length", "content_filter": "content_filter",
    "refusal": "refusal",
}  # fmt: skip
REASONS = {"end": "stop", "stop_sequence": "stop", "pause": "stop", "refusal": "stop"}
KNOWN_FIELDS = frozenset(("object", "choices", "usage", "model", "obfuscation"))
CHOICE_FIELDS = frozenset(("index", "message", "delta", "finish_reason"))

OWN_FIELDS = frozenset(("id", "created", "choice"))  # fields of an answer that are not copied from the upstream's
ERROR_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded", 402: "insufficient_quota"}
ERROR_KINDS = {
    "context": "context_length_exceeded", "budget": "insufficient_quota", "address": "unknown_url",
    "previous_response": "previous_response_not_found",
}  # fmt: skip
ERROR_TYPES = {
    401: "authentication_error", 402: "insufficient_quota", 403: "permission_error", 404: "not_found_error",
    429: "rate_limit_error", 529: "overloaded_error",
}  # fmt: skip


def decode_response(body: Mapping[str, Any]) -> ModelResponse:
    """Raises `ProviderError` for an error object, and `BadReply` for an empty answer or another kind of body."""
    if not isinstance(body, Mapping) or not (body.get("choices") or body.get("error")):
        raise no_answer_error(dumps(body))
    if body.get("error"):
        raise error_in_answer(body)
    with readable_answer(body):
        choice = body["choices"][0]
        if choice.get("finish_reason") == "error":
            raise error_in_answer(choice)
        message = decode_answer(choice["message"])
        stop, model = _stop_from(choice.get("finish_reason"), message), field_or(body, "model", "")
        message = separate_thought(message, stop)
        extra = unknown_fields({**body, "choice": own(unknown_fields(choice, CHOICE_FIELDS))}, KNOWN_FIELDS)
        usage, id_ = decode_usage(body), given_id(body)
        return require_content(ModelResponse(message, stop=stop, usage=usage, model=model, extra=extra, id=id_))


def decode_embedding(body: Mapping[str, Any]) -> ModelResponse:
    """Returns the vector as text: its numbers with four bytes each, in base64. Its length is one.

    Raises `BadReply` if the body holds no vector or one without a finite, positive length.
    """
    try:
        vector = [float(value) for value in body["data"][0]["embedding"]]
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        raise BadReply("The answer has no embedding.") from error
    length = hypot(*vector)
    if not (isfinite(length) and length):
        raise BadReply("The embedding has no length.")
    text = b64encode(array("f", (value / length for value in vector)).tobytes()).decode()
    return ModelResponse(assistant(text), usage=decode_usage(body), model=str(body.get("model") or ""))


def encode_response(response: ModelResponse, model: str) -> bytes:
    message = response.message
    refuses = stop_of(response) == "refusal"
    body = assistant_body(message, Quirks(reasoning="reasoning_content"))
    body["content"] = None if body["content"] is None or refuses else message.text
    for call, encoded in zip(message.tool_calls, body.get("tool_calls", ()), strict=True):
        encoded["function"]["arguments"] = call.malformed or encoded["function"]["arguments"]
    extra = own(response.extra)
    choice = {"index": 0, "message": {**body, "refusal": None}, "finish_reason": reason_of(response), "logprobs": None}
    if refuses:
        choice["message"] = {**body, "refusal": message.text}
    head = {"id": f"chatcmpl-{token_hex(16)}", "object": "chat.completion", "created": int(time.time()), "model": model}
    choices = [{**choice, **extra.get("choice", {})}]
    more = {name: value for name, value in extra.items() if name not in OWN_FIELDS}
    return dumps({**head, "choices": choices, "usage": encode_usage(response.usage), **more})


def reason_of(response: ModelResponse) -> str:
    stop = stop_of(response)
    reason = REASONS.get(stop, stop)
    return "tool_calls" if reason == "stop" and response.tool_calls else reason


def stop_of(response: ModelResponse) -> Stop:
    """Returns the stop, as "content_filter" for a refusal from an API that has no separate refusal text."""
    if response.stop == "refusal" and not any(map(is_refusal, response.message.parts)):
        return "content_filter"
    return response.stop


def _stop_from(reason: Any, message: Message) -> Stop:
    """Returns why the answer ended; "tool_calls" if there are any, as several servers send `stop` with them."""
    if reason in STOPS:
        return STOPS[reason]
    if message.tool_calls:
        return "tool_calls"
    return "refusal" if any(map(is_refusal, message.parts)) else "end"


@plausible_usage
def decode_usage(body: Mapping[str, Any]) -> Usage:
    """Returns the usage, with the cost in dollars that OpenRouter reports."""
    if not (bill := bill_in(body)):
        return UNKNOWN_USAGE
    into: dict[str, Any] = field_or(bill, "prompt_tokens_details", {})
    out: dict[str, Any] = field_or(bill, "completion_tokens_details", {})
    return Usage(
        count(bill, "prompt_tokens"),
        count(bill, "completion_tokens"),
        count(into, "cached_tokens") or count(bill, "prompt_cache_hit_tokens"),
        count(into, "cache_write_tokens"),
        count(out, "reasoning_tokens"),
        float(bill["cost"]) if bill.get("cost") is not None else None,
    )


def bill_in(body: Mapping[str, Any]) -> Any:
    """Returns the usage object, which Groq's streams put into `x_groq`."""
    return body.get("usage") or (body.get("x_groq") or {}).get("usage")


def encode_usage(usage: Usage) -> dict[str, Any]:
    into = {"cached_tokens": usage.cache_read_tokens}
    if usage.cache_write_tokens:
        into["cache_write_tokens"] = usage.cache_write_tokens
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": into,
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }


def encode_error(status: int, message: str, kind: str = "", request_id: str = "") -> bytes:
    """Encodes an error; `kind` is a `Failure.kind`. Ignores `request_id`, which this API puts only into a header."""
    what = ERROR_TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    code = ERROR_KINDS.get(kind) or ERROR_CODES.get(status)
    return dumps({"error": {"message": message, "type": what, "param": None, "code": code}})


NO_FIELDS: frozenset[str] = frozenset()
PLAIN_FIELDS = frozenset(("role", "content"))
STREAM_END = b"data: [DONE]\n\n"
CHUNK_ENDS = b'},"finish_reason":null}]}\n\n'
CALL_ENDS = b"}}]" + CHUNK_ENDS


class ChatReader(StreamReader):
    """Assembles one streamed answer. It is whole once a finish reason has come; `[DONE]` is optional.

    From a server that never sends the field `finish_reason`, `[DONE]` is enough.
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
        self._latest: dict[Any, _GrowingCall] = {}  # by index and by id, since fragments may have either

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
        texts = {"refusal" if self._refused else "content": self.text, "reasoning_content": "".join(self._thoughts)}
        return {**self._message, **texts, "tool_calls": [growing.whole() for growing in self._calls]}

    def _read(self, name: str, chunk: Mapping[str, Any], events: list[Event]) -> str:
        if bill_in(chunk):
            self.bill = chunk
        if not (choices := chunk.get("choices")):
            self.is_done = bool(self.bill and self._reason)
            return ""
        self._first = self._first or chunk
        texts = [self._read_choice(choice, events) for choice in choices]
        return texts[0] if len(texts) == 1 and self.bill is not chunk else ""

    def _read_choice(self, choice: dict[str, Any], events: list[Event]) -> str:
        """Reads a choice. Returns its text if it brings nothing else."""
        if choice.get("index"):
            return ""  # requests ask for one choice, so further ones are dropped
        delta = choice.get("delta") or {}
        content = delta.get("content")
        if isinstance(content, str) and delta.keys() <= PLAIN_FIELDS:
            self._say_or_think(content, events)
            return "" if self._has_ended(choice, events) or not self._splitter.is_past else content
        self._read_rare(delta, events)
        self._has_ended(choice, events)
        return ""

    def _has_ended(self, choice: Mapping[str, Any], events: list[Event]) -> bool:
        """Reads the fields next to the delta. Returns whether there were any."""
        reason, probabilities = choice.get("finish_reason"), choice.get("logprobs")
        self._gives_reasons = self._gives_reasons or "finish_reason" in choice
        if reason == "error":
            raise error_in_answer(choice, "always", self.text)
        if reason:
            self._reason = reason
            self._end_content(events, is_cut=STOPS.get(reason) == "length")
            _merge(self._choice, choice, CHOICE_FIELDS | {"logprobs"})
        if probabilities:
            _merge(self._choice, {"logprobs": probabilities}, NO_FIELDS)
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
                (self._say_or_think if isinstance(part, Text) else self._think)(part.text, events)
        _merge(self._message, delta, MESSAGE_FIELDS)

    def _grow_call(self, fragment: Mapping[str, Any]) -> ToolCallDelta:
        """Adds a fragment to its call, found by index, or else by id, or else the last one without an index."""
        function, index = fragment.get("function") or {}, fragment.get("index")
        id_, name, arguments = given_id(fragment), field_or(function, "name", ""), _arguments_text(function)
        growing = self._latest.get((id_ or None) if index is None else index)
        if growing and not growing.ends_before(id_, name):
            growing.name = growing.name or name
            growing.fragments.append(arguments)
            return ToolCallDelta(growing.number, arguments=arguments)
        number, own_id = self._number_call(id_)
        growing = _GrowingCall(number, id_, name, {**fragment, "id": own_id}, [arguments])
        self._calls.append(growing)
        self._latest |= {id_: growing, index: growing}  # later fragments give either or neither
        return ToolCallDelta(number, own_id, name, arguments)


def _arguments_text(function: Mapping[str, Any]) -> str:
    """Returns arguments as text, since some servers related to Ollama send the object itself."""
    arguments = function.get("arguments") or ""
    return arguments if isinstance(arguments, str) else dumps(arguments).decode()


def _merge(into: dict[str, Any], fields: Mapping[str, Any], known: frozenset[str]) -> None:
    """Merges fields of a chunk into those before. Appends to lists, even inside objects (`logprobs.content`)."""
    for key, value in fields.items():
        if key in known or value in (None, "", [], {}):
            continue
        if isinstance(value, dict):
            _merge(into.setdefault(key, {}), value, NO_FIELDS)
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
        """Returns whether a new id, or a name after whole arguments, starts another call.

        Several servers give all calls the same index.
        """
        if given_id and self.given_id:
            return given_id != self.given_id
        return bool(name) and any(self.fragments) and not read_arguments("".join(self.fragments))[1]


class ChatWriter(BlockWriter):
    """Writes the stream of one answer."""

    interleaves, refusing = True, REFUSES.extra

    @cached_property
    def _head(self) -> dict[str, Any]:
        """The fields that all chunks share."""
        head = {"object": "chat.completion.chunk", "created": int(time.time()), "model": self._model}
        return {"id": f"chatcmpl-{token_hex(16)}", **head}

    @cached_property
    def _chunk_head(self) -> bytes:
        return b"data: " + dumps(self._head)[:-1] + b',"choices":[{"index":0,"delta":{'

    def begin(self) -> bytes:
        return self._chunk_head + b'"role":"assistant","content":""' + CHUNK_ENDS

    def finish(self, response: ModelResponse) -> bytes:
        rest = self.finish_blocks(response.message)
        extra = own(response.extra)
        choice = {"index": 0, "delta": own(response.message.extra), **extra.get("choice", {})}
        choice["finish_reason"] = reason_of(response)
        more = {name: value for name, value in extra.items() if name not in OWN_FIELDS}
        last = _chunk({**self._head, "choices": [choice], **more})
        usage = {**self._head, "choices": [], "usage": encode_usage(response.usage)}
        return rest + last + (_chunk(usage) if self._usage else b"") + STREAM_END

    def whole(self, response: ModelResponse) -> bytes:
        return encode_response(response, self._model)

    def fail(self, failed: Failure) -> bytes:
        return b"data: " + encode_error(failed.status, failed.message, failed.kind) + b"\n\n"

    def ping(self) -> bytes:
        """Returns an empty delta. The API has no ping, and clients don't count a comment as an event."""
        return self._chunk_head + CHUNK_ENDS

    def _open_block(self, block: AnswerBlock) -> bytes:
        if block.kind != "call":
            return b""
        extra = own(block.part.extra) if block.part else {}
        function = {"name": block.name, "arguments": ""}
        call = {"index": block.position, "id": block.id, "type": "function", "function": function, **extra}
        return self._chunk_head + b'"tool_calls":' + dumps([call]) + CHUNK_ENDS

    def _grow_block(self, block: AnswerBlock, fragment: str) -> bytes:
        if block.kind == "call":
            call = b'"tool_calls":[{"index":%d,"function":{"arguments":' % block.position
            return b"".join((self._chunk_head, call, dumps(fragment), CALL_ENDS))
        field = b'"content":' if block.kind == "text" else b'"reasoning_content":'
        if block.part and is_refusal(block.part):
            field = b'"refusal":'
        return b"".join((self._chunk_head, field, dumps(fragment), CHUNK_ENDS))

    def _close_block(self, block: AnswerBlock) -> bytes:
        return b""


def _chunk(body: dict[str, Any]) -> bytes:
    return b"data: " + dumps(body) + b"\n\n"
