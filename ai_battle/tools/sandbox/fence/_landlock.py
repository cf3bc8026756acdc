"""Landlock: which paths a process and its children may read, run and write, whatever they do later."""

import os
import sys
from _collections_abc import Iterable  # collections costs a millisecond

from ._system import LINUX, SET_NO_NEW_PRIVS, prctl, syscall

_CREATE, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_REMOVE_DIR, _REMOVE_FILE = 1 << 4, 1 << 5
_MAKE_CHAR, _MAKE_DIR, _MAKE_REG, _MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM = (1 << bit for bit in range(6, 13))
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15

_READ = _EXECUTE | _READ_FILE | _READ_DIR
# Devices are not made in a workspace: no MAKE_CHAR, no MAKE_BLOCK.
_CHANGE = (
    _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_SOCK | _MAKE_FIFO | _MAKE_SYM
    | _REFER | _TRUNCATE
)  # fmt: skip
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_TCP = 3
_ABSTRACT_SOCKETS_AND_SIGNALS = 3


def abi() -> int:
    """The version of Landlock that this kernel offers; 0 when it offers none."""
    try:
        return syscall(_CREATE, 0, 0, _VERSION) if LINUX else 0
    except OSError:
        return 0


def restrict(
    read: Iterable[str], write: Iterable[str], devices: Iterable[str], listed: Iterable[str] = (), *, tcp: bool
) -> None:
    """Paths that don't exist are passed over; what is not named can't be opened any more. `tcp` closes that too."""
    version = abi()
    handled = _handled(version)
    ruleset = _ruleset(version, handled, _TCP if tcp else 0)
    on_devices = _READ_FILE | _WRITE_FILE | _IOCTL_DEV
    for paths, access in ((read, _READ), (write, _READ | _CHANGE), (devices, on_devices), (listed, _READ_DIR)):
        for path in paths:
            _allow(ruleset, path, access & handled)
    prctl(SET_NO_NEW_PRIVS, 1)
    syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _handled(version: int) -> int:
    everything = (1 << 13) - 1
    for since, access in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        if version >= since:
            everything |= access
    return everything


def _ruleset(version: int, handled: int, network: int) -> int:
    words = [handled]
    if version >= 4:
        words.append(network)
    if version >= 6:
        words.append(_ABSTRACT_SOCKETS_AND_SIGNALS)
    attributes = b"".join(word.to_bytes(8, sys.byteorder) for word in words)
    return syscall(_CREATE, attributes, len(attributes), 0)


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(f"/proc/self/fd/{descriptor}") and not os.path.isdir(path):
            access &= _ON_FILES
        rule = access.to_bytes(8, sys.byteorder) + descriptor.to_bytes(4, sys.byteorder)
        syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)
