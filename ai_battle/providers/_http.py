"""Makes one HTTP call under timeouts, streamed if anyone listens. Errors say where they happened and what to do."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias
from urllib.parse import quote

from pydantic_core import from_json

from ..core.client import ModelClient
from ..core.errors import BadReply, ProviderError, Unreachable
from ..core.events import Emit, Event, TextDelta, ThinkingDelta, UsageReported, Warned, ignore
from ..core.exchange import UNKNOWN_USAGE, ModelRequest, ModelResponse, Usage
from ..core.texts import public_url
from ..wire.bodies import loads
from ..wire.errors import http_error
from ..wire.streams import BOM, StreamReader
from ._calls import Clocks, Deadlines, sentences
from ._capabilities import CapabilityValues, ListedModel
from ._settings import Access
from ._transport import HttpReply, Transport

LINES = ("ndjson", "jsonl", "stream+json")  # content types of streams that begin with a bracket, like a whole answer
NO_LOSS = (("frequency_penalty", 0), ("presence_penalty", 0), ("parallel_tool_calls", True))
"""Options with the value that they have anyway."""
_USAGE_SECONDS = 2.0  # seconds
LOOKUP, _QUICK_LOOKUP = Deadlines(connect=5.0, total=15.0), Deadlines(connect=2.0, total=3.0)
Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """An encoded request. `left_out` are options that the API lacks, `clamped` those sent with a lower value."""

    path: str
    body: bytes
    left_out: tuple[str, ...] = ()
    clamped: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


def mapping_at(row: Row, key: str) -> Row:
    value = row.get(key)
    return value if isinstance(value, Mapping) else {}


def _read_open_ai_row(row: Row) -> Iterable[tuple[str, Any]]:
    """Yields capabilities: OpenRouter has many, vLLM, llama.cpp, Groq and LM Studio only windows, OpenAI none."""
    windows = ("context_length", "context_window", "max_model_len", "loaded_context_length", "max_context_length")
    meant = mapping_at(row, "meta").get("n_ctx")
    yield "context_window", next((row[key] for key in windows if row.get(key)), meant)
    longest = mapping_at(row, "top_provider").get("max_completion_tokens")
    yield "max_output_tokens", row.get("max_completion_tokens") or longest
    if isinstance(reads := mapping_at(row, "architecture").get("input_modalities"), list):
        yield from (("images", "image" in reads), ("documents", "file" in reads))
    if isinstance(takes := row.get("supported_parameters"), list):
        yield from (("tools", "tools" in takes), ("reasoning", "reasoning" in takes))
        yield "json_schema", "structured_outputs" in takes


@dataclass(frozen=True, slots=True)
class ModelList:
    """An API's list of models: the rows are in `key` of the answer to `path`, and `read` yields a row's capabilities.

    `one` is the path of a single row, with `{}` for the model; empty if the API has only the list.
    """

    path: str = "/models"
    key: str = "data"
    read: Callable[[Row], Iterable[tuple[str, Any]]] = _read_open_ai_row
    one: str = ""

    def rows(self, body: Row) -> tuple[ListedModel, ...]:
        """Returns the rows that name a model."""
        entries = body.get(self.key)
        rows = [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []
        return tuple(ListedModel(name, self.capabilities(row)) for row in rows if (name := _name(row)))

    def capabilities(self, row: Row) -> CapabilityValues:
        """Returns the capabilities that a row states."""
        return {name: value for name, value in self.read(row) if isinstance(value, bool) or value}


def _name(row: Row) -> str:
    name = row.get("id") or row.get("model") or row.get("name")
    return name.removeprefix("models/") if isinstance(name, str) else ""


async def ask_server(transport: Transport, path: str, body: bytes = b"", deadlines: Deadlines = LOOKUP) -> Row:
    """Returns the JSON object that a server answers to a free request. Raises `ProviderError`."""
    where = str(transport.access)
    async with Clocks(deadlines, where), await transport.send("POST" if body else "GET", path, body) as reply:
        data = await reply.whole()
    if reply.status >= 300:
        error = http_error(reply.status, data, reply.headers)
        error.args = (f"{where}: {error}",)
        raise error
    try:
        answer = from_json(data)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        head = data[:200].decode(errors="replace")
        raise BadReply(f"{where}: {path} does not answer with a JSON object; is base_url right? {head!r}", raw=head)
    return answer


@dataclass(frozen=True, slots=True)
class ApiAdapter:
    """The differences between providers: `encode` makes a request, and `reader` reads a streamed answer.

    `decode` returns a whole answer, and `usage` the usage in an answer or in a part of one.

    `advise` tells the user what to do about an error, given the names of the server's models. `most_output` returns
    the `max_tokens` that is always sent, for APIs that require it. `show` gets the row of the model if `listing` can't.
    """

    model: str
    access: Access
    encode: Callable[[ModelRequest], Awaitable[HttpRequest]]
    reader: Callable[[], StreamReader]
    decode: Callable[[Any], ModelResponse]
    usage: Callable[[Any], Usage]
    advise: Callable[[ProviderError, Sequence[str]], str] | None = None
    most_output: Callable[[ModelRequest], int | None] | None = None
    listing: ModelList = ModelList()
    show: Callable[[], Awaitable[Mapping[str, Any]]] | None = None

    def advice(self, error: ProviderError, there: Sequence[str] = ()) -> str:
        return self.advise(error, there) if self.advise else self.access.advice(error, self.model, there)


class HttpClient(ModelClient):
    def __init__(self, transport: Transport, api: ApiAdapter) -> None:
        self.transport = transport
        self.api = api
        self._redactor = api.access.redactor
        self._deadlines = deadlines = api.access.settings.deadlines
        self._patient = replace(deadlines, first_byte=deadlines.total) if deadlines.is_last else deadlines
        self._where = f"{api.access.provider}/{api.model} at {self.endpoint}"
        self._warned: set[str] = set()
        self.most_output = api.most_output

    def __repr__(self) -> str:
        return f"<{self._where}>"

    @property
    def endpoint(self) -> str:
        """The base URL. All calls to the same one share its rate limit."""
        return public_url(self.transport.access.url)

    async def require_listener(self) -> None:
        """Raises `Unreachable` if nothing listens at the URL, without sending a request."""
        await self.transport.require_listener()

    async def list_models(self, deadlines: Deadlines = LOOKUP) -> tuple[ListedModel, ...]:
        """Returns the models that the server lists. Raises `ProviderError`."""
        return self.api.listing.rows(await self._ask(self.api.listing.path, deadlines))

    async def ask(self) -> Mapping[str, Any]:
        """Asks the server for the model's capabilities; returns none if it lacks the model. Raises `ProviderError`."""
        listing, model = self.api.listing, self.api.model
        if self.api.show:
            with self._advising():
                return listing.capabilities(await self.api.show())
        if not listing.one:
            return next((row.capabilities for row in await self.list_models() if row.name == model), {})
        try:
            return listing.capabilities(await self._ask(listing.one.format(quote(model, safe=""))))
        except ProviderError as error:
            if error.status == 404:
                return {}
            raise

    async def _ask(self, path: str, deadlines: Deadlines = LOOKUP) -> Mapping[str, Any]:
        with self._advising():
            return await ask_server(self.transport, path, deadlines=deadlines)

    @contextmanager
    def _advising(self) -> Iterator[None]:
        """Adds advice for the user to errors."""
        try:
            yield
        except ProviderError as error:
            error.args = (f"{error} {self.api.advice(error)}".rstrip(),)
            raise

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        reader, response, is_sent = self.api.reader(), None, asyncio.Event()
        try:
            sent = await self.api.encode(request)
            if sent.left_out or sent.clamped:
                await self._warn(sent, request, emit)
            deadlines = self._deadlines if request.wants.stream else self._patient
            response = await self._attempt(sent, reader, emit, Clocks(deadlines, self._where), is_sent.set)
            return response
        except ProviderError as error:
            await self._explain(error, reader)
            raise
        finally:
            # A broken answer is charged too, and often reports the tokens of the request at its beginning.
            if response is None:
                await self._report(reader.bill, emit, is_sent=is_sent.is_set())

    async def _attempt(
        self, sent: HttpRequest, reader: StreamReader, emit: Emit, clocks: Clocks, on_sent: Callable[[], None]
    ) -> ModelResponse:
        async with clocks, await self.transport.send("POST", sent.path, sent.body, sent.headers, on_sent) as reply:
            if reply.status >= 300:
                raise http_error(reply.status, await reply.whole(), reply.headers)
            if reply.headers.get("content-type", "").startswith("application/json"):
                return await self._read_whole(reply, reader, clocks, emit)
            return await self._read_stream(reply, reader, clocks, emit)

    async def _read_stream(self, reply: HttpReply, reader: StreamReader, clocks: Clocks, emit: Emit) -> ModelResponse:
        data = await reply.more()
        # A whole answer, despite its content type: an event stream can't begin with a bracket.
        if data.removeprefix(BOM).lstrip()[:1] == b"{" and not _is_of_lines(reply):
            reply.body += data
            return await self._read_whole(reply, reader, clocks, emit)
        while data:
            async with _Batch(emit) as events:
                try:
                    reader.feed(data, events)
                except BadReply:
                    with suppress(ProviderError):  # the usage still follows, and the provider charges for it
                        await self._read_rest(reply, reader, ignore)
                    raise
                if events:
                    clocks.mark_content()
            # The rest after a whole answer (usage, end of the body) has its own short timeout, not the idle one.
            data = b"" if reader.whole else await reply.more()
        if not reader.is_done:
            await self._read_rest(reply, reader, emit)
        await reply.rest()
        return reader.finish()

    async def _read_rest(self, reply: HttpReply, reader: StreamReader, emit: Emit) -> None:
        """Reads the rest after a whole answer, with a short timeout, as some servers neither end it nor hang up."""
        now = asyncio.get_running_loop().time
        with suppress(TimeoutError, Unreachable):
            async with _Batch(emit) as events, asyncio.timeout(_USAGE_SECONDS) as timeout:
                while not reader.is_done and (data := await reply.more()):
                    before = len(events)
                    reader.feed(data, events)
                    if len(events) > before:
                        timeout.reschedule(now() + _USAGE_SECONDS)
                reader.close(events)

    async def _read_whole(self, reply: HttpReply, reader: StreamReader, clocks: Clocks, emit: Emit) -> ModelResponse:
        """Reads an answer that was not streamed."""
        answer = None
        try:
            body = await reply.whole(clocks.mark_content)
            answer = loads(body.removeprefix(BOM))
        except ValueError:  # a stream with the wrong content type, or a body for which the reader has a better error
            async with _Batch(emit) as events:
                reader.feed(body, events)
                reader.close(events)
            return reader.finish()
        finally:
            if answer is None:
                await emit(UsageReported(UNKNOWN_USAGE, len(reply.body.strip())))
        try:
            response = self.api.decode(answer)
        except ProviderError:
            await self._report(answer, emit)
            raise
        await emit(UsageReported(response.usage))
        if thinking := response.message.thinking:
            await emit(ThinkingDelta(thinking))
        if text := response.text:
            await emit(TextDelta(text))
        return response

    async def _report(self, bill: Any, emit: Emit, *, is_sent: bool = True) -> None:
        """Reports the usage of a reply that failed, or that the request was never sent."""
        usage = self.api.usage(bill) if bill else UNKNOWN_USAGE
        if not is_sent or usage != UNKNOWN_USAGE:
            await emit(UsageReported(usage, is_sent=is_sent))

    async def _warn(self, sent: HttpRequest, request: ModelRequest, emit: Emit) -> None:
        """Warns of changed options, once for each or, if the request wants that, each time."""
        model = self.api.model
        lost = [name for name in sent.left_out if (name, request.options.get(name)) not in NO_LOSS]
        changes = {name: f"{name!r} is left out: {model} does not take it." for name in lost}
        for name, value in sent.clamped.items():
            changes[name] = f"{name!r} is sent as {value}: {model} takes no more."
        for option in [name for name in changes if request.wants.each_warning or name not in self._warned]:
            self._warned.add(option)
            await emit(Warned(changes[option], option))

    async def _explain(self, error: ProviderError, reader: StreamReader) -> None:
        reason = str(error).removeprefix(f"{self._where}: ").removeprefix(f"{self.transport.access}: ")
        there = await self._names() if error.status == 404 else ()
        error.args = (f"{self._where}: {sentences(reason, self.api.advice(error, there))}",)
        error.partial = error.partial or reader.text
        self._redactor.clean(error)

    async def _names(self) -> Sequence[str]:
        """Returns the names of the server's models, none if it doesn't list them within `_QUICK_LOOKUP`."""
        with suppress(ProviderError):
            return [model.name for model in await self.list_models(_QUICK_LOOKUP)]
        return ()


class _Batch:
    """Collects the events of one read and emits them at its end, even after a fault."""

    __slots__ = ("_emit", "_events")

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._events: list[Event] = []

    async def __aenter__(self) -> list[Event]:
        return self._events

    async def __aexit__(self, *error: object) -> None:
        for event in self._events:
            await self._emit(event)


def _is_of_lines(reply: HttpReply) -> bool:
    return any(word in reply.headers.get("content-type", "") for word in LINES)
