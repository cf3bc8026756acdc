"""The provider for a person at the terminal, who can be asked like a model, for example as an advisor."""

from collections.abc import Awaitable, Callable

from ..core.client import ModelClient
from ..core.errors import ProviderError
from ..core.events import Emit, TextDelta, ignore
from ..core.exchange import NOTHING_USED, ModelRequest, ModelResponse
from ..core.messages import assistant
from ..core.traits import ProviderTraits

TRAITS = ProviderTraits(human=True, local=True, free=True)
NAME = "person"
Read = Callable[[str], Awaitable[str | None]]
"""Shows a prompt and returns the typed line, or None if the input has ended."""


def create(model: str = "", read: Read | None = None) -> ModelClient:
    """Returns the client; `model` is the person's name, and `read` reads a line from the terminal."""
    return PersonAtTerminal(model or NAME, read)


class PersonAtTerminal(ModelClient):
    """Answers with the line that a person types. Raises `ProviderError` for an empty line."""

    def __init__(self, name: str, read: Read | None) -> None:
        self._name = name
        self._read = read

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        if self._read is None:
            raise ProviderError(f"{self._name} can't be asked here: a person answers in discussions alone.")
        line = await self._read(f"{self._name}> ")
        if line is None:
            raise ProviderError(f"{self._name} can't be asked: there is no terminal, or its input has ended.")
        if not line.strip():
            raise ProviderError(f"{self._name} had nothing to say.")
        await emit(TextDelta(line))
        return ModelResponse(assistant(line), usage=NOTHING_USED, model=self._name)
