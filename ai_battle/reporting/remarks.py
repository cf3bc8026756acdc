"""What a reader should know beside the turns: one sentence for an event that deserves one."""

import json
from functools import singledispatch

from ..conversation.outcome import file_name
from ..core.events import (
    AttemptFailed,
    BudgetReached,
    Concluded,
    RunFinished,
    RunResumed,
    SpeakerSelected,
    Summarised,
    TurnFailed,
    TurnFinished,
    Warned,
)
from ..core.exchange import Stop
from ..core.messages import Document, Image, ToolCall
from ..core.tooling import FabricationSuspected, ToolProposed
from ._figures import counted
from .decisions import proposed
from .helping import HELPING, told

_STOPS: dict[Stop, str] = {
    "length": "cut off at the length limit",
    "refusal": "refused to answer",
    "content_filter": "stopped by the provider's content filter",
}
_KINDS = {"wrap_up": "wrap-up", "observation": "observation"}


@singledispatch
def remark(event: object) -> str:
    """The sentence; empty where none is due."""
    return ""


@remark.register
def _(event: Warned) -> str:
    return event.message


@remark.register
def _(event: AttemptFailed) -> str:
    cut = f" after {counted(len(event.partial), 'character')}, which do not count" if event.partial else ""
    who = event.speaker or event.model
    return f"{who}: attempt {event.attempt} failed{cut}: {event.reason}"


@remark.register
def _(event: TurnFailed) -> str:
    then = "the turn was skipped" if event.policy == "skip" else "the run stopped"
    return f"Turn {event.turn}: {event.speaker} gave no answer ({then}): {event.error}"


@remark.register
def _(event: SpeakerSelected) -> str:
    return f"The selector named nobody, so {event.speaker} speaks next." if event.how == "fallback" else ""


@remark.register
def _(event: Summarised) -> str:
    if event.text:
        return f"From here on a summary stands for the turns up to {event.through}: {event.text}"
    return f"The turns up to {event.through} were left out from here on; they no longer fit."


@remark.register
def _(event: Concluded) -> str:
    return f"{event.speaker} gave the outcome: {file_name(event.text)}" if event.text else ""


@remark.register
def _(event: ToolProposed) -> str:
    said = json.dumps(dict(event.call.arguments), ensure_ascii=False, default=str)
    return f"{event.speaker} proposes {event.call.name} {said}; it was not run: {proposed(event)}"


@remark.register
def _(event: FabricationSuspected) -> str:
    return f"The next answer seems to tell of a result that no tool returned: {event.claim}"


@remark.register
def _(event: BudgetReached) -> str:
    return f"{event.limit}: {event.used:g} of {event.allowed:g} used"


@remark.register
def _(event: RunResumed) -> str:
    return f"The run was resumed at turn {event.turn}."


@remark.register
def _(event: RunFinished) -> str:
    return f"The run ended: {event.status}{f' ({event.stop_reason})' if event.stop_reason else ''}."


for _kind in HELPING:
    remark.register(_kind, told)


def badges(turn: TurnFinished) -> tuple[str, ...]:
    """What is out of the ordinary about a turn."""
    found = (
        _KINDS.get(turn.kind, ""),
        _STOPS.get(turn.stop, ""),
        f"{turn.attempts} attempts" if turn.attempts > 1 else "",
    )
    return tuple(badge for badge in found if badge)


def attachment(part: Image | Document) -> str:
    """A file in words, for views that can't show it."""
    size = f"{len(part.data):,} bytes" if part.data else part.url
    name = f"{part.name}, " if isinstance(part, Document) and part.name else ""
    return f"{name}{part.media_type}, {size}"


def arguments(call: ToolCall) -> str:
    return call.malformed or json.dumps(dict(call.arguments), ensure_ascii=False, indent=2, default=str)
