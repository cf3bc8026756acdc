"""Keeps what each participant has in context, and makes it fit the model: messages, pictures, calls without an answer.

Before a request exceeds the context, the oldest turns become a summary; pictures are described to who can't see them.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from ..core.errors import AIBattleError
from ..core.events import Emit, Event, RunResumed, RunStarted, Summarised, TurnFailed, TurnFinished, TurnStarted, Warned
from ..core.exchange import NOTHING_USED, TOKENS_PER_MESSAGE, ModelRequest, Wants, estimate_message, estimate_text
from ..core.helping import FileDescribed, HelpAsked
from ..core.messages import Message, Part, Text, ToolCall, ToolResult, file_of, user
from ..core.texts import one_line
from ..core.tooling import UNKNOWN_OUTCOME, EarlierCall, HeldCall, ToolCalled, ToolReturned
from ..signals.consensus import decisions
from .participant import Participant, request_aside
from .plan import Plan
from .prompting import Naming, View, file_key, pictures_of, prompt, refer, view_of

if TYPE_CHECKING:
    from .state import EventDispatcher


class ListenerContext:
    """The messages that one participant has heard. Its owner reports the prompt, the turns and the summaries.

    `turns` are those since the last summary; `tokens` estimates everything but the system prompt. `descriptions` are
    given only if the participant's model can't see pictures; the owner adds to them.
    """

    def __init__(self, name: str, naming: Naming, descriptions: Mapping[str, str] | None = None) -> None:
        self.prompt: Message | None = None
        self.summary = ""
        self.turns: deque[TurnFinished] = deque()
        self.tokens = 0
        self.view = View(name, naming, descriptions)
        self._name = name
        self._naming: Naming = naming
        self._descriptions = descriptions

    def open(self, message: Message) -> None:
        self.prompt = message
        self._begin_with(message)

    def append(self, turn: TurnFinished) -> None:
        if turn.is_heard_by(self._name):
            self.turns.append(turn)
            self.tokens += tokens_of(turn)
            if turn.speaker == self._name and self.prompt:
                # The view replaced large files with references when the participant answered; the estimate follows it.
                before, self.prompt = self.prompt, refer(self.prompt)
                self.tokens += estimate_message(self.prompt) - estimate_message(before)
            for message in (*turn.steps, turn.message):
                self.view.append(message)

    def fold(self, through: int, text: str) -> None:
        """Replaces the turns up to `through` with a summary. An empty `text` keeps the earlier summary."""
        self.summary = text or self.summary
        kept = [turn for turn in self.turns if turn.turn > through]
        self.turns.clear()
        self.tokens = 0
        self.view = View(self._name, self._naming, self._descriptions)  # a view can't remove messages, so rebuild it
        for message in self._opening():
            self._begin_with(message)
        for turn in kept:
            self.append(turn)

    def messages_before(self, number: int) -> tuple[Message, ...]:
        """Returns what would have been sent before the turn with this number, even if later turns are known."""
        earlier = (m for turn in self.turns if turn.turn < number for m in (*turn.steps, turn.message))
        return view_of(self._name, (*self._opening(), *earlier), self._naming, self._descriptions)

    def turns_through(self, number: int) -> list[int]:
        return [turn.turn for turn in self.turns if turn.turn <= number]

    def has_heard(self, parts: Sequence[Part]) -> bool:
        """Checks whether the parts came with the prompt, or with a turn since the last summary."""
        turns = (message for turn in self.turns for message in (*turn.steps, turn.message))
        messages = (*([self.prompt] if self.prompt else []), *turns)
        return any(all(part in message.parts for part in parts) for message in messages)

    def _opening(self) -> Iterator[Message]:
        if self.prompt:
            yield self.prompt
        if self.summary:
            yield user(prompt("summary", summary=self.summary))

    def _begin_with(self, message: Message) -> None:
        self.tokens += estimate_message(message)
        self.view.append(message)


def tokens_of(turn: TurnFinished) -> int:
    """Returns what a turn adds to later requests: its steps and its text. Thinking is not sent again."""
    steps = sum(map(estimate_message, turn.steps))
    return steps + TOKENS_PER_MESSAGE + estimate_text(turn.message.text)


LONGEST_ARGUMENTS, LONGEST_RESULT = 500, 2_000
Calls = defaultdict[str, dict[ToolCall, EarlierCall]]


class UnfinishedCalls:
    """Tracks the calls of each participant since its last answer, in this process and in earlier ones."""

    def __init__(self) -> None:
        self._speaker = ""
        self._newest: ToolCall | None = None
        self._now, self._before = Calls(dict), Calls(dict)

    def apply(self, event: Event) -> None:
        match event:
            case TurnStarted(speaker=speaker):
                self._speaker, self._newest = speaker, None
            case HeldCall(speaker=speaker, call=call, result=result):
                self._note(speaker, call, result)
            case ToolCalled(call=call):
                self._newest = call
                self._note(self._speaker, call, None)
            case ToolReturned(result=result):
                self._newest = None
                self._note(self._speaker, result.call, result)
            case HelpAsked(is_help=True):
                self._forget_question()
            case _:
                self._end(event)

    def _note(self, speaker: str, call: ToolCall, result: ToolResult | None) -> None:
        calls = self._now[speaker]
        known = calls.get(call)
        if result is None:
            # One that was held is there already, perhaps with its result. One that failed is made again, by another
            # draft perhaps, as the drafts of a turn number their calls alike.
            calls[call] = known if known and not (known.result and known.result.is_error) else EarlierCall(call)
        elif known and UNKNOWN_OUTCOME not in result.text:  # a refused call was never run
            calls[call] = EarlierCall(call, result)

    def _forget_question(self) -> None:
        """Forgets a call that asks an advisor: no tool runs for it, so it changes nothing if it is cut off.

        Help is asked right behind such a call. One that was given up has returned, though its outcome is unknown.
        """
        if self._newest:
            self._now[self._speaker].pop(self._newest, None)
            self._newest = None

    def _end(self, event: Event) -> None:
        match event:
            case RunStarted():  # a fork takes its turns anew
                self._now.clear()
                self._before.clear()
            case RunResumed():
                for name in [*self._now]:
                    self._before[name] |= self._now.pop(name)
            case TurnFinished(speaker=speaker):
                self._now.pop(speaker, None)
                self._before.pop(speaker, None)
            case TurnFailed(speaker=speaker, policy="skip"):
                calls = self._now.pop(speaker, {}).values()
                self._before[speaker] |= {each.call: replace(each, is_fresh=False) for each in calls}

    def calls_before(self, name: str) -> tuple[EarlierCall, ...]:
        """Returns the calls that the participant's next turn must know of."""
        return tuple(self._before.get(name, {}).values())

    def warnings(self) -> Iterator[Warned]:
        """Yields a warning for each participant with calls whose outcome is unknown."""
        for name in {**self._before, **self._now}:
            calls = (*self.calls_before(name), *self._now.get(name, {}).values())
            if unknown := [call_line(each.call) for each in calls if each.result is None]:
                yield Warned(
                    f"The run was interrupted during {', '.join(unknown)}: whether that took effect is unknown. "
                    f"{name} is told; a call that may write is not run again."
                )


