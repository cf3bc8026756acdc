"""Chooses how a model calls tools: by its API if possible, else as JSON or in the text."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any, Literal, Protocol, TypeAlias

from pydantic_core import from_json

from ...core.client import ClientWrapper, ModelClient
from ...core.errors import ContextTooLong, ProviderError, RateLimited
from ...core.events import Emit, Event, TextDelta, ToolCallDelta, Warned, ignore
from ...core.exchange import ModelRequest, ModelResponse
from ...core.messages import Message, Part, ToolCall, ToolResult, assistant
from .forms import dialect
from .text import JsonTools, TextTools, without_tools

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
    """Remembers for a while what models have refused, by endpoint and model; after that they are tried again."""

    def refuses(self, endpoint: str, model: str) -> Collection[str]: ...

    def remember(self, endpoint: str, model: str, refused: str) -> None: ...


class InProcessRefusals:
    """A store for this process alone."""

    def __init__(self) -> None:
        self._refusals: dict[tuple[str, str], set[str]] = {}

    def refuses(self, endpoint: str, model: str) -> Collection[str]:
        return self._refusals.get((endpoint, model), set())

    def remember(self, endpoint: str, model: str, refused: str) -> None:
        self._refusals.setdefault((endpoint, model), set()).add(refused)


class AutoTools(ClientWrapper):
    """`client` with the way of calling tools that it accepts. `native`: whether its API has tools, None if unknown.

    Refusals are remembered in `memory` under `refusal_key`, the endpoint and model. `tool_format` is the form of calls
    in text.
    """

    def __init__(
        self,
        client: ModelClient,
        calling: Calling = "auto",
        *,
        native: bool | None = None,
        memory: RefusalStore | None = None,
        refusal_key: tuple[str, str] = ("", ""),
        tool_format: str = "",
    ) -> None:
        super().__init__(client)
        self._calling = calling
        self._memory = memory or InProcessRefusals()
        self._refusal_key = refusal_key
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
        return "/".join(filter(None, self._refusal_key)) or "The model"

    @property
    def _refusals(self) -> Collection[str]:
        return self._memory.refuses(*self._refusal_key)

    async def _complete_in_text(self, request: ModelRequest, emit: Emit) -> ModelResponse:
        """Uses JSON if the answer has to fit a schema, which leaves no room for calls in the text."""
        client = self._text if request.output_schema is None else self._json
        return await client.complete(request, emit)

    def _acceptable(self, request: ModelRequest) -> ModelRequest:
        return without_tools(request) if not request.tools and BLOCKS in self._refusals else request

    async def _complete_after(self, error: ProviderError, request: ModelRequest, emit: Emit) -> ModelResponse:
        """Retries after an error that has to do with tools; raises any other again."""
        # Some providers hand over the text when they can't parse it as a call; our own reader may.
        if request.tools and (text := unread_generation(error)):
            await emit(TextDelta(text))
            return ModelResponse(assistant(text))
        if not request.tools and _has_blocks(request) and refuses_blocks(error):
            self._memory.remember(*self._refusal_key, BLOCKS)
            return await self._native.complete(without_tools(request), emit)
        if request.tools and self._calling == "auto" and refuses_tools(error):
            return await self._complete_without_native(error, request, emit)
        raise error

    async def _complete_without_native(self, error: ProviderError, request: ModelRequest, emit: Emit) -> ModelResponse:
        # A refusal of this `tool_choice` alone says nothing about tools.
        if request.tool_choice == "auto" or "tool_choice" not in str(error):
            self._memory.remember(*self._refusal_key, TOOLS)
        await emit(Warned(f"{self._name} refuses tools, so they are described to it in the text: {error}"))
        return await self._complete_in_text(request, emit)


def _has_blocks(request: ModelRequest) -> bool:
    return any(message.tool_calls or message.tool_results for message in request.messages)


def refuses_tools(error: ProviderError) -> bool:
    """Returns whether the model or its server has no tools at all, rather than rejecting the given ones."""
    return _may_be_refusal(error) and _NO_TOOLS.search(f"{error}\n{error.raw}") is not None


def refuses_blocks(error: ProviderError) -> bool:
    """Returns whether calls and results of earlier turns are rejected in a request without tools."""
    return _may_be_refusal(error) and _NO_BLOCKS.search(f"{error}\n{error.raw}") is not None


def unread_generation(error: ProviderError) -> str:
    """Returns the text that the provider could not parse as a call, if the error contains it."""
    try:
        body: Any = from_json(error.raw)
    except ValueError:
        return ""
    inner = body.get("error") if isinstance(body, dict) else None
    text = inner.get("failed_generation") if isinstance(inner, dict) else None
    return text if isinstance(text, str) else ""


def _may_be_refusal(error: ProviderError) -> bool:
    return error.status in _REFUSING_STATUSES and not isinstance(error, ContextTooLong | RateLimited)


LENGTH, SUFFIX = 64, 7
_FORBIDDEN = re.compile(r"[^a-zA-Z0-9_-]")
_START = re.compile(r"[a-zA-Z_]")


class NativeTools(ClientWrapper):
    """`client` with names of tools that its API accepts; callers see the tools' own names."""

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        names = WireNames(_names_in(request))
        if not names:
            return await self.client.complete(request, emit)

        async def emit_renamed(event: Event) -> None:
            if isinstance(event, ToolCallDelta) and event.name:
                event = replace(event, name=names.own_name(event.name))
            await emit(event)

        response = await self.client.complete(_with_wire_names(request, names), emit_renamed)
        return replace(
            response,
            message=_rename(response.message, names.own_name),
            steps=tuple(_rename(step, names.own_name) for step in response.steps),
        )


