"""Programs, their interpreters, limits and outcomes."""

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
    """No sandbox works here; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Program:
    language: Language
    code: str
    timeout: float = 30.0


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Limits for all processes of one program together, except `file_size` and `open_files`. Sizes are in bytes."""

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
    """`killed_because` is the limit that ended the program; its `exit_code` is then -9.

    `network` lists the traffic with allowed hosts, and refused requests.
    """

    stdout: str
    stderr: str
    exit_code: int
    killed_because: KilledBecause
    seconds: float
    network: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Interpreter:
    """`folders` are those outside the system's own; `reserves_memory` rules out a limit on address space.

    Python has no command: its programs run in the supervisor's interpreter.
    """

    command: tuple[str, ...]
    folders: tuple[str, ...]
    search_path: str
    reserves_memory: bool = False


def interpreter(language: Language) -> Interpreter:
    """Returns our own Python, or node or bash from the PATH. Programs can start any of them."""
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
    """Yields the folders of the environment's libraries and programs, and those of its base Python."""
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
