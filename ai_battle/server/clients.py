"""Routes, and the clients that the server wraps around their models: tool calls in text, signatures, cached plans."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import Any

from pydantic_core import from_json, to_json

from .. import server
from ..core.client import ClientWrapper, ModelClient
from ..core.errors import ProviderError, StoreError
from ..core.events import Emit, TextDelta, ignore
from ..core.exchange import NOTHING_USED, ModelRequest, ModelResponse
from ..core.messages import Message, Part, ToolCall, assistant
from ..core.plugins import near
from ..providers._capabilities import RefusalMemory
from ..providers._endpoints import provider_traits
from .errors import NoRoute
from .stored import SharedStore

TOOLS = "tools"
MOST_FETCHED = 500
"""Values that are asked of a store at once; of more, the latest."""
LONGEST_EXTRA = 32_768
"""Bytes of a call's signatures; longer ones are not kept."""


@dataclass(frozen=True)
class Route:
    """A name that answers. `make` returns a client for one request; state kept between requests is shared behind it.

    `strategy` is empty for a model that answers alone; `models` are those that may be called. `api` is the name of the
    upstream's API if requests in that API are passed on unchanged.
    """

    name: str
    make: Callable[[], ModelClient] = field(repr=False)
    strategy: str = ""
    models: tuple[str, ...] = ()
    api: str = ""

    @property
    def is_direct(self) -> bool:
        return not self.strategy

    @property
    def provider(self) -> str:
        """The provider of the model that answers first."""
        return self.models[0].partition("/")[0] if self.models else ""

    @cached_property
    def upstream_api(self) -> str:
        """The served API that this model speaks, or empty if its API is another."""
        return provider_traits(self.provider).api


@dataclass(frozen=True, slots=True)
class Routes:
    """The listed routes, by name; `other` finds or builds one for any other name, or returns None."""

    named: Mapping[str, Route] = field(default_factory=dict)
    other: Callable[[str], Route | None] = lambda name: None

    def __iter__(self) -> Iterator[Route]:
        return iter(self.named.values())

    def find(self, name: str) -> Route:
        """Raises `NoRoute` suggesting a similar name."""
        if route := self.named.get(name) or self.other(name):
            return route
        raise NoRoute(f"there is no model {name!r} here{near(name, [*self.named])}")


class ToolFallback(ClientWrapper):
    """Passes requests on to `client`; if it lacks tools, describes them in the prompt and reads calls from the text.

    `native` says whether it has tools; None means unknown. A refusal is remembered, so that it costs one call a day.
    """

    def __init__(self, client: ModelClient, native: bool | None, refusal_key: tuple[str, str]) -> None:
        super().__init__(client)
        self._native = native
        self._refusal_key = refusal_key
        self._memory = RefusalMemory.load()

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        if not self._has_tools and request.tools:
            return await self._in_words.complete(request, emit)
        try:
            return await self.client.complete(request, emit)
        except ProviderError as error:
            if not request.tools or self._native or not server.tool_formats.refuses_tools(error):
                raise
            if request.tool_choice == "auto" or "tool_choice" not in str(error):  # else it may refuse just the choice
                self._memory.remember(*self._refusal_key, TOOLS)
            return await self._in_words.complete(request, emit)

    @property
    def _has_tools(self) -> bool:
        return TOOLS not in self._memory.refuses(*self._refusal_key) if self._native is None else self._native

    @cached_property
    def _in_words(self) -> ModelClient:
        return server.tool_formats.AutoTools(self.client, "text")


