"""A person at the keyboard, who takes part like any model."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from threading import Thread
from typing import TypeAlias

from ..core.client import ModelClient
from ..core.errors import ProviderError
from ..core.events import Emit, TextDelta, ignore
from ..core.exchange import NOTHING_USED, ModelRequest, ModelResponse
from ..core.messages import assistant

Reader: TypeAlias = Callable[[str], Awaitable[str | None]]


class PersonLeft(ProviderError):
    """The person closed the input; the others go on without."""


class Keyboard:
    """Lines from standard input; None at its end.

    The thread that waits for a line is nobody's to wait for, and it reads past Python's own buffer: so Ctrl-C ends the
    program at once, in the middle of a line.
    """

    def __init__(self) -> None:
        self._rest = b""

    async def __call__(self, prompt: str) -> str | None:
        print(prompt, end="", file=sys.stderr, flush=True)
        loop = asyncio.get_running_loop()
        line: asyncio.Future[str | None] = loop.create_future()
        Thread(target=self._deliver, args=(loop, line), daemon=True).start()
        typed: str | None = None
        try:
            typed = await line
        finally:
            if typed is None:  # nobody pressed Enter
                print(file=sys.stderr, flush=True)
        return typed

    def _deliver(self, loop: asyncio.AbstractEventLoop, line: "asyncio.Future[str | None]") -> None:
        read = self._line()

        def set_line() -> None:
            if not line.done():
                line.set_result(read)

        with suppress(RuntimeError):  # the loop may have ended while nobody typed
            loop.call_soon_threadsafe(set_line)

    def _line(self) -> str | None:
        while b"\n" not in self._rest:
            data = os.read(sys.stdin.fileno(), 65536)
            if not data:
                last, self._rest = self._rest, b""
                return last.decode(errors="replace") if last else None
            self._rest += data
        first, _, self._rest = self._rest.partition(b"\n")
        return first.decode(errors="replace")


keyboard = Keyboard()


class PersonClient(ModelClient):
    """Says what is typed. An empty line is no answer, which skips the turn; the end of the input leaves."""

    def __init__(self, name: str, read: Reader = keyboard) -> None:
        self._name = name
        self._read = read

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        line = await self._read(f"{self._name}> ")
        if line is None:
            raise PersonLeft(f"{self._name} left the discussion.")
        if not line.strip():
            raise ProviderError(f"{self._name} let the turn pass.")
        await emit(TextDelta(line))
        return ModelResponse(assistant(line), usage=NOTHING_USED, model="person")
