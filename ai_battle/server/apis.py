"""The APIs that clients use, what differs between them, and how each lists the models."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..core.errors import ConfigError, StoreError
from ..core.exchange import ModelRequest, RawBody, UnreadRequest, Wants
from ..core.messages import Message, Part, Text, Thinking, user
from ..providers.anthropic import HEADERS, VERSION
from ..wire import anthropic, responses
from ..wire.advice import is_advisor
from ..wire.blocks import BlockWriter
from ..wire.bodies import EMPTY_VALUES, own
from ..wire.openai import served as chat
from ..wire.requests import decode_body, with_pairs
from .clients import Route, Routes
from .errors import Denied
from .stored import Items, ResponseStore, items_of

LONGEST_NAME = 256
"""Characters of a model's name."""
HAS_WORDS = re.compile(rb'"(?:content|text)"\s*:\s*"(?:\s|\\[nrt])*(?:[^"\s\\]|\\[^nrt])').search
"""Finds the first words in messages that are still JSON."""
MAX_MODELS = 1000
"""Models on one page, the limit of Anthropic's API."""
START_TIME = int(time.time())
CREATED = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START_TIME))
_ALL_KNOWN = "no foreign types"
_KEPT = {"chat": "openai", "messages": "anthropic"}
"""The key in an `extra` of the fields that an upstream with this API is sent."""
_TYPE = re.compile(r"[\w.:-]{1,80}", re.ASCII)
"""A name of a type or a field that is safe to put in a header."""


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A decoded request: `model` is the name that the client used; `usage` asks for usage at the end of a stream."""

    request: ModelRequest
    model: str
    stream: bool = False
    usage: bool = True


@dataclass(frozen=True, slots=True)
class Api:
    """An API that clients use. `wire` encodes its bodies; `headers` are passed on to an upstream of this API.

    `passes` says that upstreams may use this API too; requests of the other one may refer to earlier answers.
    """

    name: str
    wire: Any
    headers: tuple[str, ...] = ()
    passes: bool = True

    def writer(self, request: ApiRequest, input_tokens: int) -> BlockWriter:
        """Returns a writer for the answer. `input_tokens` is an estimate of the request's size."""
        more = {"request": request.request} if not self.passes else {}
        made: BlockWriter = self.wire.StreamWriter(
            request.model, usage=request.usage, input_tokens=input_tokens, **more
        )
        return made

    def decode(self, body: RawBody, most: int | None = None, *, unread: bool = False) -> ApiRequest:
        """Returns the decoded request, bounded to `most` output tokens. Raises `ConfigError`.

        With `unread`, a request that can be passed on unchanged is only decoded when somebody reads it.
        """
        model, wants, usage = body.once(self.name, self._ask)
        read = partial(self._read, body, wants, most)
        if unread and self.passes and _is_clear(body.fields):
            options = body.once((self.name, "options"), self.wire.options_in)
            if _fits(options, most):  # else the number in the body has to be changed
                return ApiRequest(UnreadRequest.of(body, read, options, wants), model, wants.stream, usage)
        return ApiRequest(read(), model, wants.stream, usage)

    def _ask(self, fields: Mapping[str, Any]) -> tuple[str, Wants, bool]:
        """Returns the name of the model, what the client wants, and whether it wants usage in a stream."""
        model, stream = model_in(fields), _flag(fields, "stream")
        if self.name == "messages" and fields.get("max_tokens") is None:
            raise ConfigError("max_tokens is missing.")
        wants = Wants(stream, drafts=False, each_warning=True)
        return model, wants, self.name != "chat" or _wants_usage(fields)

    def _read(self, body: RawBody, wants: Wants, most: int | None) -> ModelRequest:
        head = body.once((self.name, most, *body.headers.items()), partial(self._head, body.headers, wants, most))
        request: ModelRequest = self.wire.add_messages(head, body.fields, paired=True) if self.passes else head
        if not (request.system or any(_says_something(part) for message in request.messages for part in message.parts)):
            raise ConfigError("There is nothing to answer: all messages are empty.")
        if not request.messages:  # some APIs want a message, and strategies a prompt
            return request.with_messages((user(request.system),), "")
        return request

    def _head(
        self, headers: Mapping[str, str], wants: Wants, most: int | None, fields: Mapping[str, Any]
    ) -> ModelRequest:
        """Returns a request without its messages, or with them if the API has another name for them."""
        head = self.wire.decode_head(fields) if self.passes else with_pairs(self.wire.decode_request(fields))
        options = head.options if _fits(head.options, most) else {**head.options, "max_tokens": most}
        return replace(head, options=options, extra=self._vendor_headers(head, headers), wants=wants)

    def omissions(self, request: ModelRequest, fields: Mapping[str, Any], route: Route) -> list[str]:
        """Returns the fields, and the types of tools and of user content, that only this API has.

        There are none if the route's model uses this API too. Raises `ConfigError` if a message has nothing else, as
        nothing would be left of it.
        """
        if isinstance(request, UnreadRequest) or route.upstream_api == self.name:
            return []
        options, kept = self.wire.unread_fields(fields), _KEPT.get(route.upstream_api, "")
        asked = (message for message in request.messages if message.role == "user")
        found = [kind for message in asked for kind in _foreign_types(message, kept)]
        tools = (*_strictness(request, kept), *_foreign_tools(request, self.wire.WIRE))
        return list(dict.fromkeys(map(_plain_type, (*options, *found, *tools))))

    def mends(self, request: ModelRequest) -> bool:
        """Checks whether we would write the messages differently than the client did. Raises `ConfigError`."""
        if not request.raw:
            return False
        written: ModelRequest = self.wire.decode_request(decode_body(self.wire.encode_request(request, "")))
        came: ModelRequest = self.wire.decode_request(request.raw.fields)
        return written.messages != came.messages

    def _vendor_headers(self, request: ModelRequest, headers: Mapping[str, str]) -> Mapping[str, Any]:
        """Adds the client's Anthropic headers; for other clients a version of that API with all options."""
        extra = dict(request.extra)
        if self.name == "messages":
            extra[HEADERS] = headers
        if request.options.keys() != {"max_tokens"} and VERSION not in extra.get(HEADERS, ()):
            unsupported = anthropic.unsupported_options
            if unsupported(request.options) != unsupported(request.options, anthropic.CLASSIC):
                extra[VERSION] = anthropic.CLASSIC
        return extra


