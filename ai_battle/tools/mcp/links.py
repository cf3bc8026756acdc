"""Connects to MCP servers: a program that is started, or an address. Both give streams of the official SDK."""

import asyncio
import os
import shutil
import signal
import sys
from abc import ABC, abstractmethod
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self
from urllib.parse import urlsplit

from pydantic_core import from_json

from ...config.tools import McpServer
from ...core.errors import ConfigError
from ...core.plugins import optional
from ...core.redaction import Redactor
from .._tasks import finish, start_process
from ..sandbox.program import INSIDE

LAST_WORDS = 400
LONGEST_LINE = 16 * 1024 * 1024
KEPT_STDERR = 4_096
EXIT_SECONDS = 2.0
KEEPER_SECONDS = 10.0
"""After two seconds the keeper kills what is left, which takes a moment if there are many processes."""
_KEEP = (
    "import sys; sys.path.append(sys.argv.pop(1)); from inside import processes; processes.run_and_reap(sys.argv[1:])"
)
KEEPER = (sys.executable, "-I", "-S", "-c", _KEEP, str(INSIDE.parent))
INHERITED = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
NO_REQUEST = ""


class Link(ABC):
    """A connection to a server. `streams` are the SDK's; `shown` names the server to users, without secrets."""

    shown: str
    secrets: Mapping[str, str] = MappingProxyType({})
    """Maps each secret to the name of the variable or header that holds it."""

    @abstractmethod
    def streams(self) -> AbstractAsyncContextManager[tuple[Any, Any]]: ...

    @abstractmethod
    def _last_output(self) -> str:
        """Returns what the server last wrote outside the protocol."""

    def last_words(self) -> str:
        return " ".join(Redactor(self.secrets).text(self._last_output()).split())[-LAST_WORDS:]


def link(settings: McpServer, base: Path) -> Link:
    return ProgramLink(settings, base) if settings.command else AddressLink(settings)


class AddressLink(Link):
    """A server that runs already and speaks MCP over streamable HTTP."""

    def __init__(self, settings: McpServer) -> None:
        parts = urlsplit(settings.url)
        self.shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        of_address = {part: "URL" for part in (parts.query, parts.password) if part}
        self.secrets = {value: name for name, value in settings.headers.items()} | of_address
        self._settings = settings
        self._refusal = ""

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[tuple[Any, Any]]:
        transport = optional("mcp.client.streamable_http", "mcp")
        async with transport.create_mcp_http_client(headers=self._settings.headers) as http:
            http.event_hooks = {"response": [self._look_at]}
            async with transport.streamable_http_client(self._settings.url, http_client=http) as streams:
                yield streams

    async def _look_at(self, response: Any) -> None:
        code = response.status_code
        if response.request.method == "POST":
            self._refusal = f"HTTP {code} {response.reason_phrase}".rstrip() if code >= 400 else ""

    def _last_output(self) -> str:
        return self._refusal


class ProgramLink(Link):
    """A program that speaks MCP on stdin and stdout, in its own session.

    It gets the variables of `env` and, of ours, only those in `INHERITED`. The SDK's own client would buffer an endless
    line, and would not report which request an unreadable answer was meant for.
    """

    def __init__(self, settings: McpServer, base: Path) -> None:
        self.shown = settings.command
        self.secrets = {value: name for name, value in settings.env.items()}
        self._settings = settings
        self._folder = (base / Path(settings.cwd).expanduser()).absolute()
        self._stderr = bytearray()

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[tuple[Any, Any]]:
        """Starts the program and yields its streams. At the end a keeper kills every process that it has started."""
        self._stderr.clear()
        given = {name: os.environ[name] for name in INHERITED if name in os.environ} | self._settings.env
        process = await start_process(
            *KEEPER, self._program_path(), *self._settings.args,
            stdin=PIPE, stdout=PIPE, stderr=PIPE,
            env=given, cwd=self._folder, start_new_session=True, limit=LONGEST_LINE,
        )  # fmt: skip
        assert process.stdin
        assert process.stdout
        listening = asyncio.create_task(self._listen(process))
        try:
            yield _ProgramOutput(process.stdout, self._stderr), _ProgramInput(process.stdin)
        finally:
            await finish(_end(process, listening))

    async def _listen(self, process: Process) -> None:
        """Reads stderr continuously, so that the program never blocks on it, and keeps its end."""
        assert process.stderr
        while data := await process.stderr.read(65_536):
            self._stderr.extend(data)
            del self._stderr[:-KEPT_STDERR]

    def _last_output(self) -> str:
        return self._stderr.decode(errors="replace").strip()

    def _program_path(self) -> str:
        """Returns the program's path. Programs installed next to ours are found even if they are not on the PATH."""
        command = str(Path(self._settings.command).expanduser())
        if not self._folder.is_dir():
            raise ConfigError(f"its working directory {self._folder} does not exist")
        if os.path.dirname(command):
            command = str(self._folder / command)
        path = self._settings.env.get("PATH") or os.environ.get("PATH", os.defpath)
        found = shutil.which(command, path=os.pathsep.join((path, os.path.dirname(sys.executable))))
        if found is None:
            way_out = "its arguments go into args" if " " in command else "install it, or write its full path"
            raise ConfigError(f"there is no program {self._settings.command!r}; {way_out}")
        return found


