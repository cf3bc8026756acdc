"""What was decided on the calls of each turn, for the line of the call in transcript and report."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from ..core.events import Event, TurnFailed, TurnFinished
from ..core.messages import ToolCall
from ..core.tooling import ToolDecided, ToolProposed

Decisions = Mapping[str, str]
"""Ids of calls, and what was decided on them, in words."""
NOTHING_DECIDED: Decisions = MappingProxyType({})


def with_decisions(records: Iterable[tuple[Any, Event]]) -> Iterator[tuple[Event, Decisions]]:
    """The events of a journal, each with the decisions since the last turn ended."""
    found: dict[str, str] = {}
    for _, event in records:
        if isinstance(event, ToolDecided):
            found[event.call.id] = decided(event)
        yield event, found
        if isinstance(event, TurnFinished | TurnFailed):
            found = {}


def calls(call: ToolCall, decisions: Decisions) -> str:
    """What a call is named in a view."""
    words = decisions.get(call.id, "")
    return f"calls {call.name}{f' ({words})' if words else ''}"


def proposed(event: ToolProposed) -> str:
    """Why a call that stands in an answer was not run."""
    if event.kind == "unsure":
        return "it writes, and nothing shows that it is meant"
    return f"it stands beside {'an' if event.kind[0] in 'eo' else 'a'} {event.kind}"


def decided(event: ToolDecided) -> str:
    """By whom a call was allowed or denied, and why; nothing where the configuration allows it."""
    match event.by:
        case "policy":
            return "" if event.decision == "allowed" else "denied by the configuration"
        case "no terminal":
            return "denied, because nobody could be asked"
    return f"{event.decision} by a person{f': {event.reason}' if event.reason else ''}"
