"""The events on the way to an answer. Streaming, journal, costs and progress are all listeners to them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .exchange import NOTHING_USED, Stop, Usage
from .helping import DraftDropped, HelpEvent, HintGiven, Role, RunJudged, Veiled
from .messages import Message
from .tooling import (
    FabricationSuspected,
    HeldCall,
    LoopStopped,
    ToolCalled,
    ToolDecided,
    ToolProposed,
    ToolReturned,
    ToolsOffered,
)

SPARSE = {"sparse": True}
"""Metadata of a field that the journal writes only if it differs from its default."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer. The deltas since the last `AttemptFailed` add up to its text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """More of the reasoning. If the provider signs it, the `signature` comes with the last delta.

    `extra` is what only one API knows: a whole block between others (sealed reasoning, what its own tools did), or a
    source of the text being written.
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
    """More of the tool call at `index`. `id` and `name` come with its first fragment; `arguments` is JSON text."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class ModelReplied:
    """An entry of the ledger: a provider's reply that used something, even if it was not used afterwards.

    Each attempt is one, even if its answer was empty, refused or broken off (`failed`). If the provider did not report
    the usage, it is `estimated`. Replies from a recording or a cache are not `paid`. `speaker` is the participant whose
    model it was, filled in by the discussion. `role` is what the model was called for; a strategy that calls other
    models sets it with `as_role`.
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
        """Marks the usage as estimated too, for the sums that it is added to."""
        if self.estimated and not self.usage.estimated:
            object.__setattr__(self, "usage", replace(self.usage, estimated=True))


@dataclass(frozen=True, slots=True)
class UsageReported:
    """The usage that a provider has reported so far in a reply. Only the code that books the reply receives it.

    `unread` is the size in bytes of an unstreamed answer that broke off or is invalid; it was paid for all the same.
    A request that never `is_sent` costs nothing.
    """

    usage: Usage
    unread: int = 0
    is_sent: bool = True


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """One attempt at a call failed, so listeners discard its deltas. `partial` is the text that it had produced.

    `timed_out`: a timeout expired, which `reason` names. `kind` is that of the error, for logs and metrics: http_500,
    timeout, connection, bad_reply; None if the call brought an answer, but none to be used.
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
    kind: str | None = field(default=None, metadata=SPARSE)


@dataclass(frozen=True, slots=True)
class Retrying:
    """The call is repeated after `delay` seconds."""

    model: str
    attempt: int
    delay: float
    reason: str


@dataclass(frozen=True, slots=True)
class ScriptAdvanced:
    """A scripted model, that of `speaker`, has used an entry of its script; a successor starts at `position`."""

    position: int
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Warned:
    """Something a user should know that does not stop the run (a dropped parameter, a retired name).

    `option` is the request's option that was left out or changed.
    """

    message: str
    option: str = ""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins. `participants` maps each name to its model type; `settings` is what the journal needs to resume."""

    name: str
    run_dir: str
    participants: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunForked:
    """The run was forked: all events before the next `RunStarted` come from, and were paid by, the run in `source`.

    `turn` is the last one taken over.
    """

    source: str
    turn: int


@dataclass(frozen=True, slots=True)
class RunResumed:
    """A run goes on. `settings` are the new ones if a changed configuration was accepted, else empty.

    `participants` maps each name to its model type, as in `RunStarted`.
    """

    turn: int
    pid: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    participants: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SpeakerSelected:
    """The next speaker was selected. `how` says by which rule; `raw` is the selector's answer.

    `called`: a person called on the speaker.
    """

    speaker: str
    how: Literal["chosen", "normalised", "near match", "fallback", "called"]
    raw: str = ""
    usage: Usage = NOTHING_USED