def _is_clear(fields: Mapping[str, Any]) -> bool:
    """Checks whether there is something to answer, without decoding each message and tool."""
    messages = fields.get("messages")
    return isinstance(messages, bytes) and not isinstance(fields.get("tool_choice"), dict) and bool(HAS_WORDS(messages))


def _fits(options: Mapping[str, Any], most: int | None) -> bool:
    """Checks whether an answer stays within the server's own bound."""
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


def _strictness(request: ModelRequest, kept: str) -> list[str]:
    """Returns the field with which a client asks for exact arguments, if the upstream isn't sent it."""
    extras = (extra for tool in request.tools for api, extra in tool.extra.items() if api != kept)
    return ["strict"] if any(extra.get("strict") for extra in extras) else []


def _foreign_tools(request: ModelRequest, wire: str) -> list[str]:
    """Returns the types of tools that only their own API runs. Advisors are run by this server."""
    offered = own(wire, request.extra).get("tools") or ()
    foreign = (tool for tool in offered if tool.get("type") not in responses.CLIENT_TOOLS and not is_advisor(tool))
    return [str(tool.get("type") or tool.get("name")) for tool in foreign]


def _plain_type(kind: str) -> str:
    """Returns the name of a type or a field if it is safe in a header."""
    return kind if _TYPE.fullmatch(kind) else "of no known type"


def _foreign_types(message: Message, kept: str) -> list[str]:
    """Returns the types of parts that only their own API has. Raises `ConfigError` if a message has no other parts."""
    if _ALL_KNOWN in message.encoded:  # cached, as a history comes again with each request
        return []
    kinds = [_foreign_type(part) for part in message.parts]
    if kinds and all(kinds):
        raise ConfigError(
            f"A message of the user is nothing but {kinds[0]!r}, which the API of the model behind this route "
            "does not know. Say it in words, or ask a model that speaks the API of your request."
        )
    found = [*filter(None, kinds), *(name for part in message.parts for name in _foreign_fields(part, kept))]
    if not found:
        message.encoded[_ALL_KNOWN] = b""
    return found


def _foreign_type(part: Part) -> str:
    """Returns the type of a part that only its own API has, or nothing for one that all APIs have."""
    return "" if type(part) is not Text or part.text else str(_own_fields(part).get("type") or "")


def _foreign_fields(part: Part, kept: str) -> Iterator[str]:
    """Yields the fields of a file that change an answer and that only its own API has."""
    fields = {} if kept in part.extra else _own_fields(part)
    usual = (*EMPTY_VALUES, {"enabled": False}, "auto")
    return (name for name in ("citations", "context", "detail") if fields.get(name) not in usual)


def _own_fields(part: Part) -> Mapping[str, Any]:
    """Returns the fields of a part that only its own API has, or the whole part if only that API has such."""
    fields: Mapping[str, Any] = next(iter(part.extra.values()), {})
    block: Mapping[str, Any] = fields.get("block", fields)
    return block


