"""The descendants of this process: listing them, measuring their use against limits, and ending them all."""

import _signal as signal  # type: ignore[import-not-found] # the signal module itself costs 5 ms
import os
import time
from _collections_abc import Iterator, Sequence  # collections costs a millisecond

from . import kernel
from .orders import Orders

_PAGE = os.sysconf("SC_PAGE_SIZE")
_SWEEP_SECONDS, _SECONDS_TO_END = 5.0, 2
_NOT_STARTED = 127
_BLOCK_BYTES = 512
_OFTEN, _VERY_OFTEN, _RARELY = 0.02, 0.005, 1.0  # seconds
_TIME_SHARE = 10  # counting files may take one part in so many of the time
_COARSE_CLOCK = 0.02  # seconds by which the clock of file timestamps may lag
_File = tuple[int, int]


def descendants(most: int = 100_000) -> list[int]:
    """Returns about `most` descendants at most, nearest first. A subreaper also finds orphans.

    Without /proc, as on macOS, it finds none.
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
    """Returns the bytes in memory, counting shared pages in full."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def proportional_bytes(pid: int) -> int:
    """Returns the bytes in memory, dividing each shared page among its users. Slower than `resident_bytes`."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith(b"Pss:")), 0)
    except OSError:
        return resident_bytes(pid)


def reap(main: int) -> tuple[int | None, bool]:
    """Reaps the dead. Returns the wait status of `main` if it was among them, and whether any child is left."""
    status = None
    try:
        while (dead := os.waitpid(-1, os.WNOHANG))[0]:
            if dead[0] == main:
                status = dead[1]
    except ChildProcessError:
        return status, False
    return status, True


def kill_all(main: int) -> int | None:
    """Kills all descendants and returns the wait status of `main`, if known.

    They are stopped first, since some could fork faster than they are killed.
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
    """Runs one program, and ends with it all that it has started, even in other sessions. Never returns.

    SIGTERM is passed on; after two seconds everything is killed. Without /proc only its session is.
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


class Watchdog:
    """Enforces limits for all processes of a program together; the kernel's limits hold only per process.

    `pause` is the time until the next check, in seconds.
    """

    pause = _OFTEN

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._started = time.time() - _COARSE_CLOCK
        self._free = {folder: _free_space(folder) for folder in orders.measured}
        self._left = orders.disk, orders.inodes
        self._due = time.monotonic() + _RARELY
        self._is_hidden = False

    def verdict(self) -> str:
        """Returns the limit that is exceeded: "tasks", "memory", "disk", "inodes" or ""."""
        pids = descendants(most=self._orders.tasks)
        tasks = sum(map(threads, pids))
        if tasks > self._orders.tasks:
            return "tasks"
        self.pause = _VERY_OFTEN if 4 * tasks > self._orders.tasks else _OFTEN
        # The exact figure is slow, so it is computed only if the rough one, which is never lower, is too high.
        for use in (resident_bytes, proportional_bytes):
            if sum(map(use, pids)) <= self._orders.memory:
                return self._storage(pids)
        return "memory"

    def _storage(self, pids: list[int]) -> str:
        """Returns "disk", "inodes" or "".

        Free space is quick to read, but others use the disk too: if it shrinks, the files are counted. They are also
        counted now and then, because deletions by others hide growth, and some file systems (btrfs) don't count inodes.
        """
        has_shrunk = self._has_shrunk()
        if time.monotonic() < self._due and not has_shrunk:
            return ""
        began = time.process_time()
        try:
            size, count = self._storage_use(pids)
        except OSError:  # too deep or unreadable: a program that hides its files is held responsible for the growth
            # A process that is just calling exec can't be inspected either, so it takes two failures in a row.
            was_hidden, self._is_hidden = self._is_hidden, True
            self._due = time.monotonic() + _RARELY
            return "disk" if has_shrunk and was_hidden else ""
        self._is_hidden = False
        self._free = {folder: _free_space(folder) for folder in self._orders.measured}
        self._left = self._orders.disk - size, self._orders.inodes - count
        self._due = time.monotonic() + max(_RARELY, _TIME_SHARE * (time.process_time() - began))
        return next((name for name, left in zip(("disk", "inodes"), self._left, strict=True) if left < 0), "")

    def _has_shrunk(self) -> bool:
        for folder, before in self._free.items():
            now = _free_space(folder)
            if before[0] - now[0] > self._left[0] or before[1] - now[1] > self._left[1]:
                return True
        return False

    def _storage_use(self, pids: list[int]) -> tuple[int, int]:
        """Counts bytes and files created since the start, stopping at the allowed number of files."""
        size, count = _unlinked_bytes(pids), 0
        for folder in self._orders.measured:
            for status in _files(folder):
                if status.st_ctime >= self._started:
                    count += 1
                    size += status.st_blocks * _BLOCK_BYTES
                if count > self._orders.inodes:
                    return size, count
        return size, count


def _free_space(folder: str) -> tuple[int, int]:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize, status.f_ffree


def _files(folder: str) -> Iterator[os.stat_result]:
    """Yields the files on the sandbox's own disk; what is mounted inside is read-only."""
    waiting, device = [folder], os.stat(folder).st_dev
    while waiting:
        for entry in _entries(waiting.pop()):
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            yield status
            if entry.is_dir(follow_symlinks=False) and status.st_dev == device:
                waiting.append(entry.path)


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except (FileNotFoundError, NotADirectoryError):
        return  # gone in the meantime


def _unlinked_bytes(pids: list[int]) -> int:
    """Returns the disk space of deleted files that these processes still have open or mapped."""
    sizes: dict[_File, int] = {}
    for pid in pids:
        try:
            files = (*_deleted_open_files(pid), *_deleted_mappings(pid))
        except (FileNotFoundError, ProcessLookupError):
            continue
        for file, size in files:
            sizes[file] = max(size, sizes.get(file, 0))
    return sum(sizes.values())


def _deleted_open_files(pid: int) -> "Iterator[tuple[_File, int]]":
    for name in os.listdir(f"/proc/{pid}/fd"):
        status = os.stat(f"/proc/{pid}/fd/{name}")
        if status.st_nlink == 0:
            yield (status.st_dev, status.st_ino), status.st_blocks * _BLOCK_BYTES


def _deleted_mappings(pid: int) -> "list[tuple[_File, int]]":
    """Returns the mapped files without a name. Shared memory looks like one, but is left out."""
    found: dict[_File, int] = {}
    with open(f"/proc/{pid}/maps", "rb") as file:
        lines = [line for line in file if line.endswith(b"(deleted)\n") and b" /dev/zero " not in line]
    for line in lines:
        place, _, _, device, inode, _ = line.split(None, 5)
        start, end = (int(number, 16) for number in place.split(b"-"))
        key = os.makedev(*(int(number, 16) for number in device.split(b":"))), int(inode)
        found[key] = found.get(key, 0) + end - start
    return list(found.items())
