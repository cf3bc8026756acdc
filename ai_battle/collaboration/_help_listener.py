"""Tracks from the events of an answer whether it had help, and what that cost."""

from collections.abc import Awaitable

from ..core.events import Emit, Event, ModelReplied
from ..core.helping import AnswersCompared, BoostStep, HelpAsked, HelpFailed, StuckFound
from ..core.ledger import Ledger


class HelpListener:
    """Passes events on, and records whether a helper took part, why, and whether it changed the answer."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._had_help = False
        self._has_asked = False
        self.helper = Ledger()
        self.seconds = 0.0
        self.reason = ""
        self._is_kept = False

    def __call__(self, event: Event) -> Awaitable[None]:
        match event:
            case HelpAsked():
                self._had_help, self._has_asked = self.helped, event.is_help
            case StuckFound(reason=reason):
                self.reason = reason
            case AnswersCompared(is_replaced=is_replaced):
                self._is_kept = not is_replaced
            case HelpFailed() | BoostStep(outcome="other"):
                self._has_asked = False
            case ModelReplied(role="helper" | "boost"):
                self.helper.book(event)
                self.seconds += event.seconds
        return self._emit(event)

    @property
    def helped(self) -> bool:
        """True if a helper contributed; one that was asked counts until it fails."""
        return self._had_help or self._has_asked

    @property
    def has_changed(self) -> bool:
        """True if the answer is another one because of the help."""
        return self.helped and not self._is_kept
