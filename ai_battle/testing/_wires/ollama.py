"""Ollama's own API."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ...core.messages import ToolCall
from ..replies import Reply, pieces
from .base import CREATED_AT, Json, ModelCard, Problem, Question, Stream, Wire, dumps

_NANOSECONDS_PER_TOKEN = 2_000_000


class Ollama(Wire):
    name = "ollama"
    stream_type = "application/x-ndjson"
    ping = b"\n"
    parameters = ("think", "format", "keep_alive")

    def question(self, path: str, query: Mapping[str, str], body: Json) -> Question | None:
        if path != "/api/chat":
            return None
        return Question(str(body.get("model", "")), bool(body.get("stream", True)), body)

    def page(self, path: str, body: Json, models: Mapping[str, ModelCard]) -> Json | Problem | None:
        match path:
            case "/api/version":
                return {"version": "0.13.1"}
            case "/api/tags" | "/api/ps":
                return {"models": [_tag(name) for name in models]}
            case "/api/show":
                name = str(body.get("model") or body.get("name") or "")
                card = models.get(name) or models.get(f"{name}:latest")
                return _shown(card) if card else Problem("not_found", 404, name)
        return None

    def objection(self, question: Question) -> Problem | None:
        return None if question.model else Problem(status=400, subject="model is required")

    def whole(self, reply: Reply, question: Question) -> Json:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text}
        if reply.thinking:
            message["thinking"] = reply.thinking
        if reply.calls:
            message["tool_calls"] = [_call(i, call) for i, call in enumerate(reply.calls)]
        return {**_frame(question.model), "message": message, **_ending(reply)}

    def stream(self, reply: Reply, question: Question) -> Stream:
        model = question.model
        thoughts = _text_lines(model, "thinking", reply.thinking, 0)
        said = _text_lines(model, "content", reply.text, reply.chunks)
        calls = tuple(_line(model, {"content": "", "tool_calls": [_call(i, c)]}) for i, c in enumerate(reply.calls))
        last = {**_frame(model), "message": {"role": "assistant", "content": ""}, **_ending(reply)}
        return Stream((), thoughts + said + calls, (dumps(last) + b"\n",))

    def hollow(self, question: Question) -> Json:
        return {**_frame(question.model), **_ending(Reply())}

    def hollow_stream(self, question: Question) -> bytes:
        return dumps(self.hollow(question)) + b"\n"

    def error(self, problem: Problem) -> tuple[int, Json]:
        status, message = _words(problem)
        return status, {"error": message}

    def error_event(self, problem: Problem) -> bytes:
        return dumps(self.error(problem)[1]) + b"\n"


def _words(problem: Problem) -> tuple[int, str]:
    model = problem.model
    special = {
        "quota": (429, "you have reached your weekly usage limit, please upgrade to continue"),
        "context_length": (400, "the input length exceeds the context length"),
        "tools_unsupported": (400, f"registry.ollama.ai/library/{model} does not support tools"),
        "parameter_refused": (400, _refusal(model, problem.subject)),
        "overloaded": (503, "server busy, please try again. maximum pending requests exceeded"),
        "not_found": (404, f"model '{model}' not found"),
    }
    usual = (problem.status, problem.subject or f"The fake answers with status {problem.status}.")
    return special.get(problem.kind, usual)


def _refusal(model: str, parameter: str) -> str:
    return f'"{model}" does not support thinking' if parameter == "think" else f"invalid value for {parameter}"


def _frame(model: str) -> dict[str, Any]:
    return {"model": model, "created_at": CREATED_AT}


def _line(model: str, message: Json) -> bytes:
    return dumps({**_frame(model), "message": {"role": "assistant", **message}, "done": False}) + b"\n"


@lru_cache(maxsize=256)
def _text_lines(model: str, field: str, text: str, chunks: int) -> tuple[bytes, ...]:
    empty = {"content": ""} if field == "thinking" else {}
    return tuple(_line(model, {**empty, field: piece}) for piece in pieces(text, chunks))


def _call(index: int, call: ToolCall) -> dict[str, Any]:
    arguments: Any = json.loads(json.dumps(call.arguments)) if not call.malformed else call.malformed
    function = {"index": index, "name": call.name, "arguments": arguments}
    return {**({"id": call.id} if call.id else {}), "function": function}


def _ending(reply: Reply) -> dict[str, Any]:
    """Ollama says `stop` when a model calls tools, too."""
    read, said = reply.spent.input_tokens, reply.spent.output_tokens
    return {
        "done": True,
        "done_reason": "length" if reply.stop == "length" else "stop",
        "total_duration": (read + said) * _NANOSECONDS_PER_TOKEN,
        "load_duration": _NANOSECONDS_PER_TOKEN,
        "prompt_eval_count": read,
        "prompt_eval_duration": read * _NANOSECONDS_PER_TOKEN,
        "eval_count": said,
        "eval_duration": said * _NANOSECONDS_PER_TOKEN,
    }


def _tag(name: str) -> dict[str, Any]:
    digest = f"{sum(name.encode()):064x}"
    return {
        "name": name,
        "model": name,
        "modified_at": CREATED_AT,
        "size": 815_319_791,
        "digest": digest,
        "details": _details(),
    }


def _details() -> dict[str, Any]:
    family = {"format": "gguf", "family": "llama", "families": ["llama"]}
    return {"parent_model": "", **family, "parameter_size": "1.0B", "quantization_level": "Q4_K_M"}


def _shown(card: ModelCard) -> dict[str, Any]:
    return {
        "modelfile": "",
        "parameters": "",
        "template": "{{ .Prompt }}",
        "details": _details(),
        "model_info": {"general.architecture": "llama", "llama.context_length": card.context_window},
        "capabilities": list(card.capabilities),
        "modified_at": CREATED_AT,
    }
