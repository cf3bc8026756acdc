"""What a reader of a stream hears in the pieces that have just come."""

from collections.abc import Callable
from typing import TypeVar

from ..core.errors import ProviderError
from ..core.events import Event

Pieces = TypeVar("Pieces")


def heard(read: Callable[[Pieces, list[Event]], None], pieces: Pieces) -> list[Event]:
    """The events that `read` adds; what came before a fault in the same pieces goes with its error (`heard`)."""
    events: list[Event] = []
    try:
        read(pieces, events)
    except ProviderError as error:
        error.heard = tuple(events)
        raise
    return events
