"""Ladder: gives a hint, then a plan, then the helper's answer, then hands over for a while; calm turns undo it."""

from dataclasses import dataclass

from ..core.client import ModelClient
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.helping import LadderStood
from ..core.traits import CalledModel, StrategyTraits
from ._attempts import Advice, Attempts, HelpedModel, take_over
from ._checks import Judges
from ._prompts import HelpCase, request_in_place
from ._turn import Draft, Helping, Turn

TRAITS = StrategyTraits(
    models={"secondary": CalledModel("where {name} is stuck, one to three times", "unknown")}, in_order=True
)
HINT, PLAN, TAKEOVER, HANDOVER = range(4)
RUNGS = ("hint", "plan", "takeover", "hand over")
STEPS = (Advice("hint"), Advice("plan"), take_over)
UP_AFTER = 2
DOWN_AFTER = 3


@dataclass(slots=True)
class LadderState:
    """The rung on which help begins for one participant of a run; `ladder` numbers the participant's ladders.

    Two troubled turns in a row move it up, three calm ones down; a turn that was helped on its rung is neither.
    """

    rung: int = HINT
    troubled: int = 0
    calm: int = 0
    ladder: int = 0

    @property
    def event(self) -> LadderStood:
        return LadderStood(self.rung, self.troubled, self.calm, self.ladder)

    def go_on_from(self, stood: LadderStood) -> None:
        """Continues from an earlier process's position, ignoring unknown rungs."""
        if HINT <= stood.rung <= HANDOVER:
            self.rung, self.troubled, self.calm = stood.rung, stood.troubled, stood.calm

    def note_calm(self) -> None:
        """Counts a turn that needed no help. A handed-over turn counts too, since its need is unknown."""
        self.troubled, self.calm = 0, self.calm + 1
        if self.calm == DOWN_AFTER:
            self._move(max(HINT, self.rung - 1))

    def note_help(self, rung: int) -> None:
        """Counts a turn that was helped on this rung. A helper's answer is trouble even if it was the expected rung."""
        self.calm = 0
        self.troubled = self.troubled + 1 if rung > self.rung or rung == TAKEOVER else 0
        if self.troubled == UP_AFTER:
            self._move(self.rung + 1)

    def _move(self, rung: int) -> None:
        self.rung, self.troubled, self.calm = rung, 0, 0


class Ladder(HelpedModel):
    """A pair that gives more help the more often it was needed.

    `standing` is the position of a resumed run, by default the hint.
    """

    def __init__(
        self,
        primary: ModelClient,
        secondary: ModelClient,
        *,
        stuck_detector: Judges | None = None,
        helping: Helping | None = None,
        standing: LadderState | None = None,
    ) -> None:
        super().__init__("ladder", primary, secondary, STEPS, stuck_detector, helping)
        self.state = standing or LadderState()

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        before = self.state.event
        response = await self._answer(Turn("ladder", self.helping, emit), request)
        if (now := self.state.event) != before:
            await emit(now)
        return response

    async def _answer(self, turn: Turn, request: ModelRequest) -> ModelResponse:
        is_handed_over = self.state.rung == HANDOVER
        if is_handed_over and (answer := await self._hand_over(turn, request)):
            self.state.note_calm()
            return await turn.accept(answer)
        attempts = Attempts(self.primary, self.detector, turn, request)
        await attempts.try_alone()
        if attempts.stuck and not is_handed_over:
            await self._climb(attempts)
        else:
            self.state.note_calm()
        return await attempts.accept_best()

    async def _hand_over(self, turn: Turn, request: ModelRequest) -> Draft | None:
        """Returns the helper's answer to a request that the primary does not see."""
        turn.strategy = _rung_name(HANDOVER)
        in_place = request_in_place(HelpCase(request), turn.helping.sees)
        return await turn.ask(self.secondary, in_place, "the small model was stuck in the turns before")

    async def _climb(self, attempts: Attempts) -> None:
        """Helps from the current rung upwards until it is enough; if the helper fails, the best attempt is served."""
        for rung in range(TAKEOVER if attempts.is_too_long else self.state.rung, HANDOVER):
            attempts.turn.strategy = _rung_name(rung)
            if not await STEPS[rung](attempts, self.secondary):
                return
            if not attempts.stuck:
                self.state.note_help(rung)
                return


def _rung_name(rung: int) -> str:
    return f"ladder: {RUNGS[rung]}"


create = Ladder
