"""One request of a client, from its body to the last byte of the answer."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from aiohttp import web

from ..core.client import ModelClient
from ..core.errors import ProviderError
from ..core.events import AttemptFailed, Emit, Event, ModelReplied
from ..core.exchange import ModelResponse
from ..wire.failures import Failed
from .apis.api import Api, Asked, Writer
from .outbox import Outbox
from .refusing import BrokenOff, Left
from .routes import Route
from .stored import Conversation
from .tally import Tally

EVENT_STREAM = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
}
"""The last one keeps nginx from holding a stream back."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """Seconds: between signs of life in a silence, before the first one on a route that has to think.

    And those after which a client that takes nothing of what is sent counts as one that has left.
    """

    ping: float = 10.0
    first_sign: float = 0.5
    stuck: float = 30.0


USUAL = Rhythm()


@dataclass(frozen=True, slots=True)
class Call:
    """A request that is understood, who is to answer it, and who counts.

    `tokens` is an estimate of its length, `conversation` what it goes on, where an API has such.
    """

    api: Api
    asked: Asked
    route: Route
    tally: Tally
    tokens: int = 0
    conversation: Conversation | None = None

    async def keep(self, writer: Writer) -> None:
        """Before the client hears the end of its answer, as it may refer to it at once."""
        if self.conversation:
            await self.conversation.keep(writer.answer)


async def whole(call: Call, client: ModelClient) -> tuple[bytes, ModelResponse]:
    """The body of an answer that is sent when it is complete; raises what the client raises."""
    response = await _completed(call, client, call.tally)
    writer = call.api.writer(call.asked, call.tokens)
    body = writer.whole(response)
    await call.keep(writer)
    return body, response


async def _completed(call: Call, client: ModelClient, listen: Emit) -> ModelResponse:
    """A model that has answered and said nothing is no error to a client of an API."""
    try:
        return await client.complete(call.asked.request, listen)
    except ProviderError as error:
        if error.response is None:
            raise
        return error.response


class Stream:
    """An answer that is sent while it comes.

    Nothing is sent before there is something to say: until then an error still has its own status. A route that has
    to think first gives a sign of life early, and pings fill every silence. It is a listener.
    """

    def __init__(self, http: web.Request, call: Call, rhythm: Rhythm = USUAL) -> None:
        self._http = http
        self._call = call
        self._rhythm = rhythm
        self._tally = call.tally
        self._is_amid_reply = False
        self._writer = call.api.writer(call.asked, call.tokens)
        self._opening = self._writer.begin()
        self._outbox = Outbox(http, lambda: {**call.tally.early, **EVENT_STREAM})
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(self._patience, self._watch)

    @property
    def begun(self) -> bool:
        """The client is told that there is an answer, and with which status."""
        return self._outbox.begun

    @property
    def is_delivered(self) -> bool:
        """The last event has gone out to the client."""
        return self._outbox.is_delivered

    async def answer(self, client: ModelClient) -> ModelResponse:
        """Raises what the client raises, `BrokenOff` and `Left`; what was sent until then stands."""
        response = await _completed(self._call, client, self)
        end = self._writer.finish(response)
        await self._call.keep(self._writer)
        self._say(end)
        return response

    def fail(self, failed: Failed) -> None:
        """Says in the stream that there will be no answer."""
        self._put(self._writer.fail(failed))

    async def end(self) -> web.StreamResponse:
        try:
            return await self._outbox.end()
        finally:
            self._timer.cancel()

    async def aclose(self) -> None:
        """Leaves nothing running, however the answer ended."""
        self._timer.cancel()
        await self._outbox.aclose()

    @property
    def _patience(self) -> float:
        return self._rhythm.ping if self.begun or self._call.route.is_direct else self._rhythm.first_sign

    async def __call__(self, event: Event) -> None:
        if data := self._writer.feed(event):
            self._say(data)
            if self._outbox.is_full:
                await self._outbox.room()
            return
        await self._tally(event)
        if isinstance(event, ModelReplied) and not event.failed:
            self._is_amid_reply = False
        if isinstance(event, AttemptFailed) and self._is_bound:
            raise BrokenOff(ProviderError(event.reason, status=event.status, request_id=event.request_id))

    @property
    def _is_bound(self) -> bool:
        """Whether a strategy must not go on with another attempt, for what was read of this one stands."""
        return self._is_amid_reply and not self._call.route.is_direct

    def _say(self, data: bytes) -> None:
        if self._tally.first_token is None:
            self._tally.heard()
        self._is_amid_reply = True
        self._put(data)

    def _put(self, data: bytes) -> None:
        opening, self._opening = self._opening, b""
        self._outbox.put(opening + data)

    def _watch(self) -> None:
        """Comes back when the present silence would be too long, so that a busy stream costs next to nothing."""
        now = self._loop.time()
        left = self._outbox.spoke + self._patience - now
        if left <= 0:
            left = self._rhythm.ping
            if not self._outbox.is_writing:
                self._ping()
            elif now - self._outbox.spoke >= self._rhythm.stuck and self._http.transport:
                self._http.transport.abort()
        self._timer = self._loop.call_later(left, self._watch)

    def _ping(self) -> None:
        with suppress(Left):  # who answers is told of a client that has left by being cancelled
            self._put(self._writer.ping())
