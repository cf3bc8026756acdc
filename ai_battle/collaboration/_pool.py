"""Several helpers as one: the first answers, and where it fails the next one stands in."""

import asyncio
from collections.abc import Sequence

from ..core.client import ModelClient
from ..core.errors import ConfigError, ProviderError
from ..core.events import AttemptFailed, Emit, Warned, ignore
from ..core.exchange import ModelRequest, ModelResponse


class Pool(ModelClient):
    """`clients` in the order in which they are asked; the last one's failure is that of the pool.

    Of the `seconds` that all have together each but the last gets an equal share, so that the next is still in time.
    """

    def __init__(self, clients: Sequence[ModelClient], seconds: float | None = None) -> None:
        if not clients:
            raise ConfigError("A pool of helpers needs at least one model.")
        self.clients = tuple(clients)
        self._share = None if seconds is None else seconds / len(clients)

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        *earlier, last = self.clients
        for client in earlier:
            try:
                async with asyncio.timeout(self._share):
                    return await client.complete(request, emit)
            except TimeoutError:
                why = f"no answer within {self._share or 0:.4g} s"
                await emit(AttemptFailed("helper", 1, why, self._share or 0, timed_out=True))
            except ProviderError as error:
                why = str(error)
            await emit(Warned(f"A helper failed, and the next one is asked: {why}"))
        return await last.complete(request, emit)

    async def aclose(self) -> None:
        for client in self.clients:
            await client.aclose()
