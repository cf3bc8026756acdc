"""The one way out of a fence: a proxy of ours, on this side, that leads to the hosts that are allowed and no others."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field

from .._web.addresses import is_own, why_not_public
from ._hosts import Asked, Hosts, Place, Refused, asked

_log = logging.getLogger(__name__)
_HEAD, _CHUNK = 16_384, 65_536
_ENDINGS = {400: "Bad Request", 403: "Forbidden", 411: "Length Required", 429: "Too Many Requests", 502: "Bad Gateway"}

Resolve = Callable[[Place], Awaitable[list[str]]]


@dataclass(frozen=True, slots=True)
class GateLimits:
    """For all connections of one program together; sizes in bytes."""

    connections: int = 256
    at_once: int = 16
    traffic: int = 64 << 20
    head_seconds: float = 10.0
    connect_seconds: float = 10.0


@dataclass
class Traffic:
    """With one host, or why there was none."""

    place: str
    sent: int = 0
    received: int = 0
    refused: str = ""

    def __str__(self) -> str:
        if self.refused:
            return f"{self.place} refused: {self.refused}"
        return f"{self.place} sent {self.sent} bytes, received {self.received} bytes"


@dataclass
class Gate:
    """For one program. `visits` are its connections, as far as they asked for a host, in their order."""

    hosts: Hosts
    limits: GateLimits = GateLimits()
    resolve: Resolve = field(default_factory=lambda: _addresses)
    visits: list[Traffic] = field(default_factory=list)
    _serving: set[asyncio.Task[None]] = field(default_factory=set)
    _count: int = 0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[int]:
        """A descriptor for the supervisor, which sends a socket by it that listens behind the fence."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with closing(ours), closing(theirs):
            opening = asyncio.create_task(self._listen(ours))
            try:
                yield theirs.fileno()
            finally:
                await _ended({opening, *self._serving})
                for visit in self.visits:
                    _log.info("a program and %s", visit)

    async def _listen(self, channel: socket.socket) -> None:
        """What comes to that socket is in the program's network; what it is given leaves from this one."""
        await _readable(channel)
        _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
        loop = asyncio.get_running_loop()
        with socket.socket(fileno=descriptors[0]) as listener:
            listener.setblocking(False)
            while self._count < self.limits.connections:
                visitor, _ = await loop.sock_accept(listener)
                self._count += 1
                task = asyncio.create_task(self._served(visitor))
                self._serving.add(task)
                task.add_done_callback(self._serving.discard)

    async def _served(self, visitor: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=visitor, limit=_HEAD)
        try:
            await self._answered(reader, writer)
        except Refused as refusal:
            await _say(writer, refusal.status, str(refusal))
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError) as error:
            _log.debug("a program's connection ended: %s", error)
        finally:
            writer.close()

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._serving) > self.limits.at_once:
            raise Refused(429, f"more than {self.limits.at_once} connections at once")
        async with asyncio.timeout(self.limits.head_seconds):
            wish = asked(await reader.readuntil(b"\r\n\r\n"))
        visit = Traffic(str(wish.place))
        if len(self.visits) < self.limits.connections:
            self.visits.append(visit)
        try:
            far_reader, far_writer = await self._connected(wish.place)
        except Refused as refusal:
            visit.refused = str(refusal)
            raise
        with closing(far_writer):
            await self._relayed(_Wire(reader, writer), _Wire(far_reader, far_writer), wish, visit)

    async def _connected(self, place: Place) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if not self.hosts.allows(place):
            raise Refused(403, "it is not in allow_hosts")
        refusal = Refused(502, "there is no such host")
        for address in await self.resolve(place):
            try:
                return await self._reached(place, address)
            except Refused as reason:
                refusal = reason
        raise refusal

    async def _reached(self, place: Place, address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """An address that is not public is one that the user has named itself: names can lead anywhere."""
        if not place.is_address and (found := _why_not(address)):
            raise Refused(403, f"it leads to {address} ({found})")
        try:
            async with asyncio.timeout(self.limits.connect_seconds):
                return await asyncio.open_connection(address, place.port, limit=_CHUNK)
        except (OSError, TimeoutError) as error:
            raise Refused(502, f"no connection ({error or 'it did not answer in time'})") from error

    async def _relayed(self, near: "_Wire", far: "_Wire", wish: Asked, visit: Traffic) -> None:
        if wish.head:
            far.writer.write(wish.head)
            visit.sent += len(wish.head)
        else:
            near.writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        there = asyncio.create_task(self._sent(near.reader, far.writer, wish, visit))
        try:
            await self._received(far.reader, near.writer, visit)
        finally:
            await _ended({there})

    async def _sent(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, wish: Asked, it: Traffic) -> None:
        """Of a plain request its body and no more: what comes behind it may be another request, for another host."""
        left = wish.length if wish.head else self.limits.traffic
        while left and self._room() and (data := await source.read(min(left, _CHUNK))):
            left -= len(data)
            it.sent += len(data)
            target.write(data)
            await target.drain()
        if not wish.head and target.can_write_eof():
            target.write_eof()

    async def _received(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, visit: Traffic) -> None:
        while self._room() and (data := await source.read(_CHUNK)):
            visit.received += len(data)
            target.write(data)
            await target.drain()

    def _room(self) -> bool:
        return sum(visit.sent + visit.received for visit in self.visits) < self.limits.traffic


@dataclass(frozen=True, slots=True)
class _Wire:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def _addresses(place: Place) -> list[str]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _why_not(address: str) -> str:
    return why_not_public(address.partition("%")[0]) or ("this machine" if is_own(address) else "")


async def _say(writer: asyncio.StreamWriter, status: int, reason: str) -> None:
    body = f"{reason}\n".encode()
    head = f"HTTP/1.1 {status} {_ENDINGS[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    with suppress(OSError):
        await writer.drain()


async def _readable(channel: socket.socket) -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(channel, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(channel)


async def _ended(tasks: set[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