def _names_in(request: ModelRequest) -> set[str]:
    called = {call.name for message in request.messages for call in message.tool_calls}
    returned = {result.call.name for message in request.messages for result in message.tool_results}
    return called | returned | {tool.name for tool in request.tools}


def _with_wire_names(request: ModelRequest, names: "WireNames") -> ModelRequest:
    return replace(
        request,
        messages=tuple(_rename(message, names.wire_name) for message in request.messages),
        tools=tuple(replace(tool, name=names.wire_name(tool.name)) for tool in request.tools),
        tool_choice=names.wire_name(request.tool_choice),
    )


def _rename(message: Message, name: Callable[[str], str]) -> Message:
    if not (message.tool_calls or message.tool_results):
        return message
    return replace(message, parts=tuple(_rename_part(part, name) for part in message.parts))


def _rename_part(part: Part, name: Callable[[str], str]) -> Part:
    match part:
        case ToolCall():
            return replace(part, name=name(part.name))
        case ToolResult():
            return replace(part, call=replace(part.call, name=name(part.call.name)))
    return part


class WireNames:
    """Maps the names of a request's tools to names that APIs accept. A changed name is the same in each request.

    If two names map to the same one, each changed name gets a suffix derived from the original.
    """

    def __init__(self, names: Iterable[str]) -> None:
        plain = {name: _wire_form(name) for name in names}
        taken = Counter(plain.values())
        self._wire = {
            name: form if name == form or taken[form] == 1 else _with_suffix(name) for name, form in plain.items()
        }
        self._own = {form: name for name, form in self._wire.items()}

    def __bool__(self) -> bool:
        """Returns whether any name differs on the wire."""
        return any(name != form for name, form in self._wire.items())

    def wire_name(self, name: str) -> str:
        return self._wire.get(name, name)

    def own_name(self, name: str) -> str:
        return self._own.get(name, name)


def _wire_form(name: str) -> str:
    form = _allowed_letters(name)
    return form if len(form) <= LENGTH else _with_suffix(name)


def _with_suffix(name: str) -> str:
    mark = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[: SUFFIX - 1]
    return f"{_allowed_letters(name)[: LENGTH - SUFFIX]}_{mark}"


def _allowed_letters(name: str) -> str:
    """Returns the name in letters, digits, underscores and dashes, starting with a letter or an underscore."""
    form = _FORBIDDEN.sub("_", name)
    return form if _START.match(form) else f"_{form}"
