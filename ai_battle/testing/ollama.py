"""A fake of Ollama's own API."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

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
    dumps,
    identity,
    pieces,
)

_NANOSECONDS_PER_TOKEN = 2_000_000
_DETAILS = {"format": "gguf", "family": "llama", "parameter_size": "1.0B", "quantization_level": "Q4_K_M"}


class FakeOllama(FakeApi):
    name = "ollama"
    stream_type = "application/x-ndjson"
    ping = b"\n"
    parameters = ("think",)
    errors: ClassVar[Mapping[str, tuple[int, str]]] = {
        "quota": (429, "you have reached your weekly usage limit, please upgrade to continue"),
        "context_length": (400, "the input length exceeds the context length"),
        "tools_unsupported": (400, "registry.ollama.ai/library/{model} does not support tools"),
        "parameter_refused": (400, '"{model}" does not support thinking'),
        "overloaded": (503, "server busy, please try again. maximum pending requests exceeded"),
        "not_found": (404, "model '{model}' not found"),
    }

    def question(self, path: str, query: Mapping[str, str], body: Json) -> Question | None:
        if path != "/api/chat":
            return None
        return Question(str(body.get("model", "")), bool(body.get("stream", True)), body)

    def page(self, path: str, body: Json, models: Mapping[str, ModelCard]) -> Json | ApiError | None:
        match path:
            case "/api/version":
                return {"version": "0.13.1"}
            case "/api/tags" | "/api/ps":
                return {"models": [_tag(name) for name in models]}
            case "/api/show":
                name = str(body.get("model") or body.get("name") or "")
                card = models.get(name) or models.get(f"{name}:latest")
                return _model_card(card) if card else ApiError("not_found", 404, name)
        return None

    def objection(self, question: Question) -> ApiError | None:
        return None if question.model else ApiError(status=400, subject="model is required")

    def whole(self, reply: Reply, question: Question) -> Json:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text}
        if reply.thinking:
            message["thinking"] = reply.thinking
        if reply.calls:
            message["tool_calls"] = [_call(i, call) for i, call in enumerate(reply.calls)]
        return {**_frame(question.model), "message": message, **_ending(reply)}

    def stream(self, reply: Reply, question: Question) -> FakeStream:
        model = question.model
        thoughts = _text_lines(model, "thinking", reply.thinking, 0)
        texts = _text_lines(model, "content", reply.text, reply.chunks)
        calls = tuple(_line(model, {"content": "", "tool_calls": [_call(i, c)]}) for i, c in enumerate(reply.calls))
        last = {**_frame(model), "message": {"role": "assistant", "content": ""}, **_ending(reply)}
        return FakeStream((), thoughts + texts + calls, (dumps(last) + b"\n",))

    def body_without_answer(self, question: Question) -> Json:
        return {**_frame(question.model), **_ending(Reply())}

    def stream_without_answer(self, question: Question) -> bytes:
        return dumps(self.body_without_answer(question)) + b"\n"

    def error(self, problem: ApiError) -> tuple[int, Json]:
        status, message = self.status_and_message(problem)
        return status, {"error": message}

    def error_event(self, problem: ApiError) -> bytes:
        return dumps(self.error(problem)[1]) + b"\n"


def _frame(model: str) -> dict[str, Any]:
    return {"model": model, "created_at": CREATED_AT}


def _line(model: str, message: Json) -> bytes:
    return dumps({**_frame(model), "message": {"role": "assistant", **message}, "done": False}) + b"\n"


@lru_cache(maxsize=256)
def _text_lines(model: str, field: str, text: str, chunks: int) -> tuple[bytes, ...]:
    empty = {"content": ""} if field == "thinking" else {}
    return tuple(_line(model, {**empty, field: piece}) for piece in pieces(text, chunks))


def _call(index: int, call: ToolCall) -> dict[str, Any]:
    return {**identity(call), "function": {"index": index, "name": call.name, "arguments": arguments_object(call)}}


def _ending(reply: Reply) -> dict[str, Any]:
    """Returns the end of an answer. Ollama reports `stop` also when a model calls tools."""
    read, written = reply.bill.input_tokens, reply.bill.output_tokens
    return {
        "done": True,
        "done_reason": "length" if reply.stop == "length" else "stop",
        "total_duration": (read + written) * _NANOSECONDS_PER_TOKEN,
        "load_duration": _NANOSECONDS_PER_TOKEN,
        "prompt_eval_count": read,
        "prompt_eval_duration": read * _NANOSECONDS_PER_TOKEN,
        "eval_count": written,
        "eval_duration": written * _NANOSECONDS_PER_TOKEN,
    }


def _tag(name: str) -> dict[str, Any]:
    return {"name": name, "model": name, "modified_at": CREATED_AT, "size": 815_319_791, "details": _DETAILS}


def _model_card(card: ModelCard) -> dict[str, Any]:
    return {
        "details": _DETAILS,
        "model_info": {"general.architecture": "llama", "llama.context_length": card.context_window},
        "capabilities": list(card.capabilities),
        "modified_at": CREATED_AT,
    }
