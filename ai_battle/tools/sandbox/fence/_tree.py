"""The processes that descend from this one: who they are, what they use, and how all of them end."""

import _signal as signal  # type: ignore[import-not-found] # the signal module itself costs 5 ms
import os
import sys
import time
from _collections_abc import Iterator  # collections costs a millisecond

_LINUX = sys.platform == "linux"
if not _LINUX:
    from . import _kin
_PAGE = os.sysconf("SC_PAGE_SIZE")
_SWEEP_SECONDS = 5.0


def descendants(most: int = 100_000) -> list[int]:
    """At most about `most`, nearest first; with a subreaper's help also those that left their parents."""
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting and len(found) <= most:
        children = list(_children(waiting.pop()))
        found += children
        waiting += children
    return found if _LINUX else list({*found, *_kin.orphans()})


def is_descendant(pid: int) -> bool:
    """Also for the number of a thread; on Linux."""
    while pid > 0 and (pid := _parent(pid)) != os.getpid():
        pass
    return pid > 0


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def threads(pid: int) -> int:
    if not _LINUX:
        return _kin.threads(pid)
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return 0


def resident(pid: int) -> int:
    """Bytes in memory, pages shared with others counted in full."""
    if not _LINUX:
        return _kin.resident(pid)
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def proportional(pid: int) -> int:
    """Bytes in memory, each shared page divided among those who share it; slower to find out."""
    if not _LINUX:
        return _kin.resident(pid)
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith(b"Pss:")), 0)
    except OSError:
        return resident(pid)


def reap(main: int) -> tuple[int | None, bool]:
    """Buries whoever has died: the wait status of `main` when it was among them, and whether anybody is left."""
    status = None
    try:
        while (dead := os.waitpid(-1, os.WNOHANG))[0]:
            if dead[0] == main:
                status = dead[1]
    except ChildProcessError:
        return status, False
    return status, True


def sweep(main: int) -> int | None:
    """Ends everybody: those who fork faster than they are killed are stopped first. The status of `main` if it came."""
    status, anybody = None, True
    until = time.monotonic() + _SWEEP_SECONDS
    _signal(-main, signal.SIGKILL)
    while anybody and time.monotonic() < until:
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in descendants():
                _signal(pid, number)
        died, anybody = reap(main)
        status = died if status is None else status
        if anybody:
            time.sleep(0.001)
    return status


def _children(pid: int) -> Iterator[int]:
    if not _LINUX:
        yield from _kin.children(pid)
        return
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                yield from map(int, file.read().split())
    except (FileNotFoundError, ProcessLookupError):
        return


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return
