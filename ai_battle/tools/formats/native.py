"""Tools by the API's own means, under names that every provider takes."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from ...core.client import ClientWrapper
from ...core.events import Emit, Event, ToolCallDelta, ignore
from ...core.exchange import ModelRequest, ModelResponse
from ...core.messages import Message, Part, ToolCall, ToolResult

LENGTH, SUFFIX = 64, 7
_FORBIDDEN = re.compile(r"[^a-zA-Z0-9_-]")
_START = re.compile(r"[a-zA-Z_]")


class NativeTools(ClientWrapper):
    """`client`, which is told of tools under their names on the wire and calls them by those."""

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
    """`names` are all that a request speaks of. A name that had to be changed has the same form in each request.

    Where two would have the same form, each that was changed gets a suffix made of what it was.
    """

    def __init__(self, names: Iterable[str]) -> None:
        plain = {name: _wire_form(name) for name in names}
        taken = Counter(plain.values())
        self._sent = {
            name: form if name == form or taken[form] == 1 else _with_suffix(name) for name, form in plain.items()
        }
        self._meant = {form: name for name, form in self._sent.items()}

    def __bool__(self) -> bool:
        """Whether any name differs from what it is on the wire."""
        return any(name != form for name, form in self._sent.items())

    def wire_name(self, name: str) -> str:
        return self._sent.get(name, name)

    def own_name(self, name: str) -> str:
        return self._meant.get(name, name)


def _wire_form(name: str) -> str:
    form = _allowed_letters(name)
    return form if len(form) <= LENGTH else _with_suffix(name)


def _with_suffix(name: str) -> str:
    mark = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[: SUFFIX - 1]
    return f"{_allowed_letters(name)[: LENGTH - SUFFIX]}_{mark}"


def _allowed_letters(name: str) -> str:
    """Nothing but letters, digits, underscores and dashes, and a letter or an underscore first."""
    form = _FORBIDDEN.sub("_", name)
    return form if _START.match(form) else f"_{form}"
