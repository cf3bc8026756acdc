"""Streams an answer to a client as it comes, and buffers bytes that wait for the network."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from aiohttp import web

from ..core.client import ModelClient
from ..core.errors import BudgetExceeded, ProviderError
from ..core.events import AttemptFailed, Emit, Event, ModelReplied, ThinkingDelta
from ..core.exchange import ModelResponse
from ..core.tooling import ToolCalled, ToolReturned
from ..wire.blocks import BlockWriter, Failure
from .apis import Api, ApiRequest, Conversation
from .clients import Route
from .errors import BrokenStream, ClientDisconnected
from .metrics import RequestStats

EVENT_STREAM = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
}
"""The last one keeps nginx from holding a stream back."""
BYTES_PER_TOKEN = 4
HIGH_WATER_BYTES = 256 * 1024
"""Bytes that may wait for a slow client before the model's stream has to wait."""
LINE_BREAKS = {b"\xe2\x80\xa8": b"\\u2028", b"\xe2\x80\xa9": b"\\u2029", b"\xc2\x85": b"\\u0085"}
"""Characters that many clients take for the end of a line; JSON allows escapes for them."""


@dataclass(frozen=True, slots=True)
class StreamTiming:
    """Seconds: between pings in a silence, until the first one on a route that has to think.

    `stuck` is the time after which a client that reads nothing counts as disconnected.
    """

    ping: float = 10.0
    first_sign: float = 0.5
    stuck: float = 30.0


