"""Remarks between the turns, one line per event."""

from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from textwrap import indent
from typing import Any

from ..core.events import (
    AttemptFailed,
    BudgetReached,
    PhaseStarted,
    Retrying,
    RunForked,
    RunResumed,
    SpeakerSelected,
    Summarised,
    TurnFailed,
    Warned,
)
from ..core.helping import (
    AnswerChecked,
    DraftDropped,
    FileDescribed,
    HelpAsked,
    HelpSummed,
    HintGiven,
    ModelConsulted,
    StuckFound,
)
from ..core.texts import one_line
from ..core.tooling import (
    FabricationSuspected,
    LoopStopped,
    ToolCalled,
    ToolDecided,
    ToolProposed,
    ToolReturned,
)
from ..reporting.sentences import HELP_SENTENCES, call_words, decision_words, result_words, sentence

MAX_LENGTH, MAX_TEXT = 100, 200
NOTICES = frozenset({"timeout", "retry", "error"})


def is_wanted(event: object, notify_on: Container[str]) -> bool:
    """Checks whether to show an event. `timeouts.notify_on` decides on failed attempts and waits; others are shown."""
    match event:
        case AttemptFailed(timed_out=timed_out):
            return ("timeout" if timed_out else "error") in notify_on
        case Retrying():
            return "retry" in notify_on
    return True


class Remarks:
    """The remark lines of one run. A call's line also says who allowed it, and no reason is repeated right away.

    Helpers' texts are cut to their beginning, or shown in `full` on lines of their own.
    """

    def __init__(self, *, full: bool = False) -> None:
        self._full = full
        self._allowed: dict[str, str] = {}
        self._last_called = ""
        self._reason = ""

    def line(self, event: object) -> str:
        event = self._without_known_reason(event)
        words = OWN.get(type(event), sentence)(event) if type(event) in MARKS else ""
        mark = "✗" if isinstance(event, ToolReturned) and event.result.is_error else MARKS.get(type(event))
        line = f"{f'{mark} {words}' if words else ''} {self._words_on_call(event)}".rstrip()
        text = text_said(event)
        if text and self._full:
            return f"{line}\n{indent(text, '  | ', lambda _: True)}"
        return f"{line}: {one_line(text, MAX_LENGTH)}" if text else line

    def _words_on_call(self, event: object) -> str:
        """Returns who allowed a call, and which tool returned a result that is not below its call."""
        match event:
            case ToolCalled(call=call):
                self._last_called = call.id
                return self._allowed.pop(call.id, "")
            case ToolReturned(result=result) if result.call.id != self._last_called and not result.is_error:
                return f"from {result.call.name}"
        return ""

    def _without_known_reason(self, event: object) -> object:
        """Removes a reason that was shown just before. Keeps an approval for the line of its call."""
        match event:
            case AttemptFailed(reason=reason) | StuckFound(reason=reason):
                self._reason = reason
            case HelpAsked(reason=reason) if reason == self._reason:
                return replace(event, reason="")
            case TurnFailed(error=error) if self._reason and error.startswith(self._reason):
                return replace(event, error=error.removeprefix(self._reason).strip(" ()"))
            case ToolDecided(call=call, decision="allowed"):
                self._allowed[call.id] = decision_words(event)
        return event


def text_said(event: object) -> str:
    """Returns text from helpers or dropped drafts that is not part of the conversation, each only once."""
    match event:
        case ModelConsulted(text=text) | AnswerChecked(text=text) | DraftDropped(role="own", text=text):
            return text
    return ""


def _tool_decided(event: ToolDecided) -> str:
    if event.decision == "allowed":
        return ""
    way_out = f" (--approve {event.call.name}=allow lets it run)" if event.by == "no terminal" else ""
    return f"{call_words(event.call)} {decision_words(event)}{way_out}"


OWN: Mapping[type, Callable[[Any], str]] = {
    Retrying: lambda event: f"waiting {event.delay:.1f} s for {event.model}",
    Summarised: lambda event: one_line(sentence(event), MAX_TEXT),
    FileDescribed: lambda event: one_line(sentence(event), MAX_TEXT),
    ToolCalled: lambda event: call_words(event.call),
    ToolDecided: _tool_decided,
    ToolReturned: lambda event: (
        f"{f'{event.result.call.name} ' * event.result.is_error}{result_words(event.result)} ({event.seconds:.1f} s)"
    ),
    LoopStopped: lambda event: f"no more tools for this answer: {event.reason}",
    HelpSummed: lambda event: "",  # shown in the summary when the run is over
}
"""Words of events that reports have no sentence for, or a longer one."""
MARKS: Mapping[type, str] = {
    **dict.fromkeys((Warned, SpeakerSelected, BudgetReached, LoopStopped, FabricationSuspected), "!"),
    **dict.fromkeys((AttemptFailed, TurnFailed, ToolDecided), "✗"),
    **dict.fromkeys((RunForked, RunResumed, ToolCalled), "→"),
    **dict.fromkeys((HintGiven, *HELP_SENTENCES), "◇"),
    **dict.fromkeys((Summarised, FileDescribed), "≡"),
    Retrying: "↻",
    PhaseStarted: "==",
    ToolProposed: "?",
    ToolReturned: "←",
}
"""The mark before the words of an event; events without one are not shown."""
