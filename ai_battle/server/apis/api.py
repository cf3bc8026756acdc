"""What differs from API to API."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ...core.errors import AIBattleError
from ...core.events import Event
from ...core.exchange import ModelRequest, ModelResponse
from ...wire.failures import Failed


@dataclass(frozen=True, slots=True)
class Asked:
    """What a client wants: `model` is the name it used; `usage`, whether a stream is to end with its usage."""

    request: ModelRequest
    model: str
    stream: bool = False
    usage: bool = True


class Writer(Protocol):
    """The bytes of one answer, streamed or whole; `answer` is what later requests may refer to, when it has ended."""

    @property
    def answer(self) -> Mapping[str, Any] | None: ...
    def whole(self, response: ModelResponse) -> bytes: ...

    def begin(self) -> bytes: ...
    def feed(self, event: Event) -> bytes:
        """Nothing for an event that the API has no words for."""

    def finish(self, response: ModelResponse) -> bytes: ...
    def fail(self, error: AIBattleError | Failed) -> bytes: ...
    def ping(self) -> bytes: ...


class EncodesErrors(Protocol):
    def __call__(self, status: int, message: str, kind: str = "", request_id: str = "") -> bytes: ...


def nothing_told(request: ModelRequest, headers: Mapping[str, str]) -> ModelRequest:
    return request


@dataclass(frozen=True, slots=True)
class Api:
    """`decode` raises `ConfigError`; `writer` is given an estimate of the tokens that were sent.

    `told` is the request with what the client tells the provider beside the body, `refers` says that requests may refer
    to earlier answers.
    """

    name: str
    decode: Callable[[Mapping[str, Any]], Asked]
    writer: Callable[[Asked, int], Writer]
    error: EncodesErrors
    told: Callable[[ModelRequest, Mapping[str, str]], ModelRequest] = nothing_told
    refers: bool = False
