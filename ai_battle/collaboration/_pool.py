"""Several helpers as one: the first answers, and where it fails or declines the next one stands in."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from ..core.client import ModelClient
from ..core.errors import ConfigError, ProviderError
from ..core.events import AttemptFailed, Emit, Warned, ignore
from ..core.exchange import NOTHING_USED, ModelRequest, ModelResponse
from ..core.helping import DraftDropped
from ._helping import unusable


class Pool(ModelClient):
    """`clients` in the order in which they are asked; what comes of the last one is what comes of the pool.

    Of the `seconds` that all have together each but the last gets an equal share, so that the next is still in time.
    """

    def __init__(self, clients: Sequence[ModelClient], seconds: float | None = None) -> None:
        if not clients:
            raise ConfigError("A pool of helpers needs at least one model.")
        self.clients = tuple(clients)
        self._share = None if seconds is None else seconds / len(clients)

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        *earlier, last = self.clients
        usage = NOTHING_USED
        for client in earlier:
            try:
                async with asyncio.timeout(self._share):
                    response = await client.complete(request, emit)
                usage += response.usage
                if not (why := unusable(response)):
                    return replace(response, usage=usage)
                await emit(DraftDropped(why, response.usage))
            except TimeoutError:
                why = f"no answer within {self._share or 0:.4g} s"
                await emit(AttemptFailed("helper", 1, why, self._share or 0, timed_out=True))
            except ProviderError as error:
                why = str(error)
            await emit(Warned(f"A helper failed, and the next one is asked: {why}"))
        response = await last.complete(request, emit)
        return replace(response, usage=usage + response.usage)

    async def aclose(self) -> None:
        for client in self.clients:
            await client.aclose()
