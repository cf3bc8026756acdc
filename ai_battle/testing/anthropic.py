"""A fake of Anthropic's Messages API."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, ClassVar

from ..core.exchange import Usage
from ..core.messages import ToolCall
from .apis import (
    CREATED_AT,
    ApiError,
    FakeApi,
    FakeStream,
    Json,
    ModelCard,
    Question,
    Reply,
    arguments_object,
    characters,
    event,
    identity,
    pieces,
    slices,
)

_STOP = {
    "end": "end_turn", "length": "max_tokens", "stop_sequence": "stop_sequence", "tool_calls": "tool_use",
    "refusal": "refusal", "content_filter": "refusal", "pause": "pause_turn",
}  # fmt: skip
_TYPES = {
    401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
    429: "rate_limit_error", 504: "timeout_error", 529: "overloaded_error",
}  # fmt: skip
_NO_LONGER_TAKEN = ("temperature", "top_p", "top_k")
_SIGNATURE = "RmFrZSBzaWduYXR1cmU="


class FakeAnthropic(FakeApi):
    name = "anthropic"
    ping = event({"type": "ping"}, "ping")
    parameters = ("temperature", "top_p", "top_k", "stop_sequences", "thinking")
    errors: ClassVar[Mapping[str, tuple[int, str]]] = {
        "quota": (
            400,
            "Your credit balance is too low to access the Anthropic API. "
            "Please go to Plans & Billing to upgrade or purchase credits.",
        ),
        "context_length": (400, "prompt is too long: 213462 tokens > 200000 maximum"),
        "tools_unsupported": (400, "'{model}' does not support tool types: custom."),
        "parameter_refused": (400, "{subject}: Extra inputs are not permitted"),
        "overloaded": (529, "Overloaded"),
        "not_found": (404, "model: {model}"),
    }

    def question(self, path: str, query: Mapping[str, str], body: Json) -> Question | None:
        if path != "/v1/messages":
            return None
        return Question(str(body.get("model", "")), bool(body.get("stream")), body)

    def page(self, path: str, body: Json, models: Mapping[str, ModelCard]) -> Json | ApiError | None:
        if path == "/v1/messages/count_tokens":
            return {"input_tokens": characters({k: v for k, v in body.items() if k != "model"}) // 4}
        if path == "/v1/models":
            data = [_card(name, card) for name, card in models.items()]
            return {"data": data, "has_more": False, "first_id": next(iter(models), None), "last_id": None}
        if path.startswith("/v1/models/"):
            name = path.removeprefix("/v1/models/")
            return _card(name, models[name]) if name in models else ApiError("not_found", 404, name)
        return None

    def objection(self, question: Question) -> ApiError | None:
        missing = [name for name in ("model", "max_tokens", "messages") if not question.body.get(name)]
        if missing:
            return ApiError(status=400, subject=f"{missing[0]}: Field required")
        newer = question.headers.get("anthropic-version", "") >= "2026-10-21"
        refused = [name for name in _NO_LONGER_TAKEN if newer and name in question.body]
        return ApiError("parameter_refused", 400, subject=refused[0]) if refused else None

    def whole(self, reply: Reply, question: Question) -> Json:
        return {**_frame(question.model), "content": list(_blocks(reply)), **_ending(reply), "usage": _usage(reply)}

    def stream(self, reply: Reply, question: Question) -> FakeStream:
        started = {**_usage(reply), "output_tokens": 1}
        message = {**_frame(question.model), "content": [], "stop_reason": None, "stop_sequence": None}
        opening = (
            event({"type": "message_start", "message": {**message, "usage": started}}, "message_start"),
            self.ping,
        )
        usage = {"output_tokens": reply.bill.output_tokens}
        last = {"type": "message_delta", "delta": _ending(reply), "usage": usage}
        closing = (event(last, "message_delta"), event({"type": "message_stop"}, "message_stop"))
        return FakeStream(opening, tuple(_events(reply)), closing)

    def body_without_answer(self, question: Question) -> Json:
        return {**_frame(question.model), "content": [], **_ending(Reply()), "usage": _usage(Reply())}

    def stream_without_answer(self, question: Question) -> bytes:
        return b"".join(self.stream(Reply(), question).all)

    def error(self, problem: ApiError) -> tuple[int, Json]:
        status, message = self.status_and_message(problem)
        kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "api_error")
        return status, {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_fake"}

    def error_event(self, problem: ApiError) -> bytes:
        return event(self.error(problem)[1], "error")


def _frame(model: str) -> dict[str, Any]:
    return {"id": "msg_fake", "type": "message", "role": "assistant", "model": model}


def _ending(reply: Reply) -> dict[str, Any]:
    reason = _STOP[reply.stop or "end"]
    return {"stop_reason": reason, "stop_sequence": "STOP" if reason == "stop_sequence" else None}


def _by_ttl(usage: Usage) -> dict[str, int]:
    hour = usage.cache_hour_tokens
    return {"ephemeral_1h_input_tokens": hour, "ephemeral_5m_input_tokens": usage.cache_write_tokens - hour}


def _usage(reply: Reply) -> dict[str, Any]:
    """Returns the usage. Cached tokens are not part of the input tokens, unlike in other APIs."""
    usage: Usage = reply.bill
    return {
        "input_tokens": usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        **({"cache_creation": _by_ttl(usage)} if usage.cache_hour_tokens else {}),
        "output_tokens": usage.output_tokens,
    }


def _blocks(reply: Reply) -> Iterable[dict[str, Any]]:
    if reply.thinking:
        yield {"type": "thinking", "thinking": reply.thinking, "signature": _SIGNATURE}
    if reply.text:
        yield {"type": "text", "text": reply.text}
    for call in reply.calls:
        yield {**_call_start(call), "input": arguments_object(call)}


def _call_start(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_use", **identity(call), "name": call.name, "input": {}}


def _events(reply: Reply) -> Iterable[bytes]:
    index = 0
    if reply.thinking:
        yield from _thinking_events(reply.thinking)
        index += 1
    if reply.text:
        yield from _text_events(index, reply.text, reply.chunks)
        index += 1
    for number, call in enumerate(reply.calls, index):
        yield from _call_events(number, call)


@lru_cache(maxsize=256)
def _thinking_events(text: str) -> tuple[bytes, ...]:
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(text, 0)]
    signed = {"type": "signature_delta", "signature": _SIGNATURE}
    return tuple(_block_events(0, {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]))


@lru_cache(maxsize=256)
def _text_events(index: int, text: str, chunks: int) -> tuple[bytes, ...]:
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces(text, chunks)]
    return tuple(_block_events(index, {"type": "text", "text": ""}, deltas))


def _call_events(index: int, call: ToolCall) -> Iterable[bytes]:
    arguments = call.arguments_text
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *slices(arguments, 12))]
    return _block_events(index, _call_start(call), deltas)


def _block_events(index: int, start: Json, deltas: Iterable[Json]) -> Iterable[bytes]:
    began = {"type": "content_block_start", "index": index, "content_block": start}
    yield event(began, "content_block_start")
    for delta in deltas:
        yield event({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
    yield event({"type": "content_block_stop", "index": index}, "content_block_stop")


def _card(name: str, card: ModelCard) -> dict[str, Any]:
    listed = {"type": "model", "id": name, "display_name": name, "created_at": CREATED_AT, "lifecycle": "active"}
    return {**listed, "max_input_tokens": card.context_window, "max_tokens": 32_000}
