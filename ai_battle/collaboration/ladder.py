"""Ladder: a hint, then a plan, then the helper answers, then it is handed over for a while; and the way back."""

from dataclasses import dataclass

from ..core.client import ModelClient
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse, ToolSpec
from ..core.helping import LadderStood
from ._drafts import Draft
from ._examining import Judges
from ._helping import Helping, Turn
from ._paired import Pair
from ._seeing import Case
from ._trying import Trying
from .rescue import try_advised
from .takeover import answer_in_place, in_its_place

MEASURED = ""
HINT, PLAN, TAKEOVER, HANDOVER = range(4)
RUNGS = ("hint", "plan", "takeover", "hand over")
TROUBLES_UP = 2
CALM_DOWN = 3


@dataclass(slots=True)
class Standing:
    """On which rung help begins for one participant of one run; `ladder` tells it from others of the participant.

    Two troubled turns in a row lead up a rung, three calm ones down; a turn that was helped on its rung is neither.
    """

    rung: int = HINT
    troubled: int = 0
    calm: int = 0
    ladder: int = 0

    @property
    def told(self) -> LadderStood:
        return LadderStood(self.rung, self.troubled, self.calm, self.ladder)

    def go_on_from(self, stood: LadderStood) -> None:
        """Takes up where an earlier process was; a rung that there is none of is passed over."""
        if HINT <= stood.rung <= HANDOVER:
            self.rung, self.troubled, self.calm = stood.rung, stood.troubled, stood.calm

    def was_calm(self) -> None:
        """The turn needed no help, or nobody knows: it was handed over."""
        self.troubled, self.calm = 0, self.calm + 1
        if self.calm == CALM_DOWN:
            self._move(max(HINT, self.rung - 1))

    def needed(self, rung: int) -> None:
        """This much help was needed. That the helper answers is trouble, also where it is what was expected."""
        self.calm = 0
        self.troubled = self.troubled + 1 if rung > self.rung or rung == TAKEOVER else 0
        if self.troubled == TROUBLES_UP:
            self._move(self.rung + 1)

    def _move(self, rung: int) -> None:
        self.rung, self.troubled, self.calm = rung, 0, 0


class Ladder(ModelClient):
    """`pair`, with more help the more often it was needed; `standing` is what it remembers between turns."""

    def __init__(self, pair: Pair, standing: Standing) -> None:
        self.pair = pair
        self.standing = standing

    @property
    def offered(self) -> tuple[ToolSpec, ...]:
        return self.pair.primary.offered

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        before = self.standing.told
        response = await self._answer(Turn("ladder", self.pair.helping, emit), request)
        if (now := self.standing.told) != before:
            await emit(now)
        return response

    async def _answer(self, turn: Turn, request: ModelRequest) -> ModelResponse:
        handed_over = self.standing.rung == HANDOVER
        if handed_over and (answer := await self._hand_over(turn, request)):
            self.standing.was_calm()
            return await turn.accept(answer)
        own = Trying(self.pair.primary, self.pair.detector, turn, request)
        await own.alone()
        if own.stuck and not handed_over:
            return await self._climb(own)
        self.standing.was_calm()
        return await own.accept()

    async def aclose(self) -> None:
        await self.pair.aclose()

    async def _hand_over(self, turn: Turn, request: ModelRequest) -> Draft | None:
        """The helper's answer to a request that its primary does not even see."""
        turn.strategy = _named(HANDOVER)
        asked = in_its_place(Case(request), turn.helping.sees)
        return await turn.ask(self.pair.secondary, asked, "the small model was stuck in the turns before")

    async def _climb(self, own: Trying) -> ModelResponse:
        """Help, from the rung that it begins on, until it is enough; without a helper the best attempt stands."""
        for rung in range(self.standing.rung, TAKEOVER):
            own.turn.strategy = _named(rung)
            if not await try_advised(own, self.pair.secondary, RUNGS[rung]):
                return await own.accept()
            if not own.stuck:
                self.standing.needed(rung)
                return await own.accept()
        own.turn.strategy = _named(TAKEOVER)
        answer = await answer_in_place(own, self.pair.secondary)
        if not answer:
            return await own.accept()
        self.standing.needed(TAKEOVER)
        return await own.turn.accept(answer)


def create(
    primary: ModelClient,
    secondary: ModelClient,
    *,
    stuck_detector: Judges | None = None,
    helping: Helping | None = None,
    standing: Standing | None = None,
) -> ModelClient:
    """`standing` is where a run that is resumed stood; without it, help begins with a hint."""
    return Ladder(Pair.of(primary, secondary, stuck_detector, helping), standing or Standing())


def _named(rung: int) -> str:
    return f"ladder: {RUNGS[rung]}"
