"""The APIs that clients speak: what differs from one to the other."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..core.errors import ConfigError
from ..core.events import Event
from ..core.exchange import ModelRequest, ModelResponse, Wants
from ..core.messages import Part, Text, Thinking
from ..providers.anthropic import HEADERS, VERSION
from ..wire import anthropic, openai, responses
from ..wire.anthropic import StreamWriter as MessagesWriter
from ..wire.anthropic import encode_error as encode_anthropic_error
from ..wire.blocks import Failure
from ..wire.openai import StreamWriter as ChatWriter
from ..wire.openai import encode_error as encode_openai_error
from ..wire.pairing import with_pairs

PASSED_ON = ("anthropic-beta", VERSION)
LONGEST_NAME = 256
"""Characters of a model's name."""


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """What a client wants: `model` is the name it used; `usage`, whether a stream is to end with its usage."""

    request: ModelRequest
    model: str
    stream: bool = False
    usage: bool = True


class AnswerWriter(Protocol):
    """The bytes of one answer, streamed or whole; `answer` is what later requests may refer to, when it has ended."""

    @property
    def answer(self) -> Mapping[str, Any] | None: ...
    def whole(self, response: ModelResponse) -> bytes: ...

    def begin(self) -> bytes: ...
    def feed(self, event: Event) -> bytes:
        """Nothing for an event that the API has no words for."""

    def finish(self, response: ModelResponse) -> bytes: ...
    def fail(self, failed: Failure) -> bytes: ...
    def ping(self) -> bytes: ...


class EncodesErrors(Protocol):
    def __call__(self, status: int, message: str, kind: str = "", request_id: str = "") -> bytes: ...


@dataclass(frozen=True, slots=True)
class Api:
    """`writer` is given an estimate of the tokens that were sent; `usage` says whether a stream ends with its usage.

    `refers` says that requests may refer to earlier answers.
    """

    name: str
    decode_request: Callable[[Mapping[str, Any]], ModelRequest]
    writer: Callable[[ApiRequest, int], AnswerWriter]
    encode_error: EncodesErrors
    usage: Callable[[Mapping[str, Any]], bool] = lambda body: True
    refers: bool = False

    def decode(self, body: Mapping[str, Any], headers: Mapping[str, str], most: int | None = None) -> ApiRequest:
        """What the client asks, in its body and beside it, with `most` tokens of an answer; raises `ConfigError`."""
        model = _model_in(body)
        if self.name == "messages" and body.get("max_tokens") is None:
            raise ConfigError("max_tokens is missing.")
        request = with_pairs(self.decode_request(body))
        if not (request.system or any(_says_something(part) for message in request.messages for part in message.parts)):
            raise ConfigError("There is nothing to answer: all messages are empty.")
        options, stream = request.options, _flag(body, "stream")
        if most and options.get("max_tokens", most + 1) > most:
            options = {**options, "max_tokens": most}
        wants = Wants(stream, drafts=False, each_warning=True)
        request = replace(request, options=options, extra=self._extra(request, headers), wants=wants)
        return ApiRequest(request, model, stream, self.usage(body))

    def _extra(self, request: ModelRequest, headers: Mapping[str, str]) -> Mapping[str, Any]:
        """An upstream of Anthropic's API is spoken to as its client speaks; else in a version that has all options."""
        extra = dict(request.extra)
        if self.name == "messages":
            extra[HEADERS] = {name: headers[name] for name in PASSED_ON if name in headers}
        if request.options.keys() != {"max_tokens"} and VERSION not in extra.get(HEADERS, ()):
            unsupported = anthropic.unsupported_options
            if unsupported(request.options) != unsupported(request.options, anthropic.CLASSIC):
                extra[VERSION] = anthropic.CLASSIC
        return extra


def _model_in(body: Mapping[str, Any]) -> str:
    model = body.get("model")
    if not isinstance(model, str) or not model.strip():
        raise ConfigError("model must be the name of a model.")
    if len(model) > LONGEST_NAME:
        raise ConfigError(f"model must be the name of a model: at most {LONGEST_NAME} characters.")
    return model


def _flag(body: Mapping[str, Any], name: str) -> bool:
    value = body.get(name)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise ConfigError(f"{name} must be true or false.")


def _says_something(part: Part) -> bool:
    """What only one API has a name for stands in `extra`."""
    match part:
        case Text(text, extra=extra):
            return bool(extra or text.strip())
        case Thinking():
            return False
    return True


def _wants_usage(body: Mapping[str, Any]) -> bool:
    options = body.get("stream_options")
    return isinstance(options, Mapping) and bool(options.get("include_usage"))


MESSAGES = Api(
    "messages",
    anthropic.decode_request,
    lambda asked, tokens: MessagesWriter(asked.model, usage=asked.usage, input_tokens=tokens),
    encode_anthropic_error,
)
CHAT = Api(
    "chat",
    openai.decode_request,
    lambda asked, tokens: ChatWriter(asked.model, usage=asked.usage, input_tokens=tokens),
    encode_openai_error,
    _wants_usage,
)
RESPONSES = Api(
    "responses",
    responses.decode_request,
    lambda asked, tokens: responses.StreamWriter(
        asked.model, usage=asked.usage, input_tokens=tokens, request=asked.request
    ),
    responses.encode_error,
    refers=True,
)
