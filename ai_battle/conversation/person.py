"""A person at the keyboard, who takes part like any model."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from ..core.client import ModelClient
from ..core.errors import ProviderError
from ..core.events import Emit, TextDelta, ignore
from ..core.exchange import NOTHING_USED, ModelRequest, ModelResponse
from ..core.messages import assistant

Reader: TypeAlias = Callable[[str], Awaitable[str | None]]


class PersonLeft(ProviderError):
    """The person closed the input; the others go on without."""


async def keyboard(prompt: str) -> str | None:
    """One line from standard input, read in a thread; None at its end."""
    print(prompt, end="", flush=True)
    line = await asyncio.to_thread(sys.stdin.readline)
    return line.rstrip("\n") if line else None


class Person(ModelClient):
    """Says what is typed. An empty line is an empty answer, which skips the turn; the end of the input leaves."""

    def __init__(self, name: str, read: Reader = keyboard) -> None:
        self._name = name
        self._read = read

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        line = await self._read(f"{self._name}> ")
        if line is None:
            raise PersonLeft(f"{self._name} has left the discussion.")
        if line.strip():
            await emit(TextDelta(line))
        return ModelResponse(assistant(line), usage=NOTHING_USED, model="person")
