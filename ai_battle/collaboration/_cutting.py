"""Cuts an answer short while it streams, when its beginning shows that it comes to nothing."""

from dataclasses import dataclass, field
from typing import Protocol, TypeGuard

from ..core.client import ModelClient
from ..core.errors import CutShort
from ..core.events import DraftDelta, Emit, Event, TextDelta, ThinkingDelta, ignore
from ..core.exchange import ModelRequest, ModelResponse

READ = (TextDelta, DraftDelta, ThinkingDelta)


class Watcher(Protocol):
    """Reads one answer as it comes."""

    def feed(self, text: str) -> str:
        """Why the answer is not worth its end, now that this came; empty while it may be."""


class Watches(Protocol):
    """A detector that also judges the beginning of an answer, or of the thinking before it."""

    def watch(self, request: ModelRequest, *, thinking: bool = False) -> Watcher: ...


def watches(detector: object) -> TypeGuard[Watches]:
    return hasattr(detector, "watch")


class Watched(ModelClient):
    """`client`, whose answers raise `CutShort` as soon as the detector gives them up, as answers to `asked`."""

    def __init__(self, client: ModelClient, detector: Watches, asked: ModelRequest) -> None:
        self.client = client
        self.detector = detector
        self.asked = asked

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        return await self.client.complete(request, _Scissors(self.detector, self.asked, emit))


class _Scissors:
    """Watches each text from its first word: thinking, a draft and its repetition as the answer are three of them.

    Whatever else is heard between two texts makes them two: the next one is of another call.
    """

    def __init__(self, detector: Watches, asked: ModelRequest, emit: Emit) -> None:
        self._detector = detector
        self._asked = asked
        self._emit = emit
        self._read: dict[type[Event], _Read] = {}

    async def __call__(self, event: Event) -> None:
        await self._emit(event)
        if not isinstance(event, READ):
            self._read.clear()
            return
        read = self._read.get(type(event)) or self._begin(type(event))
        read.said.append(event.text)
        if reason := read.watcher.feed(event.text):
            said = {kind: read.text for kind, read in self._read.items()}
            thinking = said.pop(ThinkingDelta, "")
            raise CutShort(reason, said.get(type(event), ""), thinking)

    def _begin(self, kind: type[Event]) -> "_Read":
        self._read[kind] = read = _Read(self._detector.watch(self._asked, thinking=kind is ThinkingDelta))
        return read


@dataclass(slots=True)
class _Read:
    """What was read of one text."""

    watcher: Watcher
    said: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.said)
