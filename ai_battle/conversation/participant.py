"""Defines who takes part and requests their answers; a failed request becomes an error that says why."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from time import monotonic
from typing import Any, Literal, TypeAlias, get_args

from ..core.client import ModelClient, require_response
from ..core.client import request_answer as request_charged
from ..core.errors import AIBattleError, BadReply, JournalError, ProviderError, Refused
from ..core.events import AttemptFailed, Emit, Event, TextDelta, TurnStarted, Warned, quiet
from ..core.exchange import ModelRequest, ModelResponse, Usage, Wants
from ..core.ledger import Budget
from ..core.messages import FILE_KINDS, ToolCall
from ..core.plugins import translate_errors
from ..core.tooling import HeldCall, ToolCalled, ToolReturned

ParticipantRole: TypeAlias = Literal["human", "assistant", "moderator", "observer", "user"]
Cost: TypeAlias = Callable[[Usage], float | None]
"""Prices a usage on some model, in dollars; None if the price is unknown."""


EVENTS_WITH_SPEAKER = tuple(
    kind for kind in get_args(Event) if any(each.name == "speaker" and each.default == "" for each in fields(kind))
)
"""The events of a model, whose speaker the discussion fills in."""
WITHOUT_WORDS = {"skip": "let the turn pass", "leave": "left the discussion", "end": "ended the discussion"}
"""What a person does who says nothing, by command."""


def reason_without_words(name: str, command: str) -> str:
    """Returns why a person's turn has no answer."""
    return f"{name} {WITHOUT_WORDS[command]}."


@dataclass(frozen=True, slots=True)
class Participant:
    """A participant of a discussion.

    `parameters` are sampling options; `window` is the model's context in tokens, if known. `large` prices a usage on
    the model that helps this participant, if there is one. Only this participant is shown `secret`; `reads` are the
    kinds of files that its model receives unchanged.

    A moderator opens, closes and may choose who speaks. An observer hears everything and speaks once, at the end. A
    user is a person. Human and assistant are the two sides of `mode: human-ai`.
    """

    name: str
    client: ModelClient
    persona: str = ""
    instructions: str = ""
    role: ParticipantRole = "assistant"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    window: int | None = None
    type: str = ""
    large: Cost | None = None
    secret: str = ""
    reads: frozenset[str] = FILE_KINDS


class TurnListener:
    """Adds the participant's name to its model's events, and counts attempts and usage."""

    def __init__(self, speaker: str, emit: Emit) -> None:
        self.attempts = 1
        self.budget = Budget()
        self._speaker = speaker
        self._emit = emit
        self._pieces: list[str] = []
        self._started = monotonic()

    def __call__(self, event: Event) -> Awaitable[None]:
        if isinstance(event, TextDelta):
            self._pieces.append(event.text)
        elif isinstance(event, EVENTS_WITH_SPEAKER):
            if isinstance(event, AttemptFailed):
                self.attempts += 1
                self._pieces.clear()  # the next attempt streams its answer from the beginning
            if not event.speaker:
                event = replace(event, speaker=self._speaker)
        return self._emit(event)

    @property
    def text(self) -> str:
        """The text of the current attempt so far."""
        return "".join(self._pieces)

    @property
    def seconds(self) -> float:
        return monotonic() - self._started

    @property
    def usage(self) -> Usage:
        """The usage of all calls, including those without a usable answer."""
        return self.budget.ledger.usage


class EventBuffer:
    """A listener that holds a turn's events back until it is released, and then passes them on at once.

    `record` gets the calls of tools at once: should the process die, a resumed run must know what was done.
    """

    def __init__(self, start: TurnStarted, record: Emit) -> None:
        self.held: list[Event] = [start]
        self._speaker, self._record = start.speaker, record
        self._emit: Emit | None = None

    async def __call__(self, event: Event) -> None:
        if self._emit:
            await self._emit(event)
            return
        self.held.append(event)
        match event:
            case ToolCalled(call=call):
                await self._record(HeldCall(self._speaker, call))
            case ToolReturned(result=result):
                await self._record(HeldCall(self._speaker, result.call, result))

    async def release(self, emit: Emit) -> None:
        while self.held:  # while they are passed on, more may come
            await emit(self.held.pop(0))
        self._emit = emit


async def request_answer(participant: Participant, request: ModelRequest, listener: TurnListener) -> ModelResponse:
    """Returns a usable answer. Refusals, empty answers and the client's exceptions become a `ProviderError`."""
    with translate_errors(f"The client of {participant.name} failed", ProviderError):
        response = require_response(await request_charged(participant.client, request, listener, listener.budget))
    if response.stop == "refusal":
        raise Refused(f"{participant.name} declined to answer: {response.text[:200]}", partial=response.text)
    if not response.text.strip():
        raise BadReply(f"{participant.name} {_textless_answer(response)} (stop: {response.stop}).")
    if calls := response.message.tool_calls:
        names = ", ".join(call.name for call in calls)
        await listener(Warned(f"{participant.name} called {names} without having tools; only the text is kept."))
        # APIs reject a history with calls that have no results, and other participants hear no message with calls.
        kept = tuple(part for part in response.message.parts if not isinstance(part, ToolCall))
        return replace(response, message=replace(response.message, parts=kept))
    return response


def _textless_answer(response: ModelResponse) -> str:
    calls = ", ".join(call.name for call in response.tool_calls)
    return f"only called {calls}, which it was not offered" if calls else "gave an empty answer"


async def request_aside(
    participant: Participant, request: ModelRequest, emit: Emit, wants: Wants
) -> tuple[ModelResponse | AIBattleError, Usage]:
    """Asks outside of a turn, without publishing the text; returns the answer or the error, and the usage.

    Raises only `JournalError`, which ends the run.
    """
    listener = TurnListener(participant.name, quiet(emit))
    try:
        return await request_answer(participant, replace(request, wants=wants), listener), listener.usage
    except JournalError:
        raise
    except AIBattleError as error:
        return error, listener.usage
