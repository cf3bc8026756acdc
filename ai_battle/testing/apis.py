"""What a fake provider must know to speak an API: how it answers, streams, refuses and lists its models.

The APIs are written as their providers document them, apart from `ai_battle.wire`, so that an error there shows.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..core.messages import ToolCall
from .replies import Reply

CREATED = 1_794_000_000
CREATED_AT = "2026-11-06T21:20:00Z"
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

MOST_TOKENS = ("max_tokens", "max_completion_tokens", "num_predict", "maxOutputTokens")
Json = Mapping[str, Any]
ErrorKind = Literal[
    "status", "quota", "context_length", "tools_unsupported", "parameter_refused", "overloaded", "not_found",
    "wrong_key", "daily_quota",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What a fake says about one of its models where the API has a place for it."""

    context_window: int = 131_072
    capabilities: tuple[str, ...] = ("completion", "tools", "vision", "thinking")


@dataclass(frozen=True, slots=True)
class Question:
    """A request for an answer of a model."""

    model: str
    stream: bool
    body: Json
    number: int = 0
    with_usage: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def most_tokens(self) -> int | None:
        """Returns how many tokens the answer may have, where the request says so."""
        options = self.body.get("options") or self.body.get("generationConfig") or self.body
        return next((options[name] for name in MOST_TOKENS if name in options), None)


@dataclass(frozen=True, slots=True)
class ApiError:
    """An error to be put into a provider's words."""

    kind: ErrorKind = "status"
    status: int = 500
    model: str = ""
    subject: str = ""
    retry_after: float | None = None

    def status_and_message(self, special: Mapping[str, tuple[int, str]]) -> tuple[int, str]:
        """Returns its status and what it says: by its kind, where the API has words for that."""
        usual = (self.status, self.subject or f"The fake answers with status {self.status}.")
        return special.get(self.kind, usual)


@dataclass(frozen=True, slots=True)
class FakeStream:
    """A streamed answer in its parts: what opens it, what is said, and what tells that it is complete."""

    opening: tuple[bytes, ...]
    events: tuple[bytes, ...]
    closing: tuple[bytes, ...]

    @property
    def all(self) -> tuple[bytes, ...]:
        return self.opening + self.events + self.closing


class FakeApi(ABC):
    """One provider's API. `ping` is what keeps a stream open without saying anything."""

    name: str
    stream_type = "text/event-stream"
    ping = b": keep-alive\n\n"
    parameters: tuple[str, ...] = ()

    @abstractmethod
    def question(self, path: str, query: Mapping[str, str], body: Json) -> Question | None:
        """Returns the question that a POST to `path` asks, or None when it asks no model."""

    @abstractmethod
    def page(self, path: str, body: Json, models: Mapping[str, ModelCard]) -> Json | ApiError | None:
        """Returns what the API answers elsewhere: model lists, versions, token counts."""

    @abstractmethod
    def whole(self, reply: Reply, question: Question) -> Json:
        """Returns the body of an answer that is not streamed."""

    @abstractmethod
    def stream(self, reply: Reply, question: Question) -> FakeStream: ...

    @abstractmethod
    def body_without_answer(self, question: Question) -> Json:
        """Returns a well-formed body in which the place for the answer is missing."""

    def stream_without_answer(self, question: Question) -> bytes:
        """Returns a whole stream in which the answer is missing."""
        return event(self.body_without_answer(question))

    @abstractmethod
    def error(self, problem: ApiError) -> tuple[int, Json]:
        """Returns the status and the body of an error."""

    def error_event(self, problem: ApiError) -> bytes:
        """Returns an error as it comes in the middle of a stream."""
        return event(self.error(problem)[1])

    def objection(self, question: Question) -> ApiError | None:
        """Returns what this API finds wrong with a body, as far as clients get it wrong."""
        return None

    def asked_parameter(self, question: Question) -> str:
        """Returns a sampling parameter that the request has, for an error that refuses it."""
        body = question.body.get("generationConfig") or question.body
        return next((name for name in self.parameters if name in body), self.parameters[0])


def dumps(body: Any) -> bytes:
    return _ENCODER.encode(body).encode("utf-8", "surrogatepass")


def event(body: Any, name: str = "") -> bytes:
    """Returns a server-sent event."""
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + dumps(body) + b"\n\n"


def arguments_text(call: ToolCall) -> str:
    return call.malformed or json.dumps(call.arguments, ensure_ascii=False)


def arguments_object(call: ToolCall) -> Any:
    """Returns the arguments for APIs that carry them as JSON, where text that is no JSON can only be a string."""
    return json.loads(json.dumps(call.arguments)) if not call.malformed else call.malformed


def identity(call: ToolCall) -> dict[str, str]:
    return {"id": call.id} if call.id else {}


def slices(text: str, size: int) -> Iterable[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def characters(body: Any) -> int:
    """Returns how much text there is in a body, for counting tokens."""
    return len(dumps(body))
