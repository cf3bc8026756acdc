"""An answer of `/api/chat`, and back."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ...core.exchange import ModelResponse, Stop, Usage
from ...core.messages import Message
from .._calls import with_ids
from .._errors import cut, http_error, in_answer, no_answer, readable_answer
from .._json import dumps
from .._shape import count, given
from .._silence import heard
from .messages import decode_message, kept, message_bodies, own

KNOWN = frozenset(("model", "message", "done", "done_reason", "prompt_eval_count", "eval_count"))

decode_error = http_error


def decode_response(body: Mapping[str, Any]) -> ModelResponse:
    """Raises `ProviderError` for an error object, `BadReply` for what is no answer, a cut or an empty one."""
    if isinstance(body, Mapping) and body.get("error"):
        raise in_answer(body)
    if not isinstance(body, Mapping) or not isinstance(body.get("message"), Mapping):
        raise no_answer(dumps(body))
    with readable_answer(body):
        message = decode_message({**body["message"], "role": "assistant"})
        if not body.get("done"):
            raise cut(message.text)
        return answer(message, body)


def answer(message: Message, last: Mapping[str, Any]) -> ModelResponse:
    """The answer that the pieces make; `last` is the body with the counts. Raises `BadReply` for nothing."""
    message = replace(message, parts=with_ids(message.parts))
    usage = decode_usage(last)
    model, extra = given(last, "model", ""), kept(last, KNOWN)
    return heard(ModelResponse(message, stop=_read_stop(last, message), usage=usage, model=model, extra=extra))


def decode_usage(body: Mapping[str, Any]) -> Usage:
    return Usage(count(body, "prompt_eval_count"), count(body, "eval_count"))


def encode_response(response: ModelResponse, model: str) -> bytes:
    (message,) = message_bodies(response.message)
    body = {
        "model": model,
        "created_at": datetime.now(UTC).isoformat(),
        "message": message,
        "done": True,
        "done_reason": "length" if response.stop == "length" else "stop",
        "prompt_eval_count": response.usage.input_tokens,
        "eval_count": response.usage.output_tokens,
    }
    return dumps(body | own(response.extra))


def _read_stop(last: Mapping[str, Any], message: Message) -> Stop:
    if last.get("done_reason") == "length":
        return "length"
    return "tool_calls" if message.tool_calls else "end"