USUAL = StreamTiming()
NOT_UNDERSTOOD = (400, 422)
"""Statuses by which an upstream says that it does not understand a request."""


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """A decoded request with its statistics and route; `conversation` is what it continues, if its API has such."""

    api: Api
    asked: ApiRequest
    stats: RequestStats
    route: Route
    conversation: Conversation | None = None

    def writer(self, http: web.Request) -> BlockWriter:
        return self.api.writer(self.asked, (http.content_length or 0) // BYTES_PER_TOKEN)

    async def complete(self, client: ModelClient, listen: Emit) -> ModelResponse:
        """Completes a request.

        If an upstream refuses it as the client wrote it, it is rewritten, if we can, and sent again.
        """
        request = self.asked.request
        while True:
            try:
                return await client.complete(request, listen)
            except ProviderError as error:
                # A model that answered without content is not an error to a client of an API, unless help was due.
                if error.response is not None:
                    self._require_paid_help()
                    return error.response
                # Sending again is safe: an upstream with such a status has not begun its answer.
                if error.status not in NOT_UNDERSTOOD or not self.api.mends(request):
                    raise
            # A copy has no raw body (`ModelRequest.raw`), so it is encoded by us instead of passed on.
            request = replace(request)

    def _require_paid_help(self) -> None:
        """Raises `BudgetExceeded` if there was no money for help, which an empty answer would not tell."""
        if reason := self.stats.unpaid_help:
            raise BudgetExceeded(f"The answer was empty, and there was no money for help. {reason}")

    async def store(self, writer: BlockWriter) -> None:
        """Stores the answer before the client sees its end, as it may refer to it at once."""
        if self.conversation:
            await self.conversation.store_answer(writer.answer)


class ClientStream:
    """A listener that streams an answer to a client.

    Sends nothing before there is content: until then an error can still have its own status. A route that has to think
    first sends a sign of life early, and pings fill every silence.
    """

    def __init__(self, http: web.Request, call: ServedRequest, timing: StreamTiming = USUAL) -> None:
        self._http = http
        self._call = call
        self._is_direct = call.route.is_direct
        self._timing = timing
        self._is_amid_reply = False
        self._writer = call.writer(http)
        self._opening = self._writer.begin()
        self.buffer = StreamBuffer(http, lambda: {**call.stats.early_headers, **EVENT_STREAM})
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(self._silence_limit, self._watch)

    async def answer(self, client: ModelClient) -> ModelResponse:
        """Raises what the client raises, `BrokenStream` or `ClientDisconnected`; what was sent before stays sent."""
        response = await self._call.complete(client, self)
        end = self._writer.finish(response)
        await self._call.store(self._writer)
        self._say(end)
        return response

    def fail(self, failed: Failure) -> None:
        """Reports in the stream that there will be no answer."""
        self._send(self._writer.fail(failed))

    async def end(self) -> web.StreamResponse:
        try:
            return await self.buffer.end()
        finally:
            self._timer.cancel()

    async def aclose(self) -> None:
        """Stops all tasks and timers, however the answer ended."""
        self._timer.cancel()
        await self.buffer.aclose()

    @property
    def _silence_limit(self) -> float:
        return self._timing.ping if self.buffer.begun or self._is_direct else self._timing.first_sign

    async def __call__(self, event: Event) -> None:
        if data := self._writer.feed(event):
            self._say(data)
            # Thinking is no part of an answer yet: what a strategy does next may follow it.
            self._is_amid_reply |= not isinstance(event, ThinkingDelta)
            if self.buffer.is_full:
                await self.buffer.wait_for_room()
            return
        await self._call.stats(event)
        if isinstance(event, ToolCalled | ToolReturned) or (isinstance(event, ModelReplied) and not event.failed):
            self._is_amid_reply = False
        # The client has read a part of this attempt, so a strategy must not continue with another one.
        if isinstance(event, AttemptFailed) and self._is_amid_reply and not self._is_direct:
            raise BrokenStream(ProviderError(event.reason, status=event.status, request_id=event.request_id))

    def _say(self, data: bytes) -> None:
        self._call.stats.mark_first_token()
        self._send(data)

    def _send(self, data: bytes) -> None:
        opening, self._opening = self._opening, b""
        self.buffer.add(opening + data)

    def _watch(self) -> None:
        """Pings or aborts if the silence is too long. Reschedules itself, so that a busy stream sets no timers."""
        now = self._loop.time()
        left = self.buffer.written_at + self._silence_limit - now
        if left <= 0:
            left = self._timing.ping
            if not self.buffer.is_writing:
                with suppress(ClientDisconnected):  # the answering task is cancelled when its client leaves
                    self._send(self._writer.ping())
            elif now - self.buffer.written_at >= self._timing.stuck and self._http.transport:
                self._http.transport.abort()
        self._timer = self._loop.call_later(left, self._watch)


class StreamBuffer:
    """Sends everything that came while the event loop was busy in one write; calls `head` before the first bytes.

    `begun` means that there are bytes, so the status is settled; `is_delivered` that the last byte was sent.
    """

    def __init__(self, http: web.Request, head: Callable[[], Mapping[str, str]]) -> None:
        self.begun = False
        self.is_writing = False
        self.is_delivered = False
        self._http = http
        self._head = head
        self._response = web.StreamResponse()
        self._loop = asyncio.get_running_loop()
        self._pending: list[bytes] = []
        self._size = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._is_last = False
        self._lost: ConnectionError | None = None
        self._sending: asyncio.Task[None] | None = None
        self.written_at = self._loop.time()

    def add(self, data: bytes) -> None:
        """Raises `ClientDisconnected` if the client has disconnected."""
        if self._lost:
            raise ClientDisconnected("The client has left.") from self._lost
        self.begun = True
        self._pending.append(data)
        self._size += len(data)
        self._news.set()
        if not self._sending:
            self._sending = self._loop.create_task(self._send_pending())

    @property
    def is_full(self) -> bool:
        return self._size > HIGH_WATER_BYTES

    async def wait_for_room(self) -> None:
        while self.is_full and not self._lost:
            self._room.clear()
            await self._room.wait()

    async def end(self) -> web.StreamResponse:
        """Sends all that waits, and the end of the answer.

        Many clients hang up at the last event: they have their whole answer, so that is not an error.
        """
        self._is_last = True
        self._news.set()
        if self._sending:
            await asyncio.wait((self._sending,))
            self._sending.result()
        self.is_writing = True
        with suppress(ConnectionError):
            await self._response.write_eof()
        return self._response

    async def aclose(self) -> None:
        """Closes the stream and drops what was not sent."""
        if self._sending and not self._sending.done():
            self._sending.cancel()
            await asyncio.wait((self._sending,))

    async def _send_pending(self) -> None:
        try:
            self.is_writing = True
            # As late as possible: only now it is known whether help was asked before the first words.
            self._response.headers.update(self._head())
            await self._response.prepare(self._http)
            while await self._wait_for_data():
                data, self._pending, self._size = b"".join(self._pending), [], 0
                self.is_writing, self.written_at = True, self._loop.time()
                await self._response.write(_without_breaks(data))
                self.is_writing = False
                self._room.set()
            self.is_delivered = True
        except ConnectionError as error:
            self._lost = error
            self._room.set()

    async def _wait_for_data(self) -> bool:
        """Waits for data to send; returns false at the end."""
        while not self._pending and not self._is_last:
            self._news.clear()
            await self._news.wait()
        return bool(self._pending)


def _without_breaks(events: bytes) -> bytes:
    if not events.isascii():
        for sign, escape in LINE_BREAKS.items():
            events = events.replace(sign, escape)
    return events
