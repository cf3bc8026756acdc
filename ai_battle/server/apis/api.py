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
    """The bytes of one streamed answer."""

    def begin(self) -> bytes: ...
    def feed(self, event: Event) -> bytes:
        """Nothing for an event that the API has no words for."""

    def finish(self, response: ModelResponse) -> bytes: ...
    def fail(self, error: AIBattleError | Failed) -> bytes: ...
    def ping(self) -> bytes: ...


class MakesWriters(Protocol):
    def __call__(self, model: str, *, usage: bool, input_tokens: int) -> Writer: ...


class EncodesErrors(Protocol):
    def __call__(self, status: int, message: str, kind: str = "", request_id: str = "") -> bytes: ...


@dataclass(frozen=True, slots=True)
class Api:
    """`decode` raises `ConfigError`; `encode` is given the name of the model that the client asked for."""

    name: str
    decode: Callable[[Mapping[str, Any]], Asked]
    encode: Callable[[ModelResponse, str], bytes]
    writer: MakesWriters
    error: EncodesErrors
