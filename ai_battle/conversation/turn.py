"""Takes one turn: asks a participant, and settles its answer or its failure for all."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from math import inf, nextafter
from typing import Literal, TypeAlias

from ..core.client import TurnCalls, among
from ..core.errors import (
    AIBattleError,
    BudgetExceeded,
    ConfigError,
    ContextTooLong,
    EmptyAnswer,
    JournalError,
    ProviderError,
    Refused,
    Unreachable,
    Unscripted,
)
from ..core.events import BudgetReached, Emit, TurnFailed, TurnFinished, TurnStarted, Warned
from ..core.exchange import EVERYTHING, ModelRequest, ModelResponse, Usage, Wants
from ..core.helping import HintGiven
from ..core.telemetry import span
from ..core.tooling import EarlierCall
from .context import ContextMemory, describe_pictures, earlier_calls_note
from .participant import Participant, TurnListener, request_answer
from .person import PersonEnded, PersonLeft
from .plan import Plan
from .prompting import finish_note, prompt, with_note
from .state import EventDispatcher, State
from .steering import choose_hint
from .stopping import nearest

Kind: TypeAlias = Literal["turn", "wrap_up", "observation"]
FailurePolicy: TypeAlias = Literal["skip", "stop"]

FATAL_STATUSES = (401, 403, 404)
"""HTTP statuses that no later turn can recover from: a wrong key, an unknown model."""


class RunFailed(AIBattleError):
    """A participant can't continue, so the run can't either."""


@dataclass(frozen=True, slots=True)
class TurnStep:
    """The next step: who is asked, in which capacity, and with which notes for this one request.

    `instructions` come from the phase, `note` names a prompt, and `asides` are further notes in full, the text of
    `hint` included. `earlier` are calls of tools that were made for this answer before. In a parallel round, nobody
    hears the turns from `hide_turns_from` on, although some may be over already. `heard_by` are the others who will
    hear the answer; None means everybody.
    """

    participant: Participant
    turn: int
    round: int
    kind: Kind = "turn"
    note: str = ""
    hide_turns_from: int = 0
    instructions: str = ""
    heard_by: tuple[str, ...] | None = None
    hint: HintGiven | None = None
    asides: tuple[str, ...] = ()
    earlier: tuple[EarlierCall, ...] = ()

    def notes(self, plan: Plan) -> tuple[str, ...]:
        """All notes at the end of the request: the phase's instructions, the step's prompt, the asides, earlier calls.

        Calls are no matter of roles: a participant must know what it has done in the mode without such notes, too.
        """
        notes = () if plan.mode == "no-meta" else (self.instructions, self.note and prompt(self.note), *self.asides)
        return tuple(filter(None, (*notes, earlier_calls_note(self.earlier))))

    @property
    def start_event(self) -> TurnStarted:
        return TurnStarted(self.turn, self.round, self.participant.name, self.heard_by)


@dataclass(frozen=True, slots=True)
class TurnFault:
    """The reason that a turn has no answer, its cost, and the text received so far."""

    error: AIBattleError
    usage: Usage
    partial: str


def next_step(plan: Plan, state: State, participant: Participant, kind: Kind = "turn", note: str = "") -> TurnStep:
    """Returns a participant's next turn with its round, its phase's instructions and its listeners."""
    at, name = state.position, participant.name
    phase = at.phase if kind == "turn" and name in at.phase.speakers else None
    wanted = at.instructions(name, plan.goal) if phase else ""
    filled = prompt("phase", phase=at.phase.name, instructions=wanted.strip()) if wanted else ""
    number = at.rounds_before + at.round
    step = TurnStep(participant, state.turn + 1, number, kind, note, 0, filled, plan.audience(name, phase))
    return replace(step, earlier=state.unfinished.calls_before(name))


def request_for(plan: Plan, state: State, step: TurnStep, wants: Wants = EVERYTHING) -> ModelRequest:
    """Builds a request from what the participant has heard, with the step's notes at its end."""
    name = step.participant.name
    is_hidden = 0 < step.hide_turns_from <= state.turn
    context = state.contexts[name]
    messages = context.messages_before(step.hide_turns_from) if is_hidden else context.view.messages
    for note in step.notes(plan):
        messages = with_note(messages, note)
    return ModelRequest(messages, state.systems[name], options=step.participant.parameters, wants=wants)


