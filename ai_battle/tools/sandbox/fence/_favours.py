"""What a program without namespaces may not do itself, done for it where that is harmless.

Landlock does not mediate changes of metadata nor sockets with a path, so the program's own calls are stopped. The
supervisor makes them instead, on what is really there: a file is opened first, and only then is looked where it lies.
/dev/shm is not the program's, so a folder of its own stands for it.
"""

import _socket
import errno
import os
import struct
import sys
import time

from . import _landlock, _system, _terminals, _tree
from .orders import Orders

_X86 = os.uname().machine == "x86_64"
_CHMOD, _FCHMOD, _FCHMODAT = (90, 91, 268) if _X86 else (-1, 52, 53)
_CHOWN, _LCHOWN, _FCHOWN, _FCHOWNAT = (92, 94, 93, 260) if _X86 else (-1, -1, 55, 54)
_UTIMENSAT, _CONNECT, _BIND = (280, 42, 49) if _X86 else (88, 203, 200)
_OPEN, _OPENAT = (2, 257) if _X86 else (-1, 56)
_LINK, _LINKAT, _UNLINK, _UNLINKAT = (86, 265, 87, 263) if _X86 else (-1, 37, -1, 35)

_WATCH = 254 if _X86 else 27
_PRLIMIT, _SET_PRIORITY, _SET_IO_PRIORITY = (302, 141, 251) if _X86 else (261, 140, 30)
_SCHEDULING = (142, 144, 203, 314) if _X86 else (118, 119, 122, 274)
_ONE_PROCESS = {_SET_PRIORITY: 0, _SET_IO_PRIORITY: 1}  # rather than a group of them, or all of a user

_HERE, _NO_FOLLOW, _DONT_FOLLOW = -100, 0x100, 0x02000000
_NOW, _OMIT = 0x3FFFFFFF, 0x3FFFFFFE
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - only as it is named
_PATH_MAX = 4096
# Where a program finds what it has open; the supervisor would find its own there.
_OF_ONESELF = {"/proc/self/": "/proc/{}/", "/proc/thread-self/": "/proc/{}/", "/dev/fd/": "/proc/{}/fd/"}


class Call:
    """By the thread `pid`; descriptors and modes are the low halves of `arguments`."""

    def __init__(self, pid: int, number: int, arguments: list[int]) -> None:
        self.pid = pid
        self.number = number
        self.arguments = arguments

    def small(self, index: int) -> int:
        value = self.arguments[index] & 0xFFFFFFFF
        return value - (1 << 32) if value & 0x80000000 else value

    def memory(self, address: int, size: int) -> bytes:
        with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as file:
            if found := os.pread(file.fileno(), size, address) if address else b"":
                return found
        raise OSError(errno.EFAULT, "nothing is there")

    def text(self, index: int) -> str:
        """A path; memory is read up to the end of its page, the next one may not be there."""
        address, found = self.arguments[index], b""
        while b"\0" not in found and len(found) < _PATH_MAX:
            here = address + len(found)
            found += self.memory(here, 4096 - here % 4096)
        return os.fsdecode(found.split(b"\0", 1)[0])


class Favour:
    """What the program gets: `value`, the number that `descriptor` has there, or (`go_on`) the kernel's own answer."""

    def __init__(
        self, value: int = 0, *, descriptor: int = -1, close_on_exec: bool = False, go_on: bool = False
    ) -> None:
        self.value = value
        self.descriptor = descriptor
        self.close_on_exec = close_on_exec
        self.go_on = go_on


def done(call: Call, orders: Orders) -> Favour:
    """`OSError` is what the program gets to see."""
    if call.number in _ON_FILES:
        act, at, path, follow = _ON_FILES[call.number]
        descriptor = _found(call, (at, path, follow), orders)
        try:
            act(call, f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)
        return Favour()
    return _OTHERS.get(call.number, _shared_memory)(call, orders)


def _found(call: Call, where: tuple[int | None, int | None, int | None], orders: Orders) -> int:
    """A descriptor of the file that is meant, when it is one of the program's own."""
    at, path, flags = where
    name = "" if path is None or _is_nameless(call, path) else call.text(path)
    no_follow = flags == -1 or (flags is not None and call.small(flags) & _NO_FOLLOW)
    return _own(_place(call, at, name), orders, os.O_NOFOLLOW if no_follow and name else 0)


