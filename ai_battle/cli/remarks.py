"""Remarks between the turns, one line per event."""

import json
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
from ..core.messages import ToolCall
from ..core.texts import one_line
from ..core.tooling import (
    FabricationSuspected,
    LoopStopped,
    ToolCalled,
    ToolDecided,
    ToolProposed,
    ToolReturned,
)
from ..reporting.sentences import (
    HELP_SENTENCES,
    attempt_words,
    decision_words,
    phase_title,
    phase_words,
    proposal_reason,
    result_words,
    sentence,
)

MAX_LENGTH = 100
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
        known = REMARKS.get(type(event))
        line = f"{known(event) if known else ''} {self._words_on_call(event)}".rstrip()
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


def _attempt_failed(event: AttemptFailed) -> str:
    """Names the model once, as most reasons begin with it."""
    named = "" if event.reason.startswith(event.model) else f"{event.model}: "
    return f"✗ {named}{attempt_words(event)}"


def _turn_failed(event: TurnFailed) -> str:
    then = "the turn is skipped" if event.policy == "skip" else "the run stops"
    return f"✗ {event.speaker} gave no answer ({then}){f': {event.error}' if event.error else ''}"


def _speaker_selected(event: SpeakerSelected) -> str:
    if event.how != "fallback":
        return ""
    return f"! {event.speaker} speaks next, because the selector named none who could: {event.raw}"


def _tool_decided(event: ToolDecided) -> str:
    if event.decision == "allowed":
        return ""
    way_out = f" (--approve {event.call.name}=allow lets it run)" if event.by == "no terminal" else ""
    return f"✗ {_call_line(event.call)} {decision_words(event)}{way_out}"


def _tool_returned(event: ToolReturned) -> str:
    if event.result.is_error:
        return f"✗ {event.result.call.name} {result_words(event.result)} ({event.seconds:.1f} s)"
    return f"← {one_line(event.result.text, MAX_LENGTH)} ({event.seconds:.1f} s)"


def _description_line(event: FileDescribed) -> str:
    who = f"described by {event.model} to those who can't see it" if event.text else "nobody could describe it"
    return f"≡ {event.file}: {who}"


def _call_line(call: ToolCall) -> str:
    arguments = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items())
    return one_line(f"{call.name}({arguments})", MAX_LENGTH)


REMARKS: Mapping[type, Callable[[Any], str]] = {
    Warned: lambda event: f"! {event.message}",
    AttemptFailed: _attempt_failed,
    Retrying: lambda event: f"↻ waiting {event.delay:.1f} s for {event.model}",
    TurnFailed: _turn_failed,
    PhaseStarted: lambda event: f"== {phase_title(event)} == {phase_words(event)}",
    HintGiven: lambda event: f"◇ {sentence(event)}",
    SpeakerSelected: _speaker_selected,
    Summarised: lambda event: (
        f"≡ turns up to {event.through}: {'now a summary' if event.text else 'dropped, no summary could be made'}"
    ),
    BudgetReached: lambda event: f"! {sentence(event)}",
    RunForked: lambda event: f"→ {sentence(event)}",
    RunResumed: lambda event: f"→ resumed at turn {event.turn}",
    ToolCalled: lambda event: f"→ {_call_line(event.call)}",
    ToolProposed: lambda event: f"? {_call_line(event.call)} is proposed and was not run: {proposal_reason(event)}",
    ToolDecided: _tool_decided,
    ToolReturned: _tool_returned,
    LoopStopped: lambda event: f"! no more tools for this answer: {event.reason}",
    FabricationSuspected: lambda event: f"! a result that no tool returned: {one_line(event.claim, MAX_LENGTH)}",
    **dict.fromkeys(HELP_SENTENCES, lambda event: f"◇ {sentence(event)}"),
    FileDescribed: _description_line,
    HelpSummed: lambda event: "",  # shown in the summary when the run is over
}
"""The line for each kind of event; empty for none."""
