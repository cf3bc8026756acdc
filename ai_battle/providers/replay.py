"""The provider for recordings: one client records exchanges to a file, the other answers from it without any model.

A recording has each exchange with a model, and each distinct message once.
"""

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from operator import eq
from pathlib import Path
from typing import Any, TypeVar

from pydantic_core import from_json, to_json

from ..core import errors
from ..core.client import ClientWrapper, ModelClient
from ..core.errors import BadReply, ConfigError, CutShort, ProviderError, Unscripted
from ..core.events import AttemptFailed, Emit, Event, TextDelta, ThinkingDelta, ToolCallDelta, ignore
from ..core.exchange import ModelRequest, ModelResponse, ToolSpec
from ..core.files import open_private
from ..core.messages import Message
from ..core.plugins import translate_errors
from ..core.redaction import NO_SECRETS, Redactor
from ..core.traits import ProviderTraits
from ..wire.genai import message_from_json, message_to_json, usage_from_json, usage_to_json

T = TypeVar("T")
_DELTAS = {"text": TextDelta, "thinking": ThinkingDelta, "call": ToolCallDelta}
_ERRORS = ("RateLimited", "Unreachable", "TimedOut", "BadReply", "Refused", "ContextTooLong")
_DETAILS = ("again", "status", "retry_after", "partial", "raw", "request_id")
_CACHE_KEY = "recording"
VERSION = 1
_SHOWN_LENGTH = 60  # characters of a message in an error
_LONG_FIELDS = ("system", "tools", "output_schema", "extra")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RequestDigest:
    """Identifies equal requests by digests of their long fields, and by their options."""

    messages: tuple[str, ...]
    system: str = ""
    tools: str = ""
    output_schema: str = ""
    tool_choice: str = "auto"
    options: str = "{}"
    extra: str = ""


@dataclass(frozen=True, slots=True)
class RecordedExchange:
    """A recorded exchange: the `deltas` of the stream, and the `response` or the `error` at its end."""

    model: str
    asked: RequestDigest
    deltas: list[list[Any]]
    response: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None


def request_digest(request: ModelRequest) -> RequestDigest:
    return RequestDigest(
        tuple(_digest_of(message) for message in request.messages),
        _digest(request.system),
        _digest([_tool(tool) for tool in request.tools]),
        _digest(request.output_schema),
        request.tool_choice,
        to_json(dict(sorted(request.options.items()))).decode(),
        _digest(request.extra),
    )


def response_to_json(response: ModelResponse) -> dict[str, Any]:
    return {
        "message": message_to_json(response.message),
        "steps": [message_to_json(step) for step in response.steps],
        "stop": response.stop,
        "usage": usage_to_json(response.usage),
        "model": response.model,
        "extra": response.extra,
    }


def response_from_json(data: Mapping[str, Any]) -> ModelResponse:
    return ModelResponse(
        message_from_json(data["message"]),
        tuple(message_from_json(step) for step in data["steps"]),
        data["stop"],
        usage_from_json(data["usage"]),
        data["model"],
        extra=data["extra"],
    )


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "schema": tool.schema, "extra": tool.extra}


def _digest_of(message: Message) -> str:
    """Returns a message's digest, kept with the message so that a long history is not hashed again in each turn."""
    kept = message.encoded.get(_CACHE_KEY)
    if kept is None:
        kept = message.encoded[_CACHE_KEY] = _digest(message_to_json(message)).encode()
    return kept.decode()


def _digest(value: Any) -> str:
    return hashlib.sha256(to_json(value)).hexdigest()[:24] if value else ""


class Recorder:
    """Writes a new recording without secrets, unbuffered, so that a killed process loses no exchange."""

    def __init__(self, path: Path, redactor: Redactor = NO_SECRETS) -> None:
        self._redactor = redactor
        try:
            self._file = open(path, "xb", buffering=0, opener=open_private)  # noqa: SIM115 - until `close`
        except FileExistsError as error:
            raise ConfigError(f"{path} exists already; name another file to record to, or delete it.") from error
        except OSError as error:
            raise ConfigError(f"{path} can't be written: {error.strerror}.") from error
        self._known: set[str] = set()
        self._file.write(to_json({"v": VERSION, "recording": "ai-battle"}) + b"\n")

    def add(self, exchange: RecordedExchange, request: ModelRequest) -> None:
        lines = [*self._new(exchange.asked, request), exchange]
        self._file.write(b"".join(self._redactor.line(to_json(line)) + b"\n" for line in lines))

    def close(self) -> None:
        self._file.close()

    def _new(self, asked: RequestDigest, request: ModelRequest) -> Iterator[Mapping[str, Any]]:
        """Yields the request's long fields that are not in the file yet."""
        values = (*request.messages, request.system, [_tool(tool) for tool in request.tools])
        for digest, value in zip((*asked.messages, asked.system, asked.tools), values, strict=True):
            if digest and digest not in self._known:
                self._known.add(digest)
                yield {"digest": digest, "value": message_to_json(value) if isinstance(value, Message) else value}


