"""Between fork and exec: the child walks behind the fence and becomes the program."""

import _signal as signal  # type: ignore[import-not-found] # the signal module itself costs 5 ms
import _socket  # the socket module itself costs some milliseconds
import os
import resource
import sys

from . import _landlock, _system
from .orders import Orders

if not _system.LINUX:
    from . import _kin

_LONGEST = 10.0**6
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def become(orders: Orders, streams: tuple[int, int], trouble: int, post: _socket.socket) -> None:
    """Returns only for a Python program, which goes on in this interpreter instead of starting another one.

    When a part of the fence can't be built, that is written to `trouble` and nothing is run.
    """
    try:
        _system.prctl(_system.SET_PDEATHSIG, signal.SIGKILL)
        _detach(streams)
        os.chdir(orders.folder)
        _limit(orders)
        _restrict(orders, post)
        if orders.here:
            _tidy(orders)
        else:
            os.execve(orders.argv[0], orders.argv, orders.environment)  # noqa: S606 - no shell is what is wanted
    except (OSError, ValueError) as error:
        os.write(trouble, str(error).encode())
        os._exit(126)


def _tidy(orders: Orders) -> None:
    """As exec would have left it: the environment, Python's choice of signals, and only the first three descriptors."""
    os.environ.clear()
    os.environ.update(orders.environment)
    for number in _IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_IGN)
    _system.prctl(_system.SET_DUMPABLE, 1)
    os.closerange(3, orders.open_files)


def _detach(streams: tuple[int, int]) -> None:
    os.setsid()
    os.umask(0o022)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in zip((nothing, *streams), range(3), strict=True):
        os.dup2(source, target)
    # Python ignores these; a shell's `yes | head` needs them as the system has them.
    for number in _IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)


def _limit(orders: Orders) -> None:
    limits = {
        # Of all its threads together; the supervisor looks at the clock.
        resource.RLIMIT_CPU: (int(min(orders.seconds, _LONGEST)) + 2) * (os.cpu_count() or 1),
        resource.RLIMIT_FSIZE: orders.file_size,
        resource.RLIMIT_NOFILE: orders.open_files,
        # On Linux 0 still wakes a collector of crashes, which writes elsewhere; 1 byte is too little for anybody.
        resource.RLIMIT_CORE: int(_system.LINUX),
    }
    if orders.address_space and _system.LINUX:
        limits[resource.RLIMIT_AS] = orders.address_space
    if orders.alone:
        limits[resource.RLIMIT_NPROC] = orders.tasks
    for kind, wanted in limits.items():
        allowed = resource.getrlimit(kind)[1]
        value = wanted if allowed == resource.RLIM_INFINITY else min(wanted, allowed)
        resource.setrlimit(kind, (value, value))


def _restrict(orders: Orders, post: _socket.socket) -> None:
    if orders.profile:
        _kin.restrict(orders.profile)
    _system.drop_capabilities()
    if orders.writable and _landlock.abi():
        _landlock.restrict(orders.readable, orders.writable, orders.devices, orders.listed, tcp=not orders.alone)
    if orders.calls:
        listener = _system.restrict_calls(orders.calls)
        rights = listener.to_bytes(4, sys.byteorder)
        post.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
        os.close(listener)
