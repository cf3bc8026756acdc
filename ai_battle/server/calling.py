"""Models whose clients bring tools of their own: called natively, or in words where that must be."""

from dataclasses import replace
from functools import cached_property

from ..assembly.models import Model
from ..core.client import ModelClient
from ..core.errors import ProviderError
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..providers._refusals import RefusalMemory
from ..tools.formats.auto import Auto, refuses_tools

TOOLS = "tools"


class Called(ModelClient):
    """`client` as it is, unless it has no tools: then it is told of them in the text, and its calls are read there.

    `native`: whether it has, None where nobody says. A refusal is remembered, so that it costs one call a day.
    """

    def __init__(self, client: ModelClient, native: bool | None, known_as: tuple[str, str]) -> None:
        self.client = client
        self._native = native
        self._known_as = known_as
        self._memory = RefusalMemory.load()

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        if not request.tools:
            return await self.client.complete(request, emit)
        if not self._has_tools:
            return await self._in_words.complete(request, emit)
        try:
            return await self.client.complete(request, emit)
        except ProviderError as error:
            if self._native or not (_speaks_of_tools(error) and refuses_tools(error)):
                raise
            if request.tool_choice == "auto" or "tool_choice" not in str(error):  # else it may only refuse the choice
                self._memory.remember(*self._known_as, TOOLS)
            return await self._in_words.complete(request, emit)

    async def aclose(self) -> None:
        await self.client.aclose()

    @property
    def _has_tools(self) -> bool:
        if self._native is not None:
            return self._native
        return TOOLS not in self._memory.refuses(*self._known_as)

    @cached_property
    def _in_words(self) -> ModelClient:
        return Auto(self.client, "text")


def _speaks_of_tools(error: ProviderError) -> bool:
    """Spares loading what reads refusals for every other error."""
    said = f"{error} {error.raw}".lower()
    return "tool" in said or "function" in said


def called(model: Model, native: bool | None) -> Model:
    return replace(model, client=Called(model.client, native, (model.upstream, model.name.model)))
