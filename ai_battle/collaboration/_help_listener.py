"""Tracks from the events of an answer whether it had help, and what that cost."""

from collections.abc import Awaitable

from ..core.events import Emit, Event, ModelReplied
from ..core.helping import AnswersCompared, HelpArrival, StuckFound
from ..core.ledger import Ledger


class HelpListener:
    """Passes events on, and records whether a helper took part, why, and whether it changed the answer."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._help = HelpArrival()
        self.helper = Ledger()
        self.seconds = 0.0
        self.reason = ""
        self._is_kept = False

    def __call__(self, event: Event) -> Awaitable[None]:
        self._help.apply(event)
        match event:
            case StuckFound(reason=reason):
                self.reason = reason
            case AnswersCompared(is_replaced=is_replaced):
                self._is_kept = not is_replaced
            case ModelReplied(role="helper" | "boost"):
                self.helper.book(event)
                self.seconds += event.seconds
        return self._emit(event)

    @property
    def helped(self) -> bool:
        return self._help.has_come

    @property
    def has_changed(self) -> bool:
        """True if the answer is another one because of the help."""
        return self.helped and not self._is_kept
