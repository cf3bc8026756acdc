"""Plays one run of a discussion: opens it, takes turns until it is over, and closes it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ..core.errors import ConfigError, ProviderError
from ..core.events import (
    BudgetReached,
    Emit,
    PhaseStarted,
    PromptGiven,
    RunFinished,
    TurnFinished,
    Warned,
)
from ..core.helping import RunJudged
from ..core.ledger import Budget, charge_to
from ..core.texts import limit_amount
from .outcome import conclusion
from .participant import EventBuffer, Participant
from .plan import Plan
from .prompting import opening
from .speakers import SpeakerScheduler
from .state import EventDispatcher
from .stopping import nearest
from .turn import Kind, RunFailed, TurnFault, TurnStep, TurnTaker, next_step, turn_failed

if TYPE_CHECKING:
    from ..arbiter.verdict import Verdict

Status = Literal["done", "limit", "failed"]
Judge = Callable[[Emit], Awaitable["Verdict"]]


@dataclass(frozen=True, slots=True)
class _Call:
    """One of several concurrent calls: its step, its events, and its future answer."""

    step: TurnStep
    events: EventBuffer
    answer: asyncio.Future[TurnFinished | TurnFault]


class DiscussionRun:
    """Takes turns until the discussion is over. It keeps no state but the dispatcher's, which changes with each event.

    `judge` judges what was said, as recorded in the journal.
    """

    def __init__(self, plan: Plan, emit: EventDispatcher, judge: "Judge | None" = None) -> None:
        self._plan = plan
        self._state = emit.state
        self._emit = emit
        self._judge = judge
        self._turns = TurnTaker(plan, emit)
        self._speakers = SpeakerScheduler(plan, emit, self._turns.left)
        self._budget = Budget(plan.limits, self._state.use.ledger)
        self._to_ask_again = [p for p in plan.participants if p.name in self._state.silent]

    async def run(self) -> RunFinished:
        self._state.use.ledger.start()
        try:
            with charge_to(self._budget):
                status, reason = await self._run_turns()
            if status != "failed":  # outside of `charge_to`: judging has a budget of its own
                await self._judge_once()
        except RunFailed as error:
            status, reason = "failed", str(error)
        except asyncio.CancelledError:
            await self._finish("interrupted", "interrupted")
            raise
        return await self._finish(status, reason)

    async def _run_turns(self) -> tuple[Status, str]:
        if self._state.just_ended:  # an earlier process may have died right after the turn that reached a limit
            await self._turns.watch_limits()
        await self._open()
        while not self._is_over():
            await self._begin_phase()
            if self._state.position.phase.parallel:
                await self._take_round()
            else:
                await self._turns.take(self._step(await self._speakers.next_speaker()))
        return await self._close()

    async def _begin_phase(self) -> None:
        at = self._state.position
        phase = at.phase
        if phase.name and (at.number, phase.name) != self._state.phase:
            of = len(self._plan.schedule)
            await self._emit(
                PhaseStarted(at.number, of, phase.name, phase.speakers, phase.rounds, phase.heading(self._plan.goal))
            )

    async def _judge_once(self) -> None:
        """Judges the run within its limits but outside of its usage. If judging fails, the run still ends normally."""
        state = self._state
        if not self._judge or state.judged or not state.finished:
            return
        budget = Budget(self._plan.limits.rest_after(state.use.ledger), state.judging)
        try:
            with charge_to(budget):
                verdict = await self._judge(self._emit)
        except (ProviderError, ConfigError) as error:
            await self._emit(Warned(f"The run was not judged: {error}"))
        else:
            await self._emit(RunJudged(verdict.to_json()))

    async def _finish(self, status: Literal["done", "limit", "failed", "interrupted"], reason: str) -> RunFinished:
        if helped := self._state.help.total():
            await self._emit(helped)
        end = RunFinished(status, reason, self._state.finished, self._state.use.ledger.usage)
        await self._emit(end)
        return end

    def _is_over(self) -> bool:
        """Checks whether the run is over. A parallel round is always finished: whoever was asked in it is heard."""
        is_parallel = self._state.position.phase.parallel
        if is_parallel and self._state.position.turns_in_round and not self._turns.ended_by:
            return False
        return bool(self._state.stop_reason or self._state.limit or self._reason_to_end)

    @property
    def _reason_to_end(self) -> str:
        """Returns what people did to end the discussion, or an empty text."""
        ended_by = self._turns.ended_by
        return f"{ended_by} ended it" if ended_by else self._speakers.reason_to_end

    async def _open(self) -> None:
        if self._state.prompt is None:
            await self._emit(PromptGiven(opening(self._plan)))
        moderator = self._plan.moderator
        if moderator and not self._state.spoken[moderator.name]:
            await self._take_turn(moderator, note="opening")

    async def _close(self) -> tuple[Status, str]:
        state, limit = self._state, self._state.limit
        if limit and (limit.is_full or not state.stop_reason):
            await self._wrap_up(limit)
            return "limit", _limit_in_words(limit)
        await self._ask_again()
        await self._conclude()
        if not self._turns.ended_by and (failure := self._failure):
            return "failed", failure
        await self._sum_up()
        return "done", state.stop_reason or self._reason_to_end

    async def _wrap_up(self, limit: BudgetReached) -> None:
        if not limit.is_full and not self._state.has_wrap_up and self._plan.mode != "no-meta":
            await self._take_turn(self._speakers.wrap_up_speaker, "wrap_up", "wrap_up")
        await self._sum_up()

    @property
    def _failure(self) -> str:
        """Returns why a run that reached its end still failed: a participant never answered."""
        state = self._state
        if not state.finished:
            return f"nobody answered; the last to fail was {state.last_failure}"
        silent = [p.name for p in self._plan.participants if p.name in state.silent and p.role != "user"]
        return "; ".join(f"{name} never answered: {state.silent[name]}" for name in silent)

    async def _conclude(self) -> None:
        """Takes the closing turns that are still missing: the moderator's and the observers'."""
        moderator = self._plan.moderator
        if moderator and self._state.spoken[moderator.name] < 2:
            await self._take_turn(moderator, note="closing")
        for observer in self._plan.observers:
            if not self._state.spoken[observer.name]:
                await self._take_turn(observer, "observation", "observation")

    async def _ask_again(self) -> None:
        """Gives a turn to participants who never answered, when the run that failed because of them is resumed."""
        for participant in self._to_ask_again:
            if participant.name not in self._state.silent:
                continue
            if participant in self._plan.observers:
                await self._take_turn(participant, "observation", "observation")
            else:
                await self._take_turn(participant)

    async def _sum_up(self) -> None:
        """Requests the outcome, if one is wanted and there is none yet. It never exceeds a limit that is used up."""
        state, plan = self._state, self._plan
        reached = nearest(plan.limits, state.use)
        if not plan.outcome or state.outcome or not state.finished or (reached and reached.share >= 1):
            return
        participant = self._speakers.concluder
        await self._turns.prepare(participant)
        request = self._turns.request(self._step(participant, "wrap_up"))
        await self._emit(await conclusion(participant, request, plan.outcome, self._emit))

    async def _take_turn(self, participant: Participant, kind: Kind = "turn", note: str = "") -> None:
        await self._turns.take(self._step(participant, kind, note))

    def _step(self, participant: Participant, kind: Kind = "turn", note: str = "") -> TurnStep:
        return next_step(self._plan, self._state, participant, kind, note)

    async def _take_round(self) -> None:
        """Lets all participants answer the same history at once, and publishes their turns in speaking order.

        The first of them is heard while it answers; the others, whose events are held back, when their turn comes. Next
        to a person, who types into the same terminal, nobody is heard before the whole answer is there.
        """
        await self._turns.pause()
        already = self._state.position.turns_in_round
        first = self._state.turn + 1
        steps = [
            self._turns.steer(replace(self._step(p), turn=first + ahead, hide_turns_from=first - already))
            for ahead, p in enumerate(self._speakers.round_to_go)
        ]
        if not already:
            for step in steps:
                await self._turns.prepare(step.participant, step.notes(self._plan))
        calls = [self._begin_call(step) for step in steps]
        try:
            while calls:
                call = calls[0]
                if not any(each.step.participant.role == "user" for each in calls):
                    await call.events.release(self._emit)
                result = await call.answer
                calls.pop(0)  # not earlier: a call that is cancelled while awaited has to be abandoned below
                await call.events.release(self._emit)
                await self._turns.settle(call.step, result)
        finally:
            await self._abandon(calls)

    def _begin_call(self, step: TurnStep) -> _Call:
        events = EventBuffer(step.start_event, self._emit)
        return _Call(step, events, asyncio.ensure_future(self._turns.ask(step, events)))

    async def _abandon(self, calls: Sequence[_Call]) -> None:
        """Records what the rest of a round that ends early has cost; these participants have to be asked again."""
        for call in calls:
            call.answer.cancel()
        # Collect exceptions: raising the first would leave the other calls running and their cost unrecorded.
        results = await asyncio.gather(*(call.answer for call in calls), return_exceptions=True)
        for call, result in zip(calls, results, strict=True):
            if len(call.events.held) > 1:  # not only the start
                await call.events.release(self._emit)
            if isinstance(result, TurnFinished):
                result = TurnFault(ProviderError("the round ended before it"), result.usage, result.message.text)
            if isinstance(result, TurnFault):
                await self._emit(turn_failed(call.step, result, "stop"))


def _limit_in_words(limit: BudgetReached) -> str:
    used, allowed, needed = (limit_amount(limit.limit, value) for value in (limit.used, limit.allowed, limit.needed))
    return f"{limit.limit}: {used} of {allowed}" + (f", and a turn may take {needed}" if limit.needed else "")
