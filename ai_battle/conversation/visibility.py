"""Filters a run's events for a view that people who take part can see, so that it reveals no words they don't hear."""

from collections.abc import Mapping
from dataclasses import replace

from ..core.events import (
    Event,
    ModelReplied,
    RunResumed,
    RunStarted,
    SpeakerSelected,
    Summarised,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from ..core.messages import assistant
from ..providers.person import NAME as PERSON


class VisibilityFilter:
    """Decides what a view may show of each event. If only models take part, it shows everything.

    Of a turn that no person here hears, the view learns who speaks to whom and what it costs. After such a turn,
    selectors' answers are hidden too, because they may quote it.
    """

    def __init__(self) -> None:
        self._people: set[str] = set()
        self._is_hidden = self._was_hidden = False

    def filter_event(self, event: Event) -> Event | None:
        """Returns the event as it may be shown; None if nothing of it may be known."""
        match event:
            case RunStarted(participants=participants) | RunResumed(participants=participants):
                self._people = _people(participants)
            case TurnStarted(heard_by=heard_by, speaker=speaker):
                self._is_hidden = self._is_private(heard_by, speaker)
                self._was_hidden = self._was_hidden or self._is_hidden
            case SpeakerSelected() if self._was_hidden:
                event = replace(event, raw="")
            case Summarised(listeners=listeners) if self._is_private(listeners):
                event = replace(event, text="")
        shown = _outline(event) if self._is_hidden else event
        if isinstance(event, TurnFinished | TurnFailed):
            self._is_hidden = False
        return shown

    def _is_private(self, heard_by: tuple[str, ...] | None, *others: str) -> bool:
        return bool(self._people) and heard_by is not None and not self._people & {*heard_by, *others}


def _people(participants: Mapping[str, str]) -> set[str]:
    return {name for name, type_ in participants.items() if type_ == PERSON}


def _outline(event: Event) -> Event | None:
    """Returns what may be known of a hidden turn; None for events that would reveal its words."""
    match event:
        case TurnStarted() | ModelReplied():
            return event
        case TurnFinished(speaker=speaker):
            return replace(event, message=assistant("(you do not hear it)", speaker), steps=())
        case TurnFailed():
            return replace(event, error="", partial="")
    return None
