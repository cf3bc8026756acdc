"""A server that is a program: what it is given, the lines it reads and writes, and its end."""

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from ...core.plugins import optional

LONGEST_LINE = 16 * 1024 * 1024
KEPT = 4_096
PATIENCE = 2.0
GIVEN = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")


@asynccontextmanager
async def streams(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, stderr: bytearray
) -> AsyncIterator[tuple["_Said", "_Told"]]:
    """Its stdout and stdin in the form that the SDK wants; the end of its stderr is kept in `stderr`.

    When this is left, so is every process of its group. The SDK's own client would gather a line without an end, and
    leave what the program had started.
    """
    given = {name: os.environ[name] for name in GIVEN if name in os.environ} | dict(environment)
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=PIPE, stdout=PIPE, stderr=PIPE,
        env=given, cwd=folder, start_new_session=True, limit=LONGEST_LINE,
    )  # fmt: skip
    assert process.stdin
    assert process.stdout
    assert process.stderr
    listening = asyncio.create_task(_listen(process.stderr, stderr))
    try:
        yield _Said(process.stdout, stderr), _Told(process.stdin)
    finally:
        await asyncio.shield(asyncio.ensure_future(_end(process, process.stdin, listening)))


class _Said:
    """The messages of the server, one in each line; one without an end is the end."""

    def __init__(self, stdout: asyncio.StreamReader, last_words: bytearray) -> None:
        self._stdout = stdout
        self._last_words = last_words
        self._read = optional("mcp.types", "mcp").jsonrpc_message_adapter.validate_json
        self._message = optional("mcp.shared.message", "mcp").SessionMessage

    async def __aenter__(self) -> "_Said":
        return self

    async def __aexit__(self, *error: object) -> None: ...

    def __aiter__(self) -> "_Said":
        return self

    async def __anext__(self) -> Any:
        """What is no message, such as a greeting on the wrong stream, is passed over."""
        while line := await self._line():
            with suppress(ValueError):
                return self._message(self._read(line, by_name=False))
        raise StopAsyncIteration

    async def _line(self) -> bytes:
        try:
            return await self._stdout.readline()
        except ValueError:
            self._last_words.extend(b"[a line of more than %d bytes]" % LONGEST_LINE)
            return b""


class _Told:
    """The messages to the server."""

    def __init__(self, stdin: asyncio.StreamWriter) -> None:
        self._stdin = stdin
        self._gone = optional("anyio", "mcp").BrokenResourceError

    async def __aenter__(self) -> "_Told":
        return self

    async def __aexit__(self, *error: object) -> None: ...

    async def send(self, item: Any) -> None:
        try:
            self._stdin.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await self._stdin.drain()
        except (ConnectionError, RuntimeError) as error:
            raise self._gone from error


async def _listen(stderr: asyncio.StreamReader, heard: bytearray) -> None:
    """It is read at once, so that the program never waits for it."""
    while data := await stderr.read(65_536):
        heard.extend(data)
        del heard[:-KEPT]


async def _end(process: Process, stdin: asyncio.StreamWriter, listening: "asyncio.Task[None]") -> None:
    """By the end of its stdin, then by asking, then by force; nothing of what it started in its group stays."""
    try:
        stdin.close()
        if not await _has_ended(process):
            _signal(process, signal.SIGTERM)
            await _has_ended(process)
    finally:
        _signal(process, signal.SIGKILL)
        await _has_ended(process)
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        process._transport.close()  # type: ignore[attr-defined]


async def _has_ended(process: Process) -> bool:
    """`process.wait` would also wait for whoever else holds its pipes."""
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            while process.returncode is None:  # noqa: ASYNC110 - nothing else tells
                await asyncio.sleep(0.01)
    return process.returncode is not None


def _signal(process: Process, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
