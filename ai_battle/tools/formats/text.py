"""Tools for models without any: described in the system prompt, called in the text."""

from collections.abc import Iterable
from dataclasses import replace

from ...core.client import ModelClient
from ...core.events import AttemptFailed, Emit, Event, TextDelta, ignore
from ...core.exchange import ModelRequest, ModelResponse, ToolSpec
from ...wire.dialects.reader import StreamingReader
from ...wire.dialects.reading import Reading, without_cut_call
from . import fenced
from ._quoting import is_quoted, quotations, results_in
from ._written import BEHIND, PROPOSED, UNREAD, behind, problems_in, with_calls
from .describing import as_calls, as_prose, flattened
from .dialects import Dialect


class TextTools(ModelClient):
    """`client`, which never sees a tool block. What it calls in its text is taken out of it, also while it streams."""

    def __init__(self, client: ModelClient, dialect: Dialect = fenced) -> None:
        self.client = client
        self._dialect = dialect

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        if not request.tools or request.tool_choice == "none":
            return await self.client.complete(without_tools(request), emit)
        prose = _Prose(request.tools, emit)
        response = await self.client.complete(self._in_words(request), prose)
        reading = await prose.end(response.text)
        if response.stop == "length":
            reading = without_cut_call(reading, response.text)
        if is_quoted(reading, response.text, request.tools, results_in(request.messages)):
            return await _quoting(response, request, reading, emit)
        noted = {UNREAD: problems_in(reading), BEHIND: behind(reading, response.text), PROPOSED: reading.proposals}
        calls = (*response.tool_calls, *reading.calls)  # some servers read the text themselves
        return with_calls(response, request, reading.prose, calls, **noted)

    async def aclose(self) -> None:
        await self.client.aclose()

    def _in_words(self, request: ModelRequest) -> ModelRequest:
        told = self._dialect.describe(request.tools) + must(request.tool_choice)
        return replace(
            request,
            messages=flattened(request.messages, as_calls(self._dialect.write)),
            system="\n\n".join(text for text in (request.system, told) if text),
            tools=(),
            tool_choice="auto",
        )


async def _quoting(response: ModelResponse, request: ModelRequest, reading: Reading, emit: Emit) -> ModelResponse:
    """The answer without its calls; they were held back while it streamed, and now end it as words."""
    text = "\n\n".join(filter(None, (reading.prose, *quotations(reading, response.text))))
    await emit(TextDelta(text.removeprefix(reading.prose)))
    return with_calls(response, request, text, response.tool_calls)


def without_tools(request: ModelRequest) -> ModelRequest:
    """The request without tools, and without a trace of tool blocks in what was said before."""
    return replace(request, messages=flattened(request.messages, as_prose), tools=(), tool_choice="auto")


def must(tool_choice: str) -> str:
    """What the instruction says of the choice that is left to the model."""
    if tool_choice == "auto":
        return ""
    which = "a tool" if tool_choice == "required" else f"the tool {tool_choice}"
    return f"\n\nIn this response you must use {which}."


class _Prose:
    """Passes on what is said, but no part of a call; a failed attempt is forgotten."""

    def __init__(self, tools: Iterable[ToolSpec], emit: Emit) -> None:
        self._tools = tuple(tools)
        self._emit = emit
        self._begin()

    def _begin(self) -> None:
        self._reader = StreamingReader(self._tools)
        self._heard = False
        self._said = ""

    async def __call__(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._heard = True
            await self._say(self._reader.feed(event.text))
            return
        if isinstance(event, AttemptFailed):
            self._begin()
        await self._emit(event)

    async def end(self, text: str) -> Reading:
        """What was heard, read; `text` is the answer of a client that did not stream it."""
        if not self._heard:
            await self._say(self._reader.feed(text))
        reading = self._reader.finish()
        await self._say(reading.prose.removeprefix(self._said))
        return reading

    async def _say(self, text: str) -> None:
        if text:
            self._said += text
            await self._emit(TextDelta(text))
