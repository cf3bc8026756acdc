"""Connections before they are requests: how many there are, and how long a first head may take."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from aiohttp import web

FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\nretry-after: 1\r\nconnection: close\r\n"
    b"content-length: 21\r\n\r\ntoo many connections\n"
)


@dataclass(slots=True)
class Door:
    """Makes the protocol of each connection to `server`, which closes no half-open connection itself.

    Between two requests of a connection the server's own keep-alive time holds. No answer names the software and its
    version, not even the library's own to what is no HTTP, of which the application never hears.
    """

    server: web.Server
    connections: int
    seconds: float
    _awaited: dict[web.RequestHandler, asyncio.TimerHandle] = field(default_factory=dict)

    def __post_init__(self) -> None:
        make = self.server.request_factory

        def factory(message: Any, payload: Any, protocol: web.RequestHandler, writer: Any, task: Any) -> Any:
            if timer := self._awaited.pop(protocol, None):
                timer.cancel()
            writer.write_headers = partial(_write_without_server, writer.write_headers)
            return make(message, payload, protocol, writer, task)

        self.server.request_factory = factory

    def __call__(self) -> asyncio.Protocol:
        if len(self.server.connections) >= self.connections:
            return _Full()
        protocol = self.server()
        loop = asyncio.get_running_loop()
        self._awaited[protocol] = loop.call_later(self.seconds, self._close, protocol)
        return protocol

    def _close(self, protocol: web.RequestHandler) -> None:
        del self._awaited[protocol]
        protocol.force_close()

    def close(self) -> None:
        for timer in self._awaited.values():
            timer.cancel()


async def _write_without_server(write: Callable[..., Awaitable[None]], status: str, headers: Any) -> None:
    headers.popall("server", None)
    await write(status, headers)


class _Full(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.WriteTransport):
            transport.write(FULL)
        transport.close()
