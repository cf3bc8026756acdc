"""Several helpers as one: the first answers, and where it fails the next one stands in."""

from collections.abc import Sequence

from ..core.client import ModelClient
from ..core.errors import ConfigError, ProviderError
from ..core.events import Emit, Warned, ignore
from ..core.exchange import ModelRequest, ModelResponse


class Pool(ModelClient):
    """`clients` in the order in which they are asked; the last one's failure is that of the pool."""

    def __init__(self, clients: Sequence[ModelClient]) -> None:
        if not clients:
            raise ConfigError("A pool of helpers needs at least one model.")
        self.clients = tuple(clients)

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        *earlier, last = self.clients
        for client in earlier:
            try:
                return await client.complete(request, emit)
            except ProviderError as error:
                await emit(Warned(f"A helper failed, and the next one is asked: {error}"))
        return await last.complete(request, emit)

    async def aclose(self) -> None:
        for client in self.clients:
            await client.aclose()
