"""The layers that more than one kind of fence has, and the words for them."""

import os
import sys

from . import _seccomp
from .fence import _landlock

ALWAYS = (
    "clean environment, no inherited descriptors, own session",
    "limits of time, memory, tasks, disk, files and output, with a watchdog over all processes",
)
# Of /etc, what programs look at and nobody hides.
SETTINGS = ("debian_version", "ld.so.cache", "localtime", "mime.types", "os-release", "services")
TERMINALS = ("/dev/ptmx", "/dev/pts")  # where nobody else's are
_MISSING_BEFORE = {2: "moving files between folders", 3: "truncation", 4: "TCP", 6: "signals and abstract sockets"}


def landlock_abi() -> int:
    return _landlock.abi() if sys.platform == "linux" else 0


def landlock_layer() -> tuple[str, ...]:
    abi = landlock_abi()
    if not abi:
        return ()
    missing = [what for since, what in _MISSING_BEFORE.items() if abi < since]
    return (f"Landlock {abi}" + (f" (without {', '.join(missing)})" if missing else ""),)


def calls(*, alone: bool) -> bytes:
    """The filter of system calls; empty where none is known for this processor."""
    machine = os.uname().machine
    return _seccomp.program(machine, alone=alone) if _seccomp.supported(machine) else b""
