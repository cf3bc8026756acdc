"""Admission control: how many requests are answered at once, how long one may take to arrive, and when all end."""

import asyncio
import time
import zlib
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import random

from aiohttp import web

from ..config.server import ServeKey, ServerLimits
from ..core.errors import Unreachable
from ..providers._transport import COMPRESSIONS, decompress
from .errors import Denied
from .shared import SharedCounts

MEGABYTE = 1024 * 1024
SOON, MINUTE = 1.0, 60.0
POLL_SECONDS = 0.05
"""Seconds between two attempts to get a place that another worker may free."""
KEY_SHARE = 0.75
"""The share of all places, and of the queue, that one of several keys may take."""


@dataclass(slots=True)
class KeyQueue:
    """The requests of one key: how many are running, which wait, and the arrival times of the last minute.

    `shared` of the running ones hold a place among those of all workers.
    """

    most: int = 0
    running: int = 0
    shared: int = 0
    last_served: int = 0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)
    came: deque[float] = field(default_factory=deque)

    @property
    def has_room(self) -> bool:
        return self.running < self.most

    def count(self, per_minute: int, now: float) -> float:
        """Counts a request. Returns 0, or the seconds to wait if it exceeds the key's requests per minute."""
        while self.came and self.came[0] <= now - MINUTE:
            self.came.popleft()
        if len(self.came) >= per_minute:
            return self.came[-per_minute] + MINUTE - now
        self.came.append(now)
        return 0.0


@dataclass(slots=True)
class Admission:
    """Answers `concurrent` requests at once, lets `queue` wait and refuses the rest.

    Free places go to the waiting keys in turn, and in order within a key. If there are several keys, none gets all
    places or the whole queue.
    """

    concurrent: int = 512
    queue: int = 512
    running: int = 0
    queued: int = 0
    has_several_keys: bool = False
    counts: SharedCounts | None = None
    clock: Callable[[], float] = time.monotonic
    _places_taken: int = 0
    _queues: dict[str, KeyQueue] = field(default_factory=dict)

    async def enter(self, holder: ServeKey) -> None:
        """Waits until a request may be answered. It then holds a place until `leave`. Raises `Denied`."""
        queue = self._queues.get(holder.name) or self._queues.setdefault(holder.name, KeyQueue())
        queue.most = min(holder.concurrent or self.concurrent, self._share(self.concurrent))
        if holder.per_minute:
            await self._check_rate(queue, holder, holder.per_minute)
        if self.running < self.concurrent and queue.has_room and not queue.waiting:
            self._take(queue)
        else:
            await self._wait_for_turn(queue, self._share(self.queue))
        if self.counts and holder.concurrent:
            await self._share_place(queue, holder.name, holder.concurrent, self.counts)

    def leave(self, holder: ServeKey) -> None:
        queue = self._queues[holder.name]
        if self.counts and holder.concurrent:
            queue.shared -= 1
            self.counts.publish_places(holder.name, queue.shared)
        self._leave(queue)

    async def _check_rate(self, queue: KeyQueue, holder: ServeKey, per_minute: int) -> None:
        wait = await self.counts.count_request(holder.name, per_minute, MINUTE) if self.counts else None
        if wait is None:
            wait = queue.count(per_minute, self.clock())
        if wait:
            raise Denied(429, f"This key may ask {per_minute} times a minute.", retry_after=wait)

    async def _share_place(self, queue: KeyQueue, name: str, most: int, counts: SharedCounts) -> None:
        """Takes a place among those that all workers have for this key, or gives back the local one."""
        granted = False
        try:
            while not (granted := await self._claim(queue, name, most, counts)):  # noqa: ASYNC110 - another process frees it
                await asyncio.sleep(POLL_SECONDS * (0.5 + random()))  # noqa: S311 - jitter, so that workers do not retry in step
        finally:
            if not granted:
                self._leave(queue)

    async def _claim(self, queue: KeyQueue, name: str, most: int, counts: SharedCounts) -> bool:
        granted = False
        queue.shared += 1  # before the await, as other requests of this worker may claim a place meanwhile
        try:
            granted = await counts.claim_place(name, queue.shared, most)
        finally:
            if not granted:
                queue.shared -= 1
                counts.publish_places(name, queue.shared)
        return granted

    def _share(self, places: int) -> int:
        return max(1, int(places * KEY_SHARE)) if self.has_several_keys else places

    def _take(self, queue: KeyQueue) -> None:
        self._places_taken += 1
        queue.last_served = self._places_taken
        self.running += 1
        queue.running += 1

    async def _wait_for_turn(self, queue: KeyQueue, most: int) -> None:
        if self.queued >= self.queue:
            raise Denied(529, "The server is busy: too many requests are waiting already.", retry_after=SOON)
        if len(queue.waiting) >= most:
            raise Denied(429, "Too many requests of this key are waiting already.", retry_after=SOON)
        turn = asyncio.get_running_loop().create_future()
        queue.waiting.append(turn)
        self.queued += 1
        try:
            await turn
        except asyncio.CancelledError:
            # A place may have been granted just before the cancellation: it has to go on to the next request.
            if turn in queue.waiting:
                queue.waiting.remove(turn)
                self.queued -= 1
            elif not turn.cancelled():
                self._leave(queue)
            raise

    def _leave(self, queue: KeyQueue) -> None:
        """Frees a place and gives it to the next key's oldest waiting request."""
        self.running -= 1
        queue.running -= 1
        while self.queued and self.running < self.concurrent and (following := self._next_queue()):
            turn = following.waiting.popleft()
            self.queued -= 1
            if not turn.done():
                self._take(following)
                turn.set_result(None)

    def _next_queue(self) -> KeyQueue | None:
        ready = (queue for queue in self._queues.values() if queue.waiting and queue.has_room)
        return min(ready, key=lambda queue: queue.last_served, default=None)


