"""The clients of a setting, built for each sample: pooled, with cached answers, and limited in concurrent calls."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Protocol

from .. import assembly
from ..assembly.models import BuildContext, Model, participant, require_no_tools
from ..config.collaboration import HelperSettings
from ..core.client import ClientWrapper, ModelClient
from ..core.errors import ConfigError, Unscripted
from ..core.events import AttemptFailed, Emit, Event, ModelReplied, TextDelta, ToolCallDelta, ignore
from ..core.exchange import ModelRequest, ModelResponse, Usage, estimate_message, estimate_request
from ..core.ledger import book
from ..core.messages import assistant
from ..providers._calls import ProviderCaller
from ..providers._endpoints import provider_traits
from ..providers._filters import NamedClient
from ..providers._metered import CallTerms
from ..providers._names import ModelName
from ..providers._prices import price
from ..providers.replay import request_digest, response_from_json, response_to_json
from ..wire.bodies import dumps, loads
from .suite import RECORDED, Setting
from .tasks import Task

Wrapper = Callable[[ModelClient, Model, HelperSettings, str], ModelClient]
"""Wraps a client, given its model, the model's settings, and its part: alone, small, large or other."""


class CallTimes:
    """The calls of a sample that has `begun`, and its time if each had taken its own seconds, also out of the cache."""

    def __init__(self) -> None:
        self.begun = perf_counter()
        self.last_seconds = 0.0
        self._calls: list[tuple[float, float, float]] = []

    def note(self, begun: float, seconds: float) -> None:
        """Notes a call that ends now; `seconds` are the model's own."""
        self.last_seconds = seconds
        self._calls.append((begun, perf_counter(), seconds))

    def seconds(self) -> float:
        """Returns the time until now. A call begins after those that had ended by then: calls at once add no time."""
        ends: list[tuple[float, float]] = []
        for begun, ended, seconds in sorted(self._calls):
            ends.append((ended, self._own_time(begun, ends) + seconds))
        return self._own_time(perf_counter(), ends)

    def _own_time(self, moment: float, ends: Sequence[tuple[float, float]]) -> float:
        """Returns the time at a moment: that of the calls before it, and what has passed since."""
        before = [each for each in ends if each[0] <= moment]
        if not before:
            return moment - self.begun
        return max(own for _, own in before) + moment - max(ended for ended, _ in before)


class AnswerStore(Protocol):
    """Stores answers, as the results of a benchmark do."""

    def answer(self, key: bytes) -> str | None: ...
    def keep_answer(self, key: bytes, response: str) -> None: ...


class Cache:
    """Shares answers among all samples of a process. Equal requests wait for the first one."""

    def __init__(self, keeper: AnswerStore) -> None:
        self._keeper = keeper
        self._asking: dict[bytes, asyncio.Future[None]] = {}

    async def turn(self, key: bytes) -> str | None:
        """Returns the stored answer. After None, the caller has to ask, and to call `release` in any case."""
        # The first request may have failed, so each waiting one looks again, and the first that finds nothing asks.
        while (asking := self._asking.get(key)) is not None:
            await asyncio.wait([asking])
        if (found := self._keeper.answer(key)) is None:
            self._asking[key] = asyncio.get_running_loop().create_future()
        return found

    def release(self, key: bytes, response: str = "") -> None:
        try:
            if response:
                self._keeper.keep_answer(key, response)
        finally:
            self._asking.pop(key).set_result(None)


class CachedClient(ClientWrapper):
    """A client with a cache. `identity` is its model with all settings; `times` has the calls of `client`, too."""

    def __init__(self, client: "LimitedClient", cache: Cache, identity: str, times: CallTimes) -> None:
        super().__init__(client)
        self._cache = cache
        self._identity = identity
        self._times = times

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        key = key_of(self._identity, request)
        begun = perf_counter()
        if found := await self._cache.turn(key):
            await asyncio.sleep(0)  # calls made together with this one begin before it ends
            return await self._add_recorded_time(found, emit, begun)
        kept_text = ""
        try:
            response = await self.client.complete(request, emit)
            # Nothing was awaited since the call's seconds were noted, so the last ones are its own.
            kept_text = dumps({**response_to_json(response), "seconds": self._times.last_seconds}).decode()
            return response
        finally:
            self._cache.release(key, kept_text)

    async def _add_recorded_time(self, found: str, emit: Emit, begun: float) -> ModelResponse:
        data = loads(found.encode())
        response = response_from_json(data)
        if response.text:
            await emit(TextDelta(response.text))
        for index, call in enumerate(response.tool_calls):
            await emit(ToolCallDelta(index, call.id, call.name, dumps(call.arguments).decode()))
        entry = ModelReplied(response.model, response.usage, data["seconds"], response.stop, paid=False)
        # Settings are compared by what they use, so a hit counts as if the model had been asked, but as not paid.
        book(entry)
        await emit(entry)
        self._times.note(begun, data["seconds"])
        return response


def key_of(identity: str, request: ModelRequest) -> bytes:
    """Returns a digest of everything that affects the answer."""
    return hashlib.sha256(dumps([identity, request_digest(request)])).digest()


TOO_MANY = 429
FEWEST_CALLS = 1.0


