"""Remembers the tool calls of turns that brought no answer: what they did stays done when the turn is taken again."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..core.events import Event, RunResumed, RunStarted, TurnFailed, TurnFinished, TurnStarted, Warned
from ..core.messages import ToolCall, ToolResult
from ..core.texts import one_line
from ..core.tooling import UNKNOWN_OUTCOME, EarlierCall, HeldCall, ToolCalled, ToolReturned
from .prompting import prompt

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
