"""A loopback server that answers every question with the bytes it was given, so that real SDKs read what we write."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web


class Player:
    """Runs beside the test in a thread, for SDKs that block."""

    def __init__(self) -> None:
        self.url = ""
        self.stream = b""
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()

    def run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    def wait(self) -> None:
        assert self._ready.wait(20)

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)

    async def _serve(self) -> None:
        app = web.Application()
        app.router.add_post("/{path:.*}", self._answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        self._ready.set()
        await self._over.wait()
        await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        await request.read()
        return web.Response(body=self.stream, content_type="text/event-stream", charset="utf-8")


@contextmanager
def playing() -> Iterator[Player]:
    player = Player()
    thread = threading.Thread(target=player.run)
    thread.start()
    player.wait()
    try:
        yield player
    finally:
        player.end()
        thread.join()
