"""Models that help each other, in words: one sentence for an event, one for the run, and a table of who cost what."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import singledispatch
from typing import Any

from ..core.events import Event
from ..core.helping import AnswerChecked, BoostStep, DraftDropped, HelpAsked, HelpFailed, HelpSummed, StuckFound
from ..core.texts import about
from ._figures import count, counted, dollars, duration

HELPING = (AnswerChecked, StuckFound, HelpAsked, HelpFailed, DraftDropped, BoostStep, HelpSummed)
HEADS = ("participant", "role", "calls", "time", "tokens in", "tokens out", "cost")
_STEPS = {
    "summary": "answers itself",
    "guidance": "gives guidance",
    "other": "says nothing that can be used, and is asked again",
    "fallback": "does not help; the model goes on alone",
}
_OTHERS = {"boost": "boost model"}


@singledispatch
def told(event: object) -> str:
    """The sentence; empty for what is no event of helping."""
    return ""


@told.register
def _(event: StuckFound) -> str:
    judged = f"quality {event.quality:.2f}, gain {event.gain:.2f}"
    return f"{event.speaker} is stuck: {event.reason.rstrip('.')} ({judged})"


@told.register
def _(event: AnswerChecked) -> str:
    measured = ", ".join(f"{name} {value:.2g}" for name, value in event.signals.items())
    return f"The answer of {event.speaker} is checked by {event.by}: {event.reason.rstrip('.') or measured}"


@told.register
def _(event: HelpAsked) -> str:
    shown = f", shown the {event.sees}" if event.sees else ""
    if event.role == "peer":
        return f"A peer answers beside {event.speaker}{shown}"
    return f"{event.speaker} gets help by {event.strategy}{shown}{f': {event.reason}' if event.reason else ''}"


@told.register
def _(event: HelpFailed) -> str:
    return f"No help for {event.speaker} by {event.strategy}: {event.reason}"


@told.register
def _(event: DraftDropped) -> str:
    """Why is told by what was told before: that it is stuck, or that help came."""
    saved = f"; about {counted(event.saved_tokens, 'token')} saved" if event.saved_tokens else ""
    what = "A draft of" if event.role == "own" else f"The {_OTHERS.get(event.role, event.role)}'s answer for"
    return f"{what} {event.speaker} is dropped{saved}"


@told.register
def _(event: BoostStep) -> str:
    return f"Boost loop {event.loop + 1} for {event.speaker}: the boost model {_STEPS[event.outcome]}"


@told.register
def _(event: HelpSummed) -> str:
    helped = f"Helped {count(event.helped)} of {counted(event.turns, 'turn')}, {dollars(event.cost_usd)}"
    if event.all_large_usd is None:
        return f"{helped}; what the large model alone would have cost is unknown."
    return f"{helped}; all turns on the large model would have cost about {dollars(event.all_large_usd)}."


def without_repeats(records: Iterable[tuple[Any, Event]]) -> Iterator[tuple[Any, Event]]:
    """Why help is asked for is left out where it was just told why the answer is stuck."""
    reason = ""
    for record, event in records:
        if isinstance(event, StuckFound):
            reason = event.reason
        elif isinstance(event, HelpAsked) and event.reason == reason:
            event = replace(event, reason="")
        yield record, event


def table(event: HelpSummed) -> Iterator[tuple[str, ...]]:
    """The rows under `HEADS`."""
    for row in event.rows:
        yield _cells(row)


def document(event: HelpSummed) -> Mapping[str, Any]:
    """The same for programs."""
    return {
        "turns": event.turns,
        "helped": event.helped,
        "cost_usd": event.cost_usd,
        "all_large_usd": event.all_large_usd,
        "saved_tokens": event.saved_tokens,
        "ledger": [dict(row) for row in event.rows],
    }


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    time = duration(row["seconds"]) if row["seconds"] else ""
    mark = about(estimated="estimated" in row)
    tokens = (mark + count(row["input_tokens"]), mark + count(row["output_tokens"]))
    return (row["participant"], row["role"], count(row["calls"]), time, *tokens, dollars(row["cost_usd"]))
