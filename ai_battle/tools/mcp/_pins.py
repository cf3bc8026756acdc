"""What the tools of servers said of themselves when they were first used on this machine: later changes are noticed."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...config.tools import McpServer
from ...core.private import make_private, write_private

CHANGED = "it describes itself otherwise than when it was first used here"


def pins_file(environment: Mapping[str, str] = os.environ) -> Path:
    state = environment.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "ai-battle" / "mcp-tools.json"


def identity(settings: McpServer, folder: Path) -> str:
    """The same for every file that starts this program there, or that names this address."""
    address = settings.url.partition("?")[0]
    return _digest([address] if address else [settings.command, *settings.args, str(folder)])


class Pins:
    """The digests of the tools of one server. What is new is pinned; what has changed is told until it is accepted."""

    def __init__(self, server: str, path: Path | None = None) -> None:
        self._server = server
        self._path = path or pins_file()

    def changed(self, tools: Iterable[Any]) -> frozenset[str]:
        """The names of the tools that are others than those that were pinned."""
        known, now = self._read(), {tool.name: _digest(_said(tool)) for tool in tools}
        before = known.get(self._server, {})
        if new := {name: digest for name, digest in now.items() if name not in before}:
            self._write({**known, self._server: {**before, **new}})
        return frozenset(name for name, digest in now.items() if before.get(name, digest) != digest)

    def accept(self, tools: Iterable[Any]) -> None:
        """From now on these are the ones that are known."""
        now = {tool.name: _digest(_said(tool)) for tool in tools}
        self._write({**self._read(), self._server: now})

    def _read(self) -> dict[str, dict[str, str]]:
        with suppress(OSError, ValueError):
            found = json.loads(self._path.read_text(encoding="utf-8"))
            return found if isinstance(found, dict) else {}
        return {}

    def _write(self, pins: Mapping[str, Mapping[str, str]]) -> None:
        """Where nothing can be kept, each run is the first one."""
        with suppress(OSError):
            make_private(self._path.parent)
            write_private(self._path, [json.dumps(pins, indent=1)])


def _said(tool: Any) -> list[Any]:
    return [tool.title, tool.description, tool.input_schema]


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode("utf-8", "replace")).hexdigest()
