"""Wraps clients to mute them or to stream a first draft as the answer, redacts requests, and tracks help by events."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from ..core.client import ClientWrapper, ModelClient
from ..core.errors import ConfigError
from ..core.events import AttemptFailed, DraftDelta, Emit, Event, ModelReplied, TextDelta, ignore, quiet
from ..core.exchange import ModelRequest, ModelResponse
from ..core.helping import AnswersCompared, DraftDropped, HelpArrival, StuckFound
from ..core.ledger import Ledger
from ..core.messages import Document, Image, Message, Part, Text, Thinking, ToolResult
from ..core.plugins import translate_errors
from ..core.redaction import STRUCTURE
from ..core.texts import each_text

OMISSION_NOTE = Text("[a picture or document was left out]")
UNREDACTED_FIELDS = STRUCTURE | {"name", "id", "speaker"}
"""Fields that redaction keeps, because they link a call to its result or name the speaker."""
CORRECTION = "\n\n---\n\n**Correction:**\n\n"
"""Separates a poor answer from the one that corrects it; the returned text contains both."""


class MutedClient(ClientWrapper):
    """Suppresses a client's deltas, because those of two models that stream at once can't be told apart."""

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        return await self.client.complete(request, quiet(emit))


def redacted_request(request: ModelRequest, redact: Callable[[str], str] | None) -> ModelRequest:
    """Applies `redact` to each text of the request: system, messages, tool calls and results.

    Pictures and documents can't be redacted, so they are left out. If `redact` raises, the request is not sent: raises
    `ConfigError`.
    """
    if not redact:
        return request
    with translate_errors("The redaction failed, so nothing was sent", ConfigError):
        plain = tuple(Message(each.role, tuple(map(_texts_of, each.parts)), each.speaker) for each in request.messages)
        messages = each_text(plain, redact, but=UNREDACTED_FIELDS)
        system = redact(request.system) if request.system else ""
    return replace(request, messages=messages, system=system)


def _texts_of(part: Part) -> Part:
    """Reduces a part to its texts. A thought's signature would no longer fit, and `extra` may hold anything."""
    match part:
        case Thinking(text):
            return Thinking(text)
        case ToolResult():
            return replace(part, parts=tuple(map(_text, part.parts)), extra={})
        case Text() | Image() | Document():
            return _text(part)
    return part


def _text(part: Text | Image | Document) -> Text:
    return Text(part.text) if isinstance(part, Text) else OMISSION_NOTE


class AnswerStream:
    """Streams the answer of `model`, and can take it back."""

    def __init__(self, emit: Emit, model: str) -> None:
        self._sent: list[str] = []
        self._emit = emit
        self._model = model

    @property
    def has_said(self) -> bool:
        return bool(self._sent)

    async def say(self, text: str) -> None:
        if text:
            self._sent.append(text)
            await self._emit(TextDelta(text))

    async def finish(self, text: str) -> None:
        """Emits the rest of `text`; if other text was emitted before, it is taken back first."""
        if not text.startswith("".join(self._sent)):
            await self.take_back("the answer became another one")
        await self.say(text[len("".join(self._sent)) :])

    def forget(self) -> None:
        """Starts again, after listeners have learnt otherwise that the emitted text is void."""
        self._sent.clear()

    async def take_back(self, reason: str) -> None:
        """Tells listeners that the emitted text is not the answer."""
        if self._sent:
            await self._emit(AttemptFailed(self._model, 1, reason, 0.0, partial="".join(self._sent)))
            self.forget()


class StreamedReply(ClientWrapper):
    """Streams what a reader takes for the answer in a model's reply, while the model writes it.

    `start` makes a reader for each attempt: a function from the next piece of the reply to what can be said by then.
    `hides_rest` keeps all other text from listeners.
    """

    def __init__(
        self, client: ModelClient, stream: AnswerStream, start: Callable[[], Callable[[str], str]], *, hides_rest: bool
    ) -> None:
        super().__init__(client)
        self._stream = stream
        self._start = start
        self._hides_rest = hides_rest

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        read, stream = self._start(), self._stream

        async def listen(event: Event) -> None:
            nonlocal read
            if isinstance(event, AttemptFailed):
                read = self._start()
                stream.forget()
            if isinstance(event, TextDelta):
                await stream.say(read(event.text))
                if stream.has_said or self._hides_rest:
                    return
            await emit(event)

        return await self.client.complete(request, listen)


class OptimisticStream(ClientWrapper):
    """Streams a pair's first draft as text at once; a different answer follows after a mark.

    Nothing is marked if nobody listens to the stream, or if drafts are wanted: such a listener can drop them.
    """

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        if request.wants.drafts or not request.wants.stream:
            return await self.client.complete(request, emit)
        listener = _OptimisticListener(emit)
        drafting = replace(request, wants=replace(request.wants, drafts=True))
        response = await self.client.complete(drafting, listener)
        await listener.finish()
        return replace(response, message=listener.message(response.message))


class _OptimisticListener:
    """Passes the first draft on as text, then the part of the answer that the draft lacks."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._draft = ""
        self._answer = ""
        self._is_drafting = True
        self._is_correction = False

    async def __call__(self, event: Event) -> None:
        match event:
            case DraftDelta(text=text) if self._is_drafting:
                self._draft += text
                await self._emit(TextDelta(text))
            case TextDelta(text=text):
                await self._say(text)
            case ModelReplied():
                self._is_drafting = False
                await self._emit(event)
            case _:
                await self._emit(event)

    async def finish(self) -> None:
        """Emits a correction if the answer is only the beginning of the draft."""
        if self._draft and not self._is_correction and self._answer not in ("", self._draft):
            await self._correct()

    def message(self, answer: Message) -> Message:
        """Returns the answer with everything that was streamed."""
        if not self._is_correction:
            return answer
        parts: list[Part] = [part for part in answer.parts if not isinstance(part, Text)]
        place = next((at for at, part in enumerate(answer.parts) if isinstance(part, Text)), 0)
        parts.insert(place, Text(f"{self._draft}{CORRECTION}{self._answer}"))
        return replace(answer, parts=tuple(parts))

    async def _say(self, text: str) -> None:
        before, self._answer = len(self._answer), self._answer + text
        if self._is_correction or not self._draft:
            await self._emit(TextDelta(text))
        elif self._answer.startswith(self._draft):
            if more := self._answer[max(before, len(self._draft)) :]:
                await self._emit(TextDelta(more))
        elif not self._draft.startswith(self._answer):
            await self._correct()

    async def _correct(self) -> None:
        self._is_correction = True
        await self._emit(TextDelta(CORRECTION + self._answer))


class HelpListener:
    """Passes events on, and records whether a helper took part, why, and whether it changed the answer.

    `dropped` has the texts of the model's own answers that were given up.
    """

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._help = HelpArrival()
        self.helper = Ledger()
        self.seconds = 0.0
        self.reason = ""
        self.dropped: set[str] = set()
        self._is_kept = False

    def __call__(self, event: Event) -> Awaitable[None]:
        self._help.apply(event)
        match event:
            case StuckFound(reason=reason):
                self.reason = reason
            case DraftDropped(role="own", text=text):
                self.dropped.add(text.strip())
            case AnswersCompared(is_replaced=is_replaced):
                self._is_kept = not is_replaced
            case ModelReplied(role="helper" | "boost"):
                self.helper.book(event)
                self.seconds += event.seconds
        return self._emit(event)

    @property
    def helped(self) -> bool:
        return self._help.has_come

    @property
    def has_changed(self) -> bool:
        """True if the answer is another one because of the help."""
        return self.helped and not self._is_kept
