"""Answers and errors of the Messages API."""

from collections.abc import Iterable, Mapping
from secrets import token_hex
from typing import Any

from ...core.exchange import NOTHING_USED, UNKNOWN_USAGE, ModelResponse, Stop, Usage
from ...core.messages import Message, Part, Thinking
from ..bodies import count, dumps, field_or, own, unknown_fields
from ..checks import ObjectShape, TaggedShape, object_, text
from ..errors import no_answer_error, readable_answer, require_content
from ..messages import with_ids
from .blocks import BLOCKS, WIRE, Block, Calls, decode_block, encode_part

STOPS: Mapping[str | None, Stop] = {
    "end_turn": "end",
    "max_tokens": "length",
    "stop_sequence": "stop_sequence",
    "tool_use": "tool_calls",
    "pause_turn": "pause",
    "refusal": "refusal",
    "model_context_window_exceeded": "length",
}
STOP_REASONS: Mapping[Stop, str] = {
    "end": "end_turn",
    "length": "max_tokens",
    "stop_sequence": "stop_sequence",
    "tool_calls": "tool_use",
    "pause": "pause_turn",
    "refusal": "refusal",
    "content_filter": "refusal",
}
ERRORS = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 502: "api_error",
    503: "overloaded_error", 504: "timeout_error", 529: "overloaded_error",
}  # fmt: skip
# ObjectShape of an answer that have a place of their own in our values; its id is made anew for each client.
_READ = frozenset({"id", "type", "role", "content", "model", "stop_reason", "usage"})
_BLOCK = TaggedShape("type", {**BLOCKS, "tool_use": {"id": text, "name!": text}})
_ANSWER = ObjectShape({"content!": [_BLOCK], "model": text, "stop_details": object_})


def encode_response(response: ModelResponse, model: str) -> bytes:
    """Returns the answer under the name `model` that the client asked for."""
    reason, sequence = stop_of(response)
    body = {
        "id": f"msg_{token_hex(12)}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": list(_content_of(response.message.parts)),
        "stop_reason": reason,
        "stop_sequence": sequence,
        "usage": usage_of(response),
    }
    return dumps(body | {name: value for name, value in own(WIRE, response.extra).items() if name != "usage"})


def usage_of(response: ModelResponse) -> dict[str, Any]:
    """Returns the usage of an answer, with what only this API tells of it: each of its `iterations`."""
    more: dict[str, Any] = own(WIRE, response.extra).get("usage", {})
    return encode_usage(response.usage) | more


def stop_of(response: ModelResponse) -> tuple[str, str | None]:
    """Returns the reason for the stop, and the stop sequence where it is known.

    Several servers say `stop` with calls, too.
    """
    sequence, reason = _stop_sequence(response), own(WIRE, response.extra).get("stop_reason")
    if reason:
        return reason, sequence
    if response.stop in ("end", "stop_sequence") and response.tool_calls:
        return "tool_use", None
    return ("stop_sequence" if sequence and response.stop == "end" else STOP_REASONS[response.stop]), sequence


def _stop_sequence(response: ModelResponse) -> str | None:
    """Returns the sequence that ended the answer; vLLM and SGLang name it in fields of their own."""
    choice = own("openai", response.extra).get("choice") or {}
    found = (own(WIRE, response.extra).get("stop_sequence"), choice.get("stop_reason"), choice.get("matched_stop"))
    return next((sequence for sequence in found if sequence and isinstance(sequence, str)), None)


def decode_response(body: Mapping[str, Any]) -> ModelResponse:
    """Raises `BadReply` for an empty answer and for what is none, `Refused` for a refusal without a word."""
    if not isinstance(body, Mapping) or not isinstance(body.get("content"), list):
        raise no_answer_error(dumps(body))
    with readable_answer(body):
        _ANSWER(body)
        return require_content(_decode(body), field_or(body.get("stop_details") or {}, "explanation", ""))


def encode_usage(usage: Usage) -> dict[str, Any]:
    """Returns the usage as this API has it, whose input excludes what was read from and written to the cache."""
    body: dict[str, Any] = {
        "input_tokens": max(0, usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens),
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "output_tokens": usage.output_tokens,
    }
    if usage.reasoning_tokens:
        body["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    return body


def decode_usage(body: Mapping[str, Any]) -> Usage:
    """Returns what the model that answers has used, in all of its calls.

    Totals may count what its first call read and no more; an account of its calls may lack some. The larger is paid.
    """
    if not (usage := body.get("usage")):
        return UNKNOWN_USAGE
    calls = (_counts(each) for each in _iterations(body) if each.get("type") == "message")
    return max(_counts(usage), sum(calls, NOTHING_USED), key=lambda each: (each.input_tokens, each.output_tokens))


def _iterations(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    return field_or(body.get("usage") or {}, "iterations", [])


def _counts(usage: Mapping[str, Any]) -> Usage:
    read, written = count(usage, "cache_read_input_tokens"), count(usage, "cache_creation_input_tokens")
    reasoning = count(field_or(usage, "output_tokens_details", {}), "thinking_tokens")
    hour = count(field_or(usage, "cache_creation", {}), "ephemeral_1h_input_tokens")
    read_in = count(usage, "input_tokens") + read + written
    return Usage(read_in, count(usage, "output_tokens"), read, written, reasoning, cache_hour_tokens=hour)


def _others(iterations: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, Usage]]:
    """Yields the usage of advisors, which that of the answer does not count."""
    for each in iterations:
        if each.get("type") == "advisor_message":
            yield each.get("model") or "", _counts(each)


def encode_error(status: int, message: str, kind: str = "", request_id: str = "") -> bytes:
    """Returns the body of an error; `kind` is that of a `Failure`. A client's mistake is `invalid_request_error`."""
    what = ERRORS.get(status, "invalid_request_error" if status < 500 else "api_error")
    body = {"type": "error", "error": {"type": what, "message": message}}
    return dumps(body | ({"request_id": request_id} if request_id else {}))


def _decode(body: Mapping[str, Any]) -> ModelResponse:
    calls: Calls = {}
    parts = with_ids(tuple(decode_block(block, calls) for block in body["content"]))
    reason = body.get("stop_reason")
    stop = STOPS.get(reason, "end")
    extra = unknown_fields(WIRE, body, _READ if reason == STOP_REASONS[stop] else _READ - {"stop_reason"})
    if iterations := _iterations(body):
        extra[WIRE] = {**own(WIRE, extra), "usage": body["usage"]}
    return ModelResponse(
        Message("assistant", parts),
        stop="tool_calls" if calls and stop == "end" else stop,
        usage=decode_usage(body),
        model=body.get("model") or "",
        extra=extra,
        others=tuple(_others(iterations)),
        id=str(body.get("id") or ""),
    )


def _content_of(parts: Iterable[Part]) -> Iterable[Block]:
    for part in parts:
        if isinstance(part, Thinking) and not part.signature and part.text:  # another provider's: nothing is signed
            yield {"type": "thinking", "thinking": part.text, "signature": ""}
        elif block := encode_part(part):
            yield block
