"""What a reader should know between the turns, one line an event."""

import json
from collections.abc import Container
from dataclasses import replace
from functools import singledispatch
from typing import Any

from ai_battle.core.events import (
    AttemptFailed,
    BudgetReached,
    Retrying,
    RunResumed,
    SpeakerSelected,
    Summarised,
    TurnFailed,
    Warned,
)
from ai_battle.core.helping import HelpAsked, HelpSummed, StuckFound
from ai_battle.core.messages import ToolCall
from ai_battle.core.tooling import (
    FabricationSuspected,
    LoopStopped,
    ToolCalled,
    ToolDecided,
    ToolProposed,
    ToolReturned,
)
from ai_battle.reporting.sentences import HELP_SENTENCES, attempt_words, decision_words, proposal_reason, sentence

from .output import one_line

FOLDED = 100
NOTICES = frozenset({"timeout", "retry", "error"})


def is_wanted(event: object, notify_on: Container[str]) -> bool:
    """Whether `timeouts.notify_on` asks for it; all but attempts and waits is told in any case."""
    match event:
        case AttemptFailed(timed_out=timed_out):
            return ("timeout" if timed_out else "error") in notify_on
        case Retrying():
            return "retry" in notify_on
    return True


class Remarks:
    """The lines of one run: that of a call also says who allowed it, and no reason is told twice in a row."""

    def __init__(self) -> None:
        self._allowed: dict[str, str] = {}
        self._reason = ""

    def line(self, event: object) -> str:
        match event:
            case AttemptFailed(reason=reason) | StuckFound(reason=reason):
                self._reason = reason
            case HelpAsked(reason=reason) if reason == self._reason:
                event = replace(event, reason="")
            case TurnFailed(error=error) if self._reason and error.startswith(self._reason):
                event = replace(event, error=error.removeprefix(self._reason).strip(" ()"))
            case ToolDecided(call=call, decision="allowed"):
                self._allowed[call.id] = decision_words(event)
        words = self._allowed.pop(event.call.id, "") if isinstance(event, ToolCalled) else ""
        return f"{remark(event)} {words}".rstrip()


@singledispatch
def remark(event: object) -> str:
    """The line for this event; empty when it is not worth one."""
    return ""


@remark.register
def _(event: Warned) -> str:
    return f"! {event.message}"


@remark.register
def _(event: AttemptFailed) -> str:
    return f"✗ {event.model}: {attempt_words(event)}"


@remark.register
def _(event: Retrying) -> str:
    return f"↻ waiting {event.delay:.1f} s for {event.model}"


@remark.register
def _(event: TurnFailed) -> str:
    then = "the turn is skipped" if event.policy == "skip" else "the run stops"
    return f"✗ {event.speaker} gave no answer ({then}){f': {event.error}' if event.error else ''}"


@remark.register
def _(event: SpeakerSelected) -> str:
    if event.how != "fallback":
        return ""
    return f"! {event.speaker} speaks next, because the selector named nobody: {event.raw}"


@remark.register
def _(event: Summarised) -> str:
    return f"≡ turns up to {event.through}: {'now a summary' if event.text else 'dropped, no summary could be made'}"


@remark.register
def _(event: BudgetReached) -> str:
    return f"! {event.limit}: {event.used:g} of {event.allowed:g} used"


@remark.register
def _(event: RunResumed) -> str:
    return f"→ resumed at turn {event.turn}"


@remark.register
def _(event: ToolCalled) -> str:
    return f"→ {_call_line(event.call)}"


@remark.register
def _(event: ToolProposed) -> str:
    return f"? {_call_line(event.call)} is proposed and was not run: {proposal_reason(event)}"


@remark.register
def _(event: ToolDecided) -> str:
    if event.decision == "allowed":
        return ""
    way_out = f" (--approve {event.call.name}=allow lets it run)" if event.by == "no terminal" else ""
    return f"✗ {_call_line(event.call)} {decision_words(event)}{way_out}"


def _call_line(call: ToolCall) -> str:
    said = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items())
    return one_line(f"{call.name}({said})", FOLDED)


@remark.register
def _(event: ToolReturned) -> str:
    mark = "✗" if event.result.is_error else "←"
    return f"{mark} {one_line(event.result.text, FOLDED)} ({event.seconds:.1f} s)"


@remark.register
def _(event: LoopStopped) -> str:
    return f"! no more tools for this answer: {event.reason}"


@remark.register
def _(event: FabricationSuspected) -> str:
    return f"! a result that no tool returned: {one_line(event.claim, FOLDED)}"


def _helping(event: Any) -> str:
    """What helping came to is told once, when the run is over."""
    return "" if isinstance(event, HelpSummed) else f"◇ {sentence(event)}"


for _kind in HELP_SENTENCES:
    remark.register(_kind, _helping)
