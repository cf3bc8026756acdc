"""A fake of Google's generateContent API."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, ClassVar

from ..core.messages import ToolCall
from .apis import (
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
)

_METHOD = re.compile(r"^/v1(?:alpha|beta)?/models/([^/:]+):(\w+)$")
_MODEL = re.compile(r"^/v1(?:alpha|beta)?/models(?:/([^/:]+))?$")
_FINISH = {
    "end": "STOP", "stop_sequence": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY",
}  # fmt: skip
_STATUS = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ABORTED",
    429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}  # fmt: skip


class FakeGemini(FakeApi):
    name = "gemini"
    parameters = ("temperature", "topP", "topK", "seed", "thinkingConfig")
    errors: ClassVar[Mapping[str, tuple[int, str]]] = {
        "quota": (429, "You exceeded your current quota, please check your plan and billing details."),
        "daily_quota": (429, "You exceeded your current quota. Please retry in 36s."),
        "wrong_key": (400, "API key not valid. Please pass a valid API key."),
        "context_length": (
            400,
            "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
        ),
        "tools_unsupported": (400, "Function calling is not enabled for models/{model}"),
        "parameter_refused": (
            400,
            "Invalid JSON payload received. Unknown name \"{subject}\" at 'generation_config': Cannot find field.",
        ),
        "overloaded": (503, "The model is overloaded. Please try again later."),
        "not_found": (404, "models/{model} is not found for API version v1beta, or is not supported."),
    }

    def question(self, path: str, query: Mapping[str, str], body: Json) -> Question | None:
        found = _METHOD.match(path)
        if not found or found[2] not in ("generateContent", "streamGenerateContent"):
            return None
        return Question(found[1], found[2] == "streamGenerateContent", body)

    def page(self, path: str, body: Json, models: Mapping[str, ModelCard]) -> Json | ApiError | None:
        method = _METHOD.match(path)
        if method and method[2] == "countTokens":
            return {"totalTokens": characters(body) // 4}
        found = _MODEL.match(path)
        if found is None:
            return None
        if not (name := found[1]):
            return {"models": [_card(model, card) for model, card in models.items()]}
        return _card(name, models[name]) if name in models else ApiError("not_found", 404, name)

    def objection(self, question: Question) -> ApiError | None:
        if question.body.get("contents"):
            return None
        return ApiError(status=400, subject="* GenerateContentRequest.contents: contents is not specified\n")

    def whole(self, reply: Reply, question: Question) -> Json:
        if reply.stop == "refusal":
            return {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, **_frame(reply, question)}
        parts = [*_text_part(reply.thinking, thought=True), *_text_part(reply.text), *map(_call, reply.calls)]
        return {"candidates": [_candidate(parts, _finish(reply))], **_frame(reply, question)}

    def stream(self, reply: Reply, question: Question) -> FakeStream:
        """Every event is a whole body; the one with a finish reason is the last."""
        if reply.stop == "refusal":
            return FakeStream((), (), (event(self.whole(reply, question)),))
        model = question.model
        thoughts = _text_events(model, reply.thinking, 0, thought=True)
        texts = _text_events(model, reply.text, reply.chunks)
        calls = tuple(event({"candidates": [_candidate([_call(c)])], "modelVersion": model}) for c in reply.calls)
        last = {"candidates": [_candidate([{"text": ""}], _finish(reply))], **_frame(reply, question)}
        return FakeStream((), thoughts + texts + calls, (event(last),))

    def body_without_answer(self, question: Question) -> Json:
        return {"candidates": [], **_frame(Reply(), question)}

    def error(self, problem: ApiError) -> tuple[int, Json]:
        status, message = self.status_and_message(problem)
        error = {"code": status, "message": message, "status": _STATUS.get(status, "UNKNOWN")}
        if details := list(_details(problem)):
            error["details"] = details
        return status, {"error": error}


def _details(problem: ApiError) -> Iterable[dict[str, Any]]:
    if problem.kind == "wrong_key":
        yield {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
    if problem.kind in ("quota", "daily_quota"):
        violation = {"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "250"}
        yield {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}
    delay = 36.0 if problem.kind == "daily_quota" else problem.retry_after
    if delay is not None:
        yield {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{delay:g}s"}


def _frame(reply: Reply, question: Question) -> dict[str, Any]:
    usage = reply.bill
    counted = {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": usage.output_tokens - usage.reasoning_tokens,
        "totalTokenCount": usage.total_tokens,
    }
    if usage.reasoning_tokens:
        counted["thoughtsTokenCount"] = usage.reasoning_tokens
    if usage.cache_read_tokens:
        counted["cachedContentTokenCount"] = usage.cache_read_tokens
    return {"usageMetadata": counted, "modelVersion": question.model, "responseId": "fake"}


def _candidate(parts: list[dict[str, Any]], finish: str = "") -> dict[str, Any]:
    content = {"content": {"parts": parts, "role": "model"}, "index": 0}
    return {**content, "finishReason": finish} if finish else content


def _text_part(text: str, thought: bool = False) -> Iterable[dict[str, Any]]:
    if text:
        yield {"text": text, "thought": True} if thought else {"text": text}


@lru_cache(maxsize=256)
def _text_events(model: str, text: str, chunks: int, thought: bool = False) -> tuple[bytes, ...]:
    parts = (part for piece in pieces(text, chunks) for part in _text_part(piece, thought))
    return tuple(event({"candidates": [_candidate([part])], "modelVersion": model}) for part in parts)


def _call(call: ToolCall) -> dict[str, Any]:
    named = {**identity(call), "name": call.name, "args": arguments_object(call)}
    return {"functionCall": named, **call.extra.get("gemini", {})}


def _finish(reply: Reply) -> str:
    return _FINISH.get(reply.stop or "end", "OTHER")


def _card(name: str, card: ModelCard) -> dict[str, Any]:
    return {
        "name": f"models/{name}",
        "version": "001",
        "displayName": name,
        "inputTokenLimit": card.context_window,
        "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
        "thinking": "thinking" in card.capabilities,
    }
