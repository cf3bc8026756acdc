"""The central interface: everything that answers is a `ModelClient`, and knows which tools its turn has called."""

import asyncio
import base64
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar, cast

from .errors import ConfigError, CutShort, ProviderError
from .events import Emit, Event, ModelReplied, ignore
from .exchange import (
    UNKNOWN_USAGE,
    WHOLE_ANSWER,
    ModelRequest,
    ModelResponse,
    ToolSpec,
    Usage,
    estimate_request,
    estimate_text,
)
from .ledger import Budget, book, charge_to
from .messages import Image, Message, Part, Role, Text, ToolCall, ToolResult
from .tooling import EarlierCall

T = TypeVar("T")


class ModelClient(ABC):
    """A provider, or a wrapper around clients that answers like one: with tools, helpers, or a recording."""

    @abstractmethod
    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        """Returns the answer to `request`; `emit` receives the events on the way. Raises `ProviderError`."""

    @property
    def offered_tools(self) -> tuple[ToolSpec, ...]:
        """The client's own tools, in addition to those of a request."""
        return ()

    @property
    def known_outage(self) -> ProviderError | None:
        """The error with which a call would fail at once, as the provider is known to be out; None if it is called."""
        return None

    def added_tools(self, others: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
        """Returns the tools that the client adds to `others` for a model, and whose calls it answers itself."""
        return ()

    async def aclose(self) -> None:  # noqa: B027 - most clients hold nothing
        """Releases what the client holds."""

    async def generate_response(
        self,
        prompt: str,
        system_instruction: str | None = None,
        history: Sequence[Mapping[str, str]] | None = None,
        file_data: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    ) -> str:
        """Returns the text of the answer. `history` is a list of `{"role", "content"}`.

        `file_data` is one mapping or several: `{"type": "image", "base64", "mime_type"}`, the same with `url`, or
        `{"type": "text", "text_content"}`. Raises `ConfigError` if the prompt is no text.
        """
        message = Message("user", (*_file_parts(file_data), Text(require_text(prompt))))
        earlier = (earlier_message(cast(Role, entry["role"]), entry["content"]) for entry in history or ())
        response = await self.complete(ModelRequest((*earlier, message), system_instruction or "", wants=WHOLE_ANSWER))
        return response.text


BaseClient = ModelClient


def require_client(client: object, name: str) -> None:
    """Raises `ConfigError` for what is not a client, such as the name of a model."""
    if not isinstance(client, ModelClient):
        made = "create_client('ollama/phi4'), or derive its class from ModelClient"
        made = f"create_client({client!r})" if isinstance(client, str) else made
        raise ConfigError(f"{name} is {client!r}, which is not a ModelClient; make one: {made}")


def require_text(prompt: object) -> str:
    """Raises `ConfigError` for what is no text, such as the list of messages that other libraries take."""
    if not isinstance(prompt, str):
        way_out = "pass earlier messages as history=[{'role': ..., 'content': ...}] of generate_response"
        raise ConfigError(f"The prompt must be text, not {type(prompt).__name__}; {way_out}.")
    return prompt


def require_response(response: ModelResponse) -> ModelResponse:
    """Returns the answer of a client that may be a plug-in's. Raises `TypeError` for anything else."""
    if not isinstance(response, ModelResponse):
        raise TypeError(f"it answered with a {type(response).__name__} instead of a ModelResponse")
    return response


@lru_cache(maxsize=1_000)
def earlier_message(role: Role, text: str, speaker: str = "") -> Message:
    """Returns the same instance for the same words: histories are passed again each turn, and messages cache bytes."""
    return Message(role, (Text(text),), speaker)


class ClientWrapper(ModelClient):
    """A client around `client`. It offers that client's tools and closes it."""

    def __init__(self, client: ModelClient) -> None:
        self.client = client

    @property
    def offered_tools(self) -> tuple[ToolSpec, ...]:
        return self.client.offered_tools

    @property
    def known_outage(self) -> ProviderError | None:
        return self.client.known_outage

    async def aclose(self) -> None:
        await self.client.aclose()


def _file_parts(file_data: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None) -> Iterable[Part]:
    files = [file_data] if isinstance(file_data, Mapping) else file_data or ()
    for file in files:
        if "text_content" in file:
            yield Text(f"{file.get('path', 'file')}:\n{file['text_content']}\n\n")
        else:
            data = base64.b64decode(file.get("base64", ""))
            yield Image(file.get("mime_type", "image/png"), data, file.get("url", ""))


async def request_answer(client: ModelClient, request: ModelRequest, emit: Emit, budget: Budget) -> ModelResponse:
    """Returns the answer of `client`, charged to `budget` too.

    A foreign client books nothing itself; its usage is booked from its events, or else from its answer.
    """
    # Our own providers book every reply in `own`; if it stays empty, the client is a foreign one.
    own, replies = Budget(), list[ModelReplied]()

    def listen(event: Event) -> Awaitable[None]:
        if type(event) is ModelReplied:
            replies.append(event)
        return emit(event)

    async def book_stated(usage: Usage, model: str = "", *, estimated: bool = False) -> None:
        if not own.ledger.calls and not replies and usage != UNKNOWN_USAGE:
            await listen(ModelReplied(model, usage, 0.0, estimated=estimated))

    try:
        with charge_to(budget, own):
            response = await client.complete(request, listen)
        await book_stated(getattr(response, "usage", UNKNOWN_USAGE), getattr(response, "model", ""))
    except CutShort as cut:
        written = estimate_text(cut.thinking + cut.text)
        await book_stated(Usage(estimate_request(request), written), estimated=True)
        raise
    finally:
        if replies and not own.ledger.calls:
            _book_all(replies, budget)
    return response


def _book_all(replies: Iterable[ModelReplied], budget: Budget) -> None:
    with charge_to(budget):
        for reply in replies:
            book(reply)


async def run_together(*work: Awaitable[T]) -> list[T]:
    """Returns the results in order. If one fails or the caller is cancelled, nothing is left running."""
    if len(work) == 1:
        return [await work[0]]
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        # gather() cancels its children only if it is cancelled itself; when one fails, the others would run (and cost)
        # on.
        if left := [task for task in tasks if not task.done()]:
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)


