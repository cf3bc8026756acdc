"""Keeps what each participant has in context: the messages it heard, and its tool calls that brought no answer."""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..core.events import Event, RunResumed, RunStarted, TurnFailed, TurnFinished, TurnStarted, Warned
from ..core.exchange import TOKENS_PER_MESSAGE, estimate_message, estimate_text
from ..core.messages import Message, Part, ToolCall, ToolResult, user
from ..core.texts import one_line
from ..core.tooling import UNKNOWN_OUTCOME, EarlierCall, HeldCall, ToolCalled, ToolReturned
from .prompting import Naming, View, prompt, refer, view_of


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
        self._now, self._before = Calls(dict), Calls(dict)

    def apply(self, event: Event) -> None:
        match event:
            case TurnStarted(speaker=speaker):
                self._speaker = speaker
            case HeldCall(speaker=speaker, call=call, result=result):
                self._note(speaker, call, result)
            case ToolCalled(call=call):
                self._note(self._speaker, call, None)
            case ToolReturned(result=result):
                self._note(self._speaker, result.call, result)
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
