"""A listener that counts what one call costs, and holds its tool calls back."""

from ..core.events import DraftDelta, Emit, Event, ModelReplied, TextDelta, ToolCallDelta
from ..core.exchange import NOTHING_USED, Usage
from ..core.helping import DraftDropped, Role
from ..core.relays import as_role
from ..core.tooling import LoopStopped


class Heard:
    """Passes on all but the tool calls of a draft: who streams an answer must not hear those of two. Text is a draft's.

    What the models on the way cost is put down to `role` where it is nobody else's.
    `usage` is what the models came to that replied, `own` the share of it, and `calls` the replies, that stand for the
    answer itself. `in_circles`: its calls of tools got nowhere, and were ended.
    """

    def __init__(self, emit: Emit, role: Role = "own") -> None:
        self.usage = NOTHING_USED
        self.calls = 0
        self.in_circles = False
        self._own = NOTHING_USED
        self._dropped = NOTHING_USED
        self._emit = emit
        self._drafts: bool = getattr(emit, "hears_drafts", True)
        self._tell = as_role(emit, role)

    @property
    def own(self) -> Usage:
        return self._own - self._dropped

    async def __call__(self, event: Event) -> None:
        if type(event) is TextDelta:  # nearly all of them are
            if self._drafts:
                await self._emit(DraftDelta(event.text))
            return
        match event:
            case ToolCallDelta():
                return
            case ModelReplied(usage=usage, role=role, failed=failed):
                self.usage += usage
                if role == "own" and not failed:
                    self._own += usage
                    self.calls += 1
            case DraftDropped(usage=usage, role="own"):
                self._dropped += usage
                self.calls -= event.calls
            case LoopStopped(in_circles=True):
                self.in_circles = True
        await self._tell(event)
