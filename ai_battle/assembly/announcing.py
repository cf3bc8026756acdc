"""Counts as help what a strategy of a user's own asks of the model that helps."""

from pathlib import Path

from ..core.client import ModelClient
from ..core.events import Emit, as_role, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.helping import HelpAsked


class AnnouncedHelper(ModelClient):
    """Tells of each call that help was asked for, and puts what it cost down to the helper."""

    def __init__(self, client: ModelClient, strategy: str) -> None:
        self._client = client
        self._strategy = Path(strategy).stem if strategy.endswith(".py") else strategy

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        await emit(HelpAsked(self._strategy, "the strategy asked for it", "history"))
        return await self._client.complete(request, as_role(emit, "helper"))

    async def aclose(self) -> None:
        await self._client.aclose()
