"""A model that is asked beside others: under its own parameters, and under a name of its own in the journal."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..core.client import ModelClient
from ..core.events import Emit, Event, ScriptAdvanced, ignore
from ..core.exchange import ModelRequest, ModelResponse


@dataclass(frozen=True, slots=True)
class Voice(ModelClient):
    """`client`, asked with `options` where the request leaves them open; of two lengths the shorter holds.

    `name` tells its place in a script from that of the participant in whose turn it speaks.
    """

    client: ModelClient
    name: str
    options: Mapping[str, Any]

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        async def named(event: Event) -> None:
            if isinstance(event, ScriptAdvanced) and not event.speaker:
                event = replace(event, speaker=self.name)
            await emit(event)

        options = {**self.options, **request.options}
        if most := self.options.get("max_tokens"):
            options["max_tokens"] = min(most, options["max_tokens"])
        return await self.client.complete(replace(request, options=options), named)

    async def aclose(self) -> None:
        await self.client.aclose()
