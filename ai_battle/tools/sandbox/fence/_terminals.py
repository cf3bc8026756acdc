"""Terminals that a program has made: their other ends lie among those of all users, and are given to it one by one."""

import fcntl
import os
import sys

from . import _system

_FOLDER = "/dev/pts"
_NUMBER, _OTHER_END = 0x80045430, 0x5441
_MAKERS = ("/dev/ptmx", "/dev/pts/ptmx")


def is_named(path: str) -> bool:
    folder, name = os.path.split(path)
    return folder == _FOLDER and name.isdecimal()


def opened(pid: int, path: str, flags: int) -> int:
    """A descriptor of the end that `path` names, when this process has the one that it was made with."""
    for name in os.listdir(f"/proc/{pid}/fd"):
        if os.readlink(f"/proc/{pid}/fd/{name}") not in _MAKERS:
            continue
        maker = _system.descriptor_of(pid, int(name))
        try:
            number = fcntl.ioctl(maker, _NUMBER, bytes(4))
            if int.from_bytes(number, sys.byteorder) == int(os.path.basename(path)):
                return fcntl.ioctl(maker, _OTHER_END, flags & os.O_ACCMODE | os.O_NOCTTY | os.O_CLOEXEC)
        finally:
            os.close(maker)
    raise PermissionError(13, "not a terminal of the program's own")
