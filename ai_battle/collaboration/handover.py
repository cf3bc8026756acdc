"""Handover: a small model works with tools until it stalls; then the large one works until it makes progress.

The request alone decides who takes a step: which calls were made since the prompt, and what they brought. So the
decision is the same wherever the tools run, in a discussion, behind the server or in an agent, and needs no memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..core.client import ModelClient
from ..core.errors import ConfigError, ContextTooLong
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.helping import StuckFound
from ..core.traits import CalledModel, StrategyTraits
from ..judging.assessment import steps_of
from ..signals.progress import ToolStep, WorkRecord
from ._attempts import Strategy, hopeless, stuck_event
from ._prompts import (
    HelpCase,
    data_section,
    excerpt,
    packaged_prompt,
    request_in_place,
    with_note,
    without_tuning,
)
from ._turn import Helping, Turn

TRAITS = StrategyTraits(
    "InterCode's SQL tasks, GPT-3.5 with GPT-4, 620 recorded trajectories: 76.0 % get there with 61 % of the small "
    "model's turns, where the small model alone has 47.3 % and the large one 74.2 %",
    models={"secondary": CalledModel("for the steps after {name} does not get on", "unknown")},
    sends_request_only=True,
    each_step=True,
    steps_in=True,
)
HAND_BACK_AFTER, MOST_HANDOVERS = 3, 2
"""How many successful steps of the large model hand the work back, and how often the large model takes over at most."""
STALLED_QUALITY = 0.08
"""The share of the recorded tasks that the small model still solved after its work had stalled."""
LONGEST_STEP = 600


@dataclass(frozen=True, slots=True)
class HandoverPeriod:
    """Who continues after some steps, and why that is the helper; it took over at `start` and ended at `end`.

    `last_good` is the last successful step before the work stalled, and `in_vain` are the steps after it.
    """

    is_helped: bool = False
    reason: str = ""
    start: int = 0
    end: int = 0
    handovers: int = 0
    last_good: ToolStep | None = None
    in_vain: tuple[ToolStep, ...] = ()

    @classmethod
    def after(cls, steps: Sequence[ToolStep], hand_back_after: int = HAND_BACK_AFTER) -> "HandoverPeriod":
        """Returns who continues after these steps; with a `hand_back_after` of 0 the helper keeps the task."""
        shift, work, calm, good = cls(), WorkRecord(), 0, -1
        for place, step in enumerate(steps):
            work.add(step)
            calm, good = (0, good) if work.lack else (calm + 1, place)
            if not shift.is_helped and work.stalled and shift.handovers < MOST_HANDOVERS:
                last_good, in_vain = (steps[good] if good >= 0 else None), tuple(steps[good + 1 : place + 1])
                shift, calm = cls(True, work.stalled, place + 1, 0, shift.handovers + 1, last_good, in_vain), 0
            elif shift.is_helped and calm == hand_back_after:
                shift = replace(shift, is_helped=False, end=place + 1)
        return shift

    @property
    def receipt(self) -> str:
        """A note for the model that takes over: where the work last stood well, and what has failed since."""
        last = (self.last_good,) if self.last_good else ()
        evidence = (data_section("last_good", _steps_text(last)), data_section("in_vain", _steps_text(self.in_vain)))
        return packaged_prompt("handover", reason=self.reason, evidence="\n\n".join(filter(None, evidence)))


class Handover(Strategy):
    """Lets `primary` work, and `secondary` for the steps after its work has stalled.

    `hand_back_after` successful steps of `secondary` in a row hand the work back.
    """

    def __init__(
        self,
        primary: ModelClient,
        secondary: ModelClient,
        *,
        hand_back_after: int = HAND_BACK_AFTER,
        helping: Helping | None = None,
    ) -> None:
        super().__init__(primary, secondary, helping=helping)
        if self.helping.sees == "prompt":
            raise ConfigError(
                "handover shows the helper what was done so far: helper_sees is attempt or history.", "helper_sees"
            )
        if hand_back_after < 0:
            raise ConfigError(
                f"hand_back_after of handover is a number of steps, 0 for never, not {hand_back_after!r}.",
                "hand_back_after",
            )
        self.secondary = secondary
        self.hand_back_after = hand_back_after

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        case = HelpCase(request)
        steps = steps_of(request.messages[case.place + 1 :])
        shift = HandoverPeriod.after(steps, self.hand_back_after)
        turn = Turn("handover", self.helping, emit)
        if not shift.is_helped:
            back = packaged_prompt("handover_end", reason=shift.reason, steps=str(shift.end - shift.start))
            return await self._continue_work(turn, with_note(request, back) if shift.handovers else request)
        if shift.start == len(steps):
            await emit(StuckFound(STALLED_QUALITY, 1 - STALLED_QUALITY, shift.reason))
        shown = request
        if self.helping.sees != "history":
            shown = replace(request, messages=request.messages[case.place :], system="", extra={})
        answer = await turn.ask(self.secondary, without_tuning(with_note(shown, shift.receipt)), shift.reason)
        return await turn.accept(answer or await turn.request_draft(self.primary, request))

    async def _continue_work(self, turn: Turn, request: ModelRequest) -> ModelResponse:
        """Returns the primary's answer, or the helper's to a request that does not fit the primary's window."""
        try:
            return await self.primary.complete(request, turn.emit)
        except ContextTooLong as error:
            if request.wants.can_shorten:
                raise
            await turn.emit(stuck_event(hopeless("silence", str(error))))
            in_place = request_in_place(HelpCase(request), turn.helping.sees)
            if answer := await turn.ask(self.secondary, in_place, str(error)):
                return await turn.accept(answer)
            raise


def _steps_text(steps: Sequence[ToolStep]) -> str:
    return "\n\n".join(
        f"{excerpt(step.call, LONGEST_STEP)}\nreturned{' an error' if step.is_failure else ''}: "
        f"{excerpt(step.result, LONGEST_STEP)}"
        for step in steps
    )


create = Handover