def _says_something(part: Part) -> bool:
    """Checks whether a part has content. Parts that only one API has are in `extra`."""
    match part:
        case Text(text, extra=extra):
            return bool(extra or text.strip())
        case Thinking():
            return False
    return True


def _wants_usage(body: Mapping[str, Any]) -> bool:
    options = body.get("stream_options")
    return isinstance(options, Mapping) and bool(options.get("include_usage"))


@dataclass(frozen=True, slots=True)
class Conversation:
    """The earlier items that one request of a `key` refers to, and the store for its answer."""

    store: ResponseStore
    key: str
    warn: Callable[[str], object] = len
    items: Items = ()
    is_kept: bool = False

    async def expand(self, body: RawBody) -> tuple[RawBody, "Conversation"]:
        """Returns the body with its references resolved, and the conversation it continues. Raises `ConfigError`."""
        with self._read_errors():
            whole = await responses.expand_references(
                body.fields, self._items_before, partial(self.store.item, self.key)
            )
        if not self.store.most:
            whole["store"] = False
        going_on = replace(self, items=_items(whole.get("input")), is_kept=responses.keeps(whole))
        return replace(body, fields=whole, made={}), going_on

    async def answer(self, id_: str) -> Mapping[str, Any]:
        """Returns an answer as its client got it. Raises `Denied` if there is none."""
        with self._read_errors():
            if found := await self.store.response(self.key, id_):
                answer: Mapping[str, Any] = found["answer"]
                return answer
        raise _not_found(id_)

    async def delete(self, id_: str) -> Mapping[str, Any]:
        """Deletes an answer, and returns what OpenAI's API says then. Raises `Denied` if there is none."""
        with self._read_errors():
            if await self.store.delete(self.key, id_):
                return {"id": id_, "object": "response", "deleted": True}
        raise _not_found(id_)

    async def store_answer(self, answer: Mapping[str, Any] | None) -> None:
        if answer and self.is_kept:
            try:
                await self.store.add(self.key, {"input": self.items, "answer": answer})
            except StoreError as error:
                self.warn(f"An answer is not kept, so that no request can refer to it: {error}")

    async def _items_before(self, id_: str) -> Items | None:
        found = await self.store.response(self.key, id_)
        return items_of(found) if found else None

    @contextmanager
    def _read_errors(self) -> Iterator[None]:
        try:
            yield
        except StoreError as error:
            self.warn(f"An earlier answer could not be read: {error}")
            raise Denied(503, "Earlier answers can't be read at present.", retry_after=1.0) from error


def _not_found(id_: str) -> Denied:
    return Denied(404, f"Response with id {id_[:80]!r} not found.", kind="response")


def _items(given: Any) -> Items:
    return tuple(given) if isinstance(given, list) else ({"role": "user", "content": given},)


MESSAGES = Api("messages", anthropic, ("anthropic-beta", VERSION))
CHAT = Api("chat", chat)
RESPONSES = Api("responses", responses, passes=False)


def is_anthropic(headers: Mapping[str, str]) -> bool:
    return "anthropic-version" in headers


def model_entry(route: Route, headers: Mapping[str, str]) -> dict[str, Any]:
    if is_anthropic(headers):
        return {"type": "model", "id": route.name, "display_name": route.name, "created_at": CREATED}
    facts = {"created": START_TIME, "owned_by": "ai-battle", "served_by": [*route.models]}
    return {"id": route.name, "object": "model", **facts}


def model_list(routes: Routes, headers: Mapping[str, str], query: Mapping[str, str]) -> dict[str, Any]:
    """Returns the list of models. `query` selects a page in Anthropic's API. Raises `ConfigError`.

    Clients of that API show only ids that look like its vendor's; the others are listed all the same.
    """
    data = [model_entry(route, headers) for route in routes]
    if not is_anthropic(headers):
        return {"object": "list", "data": data}
    data, has_more = _page(data, query)
    ends = {"first_id": data[0]["id"] if data else None, "last_id": data[-1]["id"] if data else None}
    return {"data": data, "has_more": has_more, **ends}


def _page(data: list[dict[str, Any]], query: Mapping[str, str]) -> tuple[list[dict[str, Any]], bool]:
    """Returns the models after or before the named one, and whether there are more."""
    limit = query.get("limit", str(MAX_MODELS))
    if not (limit.isascii() and limit.isdecimal() and 1 <= int(limit[:5]) <= MAX_MODELS):
        raise ConfigError(f"limit must be a whole number from 1 to {MAX_MODELS}.")
    ids = [each["id"] for each in data]
    after, before = query.get("after_id", ""), query.get("before_id", "")
    rest = data[ids.index(after) + 1 if after in ids else 0 : ids.index(before) if before in ids else None]
    most = int(limit)
    return (rest[-most:] if before else rest[:most]), len(rest) > most