class Closing:
    """Ends all running answers of a server that closes."""

    def __init__(self) -> None:
        self._answers: set[asyncio.Timeout] = set()

    @asynccontextmanager
    async def may_end(self) -> AsyncIterator[None]:
        """Raises `Denied` in the block when `end_answers` is called."""
        answer = asyncio.timeout(None)
        self._answers.add(answer)
        try:
            async with answer:
                yield
        except TimeoutError as error:
            if not answer.expired():
                raise
            raise Denied(503, "The server ends before the answer has come: send it again.", retry_after=SOON) from error
        finally:
            self._answers.discard(answer)

    def end_answers(self) -> None:
        for answer in self._answers:
            answer.reschedule(0)


async def read_body(http: web.Request, limits: ServerLimits) -> bytes:
    """Raises `Denied` for a body that is too large, too slow, or not compressed as its headers say."""
    encoding = http.headers.get("content-encoding", "").lower()[:40]
    if (http.content_length or 0) > limits.body_mb * MEGABYTE:
        raise _too_large(limits)
    try:
        if http.content.is_eof():
            return await _read(http, encoding, limits)
        async with asyncio.timeout(limits.body_seconds):
            return await _read(http, encoding, limits)
    except Unreachable as error:
        raise Denied(415, f"The body is compressed with {encoding}; send it with gzip, or as it is.") from error
    except (web.RequestPayloadError, zlib.error) as error:
        raise Denied(400, f"The body can't be read{f' as {encoding}' if encoding else ''}.") from error
    except TimeoutError:
        raise Denied(408, f"The request did not arrive within {limits.body_seconds:g} s.") from None


async def _read(http: web.Request, encoding: str, limits: ServerLimits) -> bytes:
    chunks, size, pieces = list[bytes](), 0, http.content.iter_any()
    async for chunk in decompress(encoding, pieces) if encoding in COMPRESSIONS else pieces:
        size += len(chunk)
        if size > limits.body_mb * MEGABYTE:
            raise _too_large(limits)
        chunks.append(chunk)
    return b"".join(chunks)


def _too_large(limits: ServerLimits) -> Denied:
    return Denied(413, f"The request is larger than {limits.body_mb:g} MB, the most that is taken here.")
