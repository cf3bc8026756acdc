"""Finds out by running one whether a kind of fence works on this machine, and remembers when it did."""

import asyncio
import hashlib
import json
import os
import platform
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ...core.errors import AIBattleError, ConfigError
from ...core.places import cache_directory
from ._fences import Fence
from .limits import Program
from .sandbox import Sandbox

_SECONDS = 10.0
_TRIAL = """
print(1)
try:
    print(open({secret!r}).read())
except OSError:
    print("refused")
"""
_EXPECTED = "1\nrefused\n"
_RULES = (
    "/proc/sys/user/max_user_namespaces", "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "/sys/kernel/security/lsm",
)  # fmt: skip
_RIGHTS = ("CapBnd", "NoNewPrivs", "Seccomp")
_PLACE = "/proc/self/ns/mnt"


def why_not(fence: Fence, binary: str = "") -> str:
    """Empty when an ordinary program runs and a forbidden read is refused, else what went wrong."""
    key = _key(fence.name, binary)
    if _remembered() == key:
        return ""
    with ThreadPoolExecutor(1) as thread:
        reason = thread.submit(asyncio.run, _tried(Sandbox(fence))).result()
    if not reason:
        _remember(key)
    return reason


async def _tried(sandbox: Sandbox) -> str:
    with tempfile.TemporaryDirectory(prefix="ai-battle-") as outside:
        workspace, program = _trial(Path(outside))
        try:
            outcome = await sandbox.run(program, workspace)
        except AIBattleError as error:
            return str(error)
    if outcome.stdout == _EXPECTED:
        return ""
    said = (outcome.stderr.strip() or outcome.stdout.strip()).splitlines() or ["nothing"]
    return f"a trial program did not do what it should: {outcome.killed_because or said[-1]}"


def _trial(outside: Path) -> tuple[Path, Program]:
    workspace, secret = outside / "workspace", outside / "secret"
    workspace.mkdir()
    secret.write_text("read all the same")
    return workspace, Program("python", _TRIAL.format(secret=str(secret)), _SECONDS)


def _key(name: str, binary: str) -> str:
    """Another kernel, binary, user, container, Python or fence is tried anew, and so is who has other rights."""
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    stamps = [os.stat(path).st_mtime_ns for path in (*sources, *([Path(binary)] if binary else []))]
    facts = (name, binary, platform.release(), platform.version(), os.geteuid(), sys.executable, stamps, _allowed())
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _allowed() -> list[str]:
    """What a process may do here, as far as it can be read; on Linux."""
    found = [_text(path) for path in _RULES]
    found += [line for line in _text("/proc/self/status").splitlines() if line.startswith(_RIGHTS)]
    return [*found, os.readlink(_PLACE) if os.path.lexists(_PLACE) else ""]


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _remembered() -> str:
    try:
        return str(json.loads(_known().read_text(encoding="utf-8")).get("works", ""))
    except (OSError, ValueError, AttributeError, ConfigError):
        return ""


def _remember(key: str) -> None:
    """A cache that can't be written costs a trial at the next start, and nothing else."""
    try:
        _known().parent.mkdir(parents=True, exist_ok=True)
        _known().write_text(json.dumps({"works": key}), encoding="utf-8")
    except (OSError, ConfigError):
        return


def _known() -> Path:
    return cache_directory() / "sandbox.json"
