"""A client whose requests name the tools that a client inside it has: strategies tell other models of them."""

from dataclasses import replace

from ..core.client import ModelClient
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse
from .registry import ToolRegistry


class Offering(ModelClient):
    """`client`, with the tools of `registry` in each request, as they are at that moment."""

    def __init__(self, client: ModelClient, registry: ToolRegistry) -> None:
        self.client = client
        self.registry = registry

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        if request.tool_choice == "none" or request.tools:
            return await self.client.complete(request, emit)
        return await self.client.complete(replace(request, tools=self.registry.specs), emit)

    async def aclose(self) -> None:
        await self.client.aclose()
