"""Tools by the API's own means, under names that every provider takes."""

from collections.abc import Callable
from dataclasses import replace

from ...core.client import ModelClient
from ...core.events import Emit, Event, ToolCallDelta, ignore
from ...core.exchange import ModelRequest, ModelResponse
from ...core.messages import Message, Part, ToolCall, ToolResult
from ..naming import WireNames


class NativeTools(ModelClient):
    """`client`, which is told of tools under their names on the wire and calls them by those."""

    def __init__(self, client: ModelClient) -> None:
        self.client = client

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        names = WireNames(_names_in(request))
        if not names:
            return await self.client.complete(request, emit)

        async def emit_renamed(event: Event) -> None:
            if isinstance(event, ToolCallDelta) and event.name:
                event = replace(event, name=names.meant(event.name))
            await emit(event)

        response = await self.client.complete(_with_wire_names(request, names), emit_renamed)
        return replace(
            response,
            message=_renamed(response.message, names.meant),
            steps=tuple(_renamed(step, names.meant) for step in response.steps),
        )

    async def aclose(self) -> None:
        await self.client.aclose()


def _names_in(request: ModelRequest) -> set[str]:
    called = {call.name for message in request.messages for call in message.tool_calls}
    returned = {result.call.name for message in request.messages for result in message.tool_results}
    return called | returned | {tool.name for tool in request.tools}


def _with_wire_names(request: ModelRequest, names: WireNames) -> ModelRequest:
    return replace(
        request,
        messages=tuple(_renamed(message, names.sent) for message in request.messages),
        tools=tuple(replace(tool, name=names.sent(tool.name)) for tool in request.tools),
        tool_choice=names.sent(request.tool_choice),
    )


def _renamed(message: Message, name: Callable[[str], str]) -> Message:
    if not (message.tool_calls or message.tool_results):
        return message
    return replace(message, parts=tuple(_renamed_part(part, name) for part in message.parts))


def _renamed_part(part: Part, name: Callable[[str], str]) -> Part:
    match part:
        case ToolCall():
            return replace(part, name=name(part.name))
        case ToolResult():
            return replace(part, call=replace(part.call, name=name(part.call.name)))
    return part
