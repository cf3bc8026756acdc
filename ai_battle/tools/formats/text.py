"""Tools for models without native ones: described in the system prompt, called in text or as fields of an object."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from pydantic_core import from_json

from ...core.client import ClientWrapper, ModelClient
from ...core.events import AttemptFailed, DraftDelta, Emit, Event, TextDelta, ignore
from ...core.exchange import ModelRequest, ModelResponse, ToolSpec, object_schema
from ...core.messages import Message, ToolCall, ToolResult, assistant, user
from ...wire.dialects.reader import StreamingReader, read
from ...wire.dialects.reading import Reading, without_cut_call
from ..manager import ToolManager
from . import answers
from .forms import (
    DIALECTS,
    USUAL,
    Dialect,
    WriteMessage,
    as_calls,
    as_data,
    as_prose,
    instruction,
    to_json,
    without_tool_blocks,
)

INVALID = "Note: I tried to use a tool, but the request could not be used: "
GO_ON = "You said that more work is needed, but called no tool. Call one now, or give your complete answer in content."


class TextTools(ClientWrapper):
    """`client` without tool blocks. Calls in its text are extracted, also while it streams."""

    def __init__(self, client: ModelClient, dialect: Dialect = DIALECTS[USUAL]) -> None:
        super().__init__(client)
        self._dialect = dialect

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        if not request.tools or request.tool_choice == "none":
            return await self.client.complete(without_tools(request), emit)
        prose = _ProseEmitter(request.tools, emit)
        description = self._dialect.describe(request.tools)
        response = await self.client.complete(_in_words(request, description, as_calls(self._dialect.write)), prose)
        reading = await prose.end(response.text)
        if response.stop == "length":
            reading = without_cut_call(reading, response.text)
        if answers.is_quoted(reading, response.text, request.tools, answers.results_in(request.messages)):
            # The calls were held back while it streamed; as mere quotations they belong to the text.
            text = "\n\n".join(filter(None, (reading.prose, *answers.quotations(reading, response.text))))
            await emit(TextDelta(text.removeprefix(reading.prose)))
            return answers.with_calls(response, request, text, response.tool_calls)
        noted = {
            answers.UNREAD: answers.problems_in(reading, request.tools),
            answers.AFTER_CALLS: answers.text_after_calls(reading, response.text),
            answers.PROPOSED: reading.proposals,
        }
        calls = (*response.tool_calls, *reading.calls)  # some servers parse the text themselves
        return answers.with_calls(response, request, reading.prose, calls, **noted)


def _in_words(request: ModelRequest, description: str, write: WriteMessage, **more: Any) -> ModelRequest:
    """Returns the request with `description` in the system prompt and without tool blocks."""
    description += must(request.tool_choice)
    return replace(
        request,
        messages=without_tool_blocks(request.messages, write),
        system="\n\n".join(text for text in (request.system, description) if text),
        tools=(),
        tool_choice="auto",
        **more,
    )


def without_tools(request: ModelRequest) -> ModelRequest:
    """Returns the request without tools, and without tool blocks in earlier messages."""
    return replace(request, messages=without_tool_blocks(request.messages, as_prose), tools=(), tool_choice="auto")


def must(tool_choice: str) -> str:
    """Returns the sentence of the instruction that demands a call, or ""."""
    if tool_choice == "auto":
        return ""
    which = "a tool" if tool_choice == "required" else f"the tool {tool_choice}"
    return f"\n\nIn this response you must use {which}."


class _ProseEmitter:
    """Emits the text without any part of a call; starts again after a failed attempt."""

    def __init__(self, tools: Iterable[ToolSpec], emit: Emit) -> None:
        self._tools = tuple(tools)
        self._emit = emit
        self._begin()

    def _begin(self) -> None:
        self._reader = StreamingReader(self._tools)
        self._is_streamed = False
        self._sent = ""

    async def __call__(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._is_streamed = True
            await self._send(self._reader.feed(event.text))
            return
        if isinstance(event, AttemptFailed):
            self._begin()
        await self._emit(event)

    async def end(self, text: str) -> Reading:
        """Emits the rest and returns the reading; `text` is used only if the client did not stream."""
        if not self._is_streamed:
            await self._send(self._reader.feed(text))
        reading = self._reader.finish()
        await self._send(reading.prose.removeprefix(self._sent))
        return reading

    async def _send(self, text: str) -> None:
        if text:
            self._sent += text
            await self._emit(TextDelta(text))


class ToolUseProtocol:
    """Runs tools for programs that handle only strings. `ToolCapableClient` also lets the model go on."""

    def __init__(self, tool_manager: ToolManager) -> None:
        self.tool_manager = tool_manager

    def create_tool_use_instruction(self) -> str:
        """Returns the text for a system prompt: the tools, and how to call them."""
        return DIALECTS[USUAL].describe(self.tool_manager.registry.specs)

    async def process_response(self, response: str) -> str:
        """Returns the response with results in place of its calls. It is parsed once: a call in a result stays text."""
        specs = self.tool_manager.registry.specs
        reading = read(response, specs)
        if not reading.spans:
            return response
        results = [await self.tool_manager.run(call) for call in reading.calls]
        used = (f"I used the {result.call.name} tool. Tool Response:\n{as_data(result)}" for result in results)
        unread = (f"{INVALID}{problem}" for problem in answers.problems_in(reading, specs))
        return "\n\n".join(filter(None, (reading.prose.strip(), *used, *unread)))


class JsonTools(ClientWrapper):
    """`client` that answers with `{"toolCalls": [...], "content": ..., "needsMoreWork": ...}`.

    While it streams, the content is a draft, since only the end of the object tells whether it is the answer.
    """

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        if not request.tools or request.tool_choice == "none":
            return await self.client.complete(without_tools(request), emit)
        held = _with_answer_schema(request)
        response = await self.client.complete(held, _ContentDrafts(emit))
        results = answers.results_in(request.messages)
        answer = _read(response, request.tools, results)
        if answer.needs_more and not answer.calls:
            first, usage = answer, response.usage
            held = replace(held, messages=(*held.messages, assistant(response.text), user(GO_ON)))
            response = await self.client.complete(held, _ContentDrafts(emit))
            response = replace(response, usage=usage + response.usage)
            answer = _read(response, request.tools, results)
            if not answer.content and not answer.calls:  # the first attempt counts after all
                answer = replace(answer, content=first.content)
        if answer.content:
            await emit(TextDelta(answer.content))
        return answers.with_calls(response, request, answer.content, answer.calls, **{answers.UNREAD: answer.unread})


@dataclass(frozen=True, slots=True)
class _JsonAnswer:
    content: str
    calls: tuple[ToolCall, ...] = ()
    needs_more: bool = False
    unread: tuple[str, ...] = ()


def schema(tools: Iterable[ToolSpec], content: Mapping[str, Any] | None = None, least: int = 0) -> dict[str, Any]:
    """Returns the JSON Schema of an answer with at least `least` calls; `content` is the schema of its content."""
    calls = {"type": "array", "items": {"anyOf": [_call_schema(tool) for tool in tools]}}
    fields = {
        "toolCalls": {**calls, "minItems": least} if least else calls,
        "content": {"anyOf": [dict(content), {"type": "null"}]} if content else {"type": "string"},
        "needsMoreWork": {"type": "boolean"},
    }
    return object_schema(fields)


def _call_schema(tool: ToolSpec) -> dict[str, Any]:
    # References are relative to the root of a schema, so one that has any can't be embedded in another.
    is_free = "$ref" in json.dumps(tool.schema, default=str)
    arguments = {"type": "object"} if is_free else dict(tool.schema)
    return object_schema({"name": {"type": "string", "enum": [tool.name]}, "arguments": arguments})


def _with_answer_schema(request: ModelRequest) -> ModelRequest:
    callable_ = [tool for tool in request.tools if request.tool_choice in ("auto", "required", tool.name)]
    form = schema(callable_, request.output_schema, least=int(request.tool_choice != "auto"))
    return _in_words(request, instruction("json", request.tools), _as_object, output_schema=form)


def _as_object(message: Message) -> str:
    calls = [{"name": call.name, "arguments": call.arguments} for call in message.tool_calls]
    return to_json({"toolCalls": calls, "content": message.text, "needsMoreWork": True})


def _read(response: ModelResponse, tools: tuple[ToolSpec, ...], results: tuple[ToolResult, ...]) -> _JsonAnswer:
    """Parses an answer, even one without the form. A call that only repeats a result is none."""
    text = response.text
    if response.tool_calls:
        return _JsonAnswer("", response.tool_calls)
    fields = _fields_of(text)
    if not fields:
        reading = read(text, tools)
        return (
            _JsonAnswer(text)
            if answers.is_quoted(reading, text, tools, results)
            else _answer(reading, tools, reading.prose)
        )
    calls, content = fields.get("toolCalls", []), fields.get("content") or ""
    if calls and answers.is_in_results(text, results):
        return _JsonAnswer(text)
    reading = read(json.dumps({"toolCalls": calls}), tools)
    words = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    answer = _answer(reading, tools, words)
    return replace(answer, needs_more=fields.get("needsMoreWork") is True)


def _fields_of(text: str) -> dict[str, Any]:
    """Returns the fields of an answer, or nothing if it does not have the form."""
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
        return value if isinstance(value, dict) and value.keys() & {"toolCalls", "content"} else {}
    return {}


def _answer(reading: Reading, tools: tuple[ToolSpec, ...], content: str) -> _JsonAnswer:
    return _JsonAnswer(content, reading.calls, unread=answers.problems_in(reading, tools))


class _ContentDrafts:
    """Emits the `content` of a JSON object as drafts while the object still streams in."""

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
        """Parses all text so far. The longer it is, the later the next parse, so that the work stays linear."""
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
