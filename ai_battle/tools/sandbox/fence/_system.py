"""The kernel's calls that Python has no function for, by ctypes."""

import ctypes
import os
import sys

LINUX = sys.platform == "linux"
_LIBC = ctypes.CDLL(None if os.name == "posix" else "msvcrt", use_errno=True)

SET_PDEATHSIG, SET_DUMPABLE, SET_CHILD_SUBREAPER, SET_NO_NEW_PRIVS = 1, 4, 36, 38
_CAPBSET_DROP, _CAP_AMBIENT, _CLEAR_ALL = 24, 47, 4
_SECCOMP, _PIDFD_GETFD = {"x86_64": 317, "aarch64": 277}, 438
_SET_FILTER, _NEW_LISTENER = 1, 8
_CAPABILITY_VERSION = 0x20080522


def syscall(number: int, *arguments: object) -> int:
    """Raises the kernel's refusal as `OSError`."""
    result = _LIBC.syscall(ctypes.c_long(number), *(_wide(argument) for argument in arguments))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return int(result)


def prctl(option: int, *arguments: int) -> None:
    """Nothing on other systems than Linux."""
    if not LINUX:
        return
    padded = (*arguments, 0, 0, 0, 0)[:4]
    if _LIBC.prctl(option, *(ctypes.c_ulong(argument) for argument in padded)):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def restrict_calls(filter_program: bytes) -> int:
    """Seccomp, for good: `filter_program` is BPF. The descriptor is where calls arrive that are to be decided on."""
    instructions = ctypes.create_string_buffer(filter_program, len(filter_program))
    header = _FilterProgram(len(filter_program) // 8, ctypes.addressof(instructions))
    prctl(SET_NO_NEW_PRIVS, 1)
    return syscall(_SECCOMP[os.uname().machine], _SET_FILTER, _NEW_LISTENER, ctypes.byref(header))


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
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    nothing = (ctypes.c_uint32 * 6)()
    if _LIBC.capset(header, nothing):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _wide(argument: object) -> object:
    return ctypes.c_long(argument) if isinstance(argument, int) else argument
