"""Tools for models without any: described in the system prompt, called in the text."""

from collections.abc import Iterable
from dataclasses import replace

from ...core.client import ClientWrapper, ModelClient
from ...core.events import AttemptFailed, Emit, Event, TextDelta, ignore
from ...core.exchange import ModelRequest, ModelResponse, ToolSpec
from ...wire.dialects.reader import StreamingReader, read
from ...wire.dialects.reading import Reading, without_cut_call
from ..manager import ToolManager
from . import fenced
from .answers import BEHIND, PROPOSED, UNREAD, behind, is_quoted, problems_in, quotations, results_in, with_calls
from .forms import Dialect, as_calls, as_data, as_prose, without_tool_blocks

INVALID = "Note: I tried to use a tool, but the request could not be used: "


class TextTools(ClientWrapper):
    """`client`, which never sees a tool block. What it calls in its text is taken out of it, also while it streams."""

    def __init__(self, client: ModelClient, dialect: Dialect = fenced) -> None:
        super().__init__(client)
        self._dialect = dialect

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        if not request.tools or request.tool_choice == "none":
            return await self.client.complete(without_tools(request), emit)
        prose = _ProseEmitter(request.tools, emit)
        response = await self.client.complete(self._in_words(request), prose)
        reading = await prose.end(response.text)
        if response.stop == "length":
            reading = without_cut_call(reading, response.text)
        if is_quoted(reading, response.text, request.tools, results_in(request.messages)):
            # The calls were held back while it streamed, and now end it as words.
            text = "\n\n".join(filter(None, (reading.prose, *quotations(reading, response.text))))
            await emit(TextDelta(text.removeprefix(reading.prose)))
            return with_calls(response, request, text, response.tool_calls)
        noted = {UNREAD: problems_in(reading), BEHIND: behind(reading, response.text), PROPOSED: reading.proposals}
        calls = (*response.tool_calls, *reading.calls)  # some servers read the text themselves
        return with_calls(response, request, reading.prose, calls, **noted)

    def _in_words(self, request: ModelRequest) -> ModelRequest:
        told = self._dialect.describe(request.tools) + must(request.tool_choice)
        return replace(
            request,
            messages=without_tool_blocks(request.messages, as_calls(self._dialect.write)),
            system="\n\n".join(text for text in (request.system, told) if text),
            tools=(),
            tool_choice="auto",
        )


def without_tools(request: ModelRequest) -> ModelRequest:
    """Returns the request without tools, and without a trace of tool blocks in what was said before."""
    return replace(request, messages=without_tool_blocks(request.messages, as_prose), tools=(), tool_choice="auto")


def must(tool_choice: str) -> str:
    """Returns what the instruction says of the choice that is left to the model."""
    if tool_choice == "auto":
        return ""
    which = "a tool" if tool_choice == "required" else f"the tool {tool_choice}"
    return f"\n\nIn this response you must use {which}."


class _ProseEmitter:
    """Passes on what is said, but no part of a call; a failed attempt is forgotten."""

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
        """Reads what was streamed; `text` is the answer of a client that did not stream it."""
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
    """For programs that only have strings. Discussions use `ToolCapableClient`, which lets the model go on."""

    def __init__(self, tool_manager: ToolManager) -> None:
        self.tool_manager = tool_manager

    def create_tool_use_instruction(self) -> str:
        """Returns what a system prompt has to say so that a model knows the tools and how to call them."""
        return fenced.describe(self.tool_manager.registry.specs)

    async def process_response(self, response: str) -> str:
        """Returns the response with results in place of its calls. It is read once: a call in a result stays text."""
        reading = read(response, self.tool_manager.registry.specs)
        if not reading.spans:
            return response
        results = [await self.tool_manager.run(call) for call in reading.calls]
        used = (f"I used the {result.call.name} tool. Tool Response:\n{as_data(result)}" for result in results)
        unread = (f"{INVALID}{problem}" for problem in problems_in(reading))
        return "\n\n".join(filter(None, (reading.prose.strip(), *used, *unread)))
