"""A program, what runs it, what it may use, and what came of it."""

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from ...core.errors import ToolError

Language = Literal["python", "javascript", "bash"]
KilledBecause = Literal["", "time", "memory", "tasks", "disk", "inodes", "output"]

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
INSIDE = Path(__file__).parent / "inside"
SUFFIX: dict[Language, str] = {"python": ".py", "javascript": ".js", "bash": ".sh"}
_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
_MISSING = {
    "javascript": "No 'node' is on the PATH, so JavaScript can't be run; install Node.js.",
    "bash": "No 'bash' is on the PATH, so shell scripts can't be run; install bash.",
}


class NoFence(ToolError):
    """No sandbox works here; the message says why, and what to do about it."""


@dataclass(frozen=True, slots=True)
class Program:
    language: Language
    code: str
    timeout: float = 30.0


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Hold for all processes of one program together, but for `file_size` and `open_files`; sizes are in bytes."""

    memory: int = 1 * GIB
    tasks: int = 128
    disk: int = 256 * MIB
    inodes: int = 20_000
    file_size: int = 128 * MIB
    open_files: int = 256
    output: int = 64 * KIB
    drain: int = 64 * MIB


@dataclass(frozen=True, slots=True)
class Outcome:
    """`killed_because` names the limit that ended the program; then `exit_code` is that of a killed one, -9.

    `network` says what was reached, and what was refused, of the hosts that it may reach.
    """

    stdout: str
    stderr: str
    exit_code: int
    killed_because: KilledBecause
    seconds: float
    network: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Interpreter:
    """`folders` are those outside of the system's own; `reserves_memory` rules out a limit on address space.

    Python has no command: its programs run in their supervisor's interpreter.
    """

    command: tuple[str, ...]
    folders: tuple[str, ...]
    search_path: str
    reserves_memory: bool = False


def interpreter(language: Language) -> Interpreter:
    """The Python that runs this, and node and bash as the PATH has them; each can start the others."""
    return _find(language, os.environ.get("PATH", _SYSTEM_PATH))


@lru_cache
def _find(language: Language, path: str) -> Interpreter:
    node = shutil.which("node", path=path)
    ours = [str(INSIDE)] if language == "javascript" else []
    folders = tuple(dict.fromkeys([*_python_folders(), *(_node_folders(node) if node else ()), *ours]))
    places = [Path(sys.executable).parent, *([Path(node).parent] if node else [])]
    search_path = ":".join(dict.fromkeys([*map(str, places), *_SYSTEM_PATH.split(":")]))
    return Interpreter(_command(language, node, path), folders, search_path, reserves_memory=language == "javascript")


def _command(language: Language, node: str | None, path: str) -> tuple[str, ...]:
    if language == "python":
        return ()
    found = node if language == "javascript" else shutil.which("bash", path=path)
    if not found:
        raise ToolError(_MISSING[language])
    return (found, "--require", str(INSIDE / "prelude.cjs")) if language == "javascript" else (found,)


def _python_folders() -> Iterator[str]:
    """Libraries and programs of the environment and of the Python below it, not the folder that holds them."""
    real = os.path.dirname(os.path.dirname(os.path.realpath(sys.executable)))
    for prefix in (sys.prefix, sys.base_prefix, real):
        for name in ("bin", "lib", "lib64", "pyvenv.cfg"):
            path = os.path.join(prefix, name)
            if os.path.exists(path) and not os.path.islink(path) and not path.startswith("/usr/"):
                yield path
    for name in ("stdlib", "platstdlib", "purelib", "platlib"):
        if not (path := sysconfig.get_path(name)).startswith(("/usr/", f"{sys.prefix}/", f"{sys.base_prefix}/")):
            yield path


def _node_folders(node: str) -> Iterator[str]:
    for place in (node, os.path.realpath(node)):
        if not place.startswith("/usr/"):
            prefix = os.path.dirname(os.path.dirname(place))
            yield from (path for name in ("bin", "lib") if os.path.exists(path := os.path.join(prefix, name)))
