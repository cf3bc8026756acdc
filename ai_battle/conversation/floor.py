"""Who has the floor: those who are present, and how the next of them is found."""

from collections.abc import Sequence

from ..core.errors import AIBattleError, JournalError
from ..core.events import Emit, SpeakerSelected
from ..core.relays import quiet
from .participant import Participant
from .plan import Plan
from .recognising import recognised
from .selection import choice_request, drawn, round_robin
from .state import State
from .turn import Ear, answered

RAW = 500


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
        return [p for p in self._plan.regulars[self.taken_in_round :] if p.name not in self._left]

    @property
    def taken_in_round(self) -> int:
        """The turns of a round that an earlier process began; those who are left begin a round together."""
        return 0 if self._left else self._state.taken % len(self._order)

    @property
    def reason_to_end(self) -> str:
        return f"{self._left[-1]} left" if self._left and len(self.present) < 2 else ""

    @property
    def last_word(self) -> Participant:
        """Who wraps up: the moderator, or the next one who is no person."""
        models = [p.name for p in self.present if p.role != "user"] or [p.name for p in self.present]
        return self._plan.moderator or self._by_name[round_robin(models, self._order, self._state.last_regular)]

    @property
    def concluder(self) -> Participant:
        """Who makes something of it all: the moderator, or the last model that spoke."""
        last = self._by_name.get(self._state.last_regular)
        return self._plan.moderator or (last if last and last.role != "user" else self.last_word)

    def leave(self, name: str) -> None:
        self._left.append(name)

    async def next_speaker(self) -> Participant:
        state, plan = self._state, self._plan
        names = [p.name for p in self.present]
        if plan.speaker_selection == "random":
            return self._by_name[drawn(names, state.last_regular, plan.seed, state.turn + 1)]
        if plan.speaker_selection == "round_robin" or not self._selector:
            return self._by_name[round_robin(names, self._order, state.last_regular)]
        if state.selected not in names:
            await self._select(self._selector, [name for name in names if name != state.last_regular] or names)
        return self._by_name[state.selected]

    @property
    def _selector(self) -> Participant | None:
        """Whose model is asked: the moderator's, or that of the last speaker if no person; None at the start."""
        if self._plan.speaker_selection == "moderator" and self._plan.moderator:
            return self._plan.moderator
        if not self._state.last_regular:
            return None
        last = self._by_name[self._state.last_regular]
        return last if last.role != "user" else next((p for p in self.present if p.role != "user"), None)

    async def _select(self, selector: Participant, names: Sequence[str]) -> None:
        """Asks for one of `names`, and falls back to the next in order when the answer means none of them."""
        ear = Ear(selector.name, quiet(self._tell))
        fallback = round_robin(names, self._order, self._state.last_regular)
        if len(names) == 1:
            await self._tell(SpeakerSelected(names[0], "chosen"))
            return
        try:
            response = await answered(
                selector, choice_request(self._plan.prompt, self._state.recent, names, selector), ear
            )
        except JournalError:
            raise
        except AIBattleError as error:
            await self._tell(SpeakerSelected(fallback, "fallback", str(error), ear.usage))
            return
        speaker, how = recognised(response.text, names) or (fallback, "fallback")
        await self._tell(SpeakerSelected(speaker, how, response.text[:RAW], ear.usage))
