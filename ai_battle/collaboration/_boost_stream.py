"""What is heard while the two models of the boost loop answer: as early as it is certain, and nothing twice."""

from ..core.client import ModelClient
from ..core.events import AttemptFailed, DraftDelta, Emit, Event, TextDelta, ToolCallDelta, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.tooling import ToolCalled
from ._boost_reply import Reader
from ._turn import DraftListener


class Aloud:
    """Says text as the answer, and can take it back."""

    def __init__(self, emit: Emit) -> None:
        self._said: list[str] = []
        self._emit = emit

    @property
    def has_said(self) -> bool:
        return bool(self._said)

    async def say(self, text: str) -> None:
        if text:
            self._said.append(text)
            await self._emit(TextDelta(text))

    async def finish(self, text: str) -> None:
        """Says what is missing of `text`; where something else was said, that is taken back first."""
        said = "".join(self._said)
        if not text.startswith(said):
            await self.take_back("the answer became another one")
            said = ""
        await self.say(text[len(said) :])

    def forget(self) -> None:
        """Listeners know that what was said is no answer."""
        self._said.clear()

    async def take_back(self, reason: str) -> None:
        """Lets listeners know that what was said is no answer, where they don't."""
        if self._said:
            await self._emit(AttemptFailed("boost", 1, reason, 0.0, partial="".join(self._said)))
            self.forget()


class Planner(ModelClient):
    """The boost model for one loop: while it streams, the settled part of a SUMMARY is said `aloud`."""

    def __init__(self, boost: ModelClient, aloud: Aloud, *, may_answer: bool) -> None:
        self._boost = boost
        self._aloud = aloud
        self._may_answer = may_answer

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        return await self._boost.complete(request, _Reading(emit, self._aloud if self._may_answer else None))


class _Reading:
    """Reads the reply while it comes."""

    def __init__(self, emit: Emit, aloud: Aloud | None) -> None:
        self._emit = emit
        self._aloud = aloud
        self._reader = Reader()

    async def __call__(self, event: Event) -> None:
        if isinstance(event, AttemptFailed):
            self._reader = Reader()
            if self._aloud:
                self._aloud.forget()
        if self._aloud and isinstance(event, TextDelta):
            self._reader.feed(event.text)
            await self._aloud.say(self._reader.settled())
            if self._aloud.has_said:
                return
        await self._emit(event)


class Executing:
    """Hears the auxiliary model. Its text is a draft until it calls a tool, or from the beginning the answer.

    `cost` is what its own models came to.
    """

    def __init__(self, emit: Emit, *, is_answer: bool) -> None:
        self.cost = DraftListener(ignore)
        self.called = False
        self._emit = emit
        self.aloud = Aloud(emit)
        self._is_answer = is_answer
        self._draft: list[str] = []

    async def __call__(self, event: Event) -> None:
        await self.cost(event)
        match event:
            case AttemptFailed():
                self.called = False
                self.aloud.forget()
                self._draft.clear()
            case ToolCallDelta() | ToolCalled():
                self.called = True
                await self.aloud.say("".join(self._draft))
                self._draft.clear()
            case TextDelta(text) if self.called or self._is_answer:
                await self.aloud.say(text)
                return
            case TextDelta(text):
                self._draft.append(text)
                event = DraftDelta(text)
        await self._emit(event)
