"""Web servers on this machine for tools to read from, and names that lead where a test says."""

import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Served:
    """A server that runs; `requests` are those that it was asked, oldest first."""

    port: int
    requests: list[web.BaseRequest] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


@asynccontextmanager
async def serving(answer: Handler) -> AsyncIterator[Served]:
    served = Served(0)

    async def note_and_answer(request: web.BaseRequest) -> web.StreamResponse:
        served.requests.append(request)
        return await answer(request)  # type: ignore[arg-type]

    runner = web.ServerRunner(web.Server(note_and_answer), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    served.port = int(runner.addresses[0][1])
    try:
        yield served
    finally:
        await runner.cleanup()


class Names(AbstractResolver):
    """A resolver that says of each name what the test says; of one with several answers, the next one each time."""

    def __init__(self, known: Mapping[str, list[str]]) -> None:
        self.left = {name: list(addresses) for name, addresses in known.items()}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        answers = self.left[host]
        address = answers.pop(0) if len(answers) > 1 else answers[0]
        kind = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [ResolveResult(hostname=host, host=address, port=port, family=kind, proto=0, flags=0)]

    async def close(self) -> None:
        """Nothing is open."""
