"""Cuts an answer short while it streams, when its beginning shows that it comes to nothing."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from ..core.client import ModelClient
from ..core.errors import CutShort
from ..core.events import DraftDelta, Emit, Event, TextDelta, ThinkingDelta, ignore
from ..core.exchange import ModelRequest, ModelResponse


class Watcher(Protocol):
    """Reads one answer as it comes."""

    def feed(self, text: str) -> str:
        """Why the answer is not worth its end, now that this came; empty while it may be."""


@runtime_checkable
class Watches(Protocol):
    """A detector that also judges the beginning of an answer."""

    def watch(self, request: ModelRequest) -> Watcher: ...


class Watched(ModelClient):
    """`client`, whose answers raise `CutShort` as soon as the detector gives them up, as answers to `asked`."""

    def __init__(self, client: ModelClient, detector: Watches, asked: ModelRequest) -> None:
        self.client = client
        self.detector = detector
        self.asked = asked

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        return await self.client.complete(request, _Scissors(lambda: self.detector.watch(self.asked), emit))


class _Scissors:
    """Watches each text from its first word: a draft, its repetition as the answer, and another attempt are three."""

    def __init__(self, watch: Callable[[], Watcher], emit: Emit) -> None:
        self._watch = watch
        self._emit = emit
        self._hears: type[Event] | None = None

    async def __call__(self, event: Event) -> None:
        await self._emit(event)
        match event:
            case TextDelta(text) | DraftDelta(text):
                self._read(type(event), text)
            case ThinkingDelta():
                pass
            case _:
                self._hears = None

    def _read(self, kind: type[Event], text: str) -> None:
        if kind is not self._hears:
            self._hears, self._watcher, self._said = kind, self._watch(), list[str]()
        self._said.append(text)
        if reason := self._watcher.feed(text):
            raise CutShort(reason, "".join(self._said))
