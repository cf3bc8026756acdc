"""Which fence is used: the strongest that works here, found by running one."""

import shutil
import sys
from collections.abc import Iterable, Iterator
from typing import Literal

from . import _probe
from ._bwrap import Bubblewrap
from ._docker import IMAGE, Docker
from ._fences import Fence
from ._hosts import Hosts
from ._landlocked import Landlocked
from ._layers import landlock_abi
from ._seatbelt import Seatbelt
from ._unfenced import Unfenced
from .errors import NoFence
from .sandbox import Sandbox

Level = Literal["auto", "strict", "docker", "seatbelt", "none"]

_WHOLE_LANDLOCK = 6
_FIXES = {
    "linux": """To fix it, do one of these:
- install bubblewrap: `apt install bubblewrap`, `dnf install bubblewrap` or `pacman -S bubblewrap`;
- where AppArmor refuses it user namespaces (Ubuntu 24.04), write this to /etc/apparmor.d/bwrap and run
  `apparmor_parser -r /etc/apparmor.d/bwrap`:
    abi <abi/4.0>,
    profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }
- use Linux 6.12 or newer with Landlock (`lsm=...,landlock` on the kernel's command line).""",
    "darwin": """`sandbox: docker` uses Docker, where it is installed. `sandbox: seatbelt` uses the sandbox of macOS,
which was never tried: no test, no attack. Use it only if you would run the code without a fence.""",
}
_NO_GATE = "can't keep a program to some hosts (allow_hosts), only bubblewrap can"
_NO_FIX = "There is no fence for this system; run ai-battle on Linux or in WSL 2, or use `sandbox: docker`."
_WITHOUT = "To run code without a fence all the same, set `sandbox: none` and give --allow-unsandboxed."


def choose(level: Level = "auto", allow_unsandboxed: bool = False, hosts: Iterable[str] = ()) -> Sandbox:
    """`strict` takes only a fence with nothing missing. `docker` and `seatbelt` are taken by name alone, as our tests
    have run neither on a system of its own. `none` is none, and needs the second key.

    With `hosts`, it is one that can keep programs to them. Raises `NoFence`, which says why nothing works here and what
    to do about it, and `ConfigError` for what is no host.
    """
    found = Hosts(hosts)
    if level in ("none", "docker", "seatbelt"):
        if found:
            raise NoFence(f"`sandbox: {level}` {_NO_GATE}; use `auto`, or take allow_hosts out.")
        return _unfenced(allow_unsandboxed) if level == "none" else {"docker": _docker, "seatbelt": _seatbelt}[level]()
    reasons = []
    for fence, binary in _candidates():
        reason = _unfit(fence, strict=level == "strict", reaches=bool(found)) or _probe.why_not(fence, binary)
        if not reason:
            return Sandbox(fence, found)
        reasons.append(f"- {fence.name}: {reason}")
    raise NoFence("\n".join(("Code can't be run safely on this machine.", *reasons, *_lacking(), *_ways_out())))


def _unfenced(allow_unsandboxed: bool) -> Sandbox:
    if not allow_unsandboxed:
        raise NoFence("`sandbox: none` runs code that models write without a fence; add --allow-unsandboxed too.")
    return Sandbox(Unfenced())


def _docker() -> Sandbox:
    if not (binary := shutil.which("docker")):
        raise NoFence("`sandbox: docker` needs Docker, and no 'docker' is on the PATH; install it, or use `auto`.")
    fence = Docker(binary)
    if reason := _probe.why_not(fence, binary):
        raise NoFence(f"Docker does not run code here: {reason}\nStart its engine and `docker pull {IMAGE}`.")
    return Sandbox(fence)


def _seatbelt() -> Sandbox:
    if sys.platform != "darwin":
        raise NoFence("`sandbox: seatbelt` is the sandbox of macOS, and this is another system; use `auto`.")
    if reason := _probe.why_not(fence := Seatbelt()):
        raise NoFence(f"The sandbox of macOS does not run code here: {reason}\nmacOS allows none inside of another.")
    return Sandbox(fence)


def _candidates() -> Iterator[tuple[Fence, str]]:
    """The strongest first."""
    if sys.platform == "linux":
        if binary := shutil.which("bwrap"):
            yield Bubblewrap(binary), binary
        if landlock_abi():
            yield Landlocked(), ""


def _unfit(fence: Fence, *, strict: bool, reaches: bool) -> str:
    if reaches and not fence.own_network:
        return _NO_GATE
    return _incomplete(fence) if strict else ""


def _incomplete(fence: Fence) -> str:
    if sys.platform != "linux":
        return ""
    if not fence.calls:
        return "no filter of system calls is known for this processor"
    if not fence.alone and landlock_abi() < _WHOLE_LANDLOCK:
        return f"Landlock {landlock_abi()} leaves signals to other processes open"
    return ""


def _lacking() -> Iterator[str]:
    if sys.platform == "linux":
        if not shutil.which("bwrap"):
            yield "- bubblewrap: no 'bwrap' is on the PATH"
        if not landlock_abi():
            yield "- landlock: this kernel does not offer it"


def _ways_out() -> tuple[str, str]:
    return _FIXES.get(sys.platform, _NO_FIX), _WITHOUT
