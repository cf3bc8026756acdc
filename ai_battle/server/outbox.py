"""Bytes on their way to a client: what comes while the event loop is busy goes out in one write."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress

from aiohttp import web

from .refusing import Left

HIGH = 256 * 1024
"""Bytes that wait for a slow client before whoever says more has to wait too."""


BREAKS = {b"\xe2\x80\xa8": b"\\u2028", b"\xe2\x80\xa9": b"\\u2029", b"\xc2\x85": b"\\u0085"}
"""Signs that many a client takes for the end of a line; in JSON they may be written as escapes."""


def unbroken(events: bytes) -> bytes:
    if events.isascii():
        return events
    for sign, escape in BREAKS.items():
        if sign in events:
            events = events.replace(sign, escape)
    return events


class Outbox:
    """`head` is called when the first bytes go out; `begun` says that there are some, so the status is settled.

    `is_delivered` becomes true when the last byte of an answer has gone out.
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
        self._left: ConnectionError | None = None
        self._sending: asyncio.Task[None] | None = None
        self.spoke = self._loop.time()

    def put(self, data: bytes) -> None:
        """Raises `Left` when the client has gone."""
        if self._left:
            raise Left("The client has left.") from self._left
        self.begun = True
        self._pending.append(data)
        self._size += len(data)
        self._news.set()
        if not self._sending:
            self._sending = self._loop.create_task(self._send())

    @property
    def is_full(self) -> bool:
        return self._size > HIGH

    async def room(self) -> None:
        while self.is_full and not self._left:
            self._room.clear()
            await self._room.wait()

    async def end(self) -> web.StreamResponse:
        """Sends all that waits, and the end of the answer.

        Many clients hang up at the last event: they have their whole answer, so that is no fault.
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
        """What has not gone out stays here."""
        if self._sending and not self._sending.done():
            self._sending.cancel()
            await asyncio.wait((self._sending,))

    async def _send(self) -> None:
        try:
            await self._begin()
            while await self._more():
                data, self._pending, self._size = b"".join(self._pending), [], 0
                self.is_writing, self.spoke = True, self._loop.time()
                await self._response.write(unbroken(data))
                self.is_writing = False
                self._room.set()
            self.is_delivered = True
        except ConnectionError as error:
            self._left = error
            self._room.set()

    async def _begin(self) -> None:
        self.is_writing = True
        self._response.headers.update(self._head())
        await self._response.prepare(self._http)

    async def _more(self) -> bool:
        """Waits for something to send; false at the end."""
        while not self._pending and not self._is_last:
            self._news.clear()
            await self._news.wait()
        return bool(self._pending)
