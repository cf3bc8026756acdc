"""A listener that counts what one call costs, and holds its tool calls back."""

from ..core.events import Emit, Event, ModelReplied, ToolCallDelta
from ..core.exchange import NOTHING_USED, Usage
from ..core.helping import DraftDropped
from ..core.tooling import LoopStopped


class Heard:
    """Passes on all but the tool calls of a draft: who streams an answer must not hear those of two.

    `usage` is what the models came to that replied, `own` the share of it, and `calls` the replies, that stand for the
    answer itself. `in_circles`: its calls of tools got nowhere, and were ended.
    """

    def __init__(self, emit: Emit) -> None:
        self.usage = NOTHING_USED
        self.replies = 0
        self.calls = 0
        self.in_circles = False
        self._own = NOTHING_USED
        self._dropped = NOTHING_USED
        self._emit = emit

    @property
    def own(self) -> Usage:
        return self._own - self._dropped

    async def __call__(self, event: Event) -> None:
        match event:
            case ToolCallDelta():
                return
            case ModelReplied(usage=usage, role=role):
                self.replies += 1
                self.usage += usage
                self._own += usage if role == "own" else NOTHING_USED
                self.calls += role == "own"
            case DraftDropped(usage=usage, role="own"):
                self._dropped += usage
                self.calls -= event.calls
            case LoopStopped(in_circles=True):
                self.in_circles = True
        await self._emit(event)
