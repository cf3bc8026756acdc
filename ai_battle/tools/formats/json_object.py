"""Tools for models that can be held to a JSON schema: calls and words are fields of one object."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from pydantic_core import from_json

from ...core.client import ClientWrapper
from ...core.events import AttemptFailed, DraftDelta, Emit, Event, TextDelta, ignore
from ...core.exchange import ModelRequest, ModelResponse, ToolSpec
from ...core.messages import Message, ToolCall, ToolResult, assistant, user
from ...wire.dialects.reader import read
from ...wire.dialects.reading import Reading
from .answers import UNREAD, is_quoted, problems_in, results_in, stands_in, with_calls
from .forms import instruction, to_json, without_tool_blocks
from .text import must, without_tools

GO_ON = "You said that more work is needed, but called no tool. Call one now, or give your complete answer in content."


class JsonTools(ClientWrapper):
    """`client`, which answers with `{"toolCalls": [...], "content": ..., "needsMoreWork": ...}`.

    While it streams, the content is a draft: only the end of the object tells whether it is the answer.
    """

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        if not request.tools or request.tool_choice == "none":
            return await self.client.complete(without_tools(request), emit)
        held = _held_to_schema(request)
        response = await self.client.complete(held, _ContentDrafts(emit))
        results = results_in(request.messages)
        answer = _read(response, request.tools, results)
        if answer.needs_more and not answer.calls:
            first, usage = answer, response.usage
            held = replace(held, messages=(*held.messages, assistant(response.text), user(GO_ON)))
            response = await self.client.complete(held, _ContentDrafts(emit))
            response = replace(response, usage=usage + response.usage)
            answer = _read(response, request.tools, results)
            if not answer.content and not answer.calls:  # then the first attempt stands
                answer = replace(answer, content=first.content)
        if answer.content:
            await emit(TextDelta(answer.content))
        return with_calls(response, request, answer.content, answer.calls, **{UNREAD: answer.unread})


@dataclass(frozen=True, slots=True)
class _JsonAnswer:
    content: str
    calls: tuple[ToolCall, ...] = ()
    needs_more: bool = False
    unread: tuple[str, ...] = ()


def schema(tools: Iterable[ToolSpec], content: Mapping[str, Any] | None = None, least: int = 0) -> dict[str, Any]:
    """Returns the JSON Schema of an answer with at least so many calls; `content` is that of what it says."""
    calls = {"type": "array", "items": {"anyOf": [_call_schema(tool) for tool in tools]}}
    fields = {
        "toolCalls": {**calls, "minItems": least} if least else calls,
        "content": {"anyOf": [dict(content), {"type": "null"}]} if content else {"type": "string"},
        "needsMoreWork": {"type": "boolean"},
    }
    return _object(fields)


def _call_schema(tool: ToolSpec) -> dict[str, Any]:
    """References start at the root of a schema, so one that has any can't be a part of another."""
    is_free = "$ref" in json.dumps(tool.schema, default=str)
    arguments = {"type": "object"} if is_free else dict(tool.schema)
    return _object({"name": {"type": "string", "enum": [tool.name]}, "arguments": arguments})


def _object(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(fields), "required": [*fields], "additionalProperties": False}


def _held_to_schema(request: ModelRequest) -> ModelRequest:
    told = instruction("json", request.tools) + must(request.tool_choice)
    callable_ = [tool for tool in request.tools if request.tool_choice in ("auto", "required", tool.name)]
    return replace(
        request,
        messages=without_tool_blocks(request.messages, _as_object),
        system="\n\n".join(text for text in (request.system, told) if text),
        tools=(),
        tool_choice="auto",
        output_schema=schema(callable_, request.output_schema, least=int(request.tool_choice != "auto")),
    )


def _as_object(message: Message) -> str:
    calls = [{"name": call.name, "arguments": call.arguments} for call in message.tool_calls]
    return to_json({"toolCalls": calls, "content": message.text, "needsMoreWork": True})


def _read(response: ModelResponse, tools: tuple[ToolSpec, ...], results: tuple[ToolResult, ...]) -> _JsonAnswer:
    """Reads also an answer that does not keep to the form; what only repeats a result is no call."""
    text = response.text
    if response.tool_calls:
        return _JsonAnswer("", response.tool_calls)
    fields = _fields_of(text)
    if not fields:
        reading = read(text, tools)
        return _JsonAnswer(text) if is_quoted(reading, text, tools, results) else _answer(reading, reading.prose)
    calls, content = fields.get("toolCalls", []), fields.get("content") or ""
    if calls and stands_in(text, results):
        return _JsonAnswer(text)
    reading = read(json.dumps({"toolCalls": calls}), tools)
    answer = _answer(reading, content if isinstance(content, str) else json.dumps(content, ensure_ascii=False))
    return replace(answer, needs_more=fields.get("needsMoreWork") is True)


def _fields_of(text: str) -> dict[str, Any]:
    """The fields of an answer; none where it does not keep to the form."""
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
        return value if isinstance(value, dict) and value.keys() & {"toolCalls", "content"} else {}
    return {}


def _answer(reading: Reading, content: str) -> _JsonAnswer:
    return _JsonAnswer(content, reading.calls, unread=problems_in(reading))


class _ContentDrafts:
    """Passes on what the `content` of an object says while the object still streams in."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._begin()

    def _begin(self) -> None:
        self._parts: list[str] = []
        self._size = self._due = self._sent = 0

    async def __call__(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._parts.append(event.text)
            self._size += len(event.text)
            if self._size >= self._due and (more := self._new_content()):
                await self._emit(DraftDelta(more))
            return
        if isinstance(event, AttemptFailed):
            self._begin()
        await self._emit(event)

    def _new_content(self) -> str:
        """Reads all that there is; the more that is, the longer until the next time, so that the work stays linear."""
        text = "".join(self._parts)
        self._parts = [text]
        self._due = self._size + self._size // 50
        try:
            value = from_json(text[max(0, text.find("{")) :], allow_partial="trailing-strings")
        except ValueError:
            return ""
        content = value.get("content") if isinstance(value, dict) else None
        if not isinstance(content, str):
            return ""
        more, self._sent = content[self._sent :], max(self._sent, len(content))
        return more
