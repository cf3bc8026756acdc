"""Answers and errors of Chat Completions."""

import time
from collections.abc import Mapping
from secrets import token_hex
from typing import Any

from ...core.exchange import UNKNOWN_USAGE, ModelResponse, Stop, Usage
from ...core.messages import Message
from ..bodies import count, dumps, field_or
from ..errors import error_in_answer, no_answer_error, readable_answer, require_content
from .messages import Quirks, assistant_body, decode_answer, is_refusal, own, unknown_fields

STOPS: Mapping[Any, Stop] = {
    "length": "length", "max_tokens": "length", "model_length": "length", "content_filter": "content_filter",
    "refusal": "refusal",
}  # fmt: skip
REASONS = {"end": "stop", "stop_sequence": "stop", "pause": "stop", "refusal": "stop"}
KNOWN = frozenset(("object", "choices", "usage", "model", "obfuscation"))
KNOWN_IN_CHOICES = frozenset(("index", "message", "delta", "finish_reason"))

OF_ITS_OWN = frozenset(("id", "created", "choice"))  # of an answer, not to be taken from the upstream's
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
    """Raises `ProviderError` for an error object, `BadReply` for what is no answer or an empty one."""
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
        extra = unknown_fields({**body, "choice": own(unknown_fields(choice, KNOWN_IN_CHOICES))}, KNOWN)
        usage, id_ = decode_usage(body), str(field_or(body, "id", ""))
        return require_content(ModelResponse(message, stop=stop, usage=usage, model=model, extra=extra, id=id_))


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
    more = {name: value for name, value in extra.items() if name not in OF_ITS_OWN}
    return dumps({**head, "choices": choices, "usage": encode_usage(response.usage), **more})


def reason_of(response: ModelResponse) -> str:
    stop = stop_of(response)
    reason = REASONS.get(stop, stop)
    return "tool_calls" if reason == "stop" and response.tool_calls else reason


def stop_of(response: ModelResponse) -> Stop:
    """A refusal that another API tells of is no text of its own: here it is an answer that a filter has ended."""
    if response.stop == "refusal" and not any(map(is_refusal, response.message.parts)):
        return "content_filter"
    return response.stop


def _stop_from(reason: Any, message: Message) -> Stop:
    """Returns why the answer ended. Calls count, whatever the reason says: several servers say `stop` with them."""
    if reason in STOPS:
        return STOPS[reason]
    if message.tool_calls:
        return "tool_calls"
    return "refusal" if any(map(is_refusal, message.parts)) else "end"


def decode_usage(body: Mapping[str, Any]) -> Usage:
    """Returns the usage, with the dollars that OpenRouter tells."""
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
    """Returns the usage, also from where Groq hides it in streams."""
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
    """Returns the body of an error; `kind` is that of a `Failure`. The id of a request is told in a header alone."""
    what = ERROR_TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    code = ERROR_KINDS.get(kind) or ERROR_CODES.get(status)
    return dumps({"error": {"message": message, "type": what, "param": None, "code": code}})
