"""A person at the terminal, who is asked as any model is: as an advisor, say."""

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
"""Shows a prompt and returns the line that is typed; None where there is none, nor will be."""


def create(model: str = "", read: Read | None = None) -> ModelClient:
    """Returns the client; `model` is the person's name, and `read` is how a terminal reads lines."""
    return PersonAtTerminal(model or NAME, read)


class PersonAtTerminal(ModelClient):
    """Says what is typed in one line; an empty line is no answer."""

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
