"""`ai-battle serve` as a process, as a user starts it."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ai_battle.testing import FakeProviders

from .serving import until


@dataclass
class Running:
    """The command, what it has said, and its address."""

    process: asyncio.subprocess.Process
    said: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        return next((found[1] for line in self.said if (found := re.search(r"Listening on (\S+)", line))), "")

    @property
    def children(self) -> list[int]:
        """The processes of the workers."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(child) for child in listed.split()]

    def has_said(self, words: str) -> bool:
        return any(words in line for line in self.said)

    async def end(self) -> int:
        if self.process.returncode is None:
            self.process.terminate()
        return await self.process.wait()


@asynccontextmanager
async def start_server(fakes: FakeProviders, file: Path, *options: str, **environment: str) -> AsyncIterator[Running]:
    """The server of a file with the fakes behind it, once it listens or has ended."""
    known = {**os.environ, **fakes.environment, "ANTHROPIC_API_KEY": "", "LOG_LEVEL": "error", **environment}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ai_battle", "serve", str(file), *options),
        stderr=asyncio.subprocess.PIPE,
        env=known,
    )
    running = Running(process)
    reading = asyncio.create_task(_read(process, running.said))
    try:
        await until(lambda: bool(running.address) or process.returncode is not None)
        yield running
    finally:
        await running.end()
        await reading


async def _read(process: asyncio.subprocess.Process, said: list[str]) -> None:
    assert process.stderr
    while line := await process.stderr.readline():
        said.append(line.decode().rstrip())
