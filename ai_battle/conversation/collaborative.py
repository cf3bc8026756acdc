"""The manager of discussions whose models help each other."""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from .. import assembly
from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.plugins import near
from .casting import Casting
from .manager import ConversationManager
from .pairing import Pairing


class CollaborativeConversationManager(ConversationManager):
    """A `ConversationManager` to which pairs can be added; those of a file are there without that."""

    _elsewhere: dict[str, Pairing]

    def _set_up(self, casting: Casting, out: str | os.PathLike[str] | None) -> None:
        super()._set_up(casting, out)
        self._elsewhere = {}

    def setup_collaboration(
        self, primary_model: str, secondary_model: str, threshold: float = 0.7, max_retries: int = 3
    ) -> None:
        """From now on `primary_model` asks `secondary_model` when it is stuck.

        Both are participants' names or model types. Raises `ValueError` that names what is missing or wrong.
        """
        try:
            pair = Pairing(primary_model, secondary_model, threshold, max_retries)
            clients = [self._client_of(named) for named in (primary_model, secondary_model)]
            pair.made(*clients)
            casting = self._casting.with_pair(pair)
        except ConfigError as error:
            raise ValueError(f"{primary_model} can't be helped by {secondary_model}: {error}") from error
        if casting is self._casting:
            self._elsewhere[assembly.spelling(primary_model)] = pair
        self._casting = casting

    async def run_conversation_turn_collaborative(
        self,
        prompt: str,
        model_type: str,
        mode: str,
        role: str,
        file_data: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        system_instruction: str | None = None,
    ) -> str:
        """`run_conversation_turn` by a participant or a model type, with the help that was set up for it.

        Raises `ConfigError` for a model that nobody knows, and `ProviderError`.
        """
        async with self._client(model_type) as client:
            return await self.run_conversation_turn(
                prompt, model_type, client, mode, role, file_data, system_instruction
            )

    def _client_of(self, named: str) -> ModelClient:
        """Raises `ConfigError`, with the participants whose names are near where it is no model either."""
        try:
            return self._casting.client(named)[0]
        except ConfigError as error:
            if "/" in assembly.spelling(named):
                raise
            raise ConfigError(
                f"No participant is called {named!r}{near(named, self._casting.names)} {error}"
            ) from error

    @asynccontextmanager
    async def _client(self, named: str) -> AsyncIterator[ModelClient]:
        async with AsyncExitStack() as stack:
            client = self._borrowed(named, stack)
            if pair := self._elsewhere.get(assembly.spelling(named)):
                client = pair.made(client, self._borrowed(pair.secondary, stack))
            yield client

    def _borrowed(self, named: str, stack: AsyncExitStack) -> ModelClient:
        client, ours = self._casting.client(named)
        if ours:
            stack.push_async_callback(client.aclose)
        return client
