"""The watchdog looks again and again at what a program uses, and says when that is too much."""

import os
import time
from _collections_abc import Iterator  # collections costs a millisecond

from . import processes
from .orders import Orders

_BLOCK = 512
_OFTEN, _VERY_OFTEN = 0.02, 0.005  # seconds
_RARELY = 1.0  # seconds
_SHARE = 10  # of the time is for looking at files: one part in so many
_COARSE_CLOCK = 0.02  # files are stamped by a clock that lags this much at the most
_File = tuple[int, int]


class Watchdog:
    """Limits of the kernel hold for one process; these hold for all processes of the program together.

    `pause` is how long it need not be asked again, in seconds.
    """

    pause = _OFTEN

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._started = time.time() - _COARSE_CLOCK
        self._free = {folder: _free(folder) for folder in orders.measured}
        self._left = orders.disk, orders.inodes
        self._due = time.monotonic() + _RARELY
        self._is_hidden = False

    def verdict(self) -> str:
        """Return what there is too much of: "tasks", "memory", "disk", "inodes" or nothing."""
        pids = processes.descendants(most=self._orders.tasks)
        tasks = sum(map(processes.threads, pids))
        if tasks > self._orders.tasks:
            return "tasks"
        self.pause = _VERY_OFTEN if 4 * tasks > self._orders.tasks else _OFTEN
        # The exact figure costs more, so it is asked for only when the rough one, which is never lower, is too high.
        for use in (processes.resident_bytes, processes.proportional_bytes):
            if sum(map(use, pids)) <= self._orders.memory:
                return self._storage(pids)
        return "memory"

    def _storage(self, pids: list[int]) -> str:
        """Return "disk", "inodes" or nothing.

        What is free on the disk is one call to find out, but others use the disk too: if it shrinks, files are counted.
        They are counted now and then in any case: what others delete meanwhile hides what is written, and some file
        systems (btrfs) don't count their inodes.
        """
        has_shrunk = self._has_shrunk()
        if time.monotonic() < self._due and not has_shrunk:
            return ""
        began = time.process_time()
        try:
            size, count = self._storage_use(pids)
        except OSError:  # nested too deep to look at, or locked away: whoever hides what is written has written it
            # A process that is just being replaced can't be looked at either, so it takes two looks in a row.
            was_hidden, self._is_hidden = self._is_hidden, True
            self._due = time.monotonic() + _RARELY
            return "disk" if has_shrunk and was_hidden else ""
        self._is_hidden = False
        self._free = {folder: _free(folder) for folder in self._orders.measured}
        self._left = self._orders.disk - size, self._orders.inodes - count
        self._due = time.monotonic() + max(_RARELY, _SHARE * (time.process_time() - began))
        return next((name for name, left in zip(("disk", "inodes"), self._left, strict=True) if left < 0), "")

    def _has_shrunk(self) -> bool:
        for folder, before in self._free.items():
            now = _free(folder)
            if before[0] - now[0] > self._left[0] or before[1] - now[1] > self._left[1]:
                return True
        return False

    def _storage_use(self, pids: list[int]) -> tuple[int, int]:
        """Count bytes and files since the program began, no more files than there may be."""
        size, count = _unlinked_bytes(pids), 0
        for folder in self._orders.measured:
            for status in _files(folder):
                if status.st_ctime >= self._started:
                    count += 1
                    size += status.st_blocks * _BLOCK
                if count > self._orders.inodes:
                    return size, count
        return size, count


def _free(folder: str) -> tuple[int, int]:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize, status.f_ffree


def _files(folder: str) -> Iterator[os.stat_result]:
    """On its own disk: what is mounted inside can't be written."""
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
    """Return the bytes on disk of files without a name that are only open, or mapped, in these processes."""
    sizes: dict[_File, int] = {}
    for pid in pids:
        try:
            files = (*_open_without_name(pid), *_mapped_without_name(pid))
        except (FileNotFoundError, ProcessLookupError):
            continue
        for file, size in files:
            sizes[file] = max(size, sizes.get(file, 0))
    return sum(sizes.values())


def _open_without_name(pid: int) -> "Iterator[tuple[_File, int]]":
    for name in os.listdir(f"/proc/{pid}/fd"):
        status = os.stat(f"/proc/{pid}/fd/{name}")
        if status.st_nlink == 0:
            yield (status.st_dev, status.st_ino), status.st_blocks * _BLOCK


def _mapped_without_name(pid: int) -> "list[tuple[_File, int]]":
    """Memory that processes share looks like such a file, but is none."""
    found: dict[_File, int] = {}
    with open(f"/proc/{pid}/maps", "rb") as file:
        lines = [line for line in file if line.endswith(b"(deleted)\n") and b" /dev/zero " not in line]
    for line in lines:
        place, _, _, device, inode, _ = line.split(None, 5)
        start, end = (int(number, 16) for number in place.split(b"-"))
        key = os.makedev(*(int(number, 16) for number in device.split(b":"))), int(inode)
        found[key] = found.get(key, 0) + end - start
    return list(found.items())
