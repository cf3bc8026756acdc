"""Scripted replies, and the interface of a fake API: how it answers, streams, refuses and lists its models.

The APIs are written from their providers' documentation, independently of `ai_battle.wire`, to reveal its errors.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal

from ..core.exchange import Stop, Usage
from ..core.messages import ToolCall

CREATED = 1_794_000_000
CREATED_AT = "2026-11-06T21:20:00Z"
_WORDS = re.compile(r"\s*\S+\s*|\s+")
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

MOST_TOKENS = ("max_tokens", "max_completion_tokens", "num_predict", "maxOutputTokens")
Json = Mapping[str, Any]
ErrorKind = Literal[
    "status", "quota", "context_length", "tools_unsupported", "parameter_refused", "overloaded", "not_found",
    "wrong_key", "daily_quota",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a model.

    `delay` is the seconds before its first byte, `pace` those between two chunks of a stream; without them a stream is
    written at once. `chunks` is the number of pieces into which a stream cuts the text (0: one for each word). A tool
    call without an id gets one, and missing `usage` and `stop` get plausible values.
    """

    text: str = ""
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    stop: Stop | None = None
    delay: float = 0.0
    pace: float = 0.0
    chunks: int = 0

    @property
    def bill(self) -> Usage:
        return self.usage or Usage()


def reply(text: str = "", *, calls: Iterable[ToolCall] = (), **details: Any) -> Reply:
    """Creates an answer: `reply("Hm.", thinking="Let me see", calls=[call("add", a=1)], delay=0.2, chunks=3)`."""
    return Reply(text, calls=tuple(calls), **details)


def call(name: str, **arguments: Any) -> ToolCall:
    """Creates a tool call: `call("add", a=1, b=2)`. It is also an entry of a `ScriptedClient`."""
    return ToolCall(name, arguments)


@lru_cache(maxsize=512)
def pieces(text: str, count: int) -> tuple[str, ...]:
    """Cuts the text into `count` pieces of similar length, or into words."""
    if not count:
        return tuple(_WORDS.findall(text))
    size = max(1, -(-len(text) // count))
    return tuple(text[start : start + size] for start in range(0, len(text), size))


def complete_reply(partial: Reply, request_number: int, input_tokens: int) -> Reply:
    """Returns the reply with ids, usage and a stop reason filled in."""
    calls = partial.calls and _with_ids(partial.calls, request_number)
    usage = partial.usage or _plausible_usage(partial, input_tokens)
    return replace(partial, calls=calls, usage=usage, stop=partial.stop or ("tool_calls" if calls else "end"))


def _with_ids(calls: Sequence[ToolCall], request_number: int) -> tuple[ToolCall, ...]:
    return tuple(c if c.id else replace(c, id=f"call_{request_number}_{i}") for i, c in enumerate(calls))


def _plausible_usage(partial: Reply, input_tokens: int) -> Usage:
    """Estimates a token as four characters, like real tokenizers. Equal exchanges have equal usage."""
    thought = (len(partial.thinking) + 3) // 4
    called = sum(10 + len(str(c.arguments)) // 4 for c in partial.calls)
    return Usage(input_tokens, (len(partial.text) + 3) // 4 + thought + called, reasoning_tokens=thought)


@dataclass(frozen=True, slots=True)
class ModelCard:
    """The properties of a fake's model that its API can report."""

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
        """The request's limit of output tokens, if it sets one."""
        options = self.body.get("options") or self.body.get("generationConfig") or self.body
        return next((options[name] for name in MOST_TOKENS if name in options), None)


@dataclass(frozen=True, slots=True)
class ApiError:
    """An error to encode as the provider does."""

    kind: ErrorKind = "status"
    status: int = 500
    model: str = ""
    subject: str = ""
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class FakeStream:
    """A streamed answer in parts: opening, content, and the closing that marks it as complete."""

    opening: tuple[bytes, ...]
    events: tuple[bytes, ...]
    closing: tuple[bytes, ...]

    @property
    def all(self) -> tuple[bytes, ...]:
        return self.opening + self.events + self.closing


class FakeApi(ABC):
    """One provider's API. `ping` keeps a stream open without content.

    `errors` are the status and the words of an error by its kind, with `{model}` and `{subject}` filled in.
    """

    name: str
    errors: ClassVar[Mapping[str, tuple[int, str]]]
    stream_type = "text/event-stream"
    ping = b": keep-alive\n\n"
    parameters: tuple[str, ...] = ()

    @abstractmethod
    def question(self, path: str, query: Mapping[str, str], body: Json) -> Question | None:
        """Returns the question in a POST to `path`, or None if it asks no model."""

    @abstractmethod
    def page(self, path: str, body: Json, models: Mapping[str, ModelCard]) -> Json | ApiError | None:
        """Returns other responses of the API: model lists, versions, token counts."""

    @abstractmethod
    def whole(self, reply: Reply, question: Question) -> Json:
        """Returns the body of an answer that is not streamed."""

    @abstractmethod
    def stream(self, reply: Reply, question: Question) -> FakeStream: ...

    @abstractmethod
    def body_without_answer(self, question: Question) -> Json:
        """Returns a well-formed body without an answer."""

    def stream_without_answer(self, question: Question) -> bytes:
        """Returns a complete stream without an answer."""
        return event(self.body_without_answer(question))

    @abstractmethod
    def error(self, problem: ApiError) -> tuple[int, Json]:
        """Returns the status and the body of an error."""

    def status_and_message(self, problem: ApiError) -> tuple[int, str]:
        status, words = self.errors.get(problem.kind, (problem.status, "{subject}"))
        said = words.format(model=problem.model, subject=problem.subject)
        return status, said or f"The fake answers with status {status}."

    def error_event(self, problem: ApiError) -> bytes:
        """Returns an error as an event in the middle of a stream."""
        return event(self.error(problem)[1])

    def objection(self, question: Question) -> ApiError | None:
        """Returns the error for an invalid body, covering mistakes that clients make."""
        return None

    def asked_parameter(self, question: Question) -> str:
        """Returns a sampling parameter of the request, for an error that refuses it."""
        body = question.body.get("generationConfig") or question.body
        return next((name for name in self.parameters if name in body), self.parameters[0])


def dumps(body: Any) -> bytes:
    return _ENCODER.encode(body).encode("utf-8", "surrogatepass")


def event(body: Any, name: str = "") -> bytes:
    """Returns a server-sent event."""
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + dumps(body) + b"\n\n"


def arguments_object(call: ToolCall) -> Any:
    """Returns the arguments for APIs that carry them as JSON. Malformed ones can only be a string there."""
    return json.loads(json.dumps(call.arguments)) if not call.malformed else call.malformed


def identity(call: ToolCall) -> dict[str, str]:
    return {"id": call.id} if call.id else {}


def slices(text: str, size: int) -> Iterable[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def characters(body: Any) -> int:
    """Returns the size of a body, to estimate tokens."""
    return len(dumps(body))
