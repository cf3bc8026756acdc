"""The provider for recordings: one client records exchanges to a file, the other answers from it without any model."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ..core import errors
from ..core.client import ClientWrapper, ModelClient
from ..core.errors import BadReply, ConfigError, CutShort, ProviderError, Unscripted, translate_errors
from ..core.events import AttemptFailed, Emit, Event, TextDelta, ThinkingDelta, ToolCallDelta, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.traits import ProviderTraits
from ._recordings import (
    RecordedExchange,
    RecordedExchanges,
    Recorder,
    request_digest,
    response_from_json,
    response_to_json,
)

T = TypeVar("T")
_DELTAS = {"text": TextDelta, "thinking": ThinkingDelta, "call": ToolCallDelta}
_ERRORS = ("RateLimited", "Unreachable", "TimedOut", "BadReply", "Refused", "ContextTooLong")
_DETAILS = ("again", "status", "retry_after", "partial", "raw", "request_id")


class RecordingClient(ClientWrapper):
    """Records each exchange of `client`; several clients can share a recorder.

    An answer that a listener cut short is recorded as far as it came; in a replay it is cut short again.
    """

    def __init__(self, client: ModelClient, recorder: Recorder, model: str) -> None:
        super().__init__(client)
        self._recorder = recorder
        self._model = model

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        deltas: list[list[Any]] = []

        async def listen(event: Event) -> None:
            _note(event, deltas)
            await emit(event)

        try:
            response = await self.client.complete(request, listen)
        except ProviderError as error:
            self._record(request, deltas, error=_error_to_json(error))
            raise
        except CutShort as cut:
            ended = BadReply(f"The answer was not recorded to its end: {cut}")
            self._record(request, deltas, error=_error_to_json(ended))
            raise
        self._record(request, deltas, response=response_to_json(response))
        return response

    def _record(self, request: ModelRequest, deltas: list[list[Any]], **ended: Any) -> None:
        self._recorder.add(RecordedExchange(self._model, request_digest(request), deltas, **ended), request)


class ReplayClient(ModelClient):
    """Gives the recorded answer to an equal request, in the same pieces, only of `model` if given."""

    def __init__(self, recording: RecordedExchanges, model: str = "") -> None:
        self._recording = recording
        self._model = model

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        exchange = self._recording.find(request, self._model)
        if exchange is None:
            difference = self._recording.difference(request, self._model)
            raise Unscripted(f"{self._recording.path} has no answer to this request: {difference}.")
        for delta in exchange.deltas:
            await emit(self._read(_delta, delta))
        if exchange.response is None:
            raise _error_from_json(exchange.error or {})
        return self._read(response_from_json, exchange.response)

    def _read(self, read: Callable[[Any], T], data: Any) -> T:
        with translate_errors(f"{self._recording.path} is damaged", ProviderError):
            return read(data)


TRAITS = ProviderTraits(from_file=True, recited=True, local=True, free=True, needs_model=True)


def create(model: str, *, of: str = "") -> ReplayClient:
    """Returns the client.

    `model` is the path of a recording, and `of` limits it to one model, such as "ollama/phi4".
    """
    recording = RecordedExchanges.read(Path(model).expanduser())
    if of and of not in recording.models:
        raise ConfigError(f"{model} holds nothing of {of!r}, only of {', '.join(recording.models) or 'nobody'}.")
    return ReplayClient(recording, of)


def _delta(data: list[Any]) -> Event:
    kind, *values = data
    delta: Event = _DELTAS[kind](*values)
    return delta


def _note(event: Event, deltas: list[list[Any]]) -> None:
    match event:
        case TextDelta(text):
            deltas.append(["text", text])
        case ThinkingDelta(text):
            deltas.append(["thinking", text])
        case ToolCallDelta(index, id_, name, arguments):
            deltas.append(["call", index, id_, name, arguments])
        case AttemptFailed():
            deltas.clear()


def _error_to_json(error: ProviderError) -> dict[str, Any]:
    details = {name: getattr(error, name) for name in _DETAILS}
    return {"type": type(error).__name__, "message": str(error), **details}


def _error_from_json(data: Mapping[str, Any]) -> ProviderError:
    kind = getattr(errors, data["type"]) if data.get("type") in _ERRORS else ProviderError
    error: ProviderError = kind(data.get("message", ""), **{name: data[name] for name in _DETAILS if name in data})
    return error
