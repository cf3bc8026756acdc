"""Answers that are paid for and are not yet the answer, and the listener that counts what each costs."""

from dataclasses import dataclass, replace

from ..core.client import ModelClient
from ..core.errors import CutShort
from ..core.events import DraftDelta, Emit, Event, ModelReplied, TextDelta, ToolCallDelta
from ..core.exchange import NOTHING_USED, ModelRequest, ModelResponse, Usage
from ..core.helping import DraftDropped, Role
from ..core.ledger import Budget, request_answer
from ..core.messages import assistant
from ..core.relays import as_role
from ..core.tokens import estimate_text
from ..core.tooling import LoopStopped


class UsageListener:
    """Passes on all but the tool calls of a draft: who streams an answer must not hear those of two. Text is a draft's.

    What the models on the way cost is put down to `role` where it is nobody else's.
    `usage` is what the models came to that replied, `own` the share of it, and `calls` the replies, that stand for the
    answer itself. `in_circles`: its calls of tools got nowhere, and were ended.
    """

    def __init__(self, emit: Emit, role: Role = "own", *, drafts: bool = True) -> None:
        self.usage = NOTHING_USED
        self.calls = 0
        self.in_circles = False
        self._own = NOTHING_USED
        self._dropped = NOTHING_USED
        self._emit = emit
        self._drafts = drafts
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


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer, and what dropping it wastes: what was helped or dropped inside is left out of `usage` and `calls`.

    `cut` is why it was cut short; its response is then what had come, its usage an estimate. `in_circles`: its calls
    of tools got nowhere, and were ended.
    """

    response: ModelResponse
    usage: Usage
    role: Role = "own"
    cut: str = ""
    saved_tokens: int = 0
    calls: int = 1
    in_circles: bool = False

    @property
    def text(self) -> str:
        return self.response.text


async def request_draft(
    client: ModelClient, request: ModelRequest, listener: UsageListener, role: Role, budget: Budget
) -> Draft:
    """What `client` answers, charged to `budget`, or the beginning of it where a listener has heard enough.

    Drafts are streamed whoever listens: a model that falls silent is noticed soon, and another can take its place.
    """
    request = replace(request, wants=replace(request.wants, stream=True))
    try:
        response = await request_answer(client, request, listener, budget)
    except CutShort as cut:
        response = ModelResponse(assistant(cut.text), stop="length", usage=listener.usage)
        return paid(Draft(response, listener.usage, role, str(cut), _saved(request, cut)), listener)
    return paid(Draft(response, response.usage, role), listener)


def paid(draft: Draft, listener: UsageListener) -> Draft:
    """The draft with what was heard of its cost."""
    return replace(draft, usage=listener.own, calls=listener.calls, in_circles=listener.in_circles)


def _saved(request: ModelRequest, cut: CutShort) -> int:
    """What was left of `max_tokens`; without it, as much again: a guess."""
    came = estimate_text(cut.thinking + cut.text)
    most = request.options.get("max_tokens")
    return max(0, most - came) if isinstance(most, int) else came
