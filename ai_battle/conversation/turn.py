"""One turn: a participant is asked once, and what comes back is an answer or the reason why there is none."""

from collections.abc import Awaitable
from dataclasses import dataclass, replace
from time import monotonic
from typing import Literal, TypeAlias

from ..core.borders import foreign_code
from ..core.errors import AIBattleError, BadReply, ProviderError, Refused
from ..core.events import (
    AttemptFailed,
    Emit,
    Event,
    ModelReplied,
    ScriptAdvanced,
    TextDelta,
    TurnFailed,
    TurnFinished,
    Warned,
)
from ..core.exchange import ModelRequest, ModelResponse, Usage
from ..core.helping import AnswerChecked, BoostStep, DraftDropped, HelpAsked, HelpFailed, LadderStood, StuckFound
from ..core.ledger import Budget, request_answer
from ..core.messages import Message, ToolCall
from ..core.tooling import ToolDecided, ToolProposed, ToolsOffered
from .participant import Participant

Kind: TypeAlias = Literal["turn", "wrap_up", "observation"]

_SIGNED = (
    AttemptFailed, ModelReplied, ScriptAdvanced,
    AnswerChecked, StuckFound, HelpAsked, HelpFailed, DraftDropped, LadderStood, BoostStep, ToolsOffered, ToolProposed,
    ToolDecided,
)  # fmt: skip


class Ear:
    """Passes on what one participant's model does, with the participant's name, and keeps count."""

    def __init__(self, speaker: str, tell: Emit) -> None:
        self.attempts = 1
        self.budget = Budget()
        self._speaker = speaker
        self._tell = tell
        self._said: list[str] = []
        self._started = monotonic()

    def __call__(self, event: Event) -> Awaitable[None]:
        if isinstance(event, TextDelta):
            self._said.append(event.text)
        elif isinstance(event, AttemptFailed):
            self.attempts += 1
            self._said.clear()
        return self._tell(self._signed(event))

    def _signed(self, event: Event) -> Event:
        if isinstance(event, _SIGNED) and not event.speaker:
            return replace(event, speaker=self._speaker)
        return event

    @property
    def said(self) -> str:
        return "".join(self._said)

    @property
    def seconds(self) -> float:
        return monotonic() - self._started

    @property
    def usage(self) -> Usage:
        """What all calls on the way came to, also those whose answer came to nothing."""
        return self.budget.ledger.usage


@dataclass(frozen=True, slots=True)
class Step:
    """What is to happen next: who is asked, in what capacity, and the note that goes with this one request.

    Where all answer at once, nobody has heard the turns from `deaf_from` on, although some may be over already.
    """

    participant: Participant
    turn: int
    round: int
    kind: Kind = "turn"
    note: str = ""
    deaf_from: int = 0


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a turn brought no answer, and what it cost all the same."""

    error: AIBattleError
    usage: Usage
    partial: str


async def answered(participant: Participant, request: ModelRequest, ear: Ear) -> ModelResponse:
    """The answer, if it is one; a refusal, silence and whatever the client raises are a `ProviderError`."""
    with foreign_code(f"The client of {participant.name} failed", ProviderError):
        response = await request_answer(participant.client, request, ear, ear.budget)
        if not isinstance(response, ModelResponse):
            raise TypeError(f"it answered with a {type(response).__name__} instead of a ModelResponse")
    if response.stop == "refusal":
        raise Refused(f"{participant.name} declined to answer: {response.text[:200]}", partial=response.text)
    if not response.text.strip():
        raise BadReply(f"{participant.name} answered with nothing (stop: {response.stop}).")
    if calls := response.message.tool_calls:
        names = ", ".join(call.name for call in calls)
        await ear(Warned(f"{participant.name} called {names}, which nothing runs; only the text is kept."))
        return replace(response, message=_spoken(response.message))
    return response


def finished(step: Step, response: ModelResponse, ear: Ear) -> TurnFinished:
    name = step.participant.name
    return TurnFinished(
        step.turn,
        step.round,
        name,
        _signed(response.message, name),
        ear.usage,
        response.model or step.participant.type,
        ear.seconds,
        ear.attempts,
        response.stop,
        tuple(_signed(message, name) for message in response.steps),
        step.kind,
    )


def failed(step: Step, fault: Fault, policy: Literal["skip", "stop"]) -> TurnFailed:
    name = step.participant.name
    return TurnFailed(step.turn, step.round, name, str(fault.error), policy, fault.usage, fault.partial, step.kind)


def fault(error: AIBattleError, ear: Ear) -> Fault:
    partial = error.partial if isinstance(error, ProviderError) else ""
    return Fault(error, ear.usage, partial or ear.said)


def _spoken(message: Message) -> Message:
    """Without calls that have no results: no API takes them back, and others would not hear the text beside them."""
    return replace(message, parts=tuple(part for part in message.parts if not isinstance(part, ToolCall)))


def _signed(message: Message, speaker: str) -> Message:
    return message if message.speaker == speaker else replace(message, speaker=speaker)
