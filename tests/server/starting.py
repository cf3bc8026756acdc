"""`ai-battle serve` as a process, as a user starts it."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGTERM

from ai_battle.testing import FakeProviders
from tests.nursery import Process
from tests.scenarios.terminal import command_nursery

from .serving import until


@dataclass
class Running:
    """The command, what it has said, and how many lines of that were heard."""

    process: Process
    said: list[str] = field(default_factory=list)
    _heard: int = 0

    @property
    def address(self) -> str:
        return next((found[1] for line in self.said if (found := re.search(r"Listening on (\S+)", line))), "")

    @property
    def children(self) -> list[int]:
        """The processes of the workers."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(child) for child in listed.split()]

    async def hears(self, words: str) -> str:
        """The next line with these words."""

        def number() -> int:
            return next((n for n, line in enumerate(self.said, 1) if n > self._heard and words in line), 0)

        await until(lambda: bool(number()) or self.process.poll() is not None)
        self._heard = number()
        assert self._heard, f"{words!r} was never said: {self.said}"
        return self.said[self._heard - 1]

    async def wait(self) -> int:
        await until(lambda: self.process.poll() is not None)
        return self.process.wait()

    async def end(self) -> int:
        self.process.send_signal(SIGTERM)
        return await self.wait()


@asynccontextmanager
async def start_server(fakes: FakeProviders, file: Path, *options: str, **environment: str) -> AsyncIterator[Running]:
    """The server of a file with the fakes behind it, once it listens or has ended."""
    async with begin_server(fakes, file, *options, **environment) as running:
        await until(lambda: bool(running.address) or running.process.poll() is not None)
        yield running


@asynccontextmanager
async def begin_server(fakes: FakeProviders, file: Path, *options: str, **environment: str) -> AsyncIterator[Running]:
    known = {**fakes.environment, "ANTHROPIC_API_KEY": "", **environment}
    null, (pipe, errors) = os.open(os.devnull, os.O_RDWR), os.pipe()
    running = Running(command_nursery().begin("serve", file, *options, streams=(null, null, errors), **known))
    reading = asyncio.create_task(_read(pipe, running.said))
    try:
        yield running
    finally:
        await running.end()
        await reading


async def _read(pipe: int, said: list[str]) -> None:
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    with os.fdopen(pipe) as errors:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, errors)
        while line := await reader.readline():
            said.append(line.decode().rstrip())
        transport.close()
