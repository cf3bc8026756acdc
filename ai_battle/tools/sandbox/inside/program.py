"""How the child of the supervisor becomes the program: it confines itself, and then runs it."""

import _signal as signal  # type: ignore[import-not-found] # the signal module itself costs 5 ms
import os
import resource
import sys
from types import ModuleType

from . import kernel
from .orders import Orders

_LONGEST = 10.0**6
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def enter(orders: Orders, streams: tuple[int, int], trouble: int) -> None:
    """Returns only for a Python program, which goes on in this interpreter instead of starting another one.

    When this process can't be confined in full, the reason is written to `trouble` and nothing is run.
    """
    try:
        kernel.prctl(kernel.SET_PDEATHSIG, signal.SIGKILL)
        _detach(streams)
        os.chdir(orders.folder)
        _limit(orders)
        kernel.drop_capabilities()
        if orders.writable and kernel.landlock_version():
            kernel.restrict_paths(
                orders.readable, orders.writable, orders.devices, orders.listed, tcp=not orders.isolated
            )
        if orders.syscall_filter:
            kernel.restrict_syscalls(orders.syscall_filter)
        if not orders.here:
            os.execve(orders.argv[0], orders.argv, orders.environment)  # noqa: S606 - no shell is what is wanted
        _tidy(orders)
    except (OSError, ValueError) as error:
        os.write(trouble, str(error).encode())
        os._exit(126)


def run_python(path: str) -> None:
    """Run a program in this interpreter as if it stood in the workspace, where its imports look first."""
    for name in [name for name in sys.modules if name.partition(".")[0] == __package__]:
        del sys.modules[name]  # the program may have a module of this name
    sys.path[0] = os.getcwd()
    sys.argv = [path]
    sys.excepthook = lambda kind, error, _: _show(path, kind, error)
    # What was printed before a program was killed has been printed.
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    module = sys.modules["__main__"] = ModuleType("__main__")
    module.__file__ = path
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    exec(code, vars(module))  # noqa: S102 - this is what it is for


def _show(path: str, kind: type[BaseException], error: BaseException) -> None:
    """Leave out the frames that are ours."""
    kept = error.__traceback__
    while kept and kept.tb_frame.f_code.co_filename != path:
        kept = kept.tb_next
    sys.__excepthook__(kind, error.with_traceback(kept), None)


def _tidy(orders: Orders) -> None:
    """Leave things as exec would have: the environment, Python's choice of signals, and only three descriptors."""
    os.environ.clear()
    os.environ.update(orders.environment)
    for number in _IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_IGN)
    kernel.prctl(kernel.SET_DUMPABLE, 1)
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
        resource.RLIMIT_CORE: int(kernel.LINUX),
    }
    if orders.address_space and kernel.LINUX:
        limits[resource.RLIMIT_AS] = orders.address_space
    if orders.isolated:
        limits[resource.RLIMIT_NPROC] = orders.tasks
    for kind, wanted in limits.items():
        allowed = resource.getrlimit(kind)[1]
        value = wanted if allowed == resource.RLIM_INFINITY else min(wanted, allowed)
        resource.setrlimit(kind, (value, value))
