"""The Chat Completions API, as OpenAI and the many that follow it speak it."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from ...core.exchange import Usage
from ...core.messages import ToolCall
from ..replies import Reply, pieces
from .base import CREATED, Json, ModelCard, Problem, Question, Stream, Wire, arguments_text, event, slices

_FINISH = {
    "end": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
    "refusal": "stop",
}
_TYPES = {401: "invalid_request_error", 429: "rate_limit_error", 500: "server_error", 503: "server_error"}
_DONE = b"data: [DONE]\n\n"


class OpenAI(Wire):
    name = "openai"
    parameters = ("temperature", "top_p", "seed", "stop", "reasoning_effort", "max_tokens")

    def question(self, path: str, query: Mapping[str, str], body: Json) -> Question | None:
        if not path.endswith("/chat/completions"):
            return None
        wanted = (body.get("stream_options") or {}).get("include_usage", False)
        return Question(str(body.get("model", "")), bool(body.get("stream")), body, with_usage=bool(wanted))

    def page(self, path: str, body: Json, models: Mapping[str, ModelCard]) -> Json | Problem | None:
        if path == "/v1/models":
            return {"object": "list", "data": [_card(name, card) for name, card in models.items()]}
        if path.startswith("/v1/models/"):
            name = path.removeprefix("/v1/models/")
            return _card(name, models[name]) if name in models else Problem("not_found", 404, name)
        return None

    def objection(self, question: Question) -> Problem | None:
        messages = question.body.get("messages")
        if not messages or not isinstance(messages, list):
            return Problem(status=400, subject="Missing required parameter: 'messages'.")
        return None if question.model else Problem(status=400, subject="you must provide a model parameter")

    def whole(self, reply: Reply, question: Question) -> Json:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
        if reply.stop == "refusal":
            message |= {"content": None, "refusal": reply.text}
        if reply.thinking:
            message["reasoning_content"] = reply.thinking
        if reply.calls:
            message["tool_calls"] = [_call(call) for call in reply.calls]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(reply)}
        return {**_frame("chat.completion", question.model), "choices": [choice], "usage": _usage(reply.spent)}

    def stream(self, reply: Reply, question: Question) -> Stream:
        model = question.model
        field = "refusal" if reply.stop == "refusal" else "content"
        thoughts = _text_events(model, "reasoning_content", reply.thinking, 0)
        said = _text_events(model, field, reply.text, reply.chunks)
        calls = tuple(event for i, call in enumerate(reply.calls) for event in _call_events(model, i, call))
        closing = [_chunk(model, {}, _finish(reply))]
        if question.with_usage:
            usage = {**_frame("chat.completion.chunk", model), "choices": [], "usage": _usage(reply.spent)}
            closing.append(event(usage))
        return Stream((_opening(model),), thoughts + said + calls, (*closing, _DONE))

    def hollow(self, question: Question) -> Json:
        kind = "chat.completion.chunk" if question.stream else "chat.completion"
        return {**_frame(kind, question.model), "choices": []}

    def hollow_stream(self, question: Question) -> bytes:
        return super().hollow_stream(question) + _DONE

    def error(self, problem: Problem) -> tuple[int, Json]:
        status, kind, param, code, message = _words(problem)
        return status, {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _words(problem: Problem) -> tuple[int, str, str | None, str | None, str]:
    model, subject = problem.model, problem.subject
    invalid = "invalid_request_error"
    quota = "You exceeded your current quota, please check your plan and billing details."
    too_long = (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9241 tokens. "
        "Please reduce the length of the messages."
    )
    special = {
        "quota": (429, "insufficient_quota", None, "insufficient_quota", quota),
        "context_length": (400, invalid, "messages", "context_length_exceeded", too_long),
        "tools_unsupported": (400, invalid, "tools", "unsupported_parameter", _unsupported("tools")),
        "parameter_refused": (400, invalid, subject, "unsupported_parameter", _unsupported(subject)),
        "overloaded": (503, "server_error", None, None, "The server is currently overloaded. Please try again later."),
        "not_found": (404, invalid, None, "model_not_found", f"The model '{model}' does not exist."),
    }
    kind = _TYPES.get(problem.status, invalid if problem.status < 500 else "server_error")
    usual = (problem.status, kind, None, None, subject or f"The fake answers with status {problem.status}.")
    return special.get(problem.kind, usual)


def _unsupported(parameter: str) -> str:
    return f"Unsupported parameter: '{parameter}' is not supported with this model."


def _frame(kind: str, model: str) -> dict[str, Any]:
    return {"id": "chatcmpl-fake", "object": kind, "created": CREATED, "model": model}


def _chunk(model: str, delta: Json, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return event({**_frame("chat.completion.chunk", model), "choices": [choice]})


@lru_cache(maxsize=64)
def _opening(model: str) -> bytes:
    return _chunk(model, {"role": "assistant", "content": ""})


@lru_cache(maxsize=256)
def _text_events(model: str, field: str, text: str, chunks: int) -> tuple[bytes, ...]:
    return tuple(_chunk(model, {field: piece}) for piece in pieces(text, chunks))


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": arguments_text(call.arguments, call.malformed)}
    return {**({"id": call.id} if call.id else {}), "type": "function", "function": function}


def _call_events(model: str, index: int, call: ToolCall) -> Iterable[bytes]:
    """The first fragment names the call, the others bring its arguments in pieces."""
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