class RecordedExchanges:
    """A recording that was read. An equal request gets the recorded answer, and repeated ones the next answers."""

    def __init__(self, path: Path, exchanges: Iterable[RecordedExchange], values: Mapping[str, Any]) -> None:
        self.path = path
        self._answers: dict[RequestDigest, list[RecordedExchange]] = {}
        self._given: dict[tuple[str, RequestDigest], int] = {}
        self._values = values
        for exchange in exchanges:
            self._answers.setdefault(exchange.asked, []).append(exchange)

    @classmethod
    def read(cls, path: Path) -> "RecordedExchanges":
        values: dict[str, Any] = {}
        exchanges = []
        for number, line in _lines(path):
            if "digest" in line:
                values[line["digest"]] = line.get("value")
            elif "asked" in line:
                exchanges.append(_exchange(line, f"{path}:{number}"))
        return cls(path, exchanges, values)

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(sorted({exchange.model for found in self._answers.values() for exchange in found}))

    def find(self, request: ModelRequest, model: str = "") -> RecordedExchange | None:
        """Returns the recorded exchange, of `model` if given, or None if the request was not recorded."""
        digest = request_digest(request)
        found = [exchange for exchange in self._answers.get(digest, ()) if model in ("", exchange.model)]
        if not found:
            return None
        turn = self._given.get((model, digest), 0)
        self._given[model, digest] = turn + 1
        return found[min(turn, len(found) - 1)]

    def difference(self, request: ModelRequest, model: str = "") -> str:
        """Describes how the request differs from the most similar recorded one."""
        if model and model not in self.models:
            return f"the model {model!r} was not recorded, only {', '.join(self.models) or 'nothing'}"
        digest = request_digest(request)
        recorded = [entry for entry, found in self._answers.items() if any(model in ("", e.model) for e in found)]
        if not recorded:
            return "nothing was recorded"
        nearest = max(recorded, key=lambda entry: _equal_parts(entry, digest))
        return "; ".join(self._differences(nearest, digest, request))

    def _differences(self, recorded: RequestDigest, digest: RequestDigest, request: ModelRequest) -> Iterator[str]:
        if recorded.messages != digest.messages:
            yield self._differing_message(recorded.messages, digest.messages, request.messages)
        yield from (f"{name} differs" for name in _LONG_FIELDS if getattr(recorded, name) != getattr(digest, name))
        for name in ("options", "tool_choice"):
            if (before := getattr(recorded, name)) != (now := getattr(digest, name)):
                yield f"{name} {before} was recorded, {now} is asked"

    def _differing_message(self, before: tuple[str, ...], now: tuple[str, ...], messages: tuple[Message, ...]) -> str:
        equal = _equal_beginning(before, now)
        if equal == min(len(before), len(now)):
            return f"{len(before)} messages were recorded, {len(now)} are asked"
        with translate_errors(f"{self.path} is damaged", ConfigError):
            was = message_from_json(self._values[before[equal]]).text[:_SHOWN_LENGTH]
        asked = messages[equal]
        return f"message {equal + 1} of {len(now)} was {was!r} and is {asked.text[:_SHOWN_LENGTH]!r} (as {asked.role})"


def _lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yields all lines except the first, with their numbers."""
    try:
        head, *lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ConfigError(f"The recording {path} can't be read: {error.strerror}.") from error
    first = _parse_line(path, 1, head)
    if first.get("recording") != "ai-battle":
        raise ConfigError(f"{path} is not a recording; one is written with: ai-battle run CONFIG --record FILE")
    if first.get("v") != VERSION:
        raise ConfigError(f"{path} was recorded by a newer version of ai-battle (format {first.get('v')!r}).")
    last = lines.pop() if lines else b""  # not empty if the writer was killed while writing it
    yield from ((number, _parse_line(path, number, line)) for number, line in enumerate(lines, 2))
    if last:
        _log.warning("The last line of %s is cut off and ignored.", path)


def _parse_line(path: Path, number: int, line: bytes) -> Mapping[str, Any]:
    try:
        entry = from_json(line or b"{}")
    except ValueError as error:
        raise ConfigError(f"{path}:{number}: not a line of a recording: {error}.") from error
    return entry if isinstance(entry, dict) else {}


def _exchange(line: Mapping[str, Any], where: str) -> RecordedExchange:
    with translate_errors(f"{where} is damaged", ConfigError):
        digest = replace(RequestDigest(**line["asked"]), messages=tuple(line["asked"]["messages"]))
        return RecordedExchange(line["model"], digest, line["deltas"], line["response"], line["error"])


def _equal_parts(recorded: RequestDigest, digest: RequestDigest) -> tuple[int, int]:
    equal = sum(map(eq, astuple(recorded), astuple(digest)))
    return _equal_beginning(recorded.messages, digest.messages), equal


def _equal_beginning(before: tuple[str, ...], now: tuple[str, ...]) -> int:
    """Returns the number of equal messages at the beginning."""
    return next((n for n, (a, b) in enumerate(zip(before, now, strict=False)) if a != b), min(len(before), len(now)))


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
            await emit(self._read(lambda kind_and_values: _DELTAS[kind_and_values[0]](*kind_and_values[1:]), delta))
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