class UnreadableLine(ValueError):
    """A line that is not a message. `answers` is the id of its request, if that can be read."""

    def __init__(self, reason: str, answers: int | str | None = None) -> None:
        super().__init__(reason)
        self.answers = answers


class _ProgramStream:
    """The context manager that the SDK expects; the process ends elsewhere."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None: ...


class _ProgramOutput(_ProgramStream):
    """The program's messages, one per line. A line without an end counts as the end."""

    def __init__(self, stdout: asyncio.StreamReader, last_words: bytearray) -> None:
        self._stdout = stdout
        self._last_words = last_words
        self._read = optional("mcp.types", "mcp").jsonrpc_message_adapter.validate_json
        self._message = optional("mcp.shared.message", "mcp").SessionMessage

    async def __anext__(self) -> Any:
        """Returns the next message, or an exception if it is invalid; other lines, such as a greeting, are skipped."""
        while line := await self._line():
            try:
                return self._message(self._read(line, by_name=False))
            except ValueError as error:
                if b'"jsonrpc"' in line:
                    return _unreadable_line(line, error)
        raise StopAsyncIteration

    async def _line(self) -> bytes:
        try:
            return await self._stdout.readline()
        except ValueError:
            self._last_words.extend(b"[a line of more than %d bytes]" % LONGEST_LINE)
            return b""


def _unreadable_line(line: bytes, error: ValueError) -> UnreadableLine:
    try:
        message = from_json(line)
    except ValueError as broken:
        return UnreadableLine(str(broken))
    number = message.get("id") if isinstance(message, dict) else None
    return UnreadableLine(str(error), number if isinstance(number, int | str) else NO_REQUEST)


class _ProgramInput(_ProgramStream):
    """Sends messages to the program."""

    def __init__(self, stdin: asyncio.StreamWriter) -> None:
        self._stdin = stdin
        self._gone = optional("anyio", "mcp").BrokenResourceError

    async def send(self, item: Any) -> None:
        try:
            self._stdin.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await self._stdin.drain()
        except (ConnectionError, RuntimeError) as error:
            raise self._gone from error


async def _end(process: Process, listening: "asyncio.Task[None]") -> None:
    """Ends the process: by closing its stdin, by SIGTERM, then by SIGKILL. Its keeper ends the process's children."""
    assert process.stdin
    try:
        process.stdin.close()
        if not await _has_ended(process):
            _signal(process, signal.SIGTERM)
            await _has_ended(process, KEEPER_SECONDS)
    finally:
        _signal(process, signal.SIGKILL)
        await _has_ended(process)
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        process._transport.close()  # type: ignore[attr-defined]


async def _has_ended(process: Process, seconds: float = EXIT_SECONDS) -> bool:
    """Returns whether the process has ended. `process.wait` would also wait for others that hold its pipes."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while process.returncode is None:  # noqa: ASYNC110 - nothing else tells
                await asyncio.sleep(0.01)
    return process.returncode is not None


def _signal(process: Process, number: int) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.send_signal(number)
