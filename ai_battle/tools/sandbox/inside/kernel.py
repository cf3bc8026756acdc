"""System calls that Python has no function for: Landlock, seccomp and capabilities."""

import _ctypes  # ctypes itself costs 3 ms
import os
import sys
from _collections_abc import Iterable  # collections costs a millisecond

LINUX = sys.platform == "linux"

SET_PDEATHSIG, SET_DUMPABLE, SET_CHILD_SUBREAPER = 1, 4, 36
_SET_SECCOMP, _CAPBSET_DROP, _SET_NO_NEW_PRIVS, _CAP_AMBIENT = 22, 24, 38, 47
_SECCOMP_FILTER, _CLEAR_ALL = 2, 4
_CAPABILITY_VERSION = 0x20080522

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_REMOVE_DIR, _REMOVE_FILE = 1 << 4, 1 << 5
_MAKE_CHAR, _MAKE_DIR, _MAKE_REG, _MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM = (1 << bit for bit in range(6, 13))
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_ALL_TCP, _ABSTRACT_SOCKETS_AND_SIGNALS = 3, 3

_READ = _EXECUTE | _READ_FILE | _READ_DIR
# No devices in a workspace: neither MAKE_CHAR nor MAKE_BLOCK.
_CHANGE = (
    _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_SOCK | _MAKE_FIFO | _MAKE_SYM
    | _REFER | _TRUNCATE
)  # fmt: skip
_DEVICE_RIGHTS = _READ_FILE | _WRITE_FILE | _IOCTL_DEV
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV


class _Word(_ctypes._SimpleCData):  # type: ignore[type-arg] # the type is not a generic class when it runs
    _type_ = "l"


class _Bytes(_ctypes._SimpleCData):  # type: ignore[type-arg]
    """A pointer to bytes; its own buffer holds the address."""

    _type_ = "z"


class _Function(_ctypes.CFuncPtr):
    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = _Word


def _call(name: str, *arguments: int | bytes) -> int:
    """Calls a C function with numbers, or bytes for the kernel to read. Raises `OSError` with its error."""
    function = _Function(_ctypes.dlsym(_ctypes.dlopen(None, 0), name))  # type: ignore[arg-type] # None is this program
    result: int = function(*(_Word(argument) if isinstance(argument, int) else argument for argument in arguments))
    if result < 0:
        error = _ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def prctl(option: int, *arguments: int) -> None:
    """Sets an option of this process. Does nothing on systems other than Linux."""
    if LINUX:
        _call("prctl", option, *(*arguments, 0, 0, 0, 0)[:4])


def drop_capabilities() -> None:
    """Drops all capabilities for good: not even set-uid programs started later get one back."""
    if not LINUX:
        return
    prctl(_SET_NO_NEW_PRIVS, 1)
    prctl(_CAP_AMBIENT, _CLEAR_ALL)
    for capability in range(64):
        try:
            prctl(_CAPBSET_DROP, capability)
        except OSError:
            break  # the kernel has no more capabilities, or we hold none that could be dropped
    _call("capset", _CAPABILITY_VERSION.to_bytes(8, sys.byteorder), bytes(24))


def restrict_syscalls(syscall_filter: bytes) -> None:
    """Installs a BPF program as seccomp filter, for good."""
    length = (len(syscall_filter) // 8).to_bytes(2, sys.byteorder)
    header = length + bytes(6) + bytes(_Bytes(syscall_filter))
    prctl(_SET_NO_NEW_PRIVS, 1)
    _call("prctl", _SET_SECCOMP, _SECCOMP_FILTER, header, 0, 0)


def landlock_version() -> int:
    """Returns the version of Landlock in this kernel, or 0."""
    try:
        return _call("syscall", _CREATE_RULESET, 0, 0, _VERSION) if LINUX else 0
    except OSError:
        return 0


def restrict_paths(
    read: Iterable[str], write: Iterable[str], devices: Iterable[str], listed: Iterable[str], *, tcp: bool
) -> None:
    """Restricts this process by Landlock to the given paths, and from TCP if `tcp`.

    Paths that don't exist are skipped.
    """
    version = landlock_version()
    handled = (1 << 13) - 1
    for since, access in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        handled |= access if version >= since else 0
    ruleset = _ruleset(version, handled, _ALL_TCP if tcp else 0)
    for paths, access in ((read, _READ), (write, _READ | _CHANGE), (devices, _DEVICE_RIGHTS), (listed, _READ_DIR)):
        for path in paths:
            _allow(ruleset, path, access & handled)
    prctl(_SET_NO_NEW_PRIVS, 1)
    _call("syscall", _RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _ruleset(version: int, handled: int, network: int) -> int:
    words = [handled]
    if version >= 4:
        words.append(network)
    if version >= 6:
        words.append(_ABSTRACT_SOCKETS_AND_SIGNALS)
    attributes = b"".join(word.to_bytes(8, sys.byteorder) for word in words)
    return _call("syscall", _CREATE_RULESET, attributes, len(attributes), 0)


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(f"/proc/self/fd/{descriptor}") and not os.path.isdir(path):
            access &= _FILE_RIGHTS
        rule = access.to_bytes(8, sys.byteorder) + descriptor.to_bytes(4, sys.byteorder)
        _call("syscall", _ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)
