"""The APIs that clients speak: what differs from one to the other."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from ..core.errors import ConfigError
from ..core.exchange import ModelRequest, RawBody, UnreadRequest, Wants
from ..core.messages import Part, Text, Thinking
from ..providers.anthropic import HEADERS, VERSION
from ..wire import anthropic, openai, responses
from ..wire.anthropic import StreamWriter as MessagesWriter
from ..wire.anthropic import encode_error as encode_anthropic_error
from ..wire.blocks import BlockWriter
from ..wire.bodies import decode_body
from ..wire.messages import with_pairs
from ..wire.openai import StreamWriter as ChatWriter
from ..wire.openai import encode_error as encode_openai_error

PASSED_ON = ("anthropic-beta", VERSION)
LONGEST_NAME = 256
"""Characters of a model's name."""
SAYS = re.compile(rb'"(?:content|text)"\s*:\s*"(?:\s|\\[nrt])*(?:[^"\s\\]|\\[^nrt])').search
"""Finds the first words in messages that are JSON still."""


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """What a client wants: `model` is the name it used; `usage`, whether a stream is to end with its usage."""

    request: ModelRequest
    model: str
    stream: bool = False
    usage: bool = True


class EncodesErrors(Protocol):
    def __call__(self, status: int, message: str, kind: str = "", request_id: str = "") -> bytes: ...


@dataclass(frozen=True, slots=True)
class Api:
    """`writer` is given an estimate of the tokens that were sent; `usage` says whether a stream ends with its usage.

    `refers` says that requests may refer to earlier answers. `options` are those of a body that is left unread.
    """

    name: str
    decode_request: Callable[[Mapping[str, Any]], ModelRequest]
    writer: Callable[[ApiRequest, int], BlockWriter]
    encode_error: EncodesErrors
    usage: Callable[[Mapping[str, Any]], bool] = lambda body: True
    refers: bool = False
    options: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    encode_request: Callable[[ModelRequest, str], bytes] | None = None
    headers: tuple[str, ...] = ()

    def decode(self, body: RawBody, most: int | None = None, *, unread: bool = False) -> ApiRequest:
        """What the client asks, with at most `most` tokens of an answer; raises `ConfigError`.

        `unread`: what may be sent on as it came is read when somebody looks at it.
        """
        model, stream = model_in(body.fields), _flag(body.fields, "stream")
        if self.name == "messages" and body.fields.get("max_tokens") is None:
            raise ConfigError("max_tokens is missing.")
        wants = Wants(stream, drafts=False, each_warning=True)
        read = partial(self._read, body, wants, most)
        if not (unread and self.options and _is_clear(body.fields)):
            return ApiRequest(read(), model, stream, self.usage(body.fields))
        options = self.options(body.fields)
        request = UnreadRequest.of(body, read, options, wants) if _fits(options, most) else read()
        return ApiRequest(request, model, stream, self.usage(body.fields))

    def _read(self, body: RawBody, wants: Wants, most: int | None) -> ModelRequest:
        request = with_pairs(self.decode_request(body.fields))
        if not (request.system or any(_says_something(part) for message in request.messages for part in message.parts)):
            raise ConfigError("There is nothing to answer: all messages are empty.")
        options = request.options if _fits(request.options, most) else {**request.options, "max_tokens": most}
        return replace(request, options=options, extra=self._extra(request, body.headers), wants=wants)

    def mends(self, request: ModelRequest) -> bool:
        """Whether we would write the messages differently than the client that sent them; raises `ConfigError`."""
        if not (request.raw and self.encode_request):
            return False
        written = decode_body(self.encode_request(request, ""))
        return self.decode_request(written).messages != self.decode_request(request.raw.fields).messages

    def _extra(self, request: ModelRequest, headers: Mapping[str, str]) -> Mapping[str, Any]:
        """An upstream of Anthropic's API is spoken to as its client speaks; else in a version that has all options."""
        extra = dict(request.extra)
        if self.name == "messages":
            extra[HEADERS] = headers
        if request.options.keys() != {"max_tokens"} and VERSION not in extra.get(HEADERS, ()):
            unsupported = anthropic.unsupported_options
            if unsupported(request.options) != unsupported(request.options, anthropic.CLASSIC):
                extra[VERSION] = anthropic.CLASSIC
        return extra


def _is_clear(fields: Mapping[str, Any]) -> bool:
    """Whether it shows without a look at each message and tool that there is something to answer."""
    messages = fields.get("messages")
    return isinstance(messages, bytes) and not isinstance(fields.get("tool_choice"), dict) and bool(SAYS(messages))


def _fits(options: Mapping[str, Any], most: int | None) -> bool:
    """Whether an answer stays within the server's own bound."""
    return not most or options.get("max_tokens", most + 1) <= most


def model_in(body: Mapping[str, Any]) -> str:
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
    options=anthropic.options_in,
    encode_request=anthropic.encode_request,
    headers=PASSED_ON,
)
CHAT = Api(
    "chat",
    openai.decode_request,
    lambda asked, tokens: ChatWriter(asked.model, usage=asked.usage, input_tokens=tokens),
    encode_openai_error,
    _wants_usage,
    options=openai.options_in,
    encode_request=openai.encode_request,
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
