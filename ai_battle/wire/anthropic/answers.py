"""Encodes and decodes answers of the Messages API, whole and streamed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from ...core.events import Event, ThinkingDelta, ToolCallDelta
from ...core.exchange import NOTHING_USED, UNKNOWN_USAGE, ModelResponse, Stop, Usage
from ...core.messages import Document, Image, Message, Part
from ..advice import CALL_BLOCK
from ..blocks import WAITING, AnswerBlock, BlockWriter, Failure
from ..bodies import (
    count,
    dumps,
    field_or,
    given_id,
    own,
    present,
    read_arguments,
    required_field,
    unknown_fields,
    with_ids,
)
from ..checks import ObjectShape, TaggedShape, object_, text
from ..errors import no_answer_error, plausible_usage, readable_answer, require_content
from ..streams import StreamReader
from .blocks import BLOCKS, WIRE, Block, Calls, answer_blocks, decode_block, encode_part, is_whole_block, wire_id

STOPS: Mapping[Any, Stop] = {
    "end_turn": "end",
    "max_tokens": "length",
    "stop_sequence": "stop_sequence",
    "tool_use": "tool_calls",
    "pause_turn": "pause",
    "refusal": "refusal",
    "model_context_window_exceeded": "length",
}
# A stop with two reasons is sent as the first of them.
STOP_REASONS = {stop: reason for reason, stop in [*STOPS.items()][::-1]} | {"content_filter": "refusal"}
ERRORS = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 502: "api_error",
    503: "overloaded_error", 504: "timeout_error", 529: "overloaded_error",
}  # fmt: skip
# Fields that our values hold elsewhere than in `extra`. Each client gets a new id.
_READ_FIELDS = frozenset({"id", "type", "role", "content", "model", "stop_reason", "usage"})
_BLOCK = TaggedShape("type", {**BLOCKS, "tool_use": {"id": text, "name!": text}})
_ANSWER = ObjectShape({"content!": [_BLOCK], "model": text, "stop_details": object_})


def encode_response(response: ModelResponse, model: str) -> bytes:
    """Encodes the answer, giving `model` as the client requested it."""
    reason, sequence = stop_of(response)
    body = {
        "id": f"msg_{token_hex(12)}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": list(answer_blocks(response.message.parts)),
        "stop_reason": reason,
        "stop_sequence": sequence,
        "usage": usage_of(response),
    }
    return dumps(body | {name: value for name, value in own(WIRE, response.extra).items() if name != "usage"})


def usage_of(response: ModelResponse) -> dict[str, Any]:
    """Encodes the usage of an answer, with the fields that only this API has, such as `iterations`."""
    more: dict[str, Any] = own(WIRE, response.extra).get("usage", {})
    return encode_usage(response.usage) | more


def stop_of(response: ModelResponse) -> tuple[str, str | None]:
    """Returns the stop reason and the stop sequence, if known.

    Calls count as `tool_use` whatever the upstream's reason, since several servers send `stop` with calls.
    """
    sequence, reason = _stop_sequence(response), own(WIRE, response.extra).get("stop_reason")
    if reason:
        return reason, sequence
    if response.stop in ("end", "stop_sequence") and response.tool_calls:
        return "tool_use", None
    return ("stop_sequence" if sequence and response.stop == "end" else STOP_REASONS[response.stop]), sequence


def _stop_sequence(response: ModelResponse) -> str | None:
    """Returns the stop sequence that ended the answer; vLLM and SGLang have their own fields for it."""
    choice = own("openai", response.extra).get("choice") or {}
    found = (own(WIRE, response.extra).get("stop_sequence"), choice.get("stop_reason"), choice.get("matched_stop"))
    return next((sequence for sequence in found if sequence and isinstance(sequence, str)), None)


def decode_response(body: Mapping[str, Any]) -> ModelResponse:
    """Raises `BadReply` for an empty answer or another kind of body, and `Refused` for a refusal without text."""
    if not isinstance(body, Mapping) or not isinstance(body.get("content"), list):
        raise no_answer_error(dumps(body))
    with readable_answer(body):
        _ANSWER(body)
        return require_content(_decode(body), field_or(body.get("stop_details") or {}, "explanation", ""))


def encode_usage(usage: Usage) -> dict[str, Any]:
    """Encodes usage. In this API `input_tokens` excludes tokens read from and written to the cache."""
    body: dict[str, Any] = {
        "input_tokens": max(0, usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens),
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "output_tokens": usage.output_tokens,
    }
    if usage.reasoning_tokens:
        body["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    return body


@plausible_usage
def decode_usage(body: Mapping[str, Any]) -> Usage:
    """Returns the usage of the answering model over all of its calls, without advisors.

    The totals may cover only the input of the first call, and `iterations` may lack some calls, so the larger counts.
    """
    usage = body.get("usage") or {}
    calls = (_counts(each) for each in _iterations(body) if each.get("type") == "message")
    return max(_counts(usage), sum(calls, NOTHING_USED), key=lambda each: (each.input_tokens, each.output_tokens))


def _iterations(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    return field_or(body.get("usage") or {}, "iterations", [])


def _counts(usage: Mapping[str, Any]) -> Usage:
    read, written = count(usage, "cache_read_input_tokens"), count(usage, "cache_creation_input_tokens")
    reasoning = count(field_or(usage, "output_tokens_details", {}), "thinking_tokens")
    hour = count(field_or(usage, "cache_creation", {}), "ephemeral_1h_input_tokens")
    input_tokens = count(usage, "input_tokens") + read + written
    return Usage(input_tokens, count(usage, "output_tokens"), read, written, reasoning, cache_hour_tokens=hour)


def encode_error(status: int, message: str, kind: str = "", request_id: str = "") -> bytes:
    """Encodes an error; `kind` is a `Failure.kind`. Unlisted statuses below 500 become `invalid_request_error`."""
    what = ERRORS.get(status, "invalid_request_error" if status < 500 else "api_error")
    body = {"type": "error", "error": {"type": what, "message": message}}
    return dumps(body | ({"request_id": request_id} if request_id else {}))


def _decode(body: Mapping[str, Any]) -> ModelResponse:
    calls: Calls = {}
    parts = with_ids(tuple(decode_block(block, calls) for block in body["content"]))
    reason = body.get("stop_reason")
    stop = STOPS.get(reason, "end")
    extra = unknown_fields(WIRE, body, _READ_FIELDS if reason == STOP_REASONS[stop] else _READ_FIELDS - {"stop_reason"})
    if iterations := _iterations(body):
        extra[WIRE] = {**own(WIRE, extra), "usage": body["usage"]}
    return ModelResponse(
        Message("assistant", parts),
        stop="tool_calls" if calls and stop == "end" else stop,
        usage=decode_usage(body),
        model=body.get("model") or "",
        extra=extra,
        others=tuple(_advisors(iterations)),
        id=given_id(body),
    )


def _advisors(iterations: list[dict[str, Any]]) -> Iterator[tuple[str, Usage]]:
    """Returns the model and usage of each advisor call, which the usage of the answer excludes."""
    advising = (each for each in iterations if each.get("type") == "advisor_message")
    return ((each.get("model") or "", _counts(each)) for each in advising)


PING = b'event: ping\ndata: {"type":"ping"}\n\n'
STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
DELTA_END = b"}}\n\n"
DELTAS = {
    "text": b'"text_delta","text":',
    "thinking": b'"thinking_delta","thinking":',
    "call": b'"input_json_delta","partial_json":',
}
LATE_FIELDS = ("container", "stop_details")  # a stream sends these fields next to the stop reason


@dataclass(slots=True)
class _GrowingBlock:
    """A block as it started, with the fragments of its text, thinking or JSON input."""

    block: Block
    fragments: list[str] = field(default_factory=list)

    def add(self, grows: str, fragment: str) -> None:
        if grows != self._grows:
            raise TypeError(f"{grows} in a block of {self.block['type']}")
        self.fragments.append(fragment)

    def cite(self, citation: Any) -> None:
        self.block["citations"] = [*(self.block.get("citations") or ()), citation]

    def whole(self) -> Block:
        text = "".join(self.fragments)
        if self._grows != "input":
            return {**self.block, self._grows: text}
        arguments, wrong = read_arguments(text)
        return {**self.block, "input": wrong or arguments} if text else self.block

    @property
    def _grows(self) -> str:
        kind: str = self.block["type"]
        return kind if kind in ("text", "thinking") else "input"


class MessagesReader(StreamReader):
    """Assembles a message from its events. It is whole once `message_stop` has come."""

    def __init__(self) -> None:
        super().__init__()
        self._message: dict[str, Any] = {}
        self._blocks: list[_GrowingBlock] = []
        self._open: dict[int, _GrowingBlock] = {}
        self._growing = _GrowingBlock({})

    def finish(self) -> ModelResponse:
        if not self.is_done:
            raise self._cut_error()
        return decode_response({**self._message, "content": [growing.whole() for growing in self._blocks]})

    def _read(self, name: str, event: dict[str, Any], events: list[Event]) -> str:
        match event.get("type", name):
            case "content_block_delta":
                return self._grow(self._open[event["index"]], event["delta"], events)
            case "content_block_start":
                self._start(event["index"], dict(event["content_block"]), events)
            case "content_block_stop":
                self._stop(self._open[event["index"]], events)
            case "message_start":
                self.bill = self._message = dict(event["message"])
            case "message_delta":
                self._end(event["delta"], event.get("usage") or {})
            case "message_stop":
                self.is_done = True
        return ""

    def _end(self, delta: Mapping[str, Any], usage: Mapping[str, Any]) -> None:
        """Updates the usage. Counts are cumulative, and those that an event omits keep their values."""
        self._message |= delta
        self._message["usage"] = {**(self._message.get("usage") or {}), **present(usage)}

    def _start(self, index: int, block: Block, events: list[Event]) -> None:
        """Starts a block, reading content too, since some servers send whole blocks in this event."""
        self._open[index] = self._growing = _GrowingBlock(block)
        self._blocks.append(self._growing)
        match required_field(block, "type", str):
            case "text":
                self._say(field_or(block, "text", ""), events)
            case "thinking":
                self._think(field_or(block, "thinking", ""), events)
            case "tool_use":
                number, block["id"] = self._number_call(field_or(block, "id", ""))
                arguments = dumps(block["input"]).decode() if block.get("input") else ""
                events.append(ToolCallDelta(number, block["id"], required_field(block, "name", str), arguments))

    def _stop(self, growing: _GrowingBlock, events: list[Event]) -> None:
        """Forwards a block that only this API has once it is whole, so that it keeps its place among the others.

        The citations of a text are forwarded together, after it.
        """
        if growing.block["type"] not in ("text", "thinking", "tool_use"):
            events.append(ThinkingDelta("", extra={WIRE: {"block": growing.whole()}}))
        elif citations := growing.block.get("citations"):
            events.append(ThinkingDelta("", extra={WIRE: {"citations": citations}}))

    def _grow(self, growing: _GrowingBlock, delta: Mapping[str, Any], events: list[Event]) -> str:
        self._growing = growing
        match delta["type"]:
            case "text_delta":
                self._say(text := required_field(delta, "text", str), events)
                return text
            case "thinking_delta":
                self._think(required_field(delta, "thinking", str), events)
            case "input_json_delta":
                growing.add("input", text := required_field(delta, "partial_json", str))
                if text and growing.block["type"] == "tool_use":  # not tools that Anthropic runs
                    events.append(ToolCallDelta(self._numbers[growing.block["id"]], arguments=text))
            case "signature_delta":
                growing.block["signature"] = delta["signature"]
                events.append(ThinkingDelta("", delta["signature"]))
            case "citations_delta":
                growing.cite(delta["citation"])
        return ""

    def _say(self, text: str, events: list[Event]) -> None:
        self._growing.add("text", text)
        super()._say(text, events)

    def _think(self, thought: str, events: list[Event]) -> None:
        self._growing.add("thinking", thought)
        super()._think(thought, events)


class MessagesWriter(BlockWriter):
    """Writes the stream of one answer. This API always reports the usage."""

    _before = b""

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
            return self._cite(event.extra) or super().feed(event)
        return super().feed(event)

    def finish(self, response: ModelResponse) -> bytes:
        rest = self.finish_blocks(response.message)
        reason, sequence = stop_of(response)
        extra = own(WIRE, response.extra)
        delta = {"stop_reason": reason, "stop_sequence": sequence}
        delta |= {name: extra[name] for name in LATE_FIELDS if name in extra}
        usage = {"output_tokens": 0} if response.usage == UNKNOWN_USAGE else usage_of(response)
        managed = {"context_management": extra["context_management"]} if "context_management" in extra else {}
        return rest + _event("message_delta", {"delta": delta, "usage": usage, **managed}) + STOP

    def whole(self, response: ModelResponse) -> bytes:
        return encode_response(response, self._model)

    def fail(self, failed: Failure) -> bytes:
        return b"event: error\ndata: " + encode_error(failed.status, failed.message, failed.kind) + b"\n\n"

    def ping(self) -> bytes:
        return PING

    def is_whole(self, part: Part) -> bool:
        return isinstance(part, Image | Document) or is_whole_block(part)

    def _cite(self, extra: Mapping[str, Any]) -> bytes:
        """Writes the citations of the open text block."""
        citations, block = own(WIRE, extra).get("citations", ()), self.last
        if block is None or block.kind != "text" or block.index == WAITING:
            return b""
        deltas = ({"type": "citations_delta", "citation": citation} for citation in citations)
        return b"".join(_event("content_block_delta", {"index": block.index, "delta": delta}) for delta in deltas)

    def _open_block(self, block: AnswerBlock) -> bytes:
        if block.kind in DELTAS:
            head = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":{"type":'
            self._before = head % block.index + DELTAS[block.kind]
        opening = _opening(block)
        given = opening.get("input") if opening.get("type") == CALL_BLOCK else None
        if given:  # clients read inputs only from deltas, even those of server tools
            opening = {**opening, "input": {}}
        start = _event("content_block_start", {"index": block.index, "content_block": opening})
        if not given:
            return start
        delta = {"type": "input_json_delta", "partial_json": dumps(given).decode()}
        return start + _event("content_block_delta", {"index": block.index, "delta": delta})

    def _grow_block(self, block: AnswerBlock, fragment: str) -> bytes:
        return b"".join((self._before, dumps(fragment), DELTA_END))

    def _close_block(self, block: AnswerBlock) -> bytes:
        end = _event("content_block_stop", {"index": block.index})
        if not block.signature:
            return end
        delta = {"type": "signature_delta", "signature": block.signature}
        return _event("content_block_delta", {"index": block.index, "delta": delta}) + end


def _opening(block: AnswerBlock) -> dict[str, Any]:
    """Returns a block as it starts, with those fields of `extra` that deltas can't bring."""
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
