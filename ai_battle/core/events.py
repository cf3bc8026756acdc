"""What is heard on the way to an answer: streaming, journal, cost and progress are all listeners to these values."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .exchange import NOTHING_USED, Stop, Usage
from .helping import DraftDropped, HelpEvent, HintGiven, Role, RunJudged, Veiled
from .messages import Message
from .tooling import (
    FabricationSuspected,
    LoopStopped,
    ToolCalled,
    ToolDecided,
    ToolProposed,
    ToolReturned,
    ToolsOffered,
)

SPARSE = {"sparse": True}
"""Of a field that stands in the journal only where it says more than its default."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer. What the deltas since the last `AttemptFailed` add up to is the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """More of the reasoning; its `signature` comes when it is over, where its provider signs it.

    `extra` is what only one API knows: a whole block between others (sealed reasoning, what its own tools did), or a
    source of the text that is being said.
    """

    text: str
    signature: str = ""
    extra: Mapping[str, Any] | None = field(default=None, repr=False, hash=False)


@dataclass(frozen=True, slots=True)
class DraftDelta:
    """More of a text that may never become the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """More of the tool call at `index`; `id` and `name` come with its first fragment, `arguments` is JSON text."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class ModelReplied:
    """An entry of the ledger: a provider's reply that used something, whatever became of it afterwards.

    Each attempt is one, also where its answer was empty, refused or broken off (`failed`); of what the provider did not
    report, the usage is `estimated`. Replies out of a recording or a cache are not `paid`. `speaker` is the participant
    whose model it was; whoever runs the discussion fills it in. `role` is what the model was called for; a strategy
    that calls others says so with `as_role`.
    """

    model: str
    usage: Usage
    seconds: float
    stop: Stop = "end"
    estimated: bool = False
    speaker: str = ""
    role: Role = "own"
    failed: bool = False
    paid: bool = True

    def __post_init__(self) -> None:
        """Sums of entries have to know it too."""
        if self.estimated and not self.usage.estimated:
            object.__setattr__(self, "usage", replace(self.usage, estimated=True))


@dataclass(frozen=True, slots=True)
class UsageReported:
    """What a provider has said until now of the usage of its reply; only whoever books the reply hears it.

    `unread` are the bytes that came of an answer in one piece that broke off or is none: they were paid for too.
    """

    usage: Usage
    unread: int = 0


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """One attempt at a call failed; listeners forget the deltas of it. `partial` is the text it had brought.

    `timed_out`: because a clock ran out, which `reason` names.
    """

    model: str
    attempt: int
    reason: str
    seconds: float
    status: int | None = None
    request_id: str = ""
    partial: str = ""
    raw: str = ""
    speaker: str = ""
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class Retrying:
    """The call is made again after `delay` seconds."""

    model: str
    attempt: int
    delay: float
    reason: str


@dataclass(frozen=True, slots=True)
class ScriptAdvanced:
    """A scripted model has used up an entry of its script; one that takes its place starts at `position`.

    `speaker` is filled in by whoever runs the discussion.
    """

    position: int
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Warned:
    """Something a user should know that does not stop the run (a dropped parameter, a retired name).

    `option` is the one of a request that was left out or changed.
    """

    message: str
    option: str = ""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """`participants` maps each name to its model type; `settings` is what the journal needs to resume."""

    name: str
    run_dir: str
    participants: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunForked:
    """All before the `RunStarted` that this follows was said, and paid for, in the run in the directory `source`.

    `turn` is the last that was taken over from there.
    """

    source: str
    turn: int


@dataclass(frozen=True, slots=True)
class RunResumed:
    """`settings` are the new ones when a changed configuration was accepted, else empty.

    `participants` maps each name to its model type, as in `RunStarted`.
    """

    turn: int
    pid: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    participants: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SpeakerSelected:
    """`how` the next speaker was found: chosen, normalised, near match or fallback; `raw` is what the selector said.

    `called`: a person called on the speaker.
    """

    speaker: str
    how: Literal["chosen", "normalised", "near match", "fallback", "called"]
    raw: str = ""
    usage: Usage = NOTHING_USED


@dataclass(frozen=True, slots=True)
class PhaseStarted:
    """The phase with that `number`, which counts from 1, begins; there are `of` phases.

    `speakers` speak in that order once in each of the `rounds`. The `instructions` have the goal filled in, and
    words in the place of what is not the same for all.
    """

    number: int
    of: int
    name: str
    speakers: tuple[str, ...]
    rounds: int
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """`turn` counts from 1 over the run, `round` from 1 over rounds of all participants.

    `heard_by` are the others who hear what is said in it; None, which the journal leaves out, is everybody.
    """

    turn: int
    round: int
    speaker: str
    heard_by: tuple[str, ...] | None = field(default=None, metadata=SPARSE)


@dataclass(frozen=True, slots=True)
class PromptGiven:
    """What a discussion begins with, said by nobody: the initial prompt, or the goal, and the inputs."""

    message: Message


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """A turn that counts. `usage` is all that the turn cost, wasted attempts included; `seconds` is wall time.

    `heard_by` are the others who hear it; None, which the journal leaves out, is everybody. `signals` are the measures
    of the conversation with this turn, by name; None where none are taken.
    """

    turn: int
    round: int
    speaker: str
    message: Message
    usage: Usage
    model: str
    seconds: float
    attempts: int = 1
    stop: Stop = "end"
    steps: tuple[Message, ...] = ()
    kind: Literal["turn", "wrap_up", "observation"] = "turn"
    heard_by: tuple[str, ...] | None = field(default=None, metadata=SPARSE)
    signals: Mapping[str, float] | None = field(default=None, hash=False, metadata=SPARSE)

    def is_heard_by(self, name: str) -> bool:
        """Says whether a participant hears it: who said it does in any case."""
        return self.heard_by is None or name == self.speaker or name in self.heard_by


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """A turn that brought no answer, and the policy that follows: skip or stop."""

    turn: int
    round: int
    speaker: str
    error: str
    policy: Literal["skip", "stop"]
    usage: Usage = NOTHING_USED
    partial: str = ""
    kind: Literal["turn", "wrap_up", "observation"] = "turn"


@dataclass(frozen=True, slots=True)
class Summarised:
    """From here on `text` stands for the messages up to and with turn `through`; empty when they were dropped.

    It does so for those in `listeners`, who have heard the same; None, which the journal leaves out, is everybody.
    """

    through: int
    text: str
    usage: Usage
    model: str = ""
    listeners: tuple[str, ...] | None = field(default=None, metadata=SPARSE)


@dataclass(frozen=True, slots=True)
class Concluded:
    """The final synthesis of the run, by `speaker`; empty when there is none. It is no part of the conversation."""

    speaker: str
    text: str
    usage: Usage
    model: str = ""


@dataclass(frozen=True, slots=True)
class BudgetReached:
    """A limit is near: 90 % of it are used, or what is left is hardly more than the `needed` that a next call may take.

    Where it is less, `is_full`, nobody is asked any more.
    """

    limit: str
    used: float
    allowed: float
    needed: float = 0.0

    @property
    def share(self) -> float:
        return self.used / self.allowed if self.allowed else 1.0

    @property
    def is_full(self) -> bool:
        return self.used + self.needed > self.allowed


@dataclass(frozen=True, slots=True)
class RunFinished:
    """`status` is done, limit (a limit stopped it before its goal), failed or interrupted."""

    status: Literal["done", "limit", "failed", "interrupted"]
    stop_reason: str
    turns: int
    usage: Usage


Event = (
    TextDelta | ThinkingDelta | DraftDelta | ToolCallDelta
    | UsageReported | ModelReplied | AttemptFailed | Retrying | ScriptAdvanced | Warned | Veiled
    | ToolsOffered | ToolProposed | ToolDecided | ToolCalled | ToolReturned | LoopStopped | FabricationSuspected
    | HelpEvent
    | RunStarted | RunForked | RunResumed | PromptGiven
    | PhaseStarted | SpeakerSelected | TurnStarted | HintGiven | TurnFinished | TurnFailed
    | Summarised | Concluded | RunJudged | BudgetReached | RunFinished
)  # fmt: skip

DELTAS = (TextDelta, ThinkingDelta, DraftDelta, ToolCallDelta, UsageReported)
"""What a model and its provider say, piece by piece: heard as it comes, and not kept."""

Emit = Callable[[Event], Awaitable[None]]


async def ignore(event: Event) -> None:
    """A listener that hears nothing."""


def drafting(emit: Emit) -> Emit:
    """Passes every event on, but the text as a draft: the caller has not yet decided to return it."""

    def draft(event: Event) -> Awaitable[None]:
        return emit(DraftDelta(event.text) if isinstance(event, TextDelta) else event)

    return draft


class EventLog:
    """A listener that remembers: `await client.complete(request, log := EventLog())`."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def __call__(self, event: Event) -> None:
        self.events.append(event)

    @property
    def text(self) -> str:
        """What the text deltas add up to, those of failed attempts left out."""
        pieces: list[str] = []
        for event in self.events:
            if isinstance(event, AttemptFailed):
                pieces.clear()
            elif isinstance(event, TextDelta):
                pieces.append(event.text)
        return "".join(pieces)


def quiet(emit: Emit) -> Emit:
    """Passes every event on but the words: the caller asks for itself, or several models speak at once."""

    def pass_on(event: Event) -> Awaitable[None]:
        return (ignore if isinstance(event, DELTAS) else emit)(event)

    return pass_on


def as_role(emit: Emit, role: Role) -> Emit:
    """Passes every event on; what the models on the way cost is put down to `role` where it is nobody else's."""
    if role == "own":
        return emit

    def relabel(event: Event) -> Awaitable[None]:
        if isinstance(event, ModelReplied | DraftDropped) and event.role == "own":
            event = replace(event, role=role)
        return emit(event)

    return relabel
