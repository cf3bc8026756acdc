"""Measures the memory of a very long discussion with a context budget."""

import asyncio
import gc
import tracemalloc
from pathlib import Path

from ai_battle import ConversationManager, Participant
from ai_battle.core.client import ModelClient
from ai_battle.core.events import Emit, Event, TurnFinished, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse, Usage
from ai_battle.core.messages import assistant

SAID = "There is more to weigh than that, so I would like to look at it from another side before we go on. " * 4


class Talker(ModelClient):
    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        return ModelResponse(assistant(f"{SAID} {id(request)}"), usage=Usage(1, 1, cost_usd=0.0), model="talker")


def memory_held(turns: int, at: tuple[int, ...]) -> dict[int, float]:
    """Returns the MiB of Python's memory after each of the turns `at`."""
    sizes: dict[int, float] = {}

    async def note_memory(event: Event) -> None:
        if isinstance(event, TurnFinished) and event.turn in at:
            gc.collect()
            sizes[event.turn] = tracemalloc.get_traced_memory()[0] / 2**20

    people = [Participant("Ann", Talker()), Participant("Bob", Talker())]
    manager = ConversationManager(
        people, goal="Talk.", turns=turns // 2, max_conversation_tokens=2_000, out=Path("memory")
    )
    tracemalloc.start()
    try:
        asyncio.run(manager.run_discussion(note_memory))
    finally:
        tracemalloc.stop()
    return sizes
