"""What runs a language, and which folders of this machine it needs to see for that."""

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ...core.errors import ToolError
from .program import Language

INSIDE = Path(__file__).parent / "inside"
SUFFIX: dict[Language, str] = {"python": ".py", "javascript": ".js", "bash": ".sh"}
_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
_MISSING = {
    "javascript": "No 'node' is on the PATH, so JavaScript can't be run; install Node.js.",
    "bash": "No 'bash' is on the PATH, so shell scripts can't be run; install bash.",
}


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
