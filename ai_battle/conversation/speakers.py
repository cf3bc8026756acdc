"""Who speaks next: those who are present, and how one of them is found."""

from collections.abc import Iterable, Sequence
from random import Random

from ..core.errors import AIBattleError
from ..core.events import SpeakerSelected
from ..core.exchange import ModelRequest
from ..core.messages import Message, user
from .name_matching import matching_name
from .participant import Participant, request_aside
from .plan import Plan
from .prompting import prompt
from .state import EventDispatcher

RAW = 500
"""Characters of a selector's answer that are recorded."""
HEARD, LONGEST = 8, 600
"""Messages that a selector is shown, and characters of each."""


class SpeakerScheduler:
    """Finds the next speaker among those who are present; `left` are the people who have gone."""

    def __init__(self, plan: Plan, emit: EventDispatcher, left: Sequence[str]) -> None:
        self._plan = plan
        self._state = emit.state
        self._emit = emit
        self._left = left
        self._order = [p.name for p in plan.regulars]
        self._by_name = {p.name: p for p in plan.participants}

    @property
    def present(self) -> Sequence[Participant]:
        return [p for p in self._plan.regulars if p.name not in self._left]

    @property
    def round_to_go(self) -> Sequence[Participant]:
        """Those who have not yet answered in this round."""
        phase = self._state.position.phase
        return [self._by_name[name] for name in self._staying(phase.speakers[self.taken_in_round :])]

    @property
    def taken_in_round(self) -> int:
        """The turns of a round that an earlier process began; those who are left begin a round together."""
        return 0 if self._left and not self._plan.phases else self._state.position.taken_in_round

    @property
    def reason_to_end(self) -> str:
        return f"{self._left[-1]} left" if self._left and len(self.present) < 2 else ""

    @property
    def wrap_up_speaker(self) -> Participant:
        """The moderator, or the next one who is no person."""
        models = [p.name for p in self.present if p.role != "user"] or [p.name for p in self.present]
        return self._plan.moderator or self._by_name[round_robin(models, self._order, self._state.last_regular)]

    @property
    def concluder(self) -> Participant:
        """Who makes something of it all: the moderator, or the last model that spoke."""
        last = self._by_name.get(self._state.last_regular)
        return self._plan.moderator or (last if last and last.role != "user" else self.wrap_up_speaker)

    async def next_speaker(self) -> Participant:
        state, plan = self._state, self._plan
        at = state.position
        order, last = at.phase.speakers, state.last_regular if at.taken else ""
        here = [name for name in order if name not in self._left] or order
        if state.selected in here:
            return self._by_name[state.selected]
        if plan.speaker_selection == "random":
            return self._by_name[random_name(here, state.last_regular, plan.seed, state.turn + 1)]
        if plan.speaker_selection == "round_robin" or not self._selector:
            return self._by_name[round_robin(self._staying(order), order, last)]
        await self._select(self._selector, _others(here, state.last_regular))
        return self._by_name[state.selected]

    def _staying(self, names: Sequence[str]) -> Sequence[str]:
        """Returns those who have not left.

        In phases who left keeps the turns, which fail at once, so that each phase lasts as long as it is to.
        """
        return names if self._plan.phases or not self._left else [name for name in names if name not in self._left]

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
        if len(names) == 1:
            await self._emit(SpeakerSelected(names[0], "chosen"))
            return
        fallback = round_robin(names, self._order, self._state.last_regular)
        request = choice_request(self._plan.prompt, self._state.recent_for(selector.name), names, selector)
        answer, usage = await request_aside(selector, request, self._emit, self._emit.wants)
        if isinstance(answer, AIBattleError):
            await self._emit(SpeakerSelected(fallback, "fallback", str(answer), usage))
            return
        speaker, how = matching_name(answer.text, names) or (fallback, "fallback")
        await self._emit(SpeakerSelected(speaker, how, answer.text[:RAW], usage))


def round_robin(names: Sequence[str], order: Sequence[str], last: str) -> str:
    """The first of `names` after `last` in speaking order."""
    start = order.index(last) + 1 if last in order else 0
    return next(name for name in (*order[start:], *order[:start]) if name in names)


def random_name(names: Sequence[str], last: str, seed: int, turn: int) -> str:
    """Anyone but the last speaker; the same seed draws the same speaker for the same turn, whatever happened before."""
    return Random(f"{seed}:{turn}").choice(_others(names, last))  # noqa: S311 - no secret depends on it


def _others(names: Sequence[str], last: str) -> Sequence[str]:
    """Returns `names` without the last speaker, who goes on where nobody else is there."""
    return [name for name in names if name != last] or names


def choice_request(
    opening: str, recent: Iterable[Message], names: Sequence[str], selector: Participant
) -> ModelRequest:
    """Asks for one of `names`, by schema where the model's API knows one; short, so that a model of 1B can follow."""
    shown = "\n\n".join(f"{message.speaker}: {_shorten(message.text)}" for message in [*recent][-HEARD:])
    question = prompt("choose", said=f"{_shorten(opening)}\n\n{shown}".strip(), names=", ".join(names))
    schema = {
        "type": "object",
        "properties": {"next": {"type": "string", "enum": list(names)}},
        "required": ["next"],
        "additionalProperties": False,
    }
    return ModelRequest(
        (user(question),), prompt("select"), tool_choice="none", output_schema=schema, options=selector.parameters
    )


def _shorten(text: str) -> str:
    """The beginning and the end: questions to somebody tend to stand last."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} [...] {text[-LONGEST // 2 :]}"
