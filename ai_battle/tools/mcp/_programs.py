"""A server that is a program: what it is given, the lines it reads and writes, and its end."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from ...core.plugins import optional
from ..sandbox.interpreters import INSIDE
from ._streams import NO_REQUEST, Unreadable

LONGEST_LINE = 16 * 1024 * 1024
KEPT = 4_096
PATIENCE = 2.0
KEEPERS_PATIENCE = 10.0
"""After two seconds the keeper ends by force what is there, which takes a moment where that is much."""
KEEPER = (
    sys.executable,
    "-I",
    "-S",
    "-c",
    "import sys; sys.path.append(sys.argv.pop(1)); from inside import processes; processes.run_and_reap(sys.argv[1:])",
    str(INSIDE.parent),
)
GIVEN = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")


@asynccontextmanager
async def streams(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, stderr: bytearray
) -> AsyncIterator[tuple["_Said", "_Told"]]:
    """Its stdout and stdin in the form that the SDK wants; the end of its stderr is kept in `stderr`.

    When this is left, so is every process that it has started: a keeper of its own sees to that. The SDK's own client
    would gather a line without an end, and leave what the program had started.
    """
    given = {name: os.environ[name] for name in GIVEN if name in os.environ} | dict(environment)
    process = await asyncio.create_subprocess_exec(
        *KEEPER, *command,
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
        """The next message, or why it is none; what is not meant to be one, such as a greeting, is passed over."""
        while line := await self._line():
            try:
                return self._message(self._read(line, by_name=False))
            except ValueError as error:
                if b'"jsonrpc"' in line:
                    return _unreadable(line, error)
        raise StopAsyncIteration

    async def _line(self) -> bytes:
        try:
            return await self._stdout.readline()
        except ValueError:
            self._last_words.extend(b"[a line of more than %d bytes]" % LONGEST_LINE)
            return b""


def _unreadable(line: bytes, error: ValueError) -> Unreadable:
    try:
        said = from_json(line)
    except ValueError as broken:
        return Unreadable(str(broken))
    number = said.get("id") if isinstance(said, dict) else None
    return Unreadable(str(error), number if isinstance(number, int | str) else NO_REQUEST)


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
    """By the end of its stdin, then by asking, then by force; its keeper ends what it has started."""
    try:
        stdin.close()
        if not await _has_ended(process):
            _signal(process, signal.SIGTERM)
            await _has_ended(process, KEEPERS_PATIENCE)
    finally:
        _signal(process, signal.SIGKILL)
        await _has_ended(process)
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        process._transport.close()  # type: ignore[attr-defined]


async def _has_ended(process: Process, seconds: float = PATIENCE) -> bool:
    """`process.wait` would also wait for whoever else holds its pipes."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while process.returncode is None:  # noqa: ASYNC110 - nothing else tells
                await asyncio.sleep(0.01)
    return process.returncode is not None


def _signal(process: Process, number: int) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.send_signal(number)
