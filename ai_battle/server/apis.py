"""The APIs that clients speak: what differs from one to the other."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from ..core.errors import ConfigError
from ..core.exchange import ModelRequest, RawBody, UnreadRequest, Wants
from ..core.messages import Message, Part, Text, Thinking
from ..providers.anthropic import HEADERS, VERSION
from ..wire import anthropic, openai, responses
from ..wire.advice import is_advisor
from ..wire.blocks import BlockWriter
from ..wire.bodies import decode_body
from ..wire.messages import with_pairs
from .routes import Route

LONGEST_NAME = 256
"""Characters of a model's name."""
SAYS = re.compile(rb'"(?:content|text)"\s*:\s*"(?:\s|\\[nrt])*(?:[^"\s\\]|\\[^nrt])').search
"""Finds the first words in messages that are JSON still."""
_ALL_KNOWN = "no foreign types"
_TYPE = re.compile(r"[\w.:-]{1,80}", re.ASCII)
"""What a type looks like that may be told in a header."""


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """What a client wants: `model` is the name it used; `usage`, whether a stream is to end with its usage."""

    request: ModelRequest
    model: str
    stream: bool = False
    usage: bool = True


class _Asked(NamedTuple):
    """What a client wants of an answer, whatever it says in its messages."""

    model: str
    wants: Wants
    usage: bool


@dataclass(frozen=True, slots=True)
class Api:
    """`wire` is the module of its bodies; `headers` are those that an upstream of this API gets from its clients.

    `refers` says that requests may refer to earlier answers, `passes` that an upstream may speak this API as well.
    """

    name: str
    wire: Any
    headers: tuple[str, ...] = ()
    refers: bool = False
    passes: bool = False

    def writer(self, request: ApiRequest, input_tokens: int) -> BlockWriter:
        """Writes the answer; `input_tokens` is an estimate of what was sent."""
        more = {"request": request.request} if self.refers else {}
        made: BlockWriter = self.wire.StreamWriter(
            request.model, usage=request.usage, input_tokens=input_tokens, **more
        )
        return made

    def decode(self, body: RawBody, most: int | None = None, *, unread: bool = False) -> ApiRequest:
        """Returns what the client asks, with at most `most` tokens of an answer; raises `ConfigError`.

        `unread`: what may be sent on as it came is read when somebody looks at it.
        """
        asked = body.once(self.name, self._ask)
        read = partial(self._read, body, asked.wants, most)
        if unread and self.passes and _is_clear(body.fields):
            options = body.once((self.name, "options"), self.wire.options_in)
            if _fits(options, most):  # else the body has to say another number than its client did
                request: ModelRequest = UnreadRequest.of(body, read, options, asked.wants)
                return ApiRequest(request, asked.model, asked.wants.stream, asked.usage)
        return ApiRequest(read(), asked.model, asked.wants.stream, asked.usage)

    def _ask(self, fields: Mapping[str, Any]) -> "_Asked":
        model, stream = model_in(fields), _flag(fields, "stream")
        if self.name == "messages" and fields.get("max_tokens") is None:
            raise ConfigError("max_tokens is missing.")
        wants = Wants(stream, drafts=False, each_warning=True)
        return _Asked(model, wants, self.name != "chat" or _wants_usage(fields))

    def _read(self, body: RawBody, wants: Wants, most: int | None) -> ModelRequest:
        head = body.once((self.name, most, *body.headers.items()), partial(self._head, body.headers, wants, most))
        request: ModelRequest = self.wire.add_messages(head, body.fields, paired=True) if self.passes else head
        if not (request.system or any(_says_something(part) for message in request.messages for part in message.parts)):
            raise ConfigError("There is nothing to answer: all messages are empty.")
        return request

    def _head(
        self, headers: Mapping[str, str], wants: Wants, most: int | None, fields: Mapping[str, Any]
    ) -> ModelRequest:
        """Returns a request without its messages; with them where the API calls them something else."""
        head = self.wire.decode_head(fields) if self.passes else with_pairs(self.wire.decode_request(fields))
        options = head.options if _fits(head.options, most) else {**head.options, "max_tokens": most}
        return replace(head, options=options, extra=self._extra(head, headers), wants=wants)

    def parts_left_out(self, request: ModelRequest, route: Route) -> list[str]:
        """The types of tools and of what users say that only this API knows, where the route's model speaks another.

        Raises `ConfigError` where a message has nothing else, as nothing would be left of it.
        """
        if isinstance(request, UnreadRequest) or route.upstream_api == self.name:
            return []
        found = [kind for message in request.messages if message.role == "user" for kind in _foreign_types(message)]
        return list(dict.fromkeys(map(_plain_type, (*found, *_foreign_tools(request)))))

    def mends(self, request: ModelRequest) -> bool:
        """Says whether we would write the messages differently than the client that sent them; raises `ConfigError`."""
        if not request.raw:
            return False
        written: ModelRequest = self.wire.decode_request(decode_body(self.wire.encode_request(request, "")))
        came: ModelRequest = self.wire.decode_request(request.raw.fields)
        return written.messages != came.messages

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
    """Says whether it shows without a look at each message and tool that there is something to answer."""
    messages = fields.get("messages")
    return isinstance(messages, bytes) and not isinstance(fields.get("tool_choice"), dict) and bool(SAYS(messages))


def _fits(options: Mapping[str, Any], most: int | None) -> bool:
    """Says whether an answer stays within the server's own bound."""
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


def _foreign_tools(request: ModelRequest) -> list[str]:
    """Returns the types of tools that only its API runs; advisors this server runs itself."""
    served = request.extra.get("anthropic", {}).get("tools", ())
    return [str(tool.get("type") or tool.get("name")) for tool in served if not is_advisor(tool)]


def _plain_type(kind: str) -> str:
    """Returns a type that may stand in a header."""
    return kind if _TYPE.fullmatch(kind) else "of no known type"


def _foreign_types(message: Message) -> list[str]:
    """Returns those of its parts for which only its own API has a name; raises `ConfigError` where it has no others."""
    if _ALL_KNOWN in message.encoded:  # as those of nearly all messages are, which come again with each request
        return []
    kinds = [_foreign_type(part) for part in message.parts]
    if not any(kinds):
        message.encoded[_ALL_KNOWN] = b""
    elif all(kinds):
        raise ConfigError(
            f"A message of the user is nothing but {kinds[0]!r}, which the API of the model behind this route "
            "does not know. Say it in words, or ask a model that speaks the API of your request."
        )
    return [*filter(None, kinds)]


def _foreign_type(part: Part) -> str:
    """The type of a part for which only its own API has a name; empty for one that all can be told."""
    if type(part) is not Text or part.text or not part.extra:
        return ""
    return str(next(iter(part.extra.values())).get("type") or "")


def _says_something(part: Part) -> bool:
    """Says whether a request has content; what only one API has a name for stands in `extra`."""
    match part:
        case Text(text, extra=extra):
            return bool(extra or text.strip())
        case Thinking():
            return False
    return True


def _wants_usage(body: Mapping[str, Any]) -> bool:
    options = body.get("stream_options")
    return isinstance(options, Mapping) and bool(options.get("include_usage"))


MESSAGES = Api("messages", anthropic, ("anthropic-beta", VERSION), passes=True)
CHAT = Api("chat", openai, passes=True)
RESPONSES = Api("responses", responses, refers=True)
