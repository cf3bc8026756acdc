"""One run of a discussion: the straight line of its turns."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..core.errors import (
    AIBattleError,
    BudgetExceeded,
    ConfigError,
    ContextTooLong,
    JournalError,
    ProviderError,
    Unreachable,
    Unscripted,
)
from ..core.events import BudgetReached, Emit, EventLog, PromptGiven, RunFinished, TurnFinished, TurnStarted, Warned
from ..core.exchange import ModelRequest, ModelResponse
from ..core.ledger import Budget, charged_to
from .asking import request_for
from .audience import Audience
from .floor import Floor
from .limits import nearest
from .outcome import conclusion
from .participant import Participant
from .person import PersonLeft
from .plan import Plan
from .prompting import opening
from .summary import Memory
from .turn import Ear, Fault, Kind, Step, answered, failed, fault, finished

FATAL = (401, 403, 404)
"""HTTP statuses of a provider that no later turn mends: a wrong key, a model that there is not."""

Status = Literal["done", "limit", "failed"]


class _RunFailed(AIBattleError):
    """A participant can't go on, so the run can't either."""


@dataclass(frozen=True, slots=True)
class _Call:
    """One of several that are under way at once: what is heard of it, and what it comes to."""

    step: Step
    log: EventLog
    answer: asyncio.Future[TurnFinished | Fault]


class Discussion:
    """Takes turns until it is over. All that it knows is the state of its audience, which changes with each event."""

    def __init__(self, plan: Plan, audience: Audience) -> None:
        self._plan = plan
        self._state = state = audience.state
        self._tell: Emit = audience
        self._wants = audience.wants
        self._memory = Memory(plan, state, audience)
        self._floor = Floor(plan, state, audience)
        self._budget = Budget(plan.limits, state.use.ledger)
        self._unpriced: set[str] = set()
        self._to_ask_again = [p for p in plan.participants if p.name in state.silent]

    async def run(self) -> RunFinished:
        self._state.use.ledger.start()
        try:
            with charged_to(self._budget):
                status, reason = await self._played()
        except _RunFailed as error:
            status, reason = "failed", str(error)
        except asyncio.CancelledError:
            await self._finish("interrupted", "interrupted")
            raise
        return await self._finish(status, reason)

    async def _played(self) -> tuple[Status, str]:
        if self._state.just_ended:  # the process before may have ended right behind the turn that reached a limit
            await self._watch_limits()
        await self._open()
        while not self._is_over():
            if self._plan.parallel:
                await self._take_round()
            else:
                await self.take_turn(self._step(await self._floor.next_speaker()))
        return await self._close()

    async def _finish(self, status: Literal["done", "limit", "failed", "interrupted"], reason: str) -> RunFinished:
        if helped := self._state.help.summed():
            await self._tell(helped)
        end = RunFinished(status, reason, self._state.finished, self._state.use.ledger.usage)
        await self._tell(end)
        return end

    def _is_over(self) -> bool:
        """A round in which all answer at once is played to its end: whoever was asked in it is heard."""
        if self._plan.parallel and self._floor.taken_in_round:
            return False
        return bool(self._state.stop_reason or self._state.limit or self._floor.reason_to_end)

    async def _open(self) -> None:
        if self._state.prompt is None:
            await self._tell(PromptGiven(opening(self._plan)))
        moderator = self._plan.moderator
        if moderator and not self._state.spoken[moderator.name]:
            await self.take_turn(self._step(moderator, note="open"))

    async def _close(self) -> tuple[Status, str]:
        limit = self._state.limit
        if limit and (limit.is_full or not self._state.stop_reason):
            if not limit.is_full and not self._state.wrapped_up and self._plan.mode != "no-meta":
                await self.take_turn(self._step(self._floor.last_word, "wrap_up", "wrap_up"))
            await self._sum_up()
            return "limit", _words(limit)
        await self._ask_again()
        await self._conclude()
        if not self._state.finished:
            return "failed", f"nobody answered; the last to fail was {self._state.last_failure}"
        if silent := [p.name for p in self._plan.participants if p.name in self._state.silent and p.role != "user"]:
            return "failed", "; ".join(f"{name} never answered: {self._state.silent[name]}" for name in silent)
        await self._sum_up()
        return "done", self._state.stop_reason or self._floor.reason_to_end

    async def _conclude(self) -> None:
        """The words after the last turn that are still to be said."""
        moderator = self._plan.moderator
        if moderator and self._state.spoken[moderator.name] < 2:
            await self.take_turn(self._step(moderator, note="close"))
        for observer in self._plan.observers:
            if not self._state.spoken[observer.name]:
                await self.take_turn(self._closing_step(observer))

    async def _ask_again(self) -> None:
        """A run that failed as somebody never answered is resumed with a turn of theirs."""
        for participant in self._to_ask_again:
            if participant.name in self._state.silent:
                await self.take_turn(self._closing_step(participant))

    async def _sum_up(self) -> None:
        """The outcome, if it is wanted and was not reached before; a limit that is used up is not exceeded for it."""
        state, plan = self._state, self._plan
        reached = nearest(plan.limits, state.use)
        if not plan.outcome or state.outcome or not state.finished or (reached and reached.share >= 1):
            return
        participant = self._floor.concluder
        await self._memory.make_room(participant)
        request = self._request(self._step(participant))
        await self._tell(await conclusion(participant, request, plan.outcome, self._tell))

    async def take_turn(self, step: Step) -> None:
        """One answer, journalled and heard by all; or the reason why there is none, and the policy that follows."""
        await self._pause()
        await self._memory.make_room(step.participant)
        await self._tell(TurnStarted(step.turn, step.round, step.participant.name))
        await self._settle(step, await self._ask(step, self._tell))

    async def _take_round(self) -> None:
        """All answer the same history at once; their answers are then heard as wholes, in speaking order."""
        await self._pause()
        already = self._floor.taken_in_round
        first = self._state.turn + 1
        steps = [
            replace(self._step(p), turn=first + ahead, deaf_from=first - already)
            for ahead, p in enumerate(self._floor.round_to_go)
        ]
        if not already:
            for step in steps:
                await self._memory.make_room(step.participant)
        calls = [self._called(step) for step in steps]
        try:
            while calls:
                result = await calls[0].answer
                call = calls.pop(0)
                await self._recount(call)
                await self._settle(call.step, result)
        finally:
            await self._abandon(calls)

    def _called(self, step: Step) -> _Call:
        log = EventLog()
        return _Call(step, log, asyncio.ensure_future(self._ask(step, log)))

    async def _recount(self, call: _Call) -> None:
        for event in (TurnStarted(call.step.turn, call.step.round, call.step.participant.name), *call.log.events):
            await self._tell(event)

    async def _abandon(self, calls: Sequence[_Call]) -> None:
        """What is left of a round that ends early was paid for as well, and will have to be asked again."""
        for call in calls:
            call.answer.cancel()
        results = await asyncio.gather(*(call.answer for call in calls), return_exceptions=True)
        for call, result in zip(calls, results, strict=True):
            if call.log.events:
                await self._recount(call)
            if isinstance(result, TurnFinished):
                result = Fault(ProviderError("the round ended before it"), result.usage, result.message.text)
            if isinstance(result, Fault):
                await self._tell(failed(call.step, result, "stop"))

    async def _ask(self, step: Step, tell: Emit) -> TurnFinished | Fault:
        ear = Ear(step.participant.name, tell)
        try:
            return finished(step, await self._answered(step, ear), ear)
        except JournalError:
            raise
        except AIBattleError as error:
            return fault(error, ear)
        except asyncio.CancelledError:
            await tell(failed(step, fault(ProviderError("interrupted"), ear), "stop"))
            raise

    async def _answered(self, step: Step, ear: Ear) -> ModelResponse:
        try:
            return await answered(step.participant, self._request(step), ear)
        except ContextTooLong:
            if not await self._memory.shorten(step.participant):
                raise
            return await answered(step.participant, self._request(step), ear)

    def _request(self, step: Step) -> ModelRequest:
        return replace(request_for(self._plan, self._state, step), wants=self._wants)

    async def _settle(self, step: Step, result: TurnFinished | Fault) -> None:
        if isinstance(result, TurnFinished):
            await self._tell(result)
            await self._warn_of_unknown_price(result)
        else:
            await self._give_up(step, result)
        await self._watch_limits()

    async def _watch_limits(self) -> None:
        reached = None if self._state.limit else nearest(self._plan.limits, self._state.use)
        if reached and self._state.turn:
            await self._tell(reached)

    async def _warn_of_unknown_price(self, turn: TurnFinished) -> None:
        if turn.usage.cost_usd is None and self._plan.limits.cost_usd is not None and turn.model not in self._unpriced:
            self._unpriced.add(turn.model)
            await self._tell(
                Warned(f"The price of {turn.model} is unknown; limits.cost_usd can't hold for what it uses.")
            )

    async def _give_up(self, step: Step, fault: Fault) -> None:
        """The turn is left out; the second in a row of the same model, or one that no retry can mend, ends the run."""
        participant = step.participant
        if isinstance(fault.error, BudgetExceeded) and fault.error.reached:
            if not self._state.limit:
                await self._tell(fault.error.reached)
            await self._tell(failed(step, fault, "skip"))
            return
        if isinstance(fault.error, PersonLeft):
            self._floor.leave(participant.name)
        stop = participant.role != "user" and (
            _is_fatal(fault.error)
            or self._state.failed_in_a_row[participant.name] > 0
            or self._never_there(step, fault)
            or self._nobody_answers(participant)
        )
        await self._tell(failed(step, fault, "stop" if stop else "skip"))
        if stop:
            raise _RunFailed(self._state.last_failure)

    def _never_there(self, step: Step, fault: Fault) -> bool:
        """A model that could not be reached from the start is a matter of the set-up: others need not spend on it."""
        silent = isinstance(fault.error, Unreachable) and fault.error.status is None and not fault.error.partial
        return silent and not self._state.spoken[step.participant.name]

    def _nobody_answers(self, participant: Participant) -> bool:
        """A first round without any answer: the run stops at its last turn, which can be taken again."""
        regulars = self._plan.regulars
        return not self._state.finished and participant in regulars and self._state.taken + 1 >= len(regulars)

    def _step(self, participant: Participant, kind: Kind = "turn", note: str = "") -> Step:
        number = min(self._state.taken // len(self._plan.regulars) + 1, self._plan.turns)
        return Step(participant, self._state.turn + 1, number, kind, note)

    def _closing_step(self, participant: Participant) -> Step:
        if participant in self._plan.observers:
            return self._step(participant, "observation", "observe")
        return self._step(participant)

    async def _pause(self) -> None:
        if self._plan.delay_between_turns and self._state.turn:
            await asyncio.sleep(self._plan.delay_between_turns)


def _words(limit: BudgetReached) -> str:
    used = f"{limit.limit}: {limit.used:.6g} of {limit.allowed:.6g}"
    return f"{used}, and the next call may take {limit.needed:.6g}" if limit.needed else used


def _is_fatal(error: AIBattleError) -> bool:
    return isinstance(error, ConfigError | Unscripted | BudgetExceeded) or (
        isinstance(error, ProviderError) and error.status in FATAL
    )
