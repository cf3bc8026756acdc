"""Which sandbox is used: the strongest that works here, found by running a program in it."""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

from ...core.errors import AIBattleError
from .addresses import AddressFilter
from .backends import DOCKER_IMAGE, Backend, Bubblewrap, Docker, Landlock, Unconfined
from .inside.kernel import landlock_version
from .program import NoFence, Program
from .sandbox import Sandbox

Level = Literal["auto", "strict", "docker", "none"]

_WHOLE_LANDLOCK = 6
_FIX_ON_LINUX = """To fix it, do one of these:
- install bubblewrap: `apt install bubblewrap`, `dnf install bubblewrap` or `pacman -S bubblewrap`;
- where AppArmor refuses it user namespaces (Ubuntu 24.04), write this to /etc/apparmor.d/bwrap and run
  `apparmor_parser -r /etc/apparmor.d/bwrap`:
    abi <abi/4.0>,
    profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }
- use Linux 6.12 or newer with Landlock (`lsm=...,landlock` on the kernel's command line)."""
_FIX_ELSEWHERE = "There is no fence for this system; run ai-battle on Linux or in WSL 2, or use `sandbox: docker`."
_WITHOUT = "To run code without a fence all the same, set `sandbox: none` and give --allow-unsandboxed."
_NO_PROXY = "can't keep a program to some hosts (allow_hosts), only bubblewrap can"

_TRIAL_SECONDS = 10.0
_TRIAL = """
print(1)
try:
    print(open({secret!r}).read())
except OSError:
    print("refused")
"""
_EXPECTED = "1\nrefused\n"
# Kinds and their binaries. No file remembers them: whether a fence works may change from one process to the next.
_working: set[tuple[str, str]] = set()


def choose(level: Level = "auto", allow_unsandboxed: bool = False, hosts: Iterable[str] = ()) -> Sandbox:
    """Returns the strongest sandbox that works here.

    `strict` takes only one with nothing missing. `docker` is taken by name alone, as our tests have run it without its
    engine only. `none` is none, and needs the second key. With `hosts`, it is one that can keep programs to them.
    Raises `NoFence`, which says why nothing works here and what to do about it, and `ConfigError` for what is no host.
    """
    found = AddressFilter(hosts)
    if level in ("none", "docker"):
        if found:
            raise NoFence(f"`sandbox: {level}` {_NO_PROXY}; use `auto`, or take allow_hosts out.")
        return _docker() if level == "docker" else _without_sandbox(allow_unsandboxed)
    reasons = []
    for backend, binary in _candidates():
        if not (reason := _lack(backend, level, found) or why_not(backend, binary)):
            return Sandbox(backend, found)
        reasons.append(f"- {backend.name}: {reason}")
    fix = _FIX_ON_LINUX if sys.platform == "linux" else _FIX_ELSEWHERE
    raise NoFence("\n".join(("Code can't be run safely on this machine.", *reasons, *_lacking(), fix, _WITHOUT)))


def why_not(backend: Backend, binary: str = "") -> str:
    """Returns what goes wrong with it here, or nothing when a program runs in it and a forbidden read is refused.

    What worked is not tried again by this process.
    """
    if (backend.name, binary) in _working:
        return ""
    with ThreadPoolExecutor(1) as thread:
        reason = thread.submit(_problem, Sandbox(backend)).result()
    if not reason:
        _working.add((backend.name, binary))
    return reason


def _without_sandbox(allow_unsandboxed: bool) -> Sandbox:
    if not allow_unsandboxed:
        raise NoFence("`sandbox: none` runs code that models write without a fence; add --allow-unsandboxed too.")
    return Sandbox(Unconfined())


def _docker() -> Sandbox:
    if not (binary := shutil.which("docker")):
        raise NoFence("`sandbox: docker` needs Docker, and no 'docker' is on the PATH; install it, or use `auto`.")
    backend = Docker(binary)
    if reason := why_not(backend, binary):
        raise NoFence(f"Docker does not run code here: {reason}\nStart its engine and `docker pull {DOCKER_IMAGE}`.")
    return Sandbox(backend)


def _candidates() -> Iterator[tuple[Backend, str]]:
    """The strongest comes first."""
    if sys.platform == "linux":
        if binary := shutil.which("bwrap"):
            yield Bubblewrap(binary), binary
        if landlock_version():
            yield Landlock(), ""


def _lack(backend: Backend, level: Level, hosts: AddressFilter) -> str:
    """Returns what is asked of it that it does not have."""
    if hosts and not backend.has_network:
        return _NO_PROXY
    if level != "strict":
        return ""
    if not backend.syscall_filter:
        return "no filter of system calls is known for this processor"
    if not backend.isolated and landlock_version() < _WHOLE_LANDLOCK:
        return f"Landlock {landlock_version()} leaves signals to other processes open"
    return ""


def _lacking() -> Iterator[str]:
    if sys.platform == "linux":
        if not shutil.which("bwrap"):
            yield "- bubblewrap: no 'bwrap' is on the PATH"
        if not landlock_version():
            yield "- landlock: this kernel does not offer it"


def _problem(sandbox: Sandbox) -> str:
    """Run the trial; return what went wrong."""
    with tempfile.TemporaryDirectory(prefix="ai-battle-") as outside:
        workspace, secret = Path(outside, "workspace"), Path(outside, "secret")
        workspace.mkdir()
        secret.write_text("read all the same")
        program = Program("python", _TRIAL.format(secret=str(secret)), _TRIAL_SECONDS)
        try:
            outcome = asyncio.run(sandbox.run(program, workspace))
        except AIBattleError as error:
            return str(error)
    if outcome.stdout == _EXPECTED:
        return ""
    printed = (outcome.stderr.strip() or outcome.stdout.strip()).splitlines() or ["nothing"]
    return f"a trial program did not do what it should: {outcome.killed_because or printed[-1]}"
