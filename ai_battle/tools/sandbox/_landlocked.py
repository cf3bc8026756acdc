"""Landlock, seccomp and the supervisor alone: for machines that refuse namespaces, or have no bubblewrap."""

import re
from pathlib import Path

from ._fences import Fence, Inside, Site
from ._layers import ALWAYS, SETTINGS, calls, landlock_layer

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
_MORE_SETTINGS = ("alternatives", "ssl/certs", "ssl/openssl.cnf", "nsswitch.conf", "hosts", "protocols", "timezone")
# Who asks for these takes it that they are not there, but not that they are refused.
_DISTRIBUTIONS = tuple(
    f"{name}-release" for name in ("alpine", "arch", "centos", "fedora", "lsb", "oracle", "redhat", "rocky", "system")
)
_SETTINGS = tuple(f"/etc/{name}" for name in (*SETTINGS, *_MORE_SETTINGS, *_DISTRIBUTIONS))
# Facts about the machine; of processes only the program's own first one, without its view of mounts and networks.
_ITSELF = ("fd", "status", "stat", "statm", "maps", "cmdline", "comm", "environ", "limits", "io")
_FACTS = (
    "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/uptime", "/proc/loadavg", "/proc/version",
    "/proc/filesystems", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/ostype", "/proc/sys/kernel/random",
    "/proc/sys/vm/overcommit_memory", "/sys/devices/system/cpu", *(f"/proc/self/{name}" for name in _ITSELF),
)  # fmt: skip


# Once it is there, git does nothing without it; it is everybody's, but some have keys in it.
_GIT = Path("/etc/gitconfig")
_KEYS = re.compile(r"//[^/\s]*@|extraheader|password|token|secret", re.IGNORECASE)


def settings_of_git(path: Path = _GIT) -> tuple[str, ...]:
    """Its path where it may be read."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    return () if _KEYS.search(text) else (str(path),)


class Landlocked(Fence):
    """Files, signals and sockets of the machine are there, and refused."""

    name = "landlock"
    alone = False
    closes = False  # what is allowed of a folder is allowed of all that is in it

    def __init__(self) -> None:
        self.calls = calls(alone=False)
        self.layers = (*ALWAYS, *landlock_layer(), "seccomp", "supervisor")

    def inside(self, site: Site) -> Inside:
        temporary, shared_memory = site.scratch / "tmp", site.scratch / "shm"
        temporary.mkdir()
        shared_memory.mkdir()
        program = str(site.scratch / site.program)
        writable = (str(site.workspace), str(temporary))
        return Inside(
            program,
            str(temporary),
            readable=(*_SYSTEM, *_SETTINGS, *settings_of_git(), *_FACTS, *site.folders, program),
            writable=writable,
            measured=(*writable, str(shared_memory)),
            devices=("/dev/ptmx",),
            listed=("/proc/self/task",),
            shared_memory=str(shared_memory),
        )