def with_asides(plan: Plan, step: TurnStep, hint: HintGiven | None) -> TurnStep:
    """Adds to a regular turn the request for the finished work, if due, and the hint that steers it."""
    if step.kind != "turn" or step.participant == plan.moderator:
        return step
    texts = tuple(filter(None, (finish_note(plan, step.participant, step.round), hint.text if hint else "")))
    return replace(step, hint=hint, asides=texts) if hint or texts else step


class TurnTaker:
    """Takes turns: `ask` returns an answer or a fault, and `settle` publishes it.

    `left` are the people who have left; `ended_by` is the person who ended the discussion.
    """

    def __init__(self, plan: Plan, emit: EventDispatcher) -> None:
        self.memory = ContextMemory(plan, emit)
        self.left: list[str] = []
        self.ended_by = ""
        self._plan = plan
        self._state = emit.state
        self._emit = emit
        self._unpriced: set[str] = set()

    async def take(self, step: TurnStep) -> None:
        """Takes one turn: journals and publishes the answer, or why there is none and what follows from that."""
        await self.pause()
        step = self.steer(step)
        await self.prepare(step.participant, step.notes(self._plan))
        await self._emit(step.start_event)
        await self.settle(step, await self.ask(step, self._emit))

    def steer(self, step: TurnStep) -> TurnStep:
        """Adds to the step what its participant is told for this turn alone."""
        return with_asides(self._plan, step, choose_hint(self._plan, self._state.steering, step))

    async def prepare(self, participant: Participant, notes: tuple[str, ...] = ()) -> None:
        """Makes the participant's context fit its model: describes pictures it can't see, and folds old turns."""
        if self._plan.describer and "images" not in participant.reads:
            await describe_pictures(self._plan, self._plan.describer, participant, self._emit)
        await self.memory.make_room(participant, notes)

    async def pause(self) -> None:
        if self._plan.delay_between_turns and self._state.turn:
            await asyncio.sleep(self._plan.delay_between_turns)

    async def ask(self, step: TurnStep, emit: Emit) -> TurnFinished | TurnFault:
        listener = TurnListener(step.participant.name, emit)
        if step.hint:  # before the request that contains it, because replays rebuild requests from earlier events
            await emit(step.hint)
        try:
            calls = TurnCalls(step.earlier, self._emit.redactor.value)
            with span("invoke_agent", step.participant.name, agent=step.participant.name), among(calls):
                async with self._deadline(step):
                    response = await self._request_answer(step, listener)
            return _turn_finished(step, response, listener)
        except JournalError:
            raise
        except AIBattleError as error:
            return _fault(error, listener)
        except asyncio.CancelledError:
            # Record what the interrupted call has cost before leaving, so that a resumed run counts it.
            await emit(turn_failed(step, _fault(ProviderError("interrupted"), listener), "stop"))
            raise

    @asynccontextmanager
    async def _deadline(self, step: TurnStep) -> AsyncIterator[None]:
        """Cancels a call when the run's time is over, even if its models hang. A person may finish typing."""
        limit, ledger = self._plan.limits.seconds, self._state.use.ledger
        if limit is None or step.participant.role == "user":
            yield
            return
        try:
            async with asyncio.timeout(limit - ledger.seconds) as clock:
                yield
        except TimeoutError:
            if not clock.expired():
                raise
            # The timer may fire a little early; report more than the limit, so that it counts as used up.
            reached = BudgetReached("seconds", max(ledger.seconds, nextafter(limit, inf)), limit)
            raise BudgetExceeded(f"the {limit:g} seconds of the run are over", reached) from None

    async def _request_answer(self, step: TurnStep, listener: TurnListener) -> ModelResponse:
        if step.participant.name in self.left:
            raise PersonLeft(f"{step.participant.name} left the discussion.")
        request, can_shorten = self.request(step), self.memory.can_shorten(step.participant)
        try:
            wants = replace(request.wants, can_shorten=can_shorten)
            return await request_answer(step.participant, replace(request, wants=wants), listener)
        except ContextTooLong:  # the estimate of tokens was too low: fold old turns and ask once more
            if not (can_shorten and await self.memory.shorten(step.participant)):
                raise
            return await request_answer(step.participant, self.request(step), listener)

    def request(self, step: TurnStep) -> ModelRequest:
        return request_for(self._plan, self._state, step, self._emit.wants)

    async def settle(self, step: TurnStep, result: TurnFinished | TurnFault) -> None:
        if isinstance(result, TurnFinished):
            measures = self._state.measures(result)
            await self._emit(result if measures is None else replace(result, signals=measures))
            await self._warn_of_unknown_price(result)
        else:
            await self._give_up(step, result)
        await self.watch_limits()

    async def watch_limits(self) -> None:
        reached = None if self._state.limit else nearest(self._plan.limits, self._state.use)
        if reached and self._state.turn:  # before the first turn there is nothing to sum up
            await self._emit(reached)

    async def _warn_of_unknown_price(self, turn: TurnFinished) -> None:
        if turn.usage.cost_usd is None and self._plan.limits.cost_usd is not None and turn.model not in self._unpriced:
            self._unpriced.add(turn.model)
            await self._emit(
                Warned(f"The price of {turn.model} is unknown; limits.cost_usd can't hold for what it uses.")
            )

    async def _give_up(self, step: TurnStep, fault: TurnFault) -> None:
        """Skips the turn, or ends the run after the same model's second failure in a row or a fatal error."""
        if isinstance(fault.error, BudgetExceeded) and fault.error.reached:
            if not self._state.limit:
                await self._emit(fault.error.reached)
            await self._emit(turn_failed(step, fault, "skip"))
            return
        if isinstance(fault.error, PersonLeft) and step.participant.name not in self.left:
            self.left.append(step.participant.name)
        elif isinstance(fault.error, PersonEnded):
            self.ended_by = step.participant.name
        policy = self._failure_policy(step.participant, fault.error)
        await self._emit(turn_failed(step, fault, policy))
        if policy == "stop":
            raise RunFailed(self._state.last_failure)

    def _failure_policy(self, participant: Participant, error: AIBattleError) -> FailurePolicy:
        """Decides whether a failed turn ends the run. A person's never does.

        If nobody answers in the first round, its last turn ends the run, so that resuming can take that turn again.
        """
        state, regulars = self._state, self._plan.regulars
        if participant.role == "user":
            return "skip"
        is_last_of_silent_round = not state.finished and participant in regulars and state.taken + 1 >= len(regulars)
        stops = (
            _is_fatal(error)
            or state.consecutive_failures[participant.name] > 0
            # A model that was never reachable is a set-up error: stop before the others spend money.
            or (_is_absent(error) and not state.spoken[participant.name])
            or is_last_of_silent_round
        )
        return "stop" if stops else "skip"


