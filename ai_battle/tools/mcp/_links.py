"""The two ways to an MCP server: a program that is started, and an address."""

import os
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from ...config.tools import McpServer
from ...core.errors import ConfigError
from ...core.plugins import optional
from ...core.redaction import Redactor
from . import _programs as programs

LAST_WORDS = 400


class Link(ABC):
    """`streams` are those of the official SDK. `shown` is how a user knows the server, without what may be secret."""

    shown: str
    secrets: Mapping[str, str] = MappingProxyType({})
    """Each of its secrets, and the name of the variable or header that holds it."""

    @abstractmethod
    def streams(self) -> AbstractAsyncContextManager[tuple[Any, Any]]: ...

    @abstractmethod
    def _said(self) -> str:
        """What the server last said of itself, outside of the protocol."""

    def last_words(self) -> str:
        return Redactor(self.secrets).text(self._said())[-LAST_WORDS:]


def link(settings: McpServer, base: Path) -> Link:
    return Program(settings, base) if settings.command else Address(settings)


class Program(Link):
    """A program that speaks MCP on stdin and stdout, in a session of its own.

    It gets the variables of `env` and, of ours, only those of `programs.GIVEN`.
    """

    def __init__(self, settings: McpServer, base: Path) -> None:
        self.shown = settings.command
        self.secrets = {value: name for name, value in settings.env.items()}
        self._settings = settings
        self._folder = (base / Path(settings.cwd).expanduser()).absolute()
        self._stderr = bytearray()

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[tuple[Any, Any]]:
        command = (self._found(), *self._settings.args)
        self._stderr.clear()
        async with programs.streams(command, self._settings.env, self._folder, self._stderr) as streams:
            yield streams

    def _said(self) -> str:
        return self._stderr.decode(errors="replace").strip()

    def _found(self) -> str:
        """The program's path; those that were installed together with us are found without being on the PATH."""
        command = str(Path(self._settings.command).expanduser())
        if not self._folder.is_dir():
            raise ConfigError(f"its working directory {self._folder} is not there")
        if os.path.dirname(command):
            command = str(self._folder / command)
        path = self._settings.env.get("PATH") or os.environ.get("PATH", os.defpath)
        found = shutil.which(command, path=os.pathsep.join((path, os.path.dirname(sys.executable))))
        if found is None:
            raise ConfigError(f"there is no program {self._settings.command!r}; install it, or write its full path")
        return found


class Address(Link):
    """A server that runs already and speaks MCP by streamable HTTP."""

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

    def _said(self) -> str:
        return self._refusal
