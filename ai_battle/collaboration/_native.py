"""An advisor that the provider asks itself: the model gets the provider's own tool, and nobody here hears of it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..core.client import ClientWrapper, ModelClient
from ..core.errors import ConfigError
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..wire.advice import LEAST_TOKENS
from ..wire.anthropic.blocks import WIRE
from ..wire.bodies import own, present


class NativelyAdvised(ClientWrapper):
    """`client` with the tool of its API; what the advisor used stands in the answers, and is booked with them."""

    def __init__(self, client: ModelClient, tool: Mapping[str, Any]) -> None:
        super().__init__(client)
        self._tool = tool

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        extra = own(WIRE, request.extra)
        tools = [*extra.get("tools", ()), self._tool]
        with_tools = replace(request, extra={**request.extra, WIRE: {**extra, "tools": tools}})
        return await self.client.complete(with_tools, emit)


def native_entry(tool: Mapping[str, Any], max_uses: int, max_tokens: int, caching: str) -> Mapping[str, Any]:
    """Returns the entry of the tool with its terms; raises `ConfigError` where the provider has none."""
    if not tool:
        why = "native needs two models of one provider that asks advisors itself, as Anthropic does"
        raise ConfigError(f"{why}; leave it out, and they are asked from here.", "native")
    cache = {"type": "ephemeral", "ttl": caching} if caching else None
    return {**tool, "max_uses": max_uses, "max_tokens": max(max_tokens, LEAST_TOKENS), **present({"caching": cache})}
