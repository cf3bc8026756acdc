"""The kernel's calls that Python has no function for, by what ctypes is made of: ctypes itself costs 3 ms."""

import _ctypes
import os
import sys

LINUX = sys.platform == "linux"

SET_PDEATHSIG, SET_DUMPABLE, SET_CHILD_SUBREAPER, SET_NO_NEW_PRIVS = 1, 4, 36, 38
_CAPBSET_DROP, _CAP_AMBIENT, _CLEAR_ALL = 24, 47, 4
_SECCOMP, _PIDFD_GETFD = {"x86_64": 317, "aarch64": 277}, 438
_SET_FILTER, _NEW_LISTENER, _UNTIL_KILLED = 1, 8, 32
_CAPABILITY_VERSION = 0x20080522


class _Word(_ctypes._SimpleCData):  # type: ignore[type-arg] # the type is no generic class when it runs
    _type_ = "l"


class _Bytes(_ctypes._SimpleCData):  # type: ignore[type-arg]
    """An address; its own memory holds it."""

    _type_ = "z"


class _Function(_ctypes.CFuncPtr):
    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = _Word


def _function(name: str) -> _Function | None:
    if not LINUX:
        return None
    return _Function(_ctypes.dlsym(_ctypes.dlopen(None, 0), name))  # type: ignore[arg-type] # None is this program


_SYSCALL, _PRCTL, _CAPSET = map(_function, ("syscall", "prctl", "capset"))


def syscall(number: int, *arguments: int | bytes) -> int:
    """Numbers, and bytes to read. Raises the kernel's refusal as `OSError`."""
    return _made(_SYSCALL, number, *arguments)


def prctl(option: int, *arguments: int) -> None:
    """Nothing on other systems than Linux."""
    if LINUX:
        _made(_PRCTL, option, *(*arguments, 0, 0, 0, 0)[:4])


def _made(function: _Function | None, *arguments: int | bytes) -> int:
    assert function
    result: int = function(*(_Word(argument) if isinstance(argument, int) else argument for argument in arguments))
    if result < 0:
        error = _ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def restrict_calls(filter_program: bytes) -> int:
    """Seccomp, for good: `filter_program` is BPF. The descriptor is where calls arrive that are to be decided on."""
    length = (len(filter_program) // 8).to_bytes(2, sys.byteorder)
    header = length + bytes(6) + bytes(_Bytes(filter_program))
    prctl(SET_NO_NEW_PRIVS, 1)
    number = _SECCOMP[os.uname().machine]
    try:  # so that other signals don't interrupt who waits for an answer
        return syscall(number, _SET_FILTER, _NEW_LISTENER | _UNTIL_KILLED, header)
    except OSError:  # before Linux 5.19
        return syscall(number, _SET_FILTER, _NEW_LISTENER, header)


def descriptor_of(pid: int, descriptor: int) -> int:
    """A duplicate of what another process has open."""
    process = os.pidfd_open(pid)
    try:
        return syscall(_PIDFD_GETFD, process, descriptor, 0)
    finally:
        os.close(process)


def drop_capabilities() -> None:
    """Also for good: no program that is started later, set-uid or root's own, gets any of them back."""
    if not LINUX:
        return
    prctl(SET_NO_NEW_PRIVS, 1)
    prctl(_CAP_AMBIENT, _CLEAR_ALL)
    for capability in range(64):
        try:
            prctl(_CAPBSET_DROP, capability)
        except OSError:
            break  # the kernel knows no more capabilities, or none may be dropped because none is held
    _made(_CAPSET, _CAPABILITY_VERSION.to_bytes(8, sys.byteorder), bytes(24))
