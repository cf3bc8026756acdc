"""The way in which a model is told of tools: by its API where that can be, else as JSON or in the text."""

import re
from collections.abc import Collection
from typing import Any, Literal, Protocol, TypeAlias

from pydantic_core import from_json

from ...core.client import ClientWrapper, ModelClient
from ...core.errors import ContextTooLong, ProviderError, RateLimited
from ...core.events import Emit, TextDelta, Warned, ignore
from ...core.exchange import ModelRequest, ModelResponse
from ...core.messages import assistant
from .forms import dialect
from .json_object import JsonTools
from .native import NativeTools
from .text import TextTools, without_tools

Calling: TypeAlias = Literal["auto", "native", "json", "text"]
TOOLS, BLOCKS = "tools", "tool_blocks"

_REFUSING_STATUSES = (400, 404, 405, 422, 500, 501)
_NO_TOOLS = re.compile(
    r"\b(?:does|do|is|are)(?: not|n['\u2019]?t) support(?:ed)?\b.{0,60}?\b(?:tools?\b|function.calling)"
    r"|\btools?\b(?! type).{0,30}\b(?:(?:is|are) )?(?:not supported|unsupported|not enabled|not available)"
    r"|no endpoints found that support (?:tool use|the provided '?tool)"
    r"|function calling is not (?:enabled|supported)"
    r"|unsupported (?:parameter|value|field)\S*\s+\S?(?:tools|functions)\b"
    r"|tool choice requires --enable-auto-tool-choice"
    r"|tools? param(?:eter)? requires --jinja"
    r"|unrecogni[sz]ed request argument supplied: (?:tools|functions)\b",
    re.IGNORECASE | re.DOTALL,
)
_NO_BLOCKS = re.compile(
    r"(?:tool_?config|tools\W{0,3}(?:param\S* )?).{0,60}must be (?:defined|provided|set|passed)"
    r"|must (?:define|provide|include) (?:the )?\W?tools"
    r"|tools\W{0,3}(?:param\S* )?(?:is|are) required",
    re.IGNORECASE | re.DOTALL,
)


class RefusalStore(Protocol):
    """What models have refused, by endpoint and model; it forgets after a while, and then they are asked again."""

    def refuses(self, endpoint: str, model: str) -> Collection[str]: ...

    def remember(self, endpoint: str, model: str, refused: str) -> None: ...


class Forgetful:
    """A memory of this process alone."""

    def __init__(self) -> None:
        self._refusals: dict[tuple[str, str], set[str]] = {}

    def refuses(self, endpoint: str, model: str) -> Collection[str]:
        return self._refusals.get((endpoint, model), set())

    def remember(self, endpoint: str, model: str, refused: str) -> None:
        self._refusals.setdefault((endpoint, model), set()).add(refused)


class Auto(ClientWrapper):
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
        memory: RefusalStore | None = None,
        known_as: tuple[str, str] = ("", ""),
        tool_format: str = "",
    ) -> None:
        super().__init__(client)
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
            return await self._complete_in_text(request, emit)
        try:
            return await self._native.complete(self._acceptable(request), emit)
        except ProviderError as error:
            return await self._complete_after(error, request, emit)

    @property
    def _is_native(self) -> bool:
        return self._has_native and TOOLS not in self._refusals

    @property
    def _name(self) -> str:
        return "/".join(filter(None, self._known_as)) or "The model"

    @property
    def _refusals(self) -> Collection[str]:
        return self._memory.refuses(*self._known_as)

    async def _complete_in_text(self, request: ModelRequest, emit: Emit) -> ModelResponse:
        """A schema that the answer has to fit leaves no room for calls in the text."""
        client = self._text if request.output_schema is None else self._json
        return await client.complete(request, emit)

    def _acceptable(self, request: ModelRequest) -> ModelRequest:
        return without_tools(request) if not request.tools and BLOCKS in self._refusals else request

    async def _complete_after(self, error: ProviderError, request: ModelRequest, emit: Emit) -> ModelResponse:
        """What can be done about an error that has to do with tools; any other is raised again."""
        if request.tools and (text := unread_generation(error)):
            await emit(TextDelta(text))
            return ModelResponse(assistant(text))
        if not request.tools and _has_blocks(request) and refuses_blocks(error):
            self._memory.remember(*self._known_as, BLOCKS)
            return await self._native.complete(without_tools(request), emit)
        if request.tools and self._calling == "auto" and refuses_tools(error):
            return await self._complete_without_native(error, request, emit)
        raise error

    async def _complete_without_native(self, error: ProviderError, request: ModelRequest, emit: Emit) -> ModelResponse:
        if request.tool_choice == "auto" or "tool_choice" not in str(error):
            self._memory.remember(*self._known_as, TOOLS)
        await emit(Warned(f"{self._name} refuses tools, so it is told of them in the text: {error}"))
        return await self._complete_in_text(request, emit)


def _has_blocks(request: ModelRequest) -> bool:
    return any(message.tool_calls or message.tool_results for message in request.messages)


def refuses_tools(error: ProviderError) -> bool:
    """Whether the model, or whoever serves it, has no tools at all; not that something is wrong with the given ones."""
    return _may_be_refusal(error) and _NO_TOOLS.search(f"{error}\n{error.raw}") is not None


def refuses_blocks(error: ProviderError) -> bool:
    """Whether calls and results of earlier turns are not taken in a request that offers no tools."""
    return _may_be_refusal(error) and _NO_BLOCKS.search(f"{error}\n{error.raw}") is not None


def unread_generation(error: ProviderError) -> str:
    """Returns the text of an answer that the provider could not read as a call, where it hands it over."""
    try:
        body: Any = from_json(error.raw)
    except ValueError:
        return ""
    inner = body.get("error") if isinstance(body, dict) else None
    text = inner.get("failed_generation") if isinstance(inner, dict) else None
    return text if isinstance(text, str) else ""


def _may_be_refusal(error: ProviderError) -> bool:
    return error.status in _REFUSING_STATUSES and not isinstance(error, ContextTooLong | RateLimited)