@dataclass(slots=True)
class SharedCache:
    """The `size` values used last, each for `seconds`. A store lets other workers find them; nobody depends on it.

    Values that never become wrong need not expire here; the store lets them go after `seconds` all the same.
    """

    prefix: str
    size: int
    seconds: float
    store: SharedStore | None = None
    expires: bool = True
    hits: int = 0
    misses: int = 0
    _kept: OrderedDict[str, tuple[float, bytes]] = field(default_factory=OrderedDict, repr=False)

    def __len__(self) -> int:
        return len(self._kept)

    async def find(self, names: Iterable[str]) -> dict[str, bytes]:
        """Returns the values that this worker or another one has kept, by name."""
        found, missing, now = dict[str, bytes](), list[str](), asyncio.get_running_loop().time()
        for name in names:
            ends, value = self._kept.get(name, (0.0, b""))
            if ends > now:
                self._kept.move_to_end(name)
                found[name] = value
            else:
                self._kept.pop(name, None)
                missing.append(self.prefix + name)
        if missing and self.store:
            with suppress(StoreError):
                for whole, value in (await self.store.values(missing[-MOST_FETCHED:])).items():
                    found[name := whole.removeprefix(self.prefix)] = value
                    self._keep(name, value)
        self.hits, self.misses = self.hits + bool(found), self.misses + (not found)
        return found

    async def keep(self, name: str, value: bytes) -> None:
        """Keeps a value, also for the other workers."""
        self._keep(name, value)
        if self.store:
            with suppress(StoreError):
                await self.store.keep_value(self.prefix + name, value, self.seconds)

    def _keep(self, name: str, value: bytes) -> None:
        self._kept[name] = (asyncio.get_running_loop().time() + self.seconds if self.expires else inf, value)
        self._kept.move_to_end(name)
        if len(self._kept) > self.size:
            self._kept.popitem(last=False)


class SigningClient(ClientWrapper):
    """Gives the calls of `client` back to it with its own signatures, whatever API its answers are served by.

    Some APIs such as Gemini's want signatures back that the served APIs have no field for. A lost one costs the model
    only its train of thought: the API then gets the marker that it documents for calls of other models.
    """

    def __init__(self, client: ModelClient, signatures: SharedCache) -> None:
        super().__init__(client)
        self.signatures = signatures

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        response = await self.client.complete(await self._with_signatures(request), emit)
        for call in response.tool_calls:
            if call.extra and len(extra := to_json(call.extra)) <= LONGEST_EXTRA:
                await self.signatures.keep(call.id, extra)
        return response

    async def _with_signatures(self, request: ModelRequest) -> ModelRequest:
        # Also of calls with an extra: it may be of the client's API, such as a mark for the cache.
        ids = [call.id for message in request.messages for call in message.tool_calls]
        if not ids or not (found := await self.signatures.find(ids)):
            return request
        signed = {id_: from_json(extra) for id_, extra in found.items()}
        return replace(request, messages=tuple(_with_signatures(each, signed) for each in request.messages))


def _with_signatures(message: Message, signed: Mapping[str, Mapping[str, Any]]) -> Message:
    if all(signed.get(call.id, {}).keys() <= call.extra.keys() for call in message.tool_calls):
        return message
    return replace(message, parts=tuple(_with_signature(part, signed) for part in message.parts))


def _with_signature(part: Part, signed: Mapping[str, Mapping[str, Any]]) -> Part:
    return replace(part, extra={**signed.get(part.id, {}), **part.extra}) if isinstance(part, ToolCall) else part


class PlanCachingClient(ClientWrapper):
    """Asks the boost model only for what it has not planned yet. A plan from the cache costs nothing.

    Replies in none of the loop's formats are not kept, as a second attempt may do better.
    """

    def __init__(self, boost: ModelClient, model: str, plans: SharedCache) -> None:
        super().__init__(boost)
        self.model = model
        self.plans = plans

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        key = plan_key(self.model, request)
        if found := await self.plans.find([key]):
            plan = ModelResponse(assistant(found[key].decode()), usage=NOTHING_USED)
            await emit(TextDelta(plan.text))
            return plan
        plan = await self.client.complete(request, emit)
        if plan.stop == "end" and server.boost_reply.is_plan(plan.text):
            await self.plans.keep(key, plan.text.encode("utf-8", "replace"))
        return plan


def plan_key(model: str, request: ModelRequest) -> str:
    """Returns a digest of everything that the model is shown and of the options. Pictures count with their bytes."""
    # A request's repr lacks its `extra` and the bytes of pictures, so both are added.
    digest = hashlib.sha256(repr((model, request, request.extra)).encode("utf-8", "surrogatepass"))
    for message in request.messages:
        for part in message.parts:
            digest.update(getattr(part, "data", b""))
    return digest.hexdigest()
