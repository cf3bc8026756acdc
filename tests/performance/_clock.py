"""A model whose words are the current time, so that a reader knows how late a word arrives: `create("50")`."""

import asyncio
import time

from ai_battle.core.client import ModelClient
from ai_battle.core.events import Emit, TextDelta, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse, Usage
from ai_battle.core.messages import assistant

WORDS = 100


class Clock(ModelClient):
    def __init__(self, rate: float) -> None:
        self._pause = 1 / rate

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        words = []
        for _ in range(WORDS):
            await asyncio.sleep(self._pause)
            words.append(f"{time.time() * 1e3:.0f} ")
            await emit(TextDelta(words[-1]))
        return ModelResponse(assistant("".join(words)), usage=Usage(1, WORDS, cost_usd=0.0), model="clock")


def create(model: str) -> ModelClient:
    """Creates a clock. `model` is the number of words a second."""
    return Clock(float(model))
