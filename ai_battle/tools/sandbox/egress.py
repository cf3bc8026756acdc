"""The only way out of a sandbox: a proxy outside of it that connects to allowed hosts."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field

from ..web.addresses import why_not_public
from .addresses import Address, AddressFilter, ProxyRequest, RequestRefused, proxy_request
from .inside.orders import PROXY_PORT

_log = logging.getLogger(__name__)
_HEAD, _CHUNK = 16_384, 65_536
_ENDINGS = {400: "Bad Request", 403: "Forbidden", 411: "Length Required", 429: "Too Many Requests", 502: "Bad Gateway"}
_PROXY, _LOOPBACK = f"http://127.0.0.1:{PROXY_PORT}", ("localhost", "127.0.0.1", "::1")

Resolve = Callable[[Address], Awaitable[list[str]]]
_Pipe = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def proxy_environment(hosts: AddressFilter) -> dict[str, str]:
    """Returns the variables that name the proxy to programs, except for their own local servers."""
    own = ",".join(name for name in _LOOPBACK if not hosts.names(name))
    values = {"http_proxy": _PROXY, "https_proxy": _PROXY, "all_proxy": _PROXY, "no_proxy": own}
    return {**values, **{name.upper(): value for name, value in values.items()}, "NODE_USE_ENV_PROXY": "1"}


@dataclass(frozen=True, slots=True)
class EgressLimits:
    """Limits for all connections of one program together; sizes are in bytes."""

    connections: int = 256
    at_once: int = 16
    traffic: int = 64 << 20
    head_seconds: float = 10.0
    connect_seconds: float = 10.0


@dataclass
class Visit:
    """The traffic with one host, or why it was refused."""

    address: str
    sent: int = 0
    received: int = 0
    refused: str = ""

    def __str__(self) -> str:
        if self.refused:
            return f"{self.address} refused: {self.refused}"
        return f"{self.address} sent {self.sent} bytes, received {self.received} bytes"


async def _resolve(address: Address) -> list[str]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass
class EgressProxy:
    """Serves one program. `visits` are its connections that asked for a host, in order."""

    hosts: AddressFilter
    limits: EgressLimits = EgressLimits()
    resolve: Resolve = _resolve
    visits: list[Visit] = field(default_factory=list)
    _serving: set[asyncio.Task[None]] = field(default_factory=set)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[int]:
        """Yields a descriptor for the supervisor, through which it sends a socket that listens inside the sandbox."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with closing(ours), closing(theirs):
            listening = asyncio.create_task(self._listen(ours))
            try:
                yield theirs.fileno()
            finally:
                await _cancel({listening, *self._serving})
                for visit in self.visits:
                    _log.info("a program and %s", visit)

    async def _listen(self, channel: socket.socket) -> None:
        """Accepts connections on that socket, which belongs to the program's network; outgoing ones start from ours."""
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(channel, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(channel)
        _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
        with socket.socket(fileno=descriptors[0]) as listener:
            listener.setblocking(False)
            for _ in range(self.limits.connections):
                visitor, _ = await loop.sock_accept(listener)
                task = asyncio.create_task(self._serve(visitor))
                self._serving.add(task)
                task.add_done_callback(self._serving.discard)

    async def _serve(self, visitor: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=visitor, limit=_HEAD)
        try:
            await self._answer(reader, writer)
        except RequestRefused as refusal:
            body = f"{refusal}\n".encode()
            head = (
                f"HTTP/1.1 {refusal.status} {_ENDINGS[refusal.status]}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            )
            writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
            with suppress(OSError):
                await writer.drain()
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError) as error:
            _log.debug("a program's connection ended: %s", error)
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._serving) > self.limits.at_once:
            raise RequestRefused(429, f"more than {self.limits.at_once} connections at once")
        async with asyncio.timeout(self.limits.head_seconds):
            request = proxy_request(await reader.readuntil(b"\r\n\r\n"))
        visit = Visit(str(request.address))
        if len(self.visits) < self.limits.connections:
            self.visits.append(visit)
        try:
            far_reader, far_writer = await self._connect(request.address)
        except RequestRefused as refusal:
            visit.refused = str(refusal)
            raise
        with closing(far_writer):
            await self._relay((reader, writer), (far_reader, far_writer), request, visit)

    async def _connect(self, address: Address) -> _Pipe:
        if not self.hosts.allows(address):
            raise RequestRefused(403, "it is not in allow_hosts")
        refusal = RequestRefused(502, "there is no such host")
        for numeric in await self.resolve(address):
            try:
                # Connects to the address that was checked: the name may resolve to another one a moment later.
                return await self._reach(address, numeric)
            except RequestRefused as reason:
                refusal = reason
        raise refusal

    async def _reach(self, address: Address, numeric: str) -> _Pipe:
        """Connects to an address. A private one must be allowed literally, because a name can lead anywhere."""
        inside = why_not_public(numeric)
        if inside and not address.is_numeric:
            raise RequestRefused(403, f"it leads to {numeric} ({inside})")
        try:
            async with asyncio.timeout(self.limits.connect_seconds):
                return await asyncio.open_connection(numeric, address.port, limit=_CHUNK)
        except (OSError, TimeoutError) as error:
            raise RequestRefused(502, f"no connection ({error or 'it did not answer in time'})") from error

    async def _relay(self, near: _Pipe, far: _Pipe, request: ProxyRequest, visit: Visit) -> None:
        if request.head:
            far[1].write(request.head)
            visit.sent += len(request.head)
        else:
            near[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        sending = asyncio.create_task(self._send(near[0], far[1], request, visit))
        try:
            while self._has_room() and (data := await far[0].read(_CHUNK)):
                visit.received += len(data)
                near[1].write(data)
                await near[1].drain()
        finally:
            await _cancel({sending})

    async def _send(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, request: ProxyRequest, visit: Visit
    ) -> None:
        """Sends the body of a plain request and no more, since what follows may be a request for another host."""
        left = request.length if request.head else self.limits.traffic
        while left and self._has_room() and (data := await source.read(min(left, _CHUNK))):
            left -= len(data)
            visit.sent += len(data)
            target.write(data)
            await target.drain()
        if not request.head and target.can_write_eof():
            target.write_eof()

    def _has_room(self) -> bool:
        return sum(visit.sent + visit.received for visit in self.visits) < self.limits.traffic


async def _cancel(tasks: set[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
