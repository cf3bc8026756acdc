"""A pair that lets its first answer be read before it is judged, and adds what corrects it."""

from dataclasses import replace

from ..core.client import ModelClient
from ..core.events import DraftDelta, Emit, Event, ModelReplied, TextDelta, ignore
from ..core.exchange import ModelRequest, ModelResponse, ToolSpec
from ..core.messages import Message, Part, Text

CORRECTION = "\n\n---\n\n**Correction:**\n\n"
"""Between an answer that was found poor and the one in its place, which are both part of what is returned."""


class Optimistic(ModelClient):
    """`pair` with the text of its first draft told at once; what another answer says instead comes behind a mark.

    Where nobody hears the text while it comes, nothing is told too early and nothing is marked.
    """

    def __init__(self, pair: ModelClient) -> None:
        self.pair = pair

    @property
    def offered(self) -> tuple[ToolSpec, ...]:
        return self.pair.offered

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        if not request.wants.stream:
            return await self.pair.complete(request, emit)
        told = _Told(emit)
        response = await self.pair.complete(replace(request, wants=replace(request.wants, drafts=True)), told)
        await told.end()
        return replace(response, message=told.message(response.message))

    async def aclose(self) -> None:
        await self.pair.aclose()


class _Told:
    """Passes the first draft on as text, and of the answer what the draft did not say."""

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

    async def end(self) -> None:
        """The answer may be less than the draft, which is then another one too."""
        if not self._is_correction and self._answer != self._draft and self._answer:
            await self._correct()

    def message(self, answer: Message) -> Message:
        """The answer with all that was told."""
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