def earlier_calls_note(calls: Sequence[EarlierCall]) -> str:
    """Returns what a model is told of the calls that were made for its answer before; empty if there were none."""
    return prompt("earlier_calls", calls="\n".join(map(_call_with_outcome, calls))) if calls else ""


def _call_with_outcome(each: EarlierCall) -> str:
    if each.result is None:
        return f"- {call_line(each.call)} was cut off while it ran: its outcome is unknown."
    kind = "failed" if each.result.is_error else "returned"
    return f"- {call_line(each.call)} {kind}: {one_line(each.result.text, LONGEST_RESULT)}"


def call_line(call: ToolCall) -> str:
    return f"{call.name} {one_line(call.arguments_text, LONGEST_ARGUMENTS)}"


ANSWER_ROOM = 4096
"""How many tokens are left for an answer without `max_tokens`."""
LONGEST_SUMMARY, SHORTEST_SUMMARY = 2048, 128
SUMMARY_SHARE, KEPT_SHARE = 0.2, 0.5
"""Shares of the context: for a summary, and for what is left after folding, so that the next turns have room."""
CHARACTERS_PER_TOKEN = 3
"""A low estimate."""


class ContextMemory:
    """Summarises old turns. Participants who heard the same share one summary, written only from what they heard."""

    def __init__(self, plan: Plan, emit: "EventDispatcher") -> None:
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


LONGEST_DESCRIPTION = 1024
"""The limit for the description of a picture, in tokens."""


async def describe_pictures(plan: Plan, describer: Participant, reader: Participant, emit: "EventDispatcher") -> None:
    """Describes each file of the newest message that the reader can't see, once for all who need it."""
    for parts in chain.from_iterable(map(pictures_of, emit.state.contexts[reader.name].view.messages[-1:])):
        if _may_describe(plan, describer, parts, emit):
            await emit(await describe_file(plan, reader, parts, emit, emit.wants))
            continue
        name = file_of(parts[0])["name"]
        await emit(Warned(f"{name} is not described to {reader.name}: {describer.name} must not see it"))
        await emit(FileDescribed(name, "", NOTHING_USED, digest=file_key(parts[0])))


def _may_describe(plan: Plan, describer: Participant, parts: Sequence[Part], emit: "EventDispatcher") -> bool:
    """Checks that the describer sees nothing private: a participant may be shown only what it has heard."""
    context = emit.state.contexts.get(describer.name)
    if not context or not plan.has_private_words:
        return True
    return all(part in plan.inputs for part in parts) or context.has_heard(parts)


async def describe_file(
    plan: Plan, reader: Participant, parts: Sequence[Part], emit: Emit, wants: Wants
) -> FileDescribed:
    """Asks the plan's describer what a file shows. If it fails, `emit` is warned whose description is missing."""
    assert plan.describer
    name, key = file_of(parts[0])["name"], file_key(parts[0])
    asking = replace(plan.describer, name=plan.describer.name or reader.name)
    message = Message("user", (*parts, Text(prompt("description", name=name, goal=plan.prompt))))
    options = {**asking.parameters, "max_tokens": LONGEST_DESCRIPTION}
    request = ModelRequest((message,), tool_choice="none", options=options)
    answer, usage = await request_aside(asking, request, emit, wants)
    if isinstance(answer, AIBattleError):
        await emit(Warned(f"{name} could not be described to {reader.name}: {answer}"))
        return FileDescribed(name, "", usage, digest=key)
    return FileDescribed(name, answer.text.strip(), usage, answer.model, key)
