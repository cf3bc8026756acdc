"""Lets the provider ask the advisor itself: the model gets the provider's own tool, and nothing is asked from here."""

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
    """Adds the provider's tool to the requests of `client`.

    The advisor's usage is part of the responses, and booked with them.
    """

    def __init__(self, client: ModelClient, tool: Mapping[str, Any]) -> None:
        super().__init__(client)
        self._tool = tool

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        extra = own(WIRE, request.extra)
        tools = [*extra.get("tools", ()), self._tool]
        with_tools = replace(request, extra={**request.extra, WIRE: {**extra, "tools": tools}})
        return await self.client.complete(with_tools, emit)


def native_entry(tool: Mapping[str, Any], max_uses: int, max_tokens: int, caching: str) -> Mapping[str, Any]:
    """Returns the tool's entry with its terms. Raises `ConfigError` if the provider has none."""
    if not tool:
        why = "native needs two models of one provider that asks advisors itself, as Anthropic does"
        raise ConfigError(f"{why}; leave it out, and ai-battle asks the advisors.", "native")
    cache = {"type": "ephemeral", "ttl": caching} if caching else None
    return {**tool, "max_uses": max_uses, "max_tokens": max(max_tokens, LEAST_TOKENS), **present({"caching": cache})}
