"""Several models at once: none is left running, and only one of them is heard speaking."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from ..core.client import ModelClient
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.relays import quiet

T = TypeVar("T")


async def together(*work: Coroutine[Any, Any, T]) -> list[T]:
    """The results in order. When one fails or the caller is cancelled, the others are cancelled and waited for."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Quiet(ModelClient):
    """A model of which all is heard but its words: those of two that stream at once can't be told apart."""

    def __init__(self, client: ModelClient) -> None:
        self.client = client

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        return await self.client.complete(request, quiet(emit))

    async def aclose(self) -> None:
        await self.client.aclose()
