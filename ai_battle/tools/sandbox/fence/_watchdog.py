"""Looks again and again at what a program uses, and says when that is too much."""

import os
import time
from _collections_abc import Iterator  # collections costs a millisecond

from . import _tree
from .orders import Orders

_BLOCK = 512
_COUNT_EVERY = 10
_COARSE_CLOCK = 0.02  # files are stamped by a clock that lags this much at the most


class Watchdog:
    """Limits of the kernel hold for one process; these hold for all processes of the program together."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._started = time.time() - _COARSE_CLOCK
        self._free = {folder: _free(folder) for folder in orders.measured}
        self._looks = 0

    def verdict(self) -> str:
        """What there is too much of: "tasks", "memory", "disk", "inodes" or nothing."""
        pids = _tree.descendants(most=self._orders.tasks)
        if sum(map(_tree.threads, pids)) > self._orders.tasks:
            return "tasks"
        # The exact figure costs more, so it is asked for only when the rough one, which is never lower, is too high.
        for use in (_tree.resident, _tree.proportional):
            if sum(map(use, pids)) <= self._orders.memory:
                return self._storage(pids)
        return "memory"

    def _storage(self, pids: list[int]) -> str:
        """What is free on the disk is one call to find out, but others use the disk too: if it shrinks, look closer."""
        for folder, (bytes_before, inodes_before) in self._free.items():
            bytes_now, inodes_now = _free(folder)
            if (
                bytes_before - bytes_now <= self._orders.disk
                and inodes_before - inodes_now <= self._orders.inodes
                and not self._is_due_uncounted(inodes_now)
            ):
                continue
            if found := self._written(pids):
                return found
            self._free[folder] = bytes_now, inodes_now
        return ""

    def _is_due_uncounted(self, inodes_now: int) -> bool:
        """Some file systems (btrfs) don't count their inodes: there the files are counted now and then."""
        self._looks += 1
        return not inodes_now and self._looks % _COUNT_EVERY == 0

    def _written(self, pids: list[int]) -> str:
        try:
            return self._tallied(sum(map(_unlinked, pids)))
        except OSError:
            return "disk"  # nested too deep to look at, or locked away: whoever hides what is written has written it

    def _tallied(self, size: int) -> str:
        count = 0
        for folder in self._orders.measured:
            for status in _files(folder):
                if status.st_ctime >= self._started:
                    count += 1
                    size += status.st_blocks * _BLOCK
                if count > self._orders.inodes:
                    return "inodes"
        return "disk" if size > self._orders.disk else ""


def _free(folder: str) -> tuple[int, int]:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize, status.f_ffree


def _files(folder: str) -> Iterator[os.stat_result]:
    waiting = [folder]
    while waiting:
        for entry in _entries(waiting.pop()):
            try:
                yield entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except (FileNotFoundError, NotADirectoryError):
        return  # gone in the meantime


def _unlinked(pid: int) -> int:
    """Bytes on disk of files that have no name any more and are only open, or mapped, in this process."""
    return _open_without_name(pid) + _mapped_without_name(pid)


def _open_without_name(pid: int) -> int:
    size = 0
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            status = os.stat(f"/proc/{pid}/fd/{name}")
            if status.st_nlink == 0:
                size += status.st_blocks * _BLOCK
    except (FileNotFoundError, ProcessLookupError):
        pass
    return size


def _mapped_without_name(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            ranges = [line.split(b" ", 1)[0].split(b"-") for line in file if line.endswith(b"(deleted)\n")]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(end, 16) - int(start, 16) for start, end in ranges)
