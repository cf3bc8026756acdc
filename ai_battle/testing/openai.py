"""A fake of OpenAI's Chat Completions API, which many providers implement."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, ClassVar
from zlib import crc32

from ..core.exchange import Usage
from ..core.messages import ToolCall
from .apis import (
    CREATED,
    ApiError,
    FakeApi,
    FakeStream,
    Json,
    ModelCard,
    Question,
    Reply,
    event,
    identity,
    pieces,
    slices,
)

_FINISH = {
    "end": "stop", "stop_sequence": "stop", "length": "length", "tool_calls": "tool_calls",
    "content_filter": "content_filter", "refusal": "stop",
}  # fmt: skip
_TYPES = {401: "invalid_request_error", 429: "rate_limit_error", 500: "server_error", 503: "server_error"}
_CODES = {
    "quota": "insufficient_quota", "context_length": "context_length_exceeded", "not_found": "model_not_found",
    "tools_unsupported": "unsupported_parameter", "parameter_refused": "unsupported_parameter",
}  # fmt: skip
_DONE = b"data: [DONE]\n\n"


class FakeOpenAI(FakeApi):
    name = "openai"
    parameters = ("temperature", "top_p", "seed", "stop", "reasoning_effort", "max_tokens")
    errors: ClassVar[Mapping[str, tuple[int, str]]] = {
        "quota": (429, "You exceeded your current quota, please check your plan and billing details."),
        "context_length": (
            400,
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9241 tokens. "
            "Please reduce the length of the messages.",
        ),
        "tools_unsupported": (400, "Unsupported parameter: 'tools' is not supported with this model."),
        "parameter_refused": (400, "Unsupported parameter: '{subject}' is not supported with this model."),
        "overloaded": (503, "The server is currently overloaded. Please try again later."),
        "not_found": (404, "The model '{model}' does not exist."),
    }

    def question(self, path: str, query: Mapping[str, str], body: Json) -> Question | None:
        if not path.endswith("/chat/completions"):
            return None
        wanted = (body.get("stream_options") or {}).get("include_usage", False)
        return Question(str(body.get("model", "")), bool(body.get("stream")), body, with_usage=bool(wanted))

    def page(self, path: str, body: Json, models: Mapping[str, ModelCard]) -> Json | ApiError | None:
        if path == "/v1/models":
            return {"object": "list", "data": [_card(name, card) for name, card in models.items()]}
        if path == "/v1/embeddings":
            return _embedding(str(body.get("model", "")), str(body.get("input", "")))
        if path.startswith("/v1/models/"):
            name = path.removeprefix("/v1/models/")
            return _card(name, models[name]) if name in models else ApiError("not_found", 404, name)
        return None

    def objection(self, question: Question) -> ApiError | None:
        messages = question.body.get("messages")
        if not messages or not isinstance(messages, list):
            return ApiError(status=400, subject="Missing required parameter: 'messages'.")
        return None if question.model else ApiError(status=400, subject="you must provide a model parameter")

    def whole(self, reply: Reply, question: Question) -> Json:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
        if reply.stop == "refusal":
            message |= {"content": None, "refusal": reply.text}
        if reply.thinking:
            message["reasoning_content"] = reply.thinking
        if reply.calls:
            message["tool_calls"] = [_call(call) for call in reply.calls]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(reply)}
        return {**_frame("chat.completion", question.model), "choices": [choice], "usage": _usage(reply.bill)}

    def stream(self, reply: Reply, question: Question) -> FakeStream:
        model = question.model
        field = "refusal" if reply.stop == "refusal" else "content"
        thoughts = _text_events(model, "reasoning_content", reply.thinking, 0)
        texts = _text_events(model, field, reply.text, reply.chunks)
        calls = tuple(event for i, call in enumerate(reply.calls) for event in _call_events(model, i, call))
        opening, closing = _chunk(model, {"role": "assistant", "content": ""}), [_chunk(model, {}, _finish(reply))]
        if question.with_usage:
            usage = {**_frame("chat.completion.chunk", model), "choices": [], "usage": _usage(reply.bill)}
            closing.append(event(usage))
        return FakeStream((opening,), thoughts + texts + calls, (*closing, _DONE))

    def body_without_answer(self, question: Question) -> Json:
        kind = "chat.completion.chunk" if question.stream else "chat.completion"
        return {**_frame(kind, question.model), "choices": []}

    def stream_without_answer(self, question: Question) -> bytes:
        return super().stream_without_answer(question) + _DONE

    def error(self, problem: ApiError) -> tuple[int, Json]:
        status, message = self.status_and_message(problem)
        parameters = {"context_length": "messages", "tools_unsupported": "tools", "parameter_refused": problem.subject}
        parameter, code = parameters.get(problem.kind), _CODES.get(problem.kind)
        kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
        kind = "insufficient_quota" if problem.kind == "quota" else kind
        return status, {"error": {"message": message, "type": kind, "param": parameter, "code": code}}


def _frame(kind: str, model: str) -> dict[str, Any]:
    return {"id": "chatcmpl-fake", "object": kind, "created": CREATED, "model": model}


def _chunk(model: str, delta: Json, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return event({**_frame("chat.completion.chunk", model), "choices": [choice]})


@lru_cache(maxsize=256)
def _text_events(model: str, field: str, text: str, chunks: int) -> tuple[bytes, ...]:
    return tuple(_chunk(model, {field: piece}) for piece in pieces(text, chunks))


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments_text}
    return {**identity(call), "type": "function", "function": function}


def _call_events(model: str, index: int, call: ToolCall) -> Iterable[bytes]:
    """Yields the fragments of a call: the first has its name, the others its arguments in pieces."""
    start = _call(call)
    arguments = start["function"].pop("arguments")
    yield _chunk(model, {"tool_calls": [{"index": index, **start, "function": {"name": call.name, "arguments": ""}}]})
    for piece in slices(arguments, 12):
        yield _chunk(model, {"tool_calls": [{"index": index, "function": {"arguments": piece}}]})


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }


def _finish(reply: Reply) -> str:
    return _FINISH.get(reply.stop or "end", "stop")


def _card(name: str, card: ModelCard) -> dict[str, Any]:
    listed = {"id": name, "object": "model", "created": CREATED, "owned_by": "fake"}
    return {**listed, "context_length": card.context_window}


def _embedding(model: str, text: str) -> Json:
    """Returns a vector of letter trigrams, so that similar texts are near each other."""
    vector = [0.0] * 64
    for place in range(len(text) - 2):
        vector[crc32(text[place : place + 3].lower().encode()) % 64] += 1.0
    tokens = len(text) // 4 + 1
    data = [{"object": "embedding", "index": 0, "embedding": vector}]
    return {"object": "list", "data": data, "model": model, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}
