"""Stops an answer while it streams, if its beginning shows that it is worthless."""

from dataclasses import dataclass, field, replace
from typing import Protocol, TypeGuard

from ..core.client import ModelClient
from ..core.errors import CutShort
from ..core.events import DraftDelta, Emit, Event, TextDelta, ThinkingDelta, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..signals.endings import four_word_repetition, looping_tail
from ..signals.refusals import refuses

LOOKS_EVERY, OPENING = 400, 240
LOOP_FROM, LOOP_LEAST = 600, 240
RAMBLES_FROM = 1_600
_WINDOW = 2_400
"""All in characters."""
RAMBLES_RUNS, RAMBLES_SHARE = 120, 0.75
"""The least four-word runs of a window, and the share of repeated ones from which an answer rambles."""


class Prefix:
    """Reads an answer while it comes, in constant time per character.

    `feed` checks a window at the end of the text every `LOOKS_EVERY` characters, and checks for a refusal once, when
    the opening is complete. The first reason stays.
    """

    def __init__(self, *, offers_tools: bool = False) -> None:
        self.reason = ""
        self.length = 0
        # With tools at hand, "I can't do that" may be the right answer, so a refusal is no reason to stop.
        self._opened = offers_tools
        self._due = LOOKS_EVERY if offers_tools else OPENING
        self._recent: list[str] = []

    def feed(self, text: str) -> str:
        """Adds text and returns why the answer is not worth finishing, or ""."""
        self.length += len(text)
        if not self.reason:
            self._recent.append(text)
            if self.length >= self._due:
                self.reason = self._open() or self._look()
        return self.reason

    def _open(self) -> str:
        if self._opened:
            return ""
        self._opened = True
        self._due = LOOKS_EVERY
        return "the model refuses" if refuses("".join(self._recent)[:OPENING]) else ""

    def _look(self) -> str:
        if self.length < self._due:
            return ""
        self._due = self.length + LOOKS_EVERY
        window = "".join(self._recent)[-_WINDOW:]
        self._recent = [window]
        if self.length >= LOOP_FROM and looping_tail(window, LOOP_LEAST):
            return "the answer goes round in circles"
        if self.length >= RAMBLES_FROM and four_word_repetition(window, RAMBLES_RUNS) >= RAMBLES_SHARE:
            return "the answer says the same again and again"
        return ""


READ_DELTAS = (TextDelta, DraftDelta, ThinkingDelta)


class Watcher(Protocol):
    """Reads one answer while it comes."""

    def feed(self, text: str) -> str:
        """Adds text and returns why the answer is not worth finishing, or ""."""


class EarlyJudge(Protocol):
    """A detector that also judges the beginning of an answer or of its thinking."""

    def watch(self, request: ModelRequest, *, thinking: bool = False) -> Watcher: ...


def watches(detector: object) -> TypeGuard[EarlyJudge]:
    return hasattr(detector, "watch")


class Watched(ModelClient):
    """A client that raises `CutShort` as soon as the detector gives up on its answer to `request`."""

    def __init__(self, client: ModelClient, detector: EarlyJudge, request: ModelRequest) -> None:
        self.client = client
        self.detector = detector
        self.asked = request

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        reads_along = replace(request, wants=replace(request.wants, stream=True))
        return await self.client.complete(reads_along, EarlyStop(self.detector, self.asked, emit))


class EarlyStop:
    """Watches each text separately: thinking, a draft, and the draft's repetition as the answer.

    Any other event ends all texts, since the next one is from another call.
    """

    def __init__(self, detector: EarlyJudge, request: ModelRequest, emit: Emit) -> None:
        self._detector = detector
        self._request = request
        self._emit = emit
        self._read: dict[type[Event], _WatchedText] = {}

    async def __call__(self, event: Event) -> None:
        await self._emit(event)
        if not isinstance(event, READ_DELTAS):
            self._read.clear()
            return
        read = self._read.get(type(event)) or self._begin(type(event))
        read.pieces.append(event.text)
        if reason := read.watcher.feed(event.text):
            # A draft that is repeated as the answer is in both texts; only the current one and the thinking are passed
            # on.
            texts = {kind: read.text for kind, read in self._read.items()}
            thinking = texts.pop(ThinkingDelta, "")
            raise CutShort(reason, texts.get(type(event), ""), thinking)

    def _begin(self, kind: type[Event]) -> "_WatchedText":
        self._read[kind] = read = _WatchedText(self._detector.watch(self._request, thinking=kind is ThinkingDelta))
        return read


@dataclass(slots=True)
class _WatchedText:
    """The pieces of a text and its watcher."""

    watcher: Watcher
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces)
