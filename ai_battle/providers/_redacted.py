"""A model that is sent no secret, and whose answer holds none: also where it comes in pieces."""

from collections.abc import Hashable
from dataclasses import replace

from ..core.client import ModelClient
from ..core.events import (
    AttemptFailed,
    DraftDelta,
    Emit,
    Event,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ignore,
)
from ..core.exchange import ModelRequest, ModelResponse, ToolSpec
from ..core.redaction import Redactor

Piece = TextDelta | ThinkingDelta | DraftDelta | ToolCallDelta


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
        with self.redactor.errors():
            response = await self.client.complete(clean, ignore if emit is ignore else pieces)
        await pieces.end()
        message, steps = self.redactor.message(response.message), self.redactor.messages(response.steps)
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
        self._held: dict[Hashable, Piece] = {}

    async def __call__(self, event: Event) -> None:
        if isinstance(event, TextDelta) and not self._held and self._redactor.is_clear(event.text):
            await self._emit(event)
        elif isinstance(event, Piece):
            await self._pass_on(event)
        else:
            if isinstance(event, AttemptFailed):
                self._held.clear()
            await self._emit(self._redactor.value(event))

    async def end(self) -> None:
        """Nothing follows any more."""
        for piece in self._held.values():
            await self._emit(self._redactor.value(piece))
        self._held.clear()

    async def _pass_on(self, piece: Piece) -> None:
        name = "arguments" if isinstance(piece, ToolCallDelta) else "text"
        key = (type(piece), getattr(piece, "index", 0))
        held = self._held.pop(key, None)
        new: str = getattr(piece, name)
        said, rest = self._redactor.released(getattr(held, name) + new if held else new)
        if rest:
            self._held[key] = replace(piece, **{name: rest})  # type: ignore[arg-type]
        if said is new:
            await self._emit(piece)
        elif said:
            await self._emit(replace(piece, **{name: said}))  # type: ignore[arg-type]
