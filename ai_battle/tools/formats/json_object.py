"""Tools for models that can be held to a JSON schema: calls and words are fields of one object."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...core.client import ModelClient
from ...core.events import AttemptFailed, DraftDelta, Emit, Event, TextDelta, ignore
from ...core.exchange import ModelRequest, ModelResponse, ToolSpec
from ...core.messages import Message, ToolCall, ToolResult, assistant, user
from ...wire.dialects.reader import read
from ...wire.dialects.reading import Reading
from ._content import ContentReader
from ._quoting import is_quoted, results_in, stands_in
from ._written import UNREAD, problems_in, with_calls
from .describing import flattened, instruction
from .text import must, without_tools

GO_ON = "You said that more work is needed, but called no tool. Call one now, or give your complete answer in content."


class JsonTools(ModelClient):
    """`client`, which answers with `{"toolCalls": [...], "content": ..., "needsMoreWork": ...}`.

    While it streams, the content is a draft: only the end of the object tells whether it is the answer.
    """

    def __init__(self, client: ModelClient) -> None:
        self.client = client

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        if not request.tools or request.tool_choice == "none":
            return await self.client.complete(without_tools(request), emit)
        asked = _in_json(request)
        response = await self.client.complete(asked, _contents(emit))
        results = results_in(request.messages)
        said = _read(response, request.tools, results)
        if said.needs_more and not said.calls:
            earlier = response
            asked = replace(asked, messages=(*asked.messages, assistant(response.text), user(GO_ON)))
            response = await self.client.complete(asked, _contents(emit))
            response = replace(response, usage=earlier.usage + response.usage)
            said = _read(response, request.tools, results).after(said)
        if said.content:
            await emit(TextDelta(said.content))
        return with_calls(response, request, said.content, said.calls, **{UNREAD: said.unread})

    async def aclose(self) -> None:
        await self.client.aclose()


@dataclass(frozen=True, slots=True)
class _Said:
    content: str
    calls: tuple[ToolCall, ...] = ()
    needs_more: bool = False
    unread: tuple[str, ...] = ()

    def after(self, earlier: "_Said") -> "_Said":
        """Where the second attempt says nothing, the first one stands."""
        return self if self.content or self.calls else replace(self, content=earlier.content)


def schema(tools: Iterable[ToolSpec], content: Mapping[str, Any] | None = None, least: int = 0) -> dict[str, Any]:
    """The JSON Schema of an answer with at least so many calls; `content` is that of what it says, else a text."""
    calls = {"type": "array", "items": {"anyOf": [_call(tool) for tool in tools]}}
    fields = {
        "toolCalls": {**calls, "minItems": least} if least else calls,
        "content": {"anyOf": [dict(content), {"type": "null"}]} if content else {"type": "string"},
        "needsMoreWork": {"type": "boolean"},
    }
    return _object(fields)


def _call(tool: ToolSpec) -> dict[str, Any]:
    """References start at the root of a schema, so one that has any can't be a part of another."""
    is_free = "$ref" in json.dumps(tool.schema, default=str)
    arguments = {"type": "object"} if is_free else dict(tool.schema)
    return _object({"name": {"type": "string", "enum": [tool.name]}, "arguments": arguments})


def _object(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(fields), "required": [*fields], "additionalProperties": False}


def _in_json(request: ModelRequest) -> ModelRequest:
    told = instruction("json", request.tools) + must(request.tool_choice)
    callable_ = [tool for tool in request.tools if request.tool_choice in ("auto", "required", tool.name)]
    return replace(
        request,
        messages=flattened(request.messages, _as_object),
        system="\n\n".join(text for text in (request.system, told) if text),
        tools=(),
        tool_choice="auto",
        output_schema=schema(callable_, request.output_schema, least=int(request.tool_choice != "auto")),
    )


def _as_object(message: Message) -> str:
    calls = [{"name": call.name, "arguments": call.arguments} for call in message.tool_calls]
    said = {"toolCalls": calls, "content": message.text, "needsMoreWork": True}
    return json.dumps(said, ensure_ascii=False, default=str)


def _read(response: ModelResponse, tools: tuple[ToolSpec, ...], results: tuple[ToolResult, ...]) -> _Said:
    """A model that does not keep to the form is heard all the same; what only repeats a result is no call."""
    said = _parsed(response.text)
    if response.tool_calls:
        return _Said("", response.tool_calls)
    if not isinstance(said, dict) or not said.keys() & {"toolCalls", "content"}:
        reading = read(response.text, tools)
        return _Said(response.text) if is_quoted(reading, response.text, tools, results) else _heard(reading)
    if said.get("toolCalls") and stands_in(response.text, results):
        return _Said(response.text)
    heard = _heard(read(json.dumps({"toolCalls": said.get("toolCalls") or []}), tools))
    content = said.get("content") or ""
    words = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return replace(heard, content=words, needs_more=said.get("needsMoreWork") is True)


def _heard(reading: Reading) -> _Said:
    return _Said(reading.prose, reading.calls, unread=problems_in(reading))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _contents(emit: Emit) -> Emit:
    reader = ContentReader()

    async def hear(event: Event) -> None:
        nonlocal reader
        if isinstance(event, TextDelta):
            if said := reader.feed(event.text):
                await emit(DraftDelta(said))
            return
        if isinstance(event, AttemptFailed):
            reader = ContentReader()
        await emit(event)

    return hear