def _is_nameless(call: Call, path: int) -> bool:
    """How futimens says that it means the descriptor itself."""
    return call.number == _UTIMENSAT and not call.arguments[path]


def _place(call: Call, at: int | None, name: str) -> str:
    if name.startswith("/"):
        own = next((own for own in _OF_ONESELF if name.startswith(own)), "")
        return _OF_ONESELF[own].format(call.pid) + name.removeprefix(own) if own else name
    folder = call.small(at) if at is not None else _HERE
    start = f"/proc/{call.pid}/cwd" if folder == _HERE else f"/proc/{call.pid}/fd/{folder}"
    return f"{start}/{name}" if name else start


def _own(place: str, orders: Orders, flags: int) -> int:
    descriptor = os.open(place, os.O_PATH | os.O_CLOEXEC | flags)
    lies = os.readlink(f"/proc/self/fd/{descriptor}")
    if any(lies == folder or lies.startswith(f"{folder}/") for folder in orders.writable) and _is(descriptor, lies):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EPERM, "not the program's own")


def _is(descriptor: int, path: str) -> bool:
    """The path may have been told by way of another process, in whose files it means something else."""
    status = os.fstat(descriptor)
    if not status.st_nlink:
        return True
    try:
        return os.path.samestat(status, os.lstat(path))
    except OSError:
        return False


def _change_mode(call: Call, file: str) -> None:
    os.chmod(file, call.small(2 if call.number == _FCHMODAT else 1) & 0o1777)


def _change_owner(call: Call, file: str) -> None:
    """To what it is already, as tar and sed do; anything else is for root."""
    first = 2 if call.number == _FCHOWNAT else 1
    status = os.stat(file)
    for wanted, present in ((call.small(first), status.st_uid), (call.small(first + 1), status.st_gid)):
        if wanted not in (-1, present):
            raise OSError(errno.EPERM, "not another owner")


def _change_times(call: Call, file: str) -> None:
    status, now = os.stat(file), time.time_ns()
    seconds = struct.unpack("4q", call.memory(call.arguments[2], 32)) if call.arguments[2] else (0, _NOW, 0, _NOW)
    pairs = zip((seconds[:2], seconds[2:]), (status.st_atime_ns, status.st_mtime_ns), strict=True)
    accessed, modified = (
        now if part == _NOW else present if part == _OMIT else whole * 10**9 + part for (whole, part), present in pairs
    )
    os.utime(file, ns=(accessed, modified))


def _name(call: Call) -> str:
    """Of a socket in the file system; abstract ones lie nowhere, and are refused."""
    address = call.memory(call.arguments[1], min(call.small(2), 110))
    name = os.fsdecode(address[2:].split(b"\0", 1)[0])
    if int.from_bytes(address[:2], sys.byteorder) != _socket.AF_UNIX or not name:
        raise OSError(errno.EPERM, "not a socket of the program's own")
    return name


def _connect(call: Call, orders: Orders) -> Favour:
    target = _own(_place(call, None, _name(call)), orders, 0)
    try:
        _connect_to(target, _system.descriptor_of(call.pid, call.small(0)))
    finally:
        os.close(target)
    return Favour()


def _connect_to(target: int, descriptor: int) -> None:
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, descriptor)
    waits = os.get_blocking(descriptor)
    try:
        connection.setblocking(False)
        connection.connect(f"/proc/self/fd/{target}")
    finally:
        os.set_blocking(descriptor, waits)
        connection.close()


def _bind(call: Call, orders: Orders) -> Favour:
    """By a process that can't leave the program's folders either: what the path leads to may change at any time."""
    name, descriptor = _name(call), _system.descriptor_of(call.pid, call.small(0))
    try:
        if not (helper := os.fork()):
            os._exit(_bound(descriptor, name, f"/proc/{call.pid}/cwd", orders))
        if error := os.waitstatus_to_exitcode(os.waitpid(helper, 0)[1]):
            raise OSError(error if error > 0 else errno.EPERM, "not bound")
    finally:
        os.close(descriptor)
    return Favour()


