"""What a reader of a stream hears in the pieces that have just come."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

from ..core.errors import ProviderError
from ..core.events import Event

Piece = TypeVar("Piece")


def heard(read: Callable[[Iterable[Piece], list[Event]], None], pieces: Iterable[Piece]) -> list[Event]:
    """The events that `read` adds; what came before a fault in the same pieces goes with its error (`heard`).

    The pieces behind it are read as well, as the usage may stand in them.
    """
    events: list[Event] = []
    rest = iter(pieces)
    try:
        read(rest, events)
    except ProviderError as error:
        error.heard = tuple(events)
        for piece in rest:
            with suppress(ProviderError):
                read((piece,), [])
        raise
    return events
