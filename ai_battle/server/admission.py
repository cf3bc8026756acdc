"""How much is taken on at once, and how long a request may take to arrive."""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from types import TracebackType

from aiohttp import web

from .refusing import Denied

MEGABYTE = 1024 * 1024
SOON = 1.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one request may take: bytes and seconds of its body, tokens of its answer."""

    body: int = 32 * MEGABYTE
    seconds: float = 30.0
    max_tokens: int | None = None


@dataclass(slots=True)
class Admission:
    """Entered by each request: `concurrent` are answered at once, `queue` wait in order, more are turned away."""

    concurrent: int = 512
    queue: int = 512
    running: int = 0
    _waiting: deque[asyncio.Future[None]] = field(default_factory=deque)

    @property
    def queued(self) -> int:
        return len(self._waiting)

    async def __aenter__(self) -> None:
        if self.running < self.concurrent:
            self.running += 1
        else:
            await self._turn()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    async def _turn(self) -> None:
        if len(self._waiting) >= self.queue:
            raise Denied(529, "The server is busy: too many requests are waiting already.", retry_after=SOON)
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()
            else:
                self._waiting.remove(turn)
            raise

    def _leave(self) -> None:
        """Whoever waits longest takes the place over."""
        while self._waiting and self.running <= self.concurrent:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.running -= 1


async def body_of(http: web.Request, bounds: Bounds) -> bytes:
    """Raises `Denied` for a body that is too large, too slow, or not encoded as its head says."""
    if (http.content_length or 0) > bounds.body:
        raise _too_large(bounds)
    try:
        if http.content.is_eof():
            return await _read(http, bounds)
        async with asyncio.timeout(bounds.seconds):
            return await _read(http, bounds)
    except web.RequestPayloadError as error:
        encoding = http.headers.get("content-encoding", "")[:40]
        raise Denied(400, f"The body can't be read{f' as {encoding}' if encoding else ''}.") from error
    except TimeoutError:
        raise Denied(408, f"The request did not arrive within {bounds.seconds:g} s.") from None


async def _read(http: web.Request, bounds: Bounds) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while not http.content.at_eof():
        chunk = await http.content.readany()
        size += len(chunk)
        if size > bounds.body:
            raise _too_large(bounds)
        chunks.append(chunk)
    return b"".join(chunks)


def _too_large(bounds: Bounds) -> Denied:
    return Denied(413, f"The request is larger than {bounds.body / MEGABYTE:g} MB, the most that is taken here.")
