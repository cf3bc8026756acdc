"""Folds the oldest turns into a summary before a request exceeds the context budget."""

import asyncio
from collections.abc import Iterable, Sequence

from ..core.errors import AIBattleError
from ..core.events import Summarised, TurnFinished, Warned
from ..core.exchange import NOTHING_USED, ModelRequest
from ..core.messages import user
from ..signals.consensus import decisions
from .context import tokens_of
from .participant import Participant, request_aside
from .plan import Plan
from .prompting import prompt
from .state import EventDispatcher

ANSWER_ROOM = 4096
"""How many tokens are left for an answer without `max_tokens`."""
LONGEST_SUMMARY, SHORTEST_SUMMARY = 2048, 128
SUMMARY_SHARE, KEPT_SHARE = 0.2, 0.5
"""Shares of the context: for a summary, and for what is left after folding, so that the next turns have room."""
CHARACTERS_PER_TOKEN = 3
"""A low estimate."""


class ContextMemory:
    """Summarises old turns. Participants who heard the same share one summary, written only from what they heard."""

    def __init__(self, plan: Plan, emit: EventDispatcher) -> None:
        self._plan = plan
        self._state = emit.state
        self._emit = emit
        self._folding = asyncio.Lock()
        self._warned: set[str] = set()

    async def make_room(self, participant: Participant, notes: Sequence[str] = ()) -> None:
        """Folds turns while the next request, with `notes` at its end, would exceed the window or the budget."""
        budget = None if participant.role == "user" else self._budget(participant)
        while budget and self._state.tokens_needed(participant.name, notes) > budget:
            if not await self._fold(participant, int(budget * KEPT_SHARE), budget):
                await self._warn_if_too_long(participant, notes)
                return

    async def shorten(self, participant: Participant) -> bool:
        """Folds old turns after a model rejected a request as too long. Returns False if there was nothing to fold."""
        needed = self._state.tokens_needed(participant.name)
        return await self._fold(participant, needed // 2, needed)

    def can_shorten(self, participant: Participant) -> bool:
        """Returns whether there are old turns to fold; the last one always stays."""
        return len(self._state.contexts[participant.name].turns) > 1

    async def _warn_if_too_long(self, participant: Participant, notes: Sequence[str]) -> None:
        """Warns once: servers such as Ollama drop what does not fit without a word."""
        needed = self._state.tokens_needed(participant.name, notes)
        limits = (self._plan.max_conversation_tokens, participant.window, participant.parameters.get("num_ctx"))
        limit = min(filter(None, limits))
        if needed > limit and participant.name not in self._warned:
            self._warned.add(participant.name)
            need = (
                f"A request of {participant.name} needs about {needed:,} tokens even without old turns, and {limit:,}"
            )
            why = "fit into its context or max_conversation_tokens, so the model may not read all of it"
            await self._emit(Warned(f"{need} {why}. Shorten the prompt, its files or the facts, or allow more."))

    def _budget(self, participant: Participant) -> int | None:
        allowed = [self._plan.max_conversation_tokens] if self._plan.max_conversation_tokens else []
        windows = (participant.window, participant.parameters.get("num_ctx"))
        if window := min(filter(None, windows), default=0):
            room = participant.parameters.get("max_tokens") or ANSWER_ROOM
            allowed.append(max(window - room, window // 2))  # a large max_tokens must not take all of a small window
        return min(allowed, default=None)

    async def _fold(self, participant: Participant, target: int, budget: int) -> bool:
        async with self._folding:  # in a parallel round several may exceed their budget at once; one fold serves all
            old = self._turns_to_drop(int(target / self._state.scale.get(participant.name, 1.0)), participant)
            if not old:
                return False
            await self._emit(await self._summarise(participant, old, budget))
            return True

    def _turns_to_drop(self, target: int, participant: Participant) -> Sequence[TurnFinished]:
        """Returns the turns to drop so that both prompts and the rest fit into `target`; the last turn always stays."""
        turns = [*self._state.contexts[participant.name].turns]
        room = target - self._state.fixed_tokens(participant.name)
        kept = 0
        for turn in reversed(turns):
            room -= tokens_of(turn)
            if room < 0 and kept:
                break
            kept += 1
        return turns[: len(turns) - kept]

    async def _summarise(self, participant: Participant, old: Sequence[TurnFinished], budget: int) -> Summarised:
        """Summarises with the participant's own model, and appends marked decisions that the summary omits."""
        through, listeners = old[-1].turn, self._listeners(participant, old[-1].turn)
        if self._plan.mode == "no-meta":
            await self._emit(Warned(f"The turns up to {through} no longer fit the context and were dropped."))
            return Summarised(through, "", NOTHING_USED, listeners=listeners)
        room = max(min(int(budget * SUMMARY_SHARE), LONGEST_SUMMARY), SHORTEST_SUMMARY)
        request = self._request(participant, old, room)
        answer, usage = await request_aside(participant, request, self._emit, self._emit.wants)
        if isinstance(answer, AIBattleError):
            await self._emit(Warned(f"The turns up to {through} could not be summed up and were dropped: {answer}"))
            return Summarised(through, "", usage, listeners=listeners)
        texts = [self._state.contexts[participant.name].summary, *(turn.message.text for turn in old)]
        notes = with_decisions(answer.text.strip(), texts, room * CHARACTERS_PER_TOKEN)
        return Summarised(through, notes, usage, answer.model, listeners)

    def _listeners(self, participant: Participant, through: int) -> tuple[str, ...] | None:
        """Returns the participants who heard the same up to that turn; None if all did."""
        contexts = self._state.contexts
        own = contexts[participant.name]
        turns = own.turns_through(through)
        same = tuple(
            name
            for name, other in contexts.items()
            if other is own or (other.summary == own.summary and other.turns_through(through) == turns)
        )
        return None if len(same) == len(contexts) else same

    def _request(self, participant: Participant, old: Sequence[TurnFinished], room: int) -> ModelRequest:
        summary = self._state.contexts[participant.name].summary
        notes = [f"Notes so far:\n{summary}"] if summary else []
        text = "\n\n".join((*notes, *(f"{turn.speaker}: {turn.message.text}" for turn in old)))
        most = min(room, participant.parameters.get("max_tokens") or room)
        message = user(prompt("notes", said=text))
        options = {**participant.parameters, "max_tokens": most}
        return ModelRequest((message,), prompt("summariser"), tool_choice="none", options=options)


def with_decisions(notes: str, texts: Iterable[str], longest: int) -> str:
    """Appends the marked decisions that the notes lack, verbatim; if room runs out, the oldest are dropped."""
    notes = notes[:longest]
    missing = [decision for decision in decisions(texts) if decision not in notes]
    while missing and sum(map(len, missing)) > longest:
        del missing[0]
    if not missing:
        return notes
    listed = "\n".join(f"- {decision}" for decision in missing)
    return f"{notes}\n\n{prompt('decisions', decisions=listed)}"
