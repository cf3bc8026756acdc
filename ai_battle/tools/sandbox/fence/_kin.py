"""What macOS has calls of its own for: its sandbox, and who descends from whom. Not tried on a machine of ours yet."""

import ctypes
import struct

_LIBC = ctypes.CDLL(None)
_TASK_INFO = 4
_INFO = struct.Struct("6Q12i")
_RESIDENT, _THREADS = 1, 15
_MOST = 4096

_known: set[int] = set()


def children(pid: int) -> list[int]:
    found = (ctypes.c_int * _MOST)()
    count = _LIBC.proc_listchildpids(pid, found, ctypes.sizeof(found))
    pids = [pid for pid in found[: max(0, count)] if pid > 0]
    _known.update(pids)
    return pids


def restrict(profile: str) -> None:
    """For good, for this process and all that it starts; refused to who is in such a sandbox already."""
    trouble, parameters = ctypes.c_char_p(), (ctypes.c_char_p * 1)()
    if _LIBC.sandbox_init_with_parameters(profile.encode(), ctypes.c_uint64(0), parameters, ctypes.byref(trouble)):
        raise OSError((trouble.value or b"macOS refused the sandbox").decode(errors="replace"))


def orphans() -> list[int]:
    """There is no subreaper: those who were seen once are remembered as long as they live."""
    _known.intersection_update([pid for pid in _known if threads(pid)])
    return list(_known)


def threads(pid: int) -> int:
    return _facts(pid)[_THREADS]


def resident(pid: int) -> int:
    return _facts(pid)[_RESIDENT]


def _facts(pid: int) -> tuple[int, ...]:
    buffer = ctypes.create_string_buffer(_INFO.size)
    if _LIBC.proc_pidinfo(pid, _TASK_INFO, ctypes.c_uint64(0), buffer, _INFO.size) < _INFO.size:
        return (0,) * 18
    return _INFO.unpack(buffer.raw)
