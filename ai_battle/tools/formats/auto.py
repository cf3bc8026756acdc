"""The way in which a model is told of tools: by its API where that can be, else as JSON or in the text."""

from collections.abc import Collection
from typing import Literal, Protocol, TypeAlias

from ...core.client import ModelClient
from ...core.errors import ProviderError
from ...core.events import Emit, TextDelta, Warned, ignore
from ...core.exchange import ModelRequest, ModelResponse
from ...core.messages import assistant
from ._refusals import failed_generation, refuses_blocks, refuses_tools
from .dialects import dialect
from .json_object import JsonTools
from .native import NativeTools
from .text import TextTools, without_tools

Calling: TypeAlias = Literal["auto", "native", "json", "text"]
TOOLS, BLOCKS = "tools", "tool_blocks"


class Memory(Protocol):
    """What models have refused, by endpoint and model; it forgets after a while, and then they are asked again."""

    def refuses(self, endpoint: str, model: str) -> Collection[str]: ...

    def remember(self, endpoint: str, model: str, refused: str) -> None: ...


class Forgetful:
    """A memory of this process alone."""

    def __init__(self) -> None:
        self._refused: dict[tuple[str, str], set[str]] = {}

    def refuses(self, endpoint: str, model: str) -> Collection[str]:
        return self._refused.get((endpoint, model), set())

    def remember(self, endpoint: str, model: str, refused: str) -> None:
        self._refused.setdefault((endpoint, model), set()).add(refused)


class Auto(ModelClient):
    """`client` with whatever way of calling it takes. `native`: whether its API has tools, None where nobody knows.

    What it refuses is remembered in `memory` under `known_as`, its endpoint and model. `tool_format` is the form of
    calls in text.
    """

    def __init__(
        self,
        client: ModelClient,
        calling: Calling = "auto",
        *,
        native: bool | None = None,
        memory: Memory | None = None,
        known_as: tuple[str, str] = ("", ""),
        tool_format: str = "",
    ) -> None:
        self.client = client
        self._calling = calling
        self._memory = memory or Forgetful()
        self._known_as = known_as
        self._has_native = native is not False
        self._native, self._json = NativeTools(client), JsonTools(client)
        self._text = TextTools(client, dialect(tool_format))

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        if self._calling == "json":
            return await self._json.complete(request, emit)
        if self._calling == "text" or (self._calling == "auto" and not self._is_native):
            return await self._in_words(request, emit)
        try:
            return await self._native.complete(self._acceptable(request), emit)
        except ProviderError as error:
            return await self._after(error, request, emit)

    async def aclose(self) -> None:
        await self.client.aclose()

    @property
    def _is_native(self) -> bool:
        return self._has_native and TOOLS not in self._refused

    @property
    def _name(self) -> str:
        return "/".join(filter(None, self._known_as)) or "The model"

    @property
    def _refused(self) -> Collection[str]:
        return self._memory.refuses(*self._known_as)

    async def _in_words(self, request: ModelRequest, emit: Emit) -> ModelResponse:
        """A schema that the answer has to fit leaves no room for calls in the text."""
        client = self._text if request.output_schema is None else self._json
        return await client.complete(request, emit)

    def _acceptable(self, request: ModelRequest) -> ModelRequest:
        return without_tools(request) if not request.tools and BLOCKS in self._refused else request

    async def _after(self, error: ProviderError, request: ModelRequest, emit: Emit) -> ModelResponse:
        """What can be done about an error that has to do with tools; any other is raised again."""
        if request.tools and (said := failed_generation(error)):
            await emit(TextDelta(said))
            return ModelResponse(assistant(said))
        if not request.tools and _has_blocks(request) and refuses_blocks(error):
            self._memory.remember(*self._known_as, BLOCKS)
            return await self._native.complete(without_tools(request), emit)
        if request.tools and self._calling == "auto" and refuses_tools(error):
            if request.tool_choice == "auto" or "tool_choice" not in str(error):
                self._memory.remember(*self._known_as, TOOLS)
            await emit(Warned(f"{self._name} refuses tools, so it is told of them in the text: {error}"))
            return await self._in_words(request, emit)
        raise error


def _has_blocks(request: ModelRequest) -> bool:
    return any(message.tool_calls or message.tool_results for message in request.messages)