@dataclass(frozen=True, slots=True)
class PhaseStarted:
    """Phase `number` (from 1) of `of` begins.

    The `speakers` speak in that order, once in each of the `rounds`. The `instructions` have the goal filled in, and
    general words in place of what differs between participants.
    """

    number: int
    of: int
    name: str
    speakers: tuple[str, ...]
    rounds: int
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn begins. `turn` counts from 1 over the run, `round` from 1 over rounds of all participants.

    `heard_by` are the other participants who hear it; None, which the journal omits, means everybody.
    """

    turn: int
    round: int
    speaker: str
    heard_by: tuple[str, ...] | None = field(default=None, metadata=SPARSE)


@dataclass(frozen=True, slots=True)
class PromptGiven:
    """The opening of a discussion, without a speaker: the initial prompt or the goal, and the inputs."""

    message: Message


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """A completed turn. `usage` is all that it cost, wasted attempts included; `seconds` is wall time.

    `heard_by` are the other participants who hear it; None, which the journal omits, means everybody. `signals` are the
    measures of the conversation including this turn, by name; None if none are taken.
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
        """Returns whether a participant hears the turn; its speaker always does."""
        return self.heard_by is None or name == self.speaker or name in self.heard_by


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """A turn brought no answer; `policy` skips it or stops the run. A `silent` model replied nothing, or refused."""

    turn: int
    round: int
    speaker: str
    error: str
    policy: Literal["skip", "stop"]
    usage: Usage = NOTHING_USED
    partial: str = ""
    kind: Literal["turn", "wrap_up", "observation"] = "turn"
    silent: bool | None = field(default=None, metadata=SPARSE)


@dataclass(frozen=True, slots=True)
class Summarised:
    """From here on `text` replaces the messages up to and including turn `through`; empty if they were dropped.

    This holds for `listeners`, who have heard the same; None, which the journal omits, means everybody.
    """

    through: int
    text: str
    usage: Usage
    model: str = ""
    listeners: tuple[str, ...] | None = field(default=None, metadata=SPARSE)


@dataclass(frozen=True, slots=True)
class Concluded:
    """The final synthesis of the run, by `speaker`; empty if there is none. It is not part of the conversation."""

    speaker: str
    text: str
    usage: Usage
    model: str = ""


@dataclass(frozen=True, slots=True)
class BudgetReached:
    """A limit is near: 90 % of it are used, or hardly more is left than the `needed` of the next call.

    If even that does not fit, `is_full`, and no model is called any more.
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
    """The run ended. `status` is done, limit (a limit stopped it before its goal), failed or interrupted."""

    status: Literal["done", "limit", "failed", "interrupted"]
    stop_reason: str
    turns: int
    usage: Usage


Event = (
    TextDelta | ThinkingDelta | DraftDelta | ToolCallDelta
    | UsageReported | ModelReplied | AttemptFailed | Retrying | ScriptAdvanced | Warned | Veiled
    | ToolsOffered | ToolProposed | ToolDecided | ToolCalled | ToolReturned | HeldCall | LoopStopped
    | FabricationSuspected | HelpEvent
    | RunStarted | RunForked | RunResumed | PromptGiven | PhaseStarted | SpeakerSelected | TurnStarted | HintGiven
    | TurnFinished | TurnFailed | Summarised | Concluded | RunJudged | BudgetReached | RunFinished
)  # fmt: skip

DELTAS = (TextDelta, ThinkingDelta, DraftDelta, ToolCallDelta, UsageReported)
"""Pieces of an answer, received as they arrive and not kept."""

Emit = Callable[[Event], Awaitable[None]]


async def ignore(event: Event) -> None:
    """Ignores the event."""


def drafting(emit: Emit) -> Emit:
    """Passes every event on, but text as a draft, because the caller has not yet decided to return it."""

    def draft(event: Event) -> Awaitable[None]:
        return emit(DraftDelta(event.text) if isinstance(event, TextDelta) else event)

    return draft


class EventLog:
    """A listener that collects events: `await client.complete(request, log := EventLog())`."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def __call__(self, event: Event) -> None:
        self.events.append(event)

    @property
    def text(self) -> str:
        """Returns the text that the deltas add up to, without those of failed attempts."""
        pieces: list[str] = []
        for event in self.events:
            if isinstance(event, AttemptFailed):
                pieces.clear()
            elif isinstance(event, TextDelta):
                pieces.append(event.text)
        return "".join(pieces)


def quiet(emit: Emit) -> Emit:
    """Passes every event on except deltas, for calls whose text nobody reads or that run in parallel."""

    def pass_on(event: Event) -> Awaitable[None]:
        return (ignore if isinstance(event, DELTAS) else emit)(event)

    return pass_on


def as_role(emit: Emit, role: Role) -> Emit:
    """Passes every event on, and assigns the cost of the models on the way to `role` unless it has a role already."""
    if role == "own":
        return emit

    def relabel(event: Event) -> Awaitable[None]:
        if isinstance(event, ModelReplied | DraftDropped) and event.role == "own":
            event = replace(event, role=role)
        return emit(event)

    return relabel
