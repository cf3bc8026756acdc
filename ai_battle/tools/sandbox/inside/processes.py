"""The processes that descend from this one: who they are, what they use, and how all of them end."""

import _signal as signal  # type: ignore[import-not-found] # the signal module itself costs 5 ms
import os
import time
from _collections_abc import Iterator, Sequence  # collections costs a millisecond

from . import kernel

_PAGE = os.sysconf("SC_PAGE_SIZE")
_SWEEP_SECONDS, _SECONDS_TO_END = 5.0, 2
_NOT_STARTED = 127


def descendants(most: int = 100_000) -> list[int]:
    """Return at most about `most`, nearest first; a subreaper also finds those that left their parents.

    Without /proc, as on macOS, none is found.
    """
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting and len(found) <= most:
        children = list(_children(waiting.pop()))
        found += children
        waiting += children
    return found


def threads(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return 0


def resident_bytes(pid: int) -> int:
    """Return the bytes in memory, pages shared with others counted in full."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def proportional_bytes(pid: int) -> int:
    """Return the bytes in memory, each shared page divided among those who share it; slower to find out."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith(b"Pss:")), 0)
    except OSError:
        return resident_bytes(pid)


def reap(main: int) -> tuple[int | None, bool]:
    """Wait for whoever has died; return the wait status of `main` if it was among them, and whether anybody is left."""
    status = None
    try:
        while (dead := os.waitpid(-1, os.WNOHANG))[0]:
            if dead[0] == main:
                status = dead[1]
    except ChildProcessError:
        return status, False
    return status, True


def kill_all(main: int) -> int | None:
    """Kill every descendant and return the status of `main` if it came.

    Those who fork faster than they are killed are stopped first.
    """
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


def run_and_reap(command: Sequence[str]) -> None:
    """Run one program and end with it all that it has started, also what left its session. Never returns.

    SIGTERM is passed on; two seconds later nobody is left. Where there is no /proc, only its session is ended.
    """
    kernel.prctl(kernel.SET_CHILD_SUBREAPER, 1)
    kernel.prctl(kernel.SET_PDEATHSIG, signal.SIGTERM)
    program = _start(command)

    def terminate(*_: object) -> None:
        signal.alarm(_SECONDS_TO_END)
        os.killpg(program, signal.SIGTERM)

    def kill(*_: object) -> None:
        kill_all(program)
        os._exit(_NOT_STARTED)

    signal.signal(signal.SIGTERM, terminate)
    signal.signal(signal.SIGALRM, kill)
    for descriptor in range(3):
        os.close(descriptor)
    dead, status = os.waitpid(-1, 0)
    while dead != program:
        dead, status = os.waitpid(-1, 0)
    kill_all(program)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _start(command: Sequence[str]) -> int:
    if program := os.fork():
        return program
    os.setsid()
    kernel.prctl(kernel.SET_PDEATHSIG, signal.SIGKILL)
    try:
        os.execv(command[0], list(command))  # noqa: S606 - the program itself, no line for a shell
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}".encode())
    os._exit(_NOT_STARTED)


def _children(pid: int) -> Iterator[int]:
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
