"""Who has the floor: those who are present, and how the next of them is found."""

from collections.abc import Sequence

from ..core.events import Emit
from .participant import Participant
from .plan import Plan
from .selection import drawn, round_robin
from .state import State


class Floor:
    def __init__(self, plan: Plan, state: State, tell: Emit) -> None:
        self._plan = plan
        self._state = state
        self._tell = tell
        self._order = [p.name for p in plan.regulars]
        self._left: list[str] = []
        self._by_name = {p.name: p for p in plan.participants}

    @property
    def present(self) -> Sequence[Participant]:
        return [p for p in self._plan.regulars if p.name not in self._left]

    @property
    def round_to_go(self) -> Sequence[Participant]:
        """Those who have not yet answered in this round."""
        taken = self._state.taken % len(self._order)
        return [p for p in self._plan.regulars[taken:] if p.name not in self._left]

    @property
    def reason_to_end(self) -> str:
        return f"{self._left[-1]} left" if self._left and len(self.present) < 2 else ""

    @property
    def last_word(self) -> Participant:
        """Who wraps up: the moderator, or the next one who is no person."""
        models = [p.name for p in self.present if p.role != "user"] or [p.name for p in self.present]
        return self._plan.moderator or self._by_name[round_robin(models, self._order, self._state.last_regular)]

    def leave(self, name: str) -> None:
        self._left.append(name)

    async def next_speaker(self) -> Participant:
        names = [p.name for p in self.present]
        if self._plan.speaker_selection == "random":
            return self._by_name[drawn(names, self._state.last_regular, self._plan.seed, self._state.turn + 1)]
        return self._by_name[round_robin(names, self._order, self._state.last_regular)]