class TurnCalls:
    """The calls made for one answer: `earlier` before it was broken off, then by all who draft it.

    A draft that is dropped, or runs beside another one, must not have made a payment that the next one makes again.
    What `redact` removes is missing in the earlier calls.
    """

    def __init__(
        self, earlier: tuple[EarlierCall, ...] = (), redact: Callable[[ToolCall], ToolCall] = lambda call: call
    ) -> None:
        self.earlier = earlier
        self.newest = ""
        self.refused: dict[str, str] = {}
        """What models are told of calls that a person refused, by their keys, so that no other draft asks again."""
        self._redact = redact
        self._writes: defaultdict[str, list[tuple[object, EarlierCall]]] = defaultdict(list)
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def as_recorded(self, call: ToolCall) -> ToolCall:
        """Returns the call as it would be among the earlier ones."""
        return self._redact(call) if self.earlier else call

    def lock(self, key: str) -> asyncio.Lock:
        """Returns what a drafter holds while it makes a call that writes, so that equal calls of others wait."""
        return self._locks[key]

    def write_of_another(self, key: str, drafter: object) -> EarlierCall | None:
        """Returns an equal call that another drafter has made since; None if there is none, or if it failed."""
        writes = self._writes[key]
        return writes[-1][1] if writes and writes[-1][0] is not drafter else None

    def begin_write(self, key: str, drafter: object, call: ToolCall) -> None:
        """Records a call that writes. If `end_write` never comes, its outcome is unknown."""
        self._writes[key].append((drafter, EarlierCall(call)))

    def end_write(self, key: str, result: ToolResult | None) -> None:
        """Records the result of the call that has begun last; without one it failed, and changed nothing."""
        drafter, made = self._writes[key].pop()
        if result:
            self._writes[key].append((drafter, replace(made, result=result)))
            self.newest = key


_turn: ContextVar[TurnCalls | None] = ContextVar("turn_calls", default=None)
# A context variable for the reason that budgets are in one: however a strategy nests them, all clients that answer in a
# turn must know what was done in it.


def turn_calls() -> TurnCalls:
    """Returns the calls of the turn that is being taken, or new ones."""
    return _turn.get() or TurnCalls()


@contextmanager
def among(calls: TurnCalls) -> Iterator[None]:
    """Lets all clients that answer inside know of these calls, and add theirs."""
    token = _turn.set(calls)
    try:
        yield
    finally:
        _turn.reset(token)