def turn_failed(step: TurnStep, fault: TurnFault, policy: FailurePolicy) -> TurnFailed:
    name, silent = step.participant.name, isinstance(fault.error, EmptyAnswer | Refused) or None
    return TurnFailed(
        step.turn, step.round, name, str(fault.error), policy, fault.usage, fault.partial, step.kind, silent
    )


def _turn_finished(step: TurnStep, response: ModelResponse, listener: TurnListener) -> TurnFinished:
    name = step.participant.name
    return TurnFinished(
        step.turn,
        step.round,
        name,
        replace(response.message, speaker=name),
        listener.usage,
        response.model or step.participant.type,
        listener.seconds,
        listener.attempts,
        response.stop,
        tuple(replace(message, speaker=name) for message in response.steps),
        step.kind,
        step.heard_by,
    )


def _fault(error: AIBattleError, listener: TurnListener) -> TurnFault:
    partial = error.partial if isinstance(error, ProviderError) else ""
    return TurnFault(error, listener.usage, partial or listener.text)


def _is_fatal(error: AIBattleError) -> bool:
    return isinstance(error, ConfigError | Unscripted | BudgetExceeded) or (
        isinstance(error, ProviderError) and error.status in FATAL_STATUSES
    )


def _is_absent(error: AIBattleError) -> bool:
    return isinstance(error, Unreachable) and error.status is None and not error.partial