class ConcurrencyLimit:
    """Additive increase, multiplicative decrease, as in TCP (Jacobson, 1988); `most` is the initial limit.

    Calls that ran at the same time reduce the limit only once.
    """

    def __init__(self, most: int) -> None:
        self.most = float(most)
        self.width = float(most)
        self._places = most
        self._free = asyncio.Semaphore(most)
        self._slowed = 0
        self._begun = 0

    async def enter(self) -> int:
        """Waits for a free place. The returned number tells `slow_down` when the call began."""
        await self._free.acquire()
        while self._places > int(self.width):  # this place is one too many by now, so it goes
            self._places -= 1
            await self._free.acquire()
        self._begun += 1
        return self._begun

    def leave(self) -> None:
        self._free.release()

    def widen(self) -> None:
        """Raises the limit by about one per round of answers."""
        self.width = min(self.most, self.width + 1 / self.width)
        while self._places < int(self.width):
            self._places += 1
            self._free.release()

    def slow_down(self, number: int) -> None:
        """Halves the limit, unless the call began before the last time."""
        if number > self._slowed:
            self.width = max(FEWEST_CALLS, self.width / 2)
            self._slowed = self._begun


class LimitedClient(ClientWrapper):
    """A client whose calls wait for a free place, and are noted in `times`. Too many calls lower the limit."""

    def __init__(self, client: ModelClient, limit: ConcurrencyLimit, times: CallTimes) -> None:
        super().__init__(client)
        self._limit = limit
        self._times = times

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        begun = perf_counter()
        number = await self._limit.enter()
        entered = perf_counter()

        async def listen(event: Event) -> None:
            if isinstance(event, AttemptFailed) and event.status == TOO_MANY:
                self._limit.slow_down(number)
            await emit(event)

        try:
            response = await self.client.complete(request, listen)
        finally:
            self._times.note(begun, perf_counter() - entered)
            self._limit.leave()
        self._limit.widen()
        return response

    async def aclose(self) -> None:
        """Does nothing: other samples use the client too, and its owner closes it."""


NO_TASK = Task("", "")
ROLE_WITHOUT_HELP = "alone"


@dataclass(frozen=True, slots=True)
class BuiltSetting:
    """The client of a setting for one sample, and the options of its requests."""

    client: ModelClient
    options: Mapping[str, Any]
    recipe: "assembly.recipes.Recipe | None" = None

    async def aclose(self) -> None:
        await (self.recipe.aclose() if self.recipe else self.client.aclose())


def has_memory(provider: str) -> bool:
    """Checks whether clients of a provider have state: recorded answers, a script, a replayed recording."""
    return f"{provider}/" == RECORDED or provider_traits(provider).recited


def without_wrapper(client: ModelClient, model: Model, settings: HelperSettings, part: str) -> ModelClient:
    """Returns the client without a wrapper."""
    return client


class ClientPool:
    """Models for samples. Those with state are created for each sample, clients of providers are shared."""

    def __init__(self, surroundings: BuildContext) -> None:
        self.surroundings = surroundings
        self._kept: dict[int, Model] = {}

    def model(self, settings: HelperSettings, task: Task = NO_TASK) -> Model:
        """Returns a model by its type, or the task's recorded answer as a model. Raises `ConfigError`."""
        if settings.type.startswith(RECORDED):
            return self._recorded_model(settings, task)
        if (kept := self._kept.get(id(settings))) is not None:
            return kept
        model = participant(settings.type, settings, self.surroundings)
        if not has_memory(model.name.provider):
            self._kept[id(settings)] = model
        return model

    async def aclose(self) -> None:
        for model in self._kept.values():
            await model.client.aclose()

    def _recorded_model(self, settings: HelperSettings, task: Task) -> Model:
        role = settings.type.removeprefix(RECORDED)
        name = ModelName("recorded", role, spelled=settings.type)
        cost = price(name, self.surroundings.prices)
        terms = CallTerms(cost, bounded=False, paid=False)
        client = ProviderCaller(RecordedClient(task, role), str(name), terms, retry=None)
        return Model(name, client, {}, lambda: cost, local=True)


def build_setting(setting: Setting, task: Task, clients: ClientPool, wrap: Wrapper = without_wrapper) -> BuiltSetting:
    """Builds the client of a setting. Raises `ConfigError`."""
    if setting.model is None:
        raise ConfigError(f"{setting.name!r} has no model.")
    model = clients.model(setting.model, task)
    client = wrap(model.client, model, setting.model, "small" if setting.help else ROLE_WITHOUT_HELP)
    if setting.help is None:
        return BuiltSetting(client, model.options)

    def make(speaker: str, settings: HelperSettings) -> Model:
        require_no_tools(settings)
        found = clients.model(settings, task)
        # Only the secondary's answer is scored next to the small model's; judges and peers don't answer the task.
        part = "large" if speaker.removeprefix(f"{setting.name}.").startswith("secondary") else "other"
        client = wrap(found.client, found, settings, part)
        return replace(found, client=NamedClient(client, speaker, found.options, settings.instructions))

    model, context = replace(model, client=client), clients.surroundings
    recipe = assembly.recipes.Recipe.of(setting.name, model, setting.help, make, context)
    return BuiltSetting(recipe.client(), model.options, recipe)


class RecordedClient(ModelClient):
    """Gives the recorded answer to one task, once, as no further answer is known."""

    def __init__(self, task: Task, role: str) -> None:
        self._task = task
        self._role = role
        self._asked = False

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        found = self._task.recorded.get(self._role)
        if found is None:
            raise Unscripted(f"The task {self._task.id!r} has no recorded answer of {self._role!r}.")
        if self._asked:
            raise Unscripted(
                f"{self._role!r} is recorded: it has one answer to {self._task.id!r}, and was asked again."
            )
        self._asked = True
        await emit(TextDelta(found.text))
        message = assistant(found.text)
        usage = Usage(estimate_request(request), estimate_message(message))
        return ModelResponse(message, usage=usage, model=found.model or self._role)
