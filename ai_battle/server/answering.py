"""One request of a client, from its body to the last byte of the answer."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from aiohttp import web

from ..core.client import ModelClient
from ..core.errors import AIBattleError, ProviderError
from ..core.events import AttemptFailed, Emit, Event
from ..core.exchange import ModelResponse
from .apis.api import Api, Asked
from .refusing import BrokenOff, Left, said
from .routes import Route
from .tally import Tally

PING = 10.0
FIRST_SIGN = 0.5
STUCK = 30.0
"""Seconds after which a client that takes nothing of what is sent is taken for one that has left."""
EVENT_STREAM = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
}
"""The last one keeps nginx from holding a stream back."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request that is understood, who is to answer it, and who counts. `tokens` is an estimate of its length."""

    api: Api
    asked: Asked
    route: Route
    tally: Tally
    tokens: int = 0


async def whole(call: Call, client: ModelClient) -> tuple[bytes, ModelResponse]:
    """The body of an answer that is sent when it is complete; raises what the client raises."""
    response = await _completed(call, client, call.tally)
    return call.api.encode(response, call.asked), response


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
    to think first gives a sign of life early, and pings fill every silence.
    """

    def __init__(self, http: web.Request, call: Call) -> None:
        self.begun = False
        self._http = http
        self._call = call
        self._tally = call.tally
        self._writer = call.api.writer(call.asked, call.tokens)
        self._opening = self._writer.begin()
        self._response = web.StreamResponse()
        self._loop = asyncio.get_running_loop()
        self._spoke = self._loop.time()
        self._writing = False
        self._timer = self._loop.call_later(self._patience, self._watch)
        self._pinging: asyncio.Task[None] | None = None

    async def answer(self, client: ModelClient) -> ModelResponse:
        """Raises what the client raises, `BrokenOff` and `Left`; what was sent until then stands."""
        response = await _completed(self._call, client, self._hear)
        await self._send(self._writer.finish(response))
        return response

    async def fail(self, error: AIBattleError) -> None:
        """Says in the stream that there will be no answer."""
        await self._send(self._writer.fail(said(error)))

    async def end(self) -> web.StreamResponse:
        self._writing = True
        await self._response.write_eof()
        return self._response

    async def aclose(self) -> None:
        """Leaves nothing running, however the answer ended."""
        self._timer.cancel()
        if self._pinging:
            self._pinging.cancel()
            await asyncio.wait((self._pinging,))

    @property
    def _patience(self) -> float:
        return PING if self.begun or self._call.route.is_direct else FIRST_SIGN

    async def _hear(self, event: Event) -> None:
        if data := self._writer.feed(event):
            await self._send(data)
            if self._tally.first_token is None:
                self._tally.heard()
            return
        await self._tally(event)
        if isinstance(event, AttemptFailed) and self._is_bound:
            raise BrokenOff(ProviderError(event.reason, status=event.status, request_id=event.request_id))

    @property
    def _is_bound(self) -> bool:
        """Whether a strategy must not go on with another attempt, for what was read of this one stands."""
        return self._tally.first_token is not None and not self._call.route.is_direct

    async def _send(self, data: bytes) -> None:
        if self._pinging and not self._pinging.done():
            await asyncio.wait((self._pinging,))
        await self._write(data)

    async def _write(self, data: bytes) -> None:
        self._spoke = self._loop.time()
        self._writing = True
        try:
            if not self.begun:
                self.begun = True
                self._response.headers.update({**self._tally.early, **EVENT_STREAM})
                await self._response.prepare(self._http)
                data = self._opening + data
            await self._response.write(data)
        except ConnectionError as error:
            raise Left("The client has left.") from error
        self._writing = False

    def _watch(self) -> None:
        """Comes back when the present silence would be too long, so that a busy stream costs next to nothing."""
        now = self._loop.time()
        left = self._spoke + self._patience - now
        if left <= 0:
            left = PING
            if not self._writing:
                self._pinging = self._loop.create_task(self._ping())
            elif now - self._spoke >= STUCK and self._http.transport:
                self._http.transport.abort()
        self._timer = self._loop.call_later(left, self._watch)

    async def _ping(self) -> None:
        with suppress(Left):  # who answers is told of a client that has left by being cancelled
            await self._write(self._writer.ping() if self.begun else b"")
