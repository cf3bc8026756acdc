"""Clients that the server wraps around its models: tool calls in text, signatures of calls, cached plans."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import monotonic
from typing import Any

from pydantic_core import from_json, to_json

from .. import server
from ..core.client import ClientWrapper, ModelClient
from ..core.errors import ProviderError, StoreError
from ..core.events import Emit, TextDelta, ignore
from ..core.exchange import NOTHING_USED, ModelRequest, ModelResponse
from ..core.messages import Message, Part, ToolCall, assistant
from ..providers._capabilities import RefusalMemory
from .stored import MemoryStore, ResponseStore

TOOLS = "tools"
SIGNATURE, HOUR, MOST_FETCHED = "signature/", 3_600.0, 500
LONGEST_SIGNATURE = 32_768
"""Characters; longer ones are not kept."""


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
class SignatureCache:
    """Keeps signatures of tool calls, which some APIs such as Gemini's want back and the served APIs have no field for.

    Keeps the `size` latest calls by the id that clients get. A lost signature costs the model only its train of
    thought: the API then gets the marker that it documents for calls of other models.
    """

    size: int = 1_000
    together: ResponseStore = field(default_factory=MemoryStore)
    _kept: OrderedDict[str, Mapping[str, Any]] = field(default_factory=OrderedDict, repr=False)

    def store(self, response: ModelResponse) -> None:
        for call in response.tool_calls:
            if call.extra and all(len(str(value)) <= LONGEST_SIGNATURE for value in call.extra.values()):
                self._keep(call.id, call.extra)

    def _keep(self, id_: str, extra: Mapping[str, Any]) -> None:
        self._kept[id_] = extra
        self._kept.move_to_end(id_)
        if len(self._kept) > self.size:
            self._kept.popitem(last=False)

    async def share(self, response: ModelResponse) -> None:
        """Shares the signatures of an answer with the other workers, who can do without them."""
        with suppress(StoreError):
            for call in response.tool_calls:
                if call.id in self._kept:
                    await self.together.keep_value(f"{SIGNATURE}{call.id}", to_json(self._kept[call.id]), HOUR)

    async def fetch(self, request: ModelRequest) -> None:
        """Asks the other workers for signatures of calls that this one did not pass on."""
        calls = (call for message in request.messages for call in message.tool_calls if not call.extra)
        names = [f"{SIGNATURE}{call.id}" for call in calls if call.id not in self._kept][-MOST_FETCHED:]
        with suppress(StoreError):
            found = await self.together.values(names) if names else {}
            for name, value in found.items():
                self._keep(name.removeprefix(SIGNATURE), from_json(value))

    def restore(self, request: ModelRequest) -> ModelRequest:
        """Returns the request with the known signatures added to calls that lack them."""
        if not self._kept or not any(self._lacks(part) for message in request.messages for part in message.parts):
            return request
        return replace(request, messages=tuple(map(self._restore_in, request.messages)))

    def _restore_in(self, message: Message) -> Message:
        if not any(map(self._lacks, message.parts)):
            return message
        return replace(message, parts=tuple(map(self._restore_part, message.parts)))

    def _restore_part(self, part: Part) -> Part:
        if isinstance(part, ToolCall) and self._lacks(part):
            return replace(part, extra={**part.extra, **self._kept[part.id]})
        return part

    def _lacks(self, part: Part) -> bool:
        return isinstance(part, ToolCall) and not self._kept.get(part.id, {}).keys() <= part.extra.keys()


class SigningClient(ClientWrapper):
    """Gives the calls of `client` back to it with its own signatures, whatever API its answers are served by."""

    def __init__(self, client: ModelClient, signatures: SignatureCache) -> None:
        super().__init__(client)
        self.signatures = signatures

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        await self.signatures.fetch(request)
        response = await self.client.complete(self.signatures.restore(request), emit)
        self.signatures.store(response)
        await self.signatures.share(response)
        return response


@dataclass(slots=True)
class PlanStore:
    """Plans of boost models: the `size` most recently used, each for `seconds` after it was made."""

    size: int = 0
    seconds: float = 0.0
    clock: Callable[[], float] = monotonic
    together: ResponseStore = field(default_factory=MemoryStore)
    hits: int = 0
    misses: int = 0
    _kept: OrderedDict[bytes, tuple[float, ModelResponse]] = field(default_factory=OrderedDict, repr=False)

    def __len__(self) -> int:
        return len(self._kept)

    async def find(self, key: bytes) -> ModelResponse | None:
        """Returns a plan of this worker or another one."""
        ends, plan = self._kept.pop(key, (0.0, None))
        if plan and ends > self.clock():
            self._kept[key] = ends, plan  # now as the latest
        else:
            plan = await self._fetch(key)
        self.hits, self.misses = self.hits + bool(plan), self.misses + (not plan)
        return plan

    async def _fetch(self, key: bytes) -> ModelResponse | None:
        name = f"plan/{key.hex()}"
        with suppress(StoreError):
            if found := (await self.together.values([name])).get(name):
                self._store(key, plan := ModelResponse(assistant(found.decode())))
                return plan
        return None

    async def keep(self, key: bytes, plan: ModelResponse) -> None:
        """Stores a plan, also for the other workers."""
        self._store(key, plan)
        with suppress(StoreError):
            await self.together.keep_value(f"plan/{key.hex()}", plan.text.encode("utf-8", "replace"), self.seconds)

    def _store(self, key: bytes, plan: ModelResponse) -> None:
        self._kept[key] = (self.clock() + self.seconds, plan)
        self._kept.move_to_end(key)
        if len(self._kept) > self.size:
            self._kept.popitem(last=False)


class PlanCachingClient(ClientWrapper):
    """Asks the boost model only for what it has not planned yet. A plan from the store costs nothing.

    Replies in none of the loop's formats are not kept, as a second attempt may do better.
    """

    def __init__(self, boost: ModelClient, model: str, plans: PlanStore) -> None:
        super().__init__(boost)
        self.model = model
        self.plans = plans

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        key = plan_key(self.model, request)
        if plan := await self.plans.find(key):
            await emit(TextDelta(plan.text))
            return replace(plan, usage=NOTHING_USED)
        plan = await self.client.complete(request, emit)
        if plan.stop == "end" and server.boost_reply.parse(plan.text).outcome != "other":
            await self.plans.keep(key, plan)
        return plan


def plan_key(model: str, request: ModelRequest) -> bytes:
    """Returns a digest of everything that the model is shown and of the options. Pictures count with their bytes."""
    # A request's repr lacks its `extra` and the bytes of pictures, so both are added.
    digest = hashlib.sha256(repr((model, request, request.extra)).encode("utf-8", "surrogatepass"))
    for message in request.messages:
        for part in message.parts:
            digest.update(getattr(part, "data", b""))
    return digest.digest()
