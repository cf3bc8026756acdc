"""Between a model and whoever listens: each event is passed on, but for some."""

from dataclasses import replace

from .events import DELTAS, Emit, Event, ModelReplied
from .helping import DraftDropped, Role


def quiet(emit: Emit) -> Emit:
    """Passes every event on but the words: the caller asks for itself, or several models speak at once."""

    async def wordless(event: Event) -> None:
        if not isinstance(event, DELTAS):
            await emit(event)

    return wordless


def as_role(emit: Emit, role: Role) -> Emit:
    """Passes every event on; what the models on the way cost is put down to `role` where it is nobody else's."""
    if role == "own":
        return emit

    async def relabelled(event: Event) -> None:
        if isinstance(event, ModelReplied | DraftDropped) and event.role == "own":
            event = replace(event, role=role)
        await emit(event)

    return relabelled