def _bound(descriptor: int, name: str, folder: str, orders: Orders) -> int:
    try:
        os.chdir(folder)
        _landlock.restrict((), orders.writable, (), tcp=True)
        _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, descriptor).bind(name)
    except OSError as error:
        return error.errno or errno.EPERM
    return 0


def _watch(call: Call, orders: Orders) -> Favour:
    """A folder outside would tell the names of what changes in it."""
    watcher = _system.descriptor_of(call.pid, call.small(0))
    try:
        target = _own(_place(call, None, call.text(1)), orders, 0)
        try:
            path = f"/proc/self/fd/{target}".encode()
            return Favour(value=_system.syscall(_WATCH, watcher, path, call.arguments[2] & 0xFFFFFFFF & ~_DONT_FOLLOW))
        finally:
            os.close(target)
    finally:
        os.close(watcher)


def _open(call: Call, orders: Orders) -> Favour:
    path, flags = call.text(_NAMED[call.number][0]), call.small(_NAMED[call.number][0] + 1)
    if not _terminals.is_named(path):
        return _shared_memory(call, orders)
    return Favour(descriptor=_terminals.opened(call.pid, path, flags), close_on_exec=bool(flags & os.O_CLOEXEC))


def _of_a_process(call: Call, orders: Orders) -> Favour:
    """Its limits, priority or processors, when the program has started it."""
    kind, pid = (call.small(0), call.small(1)) if call.number in _ONE_PROCESS else (0, call.small(0))
    if kind != _ONE_PROCESS.get(call.number, 0) or not _tree.is_descendant(pid):
        raise OSError(errno.EPERM, "not a process of the program's own")
    return Favour(go_on=True)


def _shared_memory(call: Call, orders: Orders) -> Favour:
    """The names that sem_open and shm_open make; every other path is the kernel's and Landlock's affair."""
    named = [os.path.split(call.text(index)) for index in _NAMED[call.number]]
    if {folder for folder, _ in named} != {_SHARED_MEMORY}:
        return Favour(go_on=True)
    paths = [_shared_path(orders, name) for _, name in named]
    if call.number in (_UNLINK, _UNLINKAT):
        os.unlink(paths[0])
    elif call.number in (_LINK, _LINKAT):
        os.link(paths[0], paths[1], follow_symlinks=False)
    else:
        return _opened(paths[0], *(call.small(_NAMED[call.number][0] + more) for more in (1, 2)))
    return Favour()


def _shared_path(orders: Orders, name: str) -> str:
    if name in ("", ".", ".."):
        raise OSError(errno.EISDIR, "no name")
    return os.path.join(orders.shared_memory, name)


def _opened(path: str, flags: int, mode: int) -> Favour:
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, mode & 0o777)
    return Favour(descriptor=descriptor, close_on_exec=bool(flags & os.O_CLOEXEC))


# Where each call has the folder it starts from, the path, and flags (-1: never follows a last link).
_ON_FILES = {
    _CHMOD: (_change_mode, None, 0, None),
    _FCHMOD: (_change_mode, 0, None, None),
    _FCHMODAT: (_change_mode, 0, 1, None),
    _CHOWN: (_change_owner, None, 0, None),
    _LCHOWN: (_change_owner, None, 0, -1),
    _FCHOWN: (_change_owner, 0, None, None),
    _FCHOWNAT: (_change_owner, 0, 1, 4),
    _UTIMENSAT: (_change_times, 0, 1, 3),
}
_OTHERS = {_CONNECT: _connect, _BIND: _bind, _WATCH: _watch, _OPEN: _open, _OPENAT: _open}
_OTHERS |= dict.fromkeys((_PRLIMIT, _SET_PRIORITY, _SET_IO_PRIORITY, *_SCHEDULING), _of_a_process)
_NAMED = {_OPEN: (0,), _OPENAT: (1,), _LINK: (0, 1), _LINKAT: (1, 3), _UNLINK: (0,), _UNLINKAT: (1,)}
