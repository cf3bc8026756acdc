"""A model that is sent no secret, and whose answer holds none: also where it comes in pieces."""

from collections.abc import Awaitable
from dataclasses import replace
from typing import TypeAlias

from ..core.client import ModelClient
from ..core.errors import AIBattleError
from ..core.events import (
    AttemptFailed,
    DraftDelta,
    Emit,
    Event,
    ModelReplied,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ignore,
)
from ..core.exchange import ModelRequest, ModelResponse, ToolSpec
from ..core.redaction import Redactor

Piece: TypeAlias = TextDelta | ThinkingDelta | DraftDelta | ToolCallDelta


class RedactedClient(ModelClient):
    """`client` behind `redactor`, which goes over each request, answer, event and error."""

    def __init__(self, client: ModelClient, redactor: Redactor) -> None:
        self.client = client
        self.redactor = redactor

    @property
    def offered(self) -> tuple[ToolSpec, ...]:
        return self.client.offered

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        clean = self.redactor.request(request)
        if not self.redactor:
            return await self.client.complete(clean, emit)
        pieces = _Pieces(self.redactor, emit)
        try:
            response = await self.client.complete(clean, ignore if emit is ignore else pieces)
        except AIBattleError as error:
            self.redactor.clean(error)
            raise
        await pieces.end()
        (message,), steps = map(self.redactor.messages, ((response.message,), response.steps))
        if message is response.message and steps is response.steps:
            return response
        return replace(response, message=message, steps=steps)

    async def aclose(self) -> None:
        await self.client.aclose()


class _Pieces:
    """Passes events on; of the end of a text that may begin a secret it waits for what follows."""

    def __init__(self, redactor: Redactor, emit: Emit) -> None:
        self._redactor = redactor
        self._emit = emit
        self._held: dict[tuple[type[Piece], int], str] = {}

    def __call__(self, event: Event) -> Awaitable[None]:
        if isinstance(event, TextDelta) and not self._held and self._redactor.is_clear(event.text):
            return self._emit(event)
        if isinstance(event, Piece):
            return self._pass_on(event)
        if isinstance(event, AttemptFailed):
            self._held.clear()
        return self._emit(event if isinstance(event, ModelReplied) else self._redactor.value(event))

    async def end(self) -> None:
        """Nothing follows any more."""
        for (kind, index), rest in self._held.items():
            last = ToolCallDelta(index, arguments=rest) if issubclass(kind, ToolCallDelta) else kind(rest)
            await self._emit(self._redactor.value(last))
        self._held.clear()

    async def _pass_on(self, piece: Piece) -> None:
        name = "arguments" if isinstance(piece, ToolCallDelta) else "text"
        key = (type(piece), getattr(piece, "index", 0))
        said, rest = self._redactor.released(self._held.pop(key, "") + getattr(piece, name))
        if rest:
            self._held[key] = rest
        if not isinstance(piece, (TextDelta, DraftDelta)):  # it says more than text
            await self._emit(replace(piece, **{name: said}))  # type: ignore[arg-type]
        elif said:
            await self._emit(type(piece)(said))
