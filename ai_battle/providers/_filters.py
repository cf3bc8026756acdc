"""Wrappers of clients that change requests, answers or events."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from itertools import repeat
from operator import is_
from typing import Any, TypeAlias

from ..core.client import ClientWrapper, ModelClient
from ..core.errors import AIBattleError
from ..core.events import (
    AttemptFailed,
    DraftDelta,
    Emit,
    Event,
    ModelReplied,
    ScriptAdvanced,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ignore,
)
from ..core.exchange import ModelRequest, ModelResponse
from ..core.messages import FILE_KINDS, Document, Image, Message, Part, PrefixCache, Text, ToolResult, file_of
from ..core.redaction import Redactor
from ..wire.bodies import with_schema_in_words


class NamedClient(ClientWrapper):
    """Adds `options` that the request does not set, the smaller of two `max_tokens`, and `instructions` before its own.

    `name` marks events of its script, to tell them from those of the participant whose turn it is.
    """

    def __init__(self, client: ModelClient, name: str, options: Mapping[str, Any], instructions: str = "") -> None:
        super().__init__(client)
        self.name = name
        self.options = options
        self.instructions = instructions

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        def emit_named(event: Event) -> Awaitable[None]:
            if isinstance(event, ScriptAdvanced) and not event.speaker:
                event = replace(event, speaker=self.name)
            return emit(event)

        options = {**self.options, **request.options}
        if most := self.options.get("max_tokens"):
            options["max_tokens"] = min(most, options["max_tokens"])
        system = "\n\n".join(filter(None, (self.instructions, request.system)))
        return await self.client.complete(replace(request, system=system, options=options), emit_named)


REMOVABLE = frozenset({"images", "documents", "video", "json_schema", "reasoning"})
UNSEEN_PICTURE = Text("(a picture, which you can't see)\n\n")


class CapabilityFilter(ClientWrapper):
    """Removes features from requests that the model lacks; `lacks` is a subset of `REMOVABLE`."""

    def __init__(self, client: ModelClient, lacks: frozenset[str], *, has_files: bool = False) -> None:
        super().__init__(client)
        self._lacks = lacks
        # A server's raw messages stay undecoded unless files must be looked at.
        self._looks_at_messages = has_files or not lacks.isdisjoint(FILE_KINDS)

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        return await self.client.complete(self.filtered_request(request), emit)

    def filtered_request(self, request: ModelRequest) -> ModelRequest:
        """Returns the request as it is sent."""
        if "json_schema" in self._lacks and request.output_schema is not None:
            request = with_schema_in_words(request)
        if "reasoning" in self._lacks and "reasoning" in request.options:
            options = {name: value for name, value in request.options.items() if name != "reasoning"}
            request = replace(request, options=options)
        if not self._looks_at_messages:
            return request
        messages = tuple(map(readable_message, request.messages, repeat(self._lacks)))
        return request if all(map(is_, messages, request.messages)) else replace(request, messages=messages)


def readable_message(message: Message, lacks: frozenset[str]) -> Message:
    """Replaces files by forms that a model without these features can read.

    A message without files is returned unchanged, so that it keeps its encoded bytes.
    """
    if all(isinstance(part, Text) and not part.extra for part in message.parts):
        return message
    video = "plain" if "video" in lacks else "native"
    parts = tuple(_readable_part(part, lacks) for part in message.parts if file_of(part).get("form", video) == video)
    return message if parts == message.parts else replace(message, parts=parts)


def _readable_part(part: Part, lacks: frozenset[str]) -> Part:
    match part:
        case Image() if "images" in lacks:
            return UNSEEN_PICTURE
        case Document() if "documents" in lacks and (known := file_of(part)).get("kind") == "pdf":
            return Text(known.get("text") or f"({known['name']}, a PDF, which you can't read)\n\n", extra=part.extra)
        case ToolResult(parts=shown) if "images" in lacks:
            return replace(part, parts=tuple(UNSEEN_PICTURE if isinstance(each, Image) else each for each in shown))
    return part


Piece: TypeAlias = TextDelta | ThinkingDelta | DraftDelta | ToolCallDelta


class RedactedClient(ClientWrapper):
    """Redacts secrets in each request, answer, event and error of `client`."""

    def __init__(self, client: ModelClient, redactor: Redactor) -> None:
        super().__init__(client)
        self.redactor = redactor
        clean = redactor.for_models.messages
        # Each request repeats the conversation so far, so only its new messages are searched for secrets.
        self._is_clear = PrefixCache(True, lambda is_clear, new: is_clear and clean(new) is new)

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        for_models = self.redactor.for_models.messages
        clean = self.redactor.request(request, lambda new: new if self._is_clear.value(new) else for_models(new))
        if not self.redactor:
            return await self.client.complete(clean, emit)
        stream = _RedactedStream(self.redactor, emit)
        try:
            response = await self.client.complete(clean, ignore if emit is ignore else stream)
        except AIBattleError as error:
            self.redactor.clean(error)
            raise
        await stream.end()
        (message,), steps = map(self.redactor.messages, ((response.message,), response.steps))
        if message is response.message and steps is response.steps:
            return response
        return replace(response, message=message, steps=steps)


class DeltaFilter(ABC):
    """Forwards the events of a model with the text of its deltas changed.

    The end of a text is held back while its change depends on what follows. It leaves before any other event: listeners
    rely on the order of text and calls, and a signature covers all of its thought.
    """

    def __init__(self, emit: Emit) -> None:
        self.emit = emit
        self.kind: type[Piece] = TextDelta
        self.held: dict[int, str] = {}

    @abstractmethod
    def change(self, text: str) -> tuple[str, str]:
        """Returns what may leave of a text of the current `kind`, changed, and the rest, whose end is to come."""

    @abstractmethod
    def change_rest(self, text: str, *, is_signed: bool) -> str:
        """Returns a rest, changed, after which nothing follows; `is_signed` for a thought with a signature."""

    async def forward(self, event: Event) -> None:
        if isinstance(event, Piece):
            await self._forward_piece(event)
            return
        if isinstance(event, AttemptFailed):
            self.held.clear()
        await self.end()
        await self.emit(event)

    async def end(self, *, is_signed: bool = False) -> None:
        """Forwards the held text."""
        held, self.held = self.held, {}
        for index, rest in held.items():
            text, kind = self.change_rest(rest, is_signed=is_signed), self.kind
            await self.emit(ToolCallDelta(index, arguments=text) if issubclass(kind, ToolCallDelta) else kind(text))

    async def _forward_piece(self, piece: Piece) -> None:
        if type(piece) is not self.kind:
            await self.end()
            self.kind = type(piece)
        name, index = ("arguments", piece.index) if isinstance(piece, ToolCallDelta) else ("text", 0)
        text, rest = self.change(self.held.pop(index, "") + getattr(piece, name))
        if rest:
            self.held[index] = rest
        if isinstance(piece, ThinkingDelta) and _ends_thought(piece):
            await self.emit(ThinkingDelta(text))
            await self.end(is_signed=bool(piece.signature))
            await self.emit(replace(piece, text=""))
        elif text or isinstance(piece, ToolCallDelta):
            await self.emit(replace(piece, **{name: text}))  # type: ignore[arg-type]


def _ends_thought(piece: ThinkingDelta) -> bool:
    return bool(piece.signature) or piece.extra is not None


class _RedactedStream(DeltaFilter):
    """Forwards redacted events. It holds back the end of a text that may begin a secret."""

    def __init__(self, redactor: Redactor, emit: Emit) -> None:
        super().__init__(emit)
        self._redactor = redactor

    def __call__(self, event: Event) -> Awaitable[None]:
        if isinstance(event, TextDelta) and not self.held and self._redactor.is_clear(event.text):
            return self.emit(event)
        return self.forward(event if isinstance(event, Piece | ModelReplied) else self._redactor.value(event))

    def change(self, text: str) -> tuple[str, str]:
        return self._redactor.split_safe(text)

    def change_rest(self, text: str, *, is_signed: bool) -> str:
        return self._redactor.text(text)
