"""Wrappers of clients that change requests, answers or events."""

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
from ..core.redaction import Messages, Redactor


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
UNSEEN = Text("(a picture, which you can't see)\n\n")


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
            request = replace(request, output_schema=None)
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
            return UNSEEN
        case Document() if "documents" in lacks and (known := file_of(part)).get("kind") == "pdf":
            return Text(known.get("text") or f"({known['name']}, a PDF, which you can't read)\n\n", extra=part.extra)
        case ToolResult(parts=shown) if "images" in lacks:
            return replace(part, parts=tuple(UNSEEN if isinstance(each, Image) else each for each in shown))
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
        clean = self.redactor.request(request, self._clean_messages)
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

    def _clean_messages(self, messages: Messages) -> Messages:
        return messages if self._is_clear.value(messages) else self.redactor.for_models.messages(messages)


class _RedactedStream:
    """Forwards redacted events. It holds back the end of a text that may begin a secret until more text comes."""

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
        """Forwards the held text at the end of the stream."""
        for (kind, index), rest in self._held.items():
            last = ToolCallDelta(index, arguments=rest) if issubclass(kind, ToolCallDelta) else kind(rest)
            await self._emit(self._redactor.value(last))
        self._held.clear()

    async def _pass_on(self, piece: Piece) -> None:
        name = "arguments" if isinstance(piece, ToolCallDelta) else "text"
        key = (type(piece), getattr(piece, "index", 0))
        text, rest = self._redactor.split_safe(self._held.pop(key, "") + getattr(piece, name))
        if rest:
            self._held[key] = rest
        if not isinstance(piece, (TextDelta, DraftDelta)):  # it has more fields than text
            await self._emit(replace(piece, **{name: text}))  # type: ignore[arg-type]
        elif text:
            await self._emit(type(piece)(text))
