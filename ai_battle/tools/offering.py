"""A client whose requests name the tools that a client inside it has: strategies tell other models of them."""

from dataclasses import replace

from ..core.client import ModelClient
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse, ToolSpec


class Offering(ModelClient):
    """`client`, with what `inner` offers in each request, as it is at that moment."""

    def __init__(self, client: ModelClient, inner: ModelClient) -> None:
        self.client = client
        self.inner = inner

    @property
    def offered(self) -> tuple[ToolSpec, ...]:
        return self.inner.offered

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        if request.tool_choice == "none" or request.tools:
            return await self.client.complete(request, emit)
        return await self.client.complete(replace(request, tools=self.offered), emit)

    async def aclose(self) -> None:
        await self.client.aclose()
