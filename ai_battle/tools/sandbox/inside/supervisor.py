"""The process that starts one program, watches it, and ends it with everything it has started."""

import _signal as signal  # type: ignore[import-not-found] # the signal module itself costs 5 ms
import _socket
import gc
import marshal
import os
import resource
import select
import sys
import time
from types import ModuleType

from . import kernel, processes
from .orders import PROXY_PORT, Orders

_LIFELINE, _ANSWER = 0, 1
_LINGER_SECONDS = 0.3  # seconds to read on after the program has ended, while another process holds its pipe
_CHUNK = 65536
_MAX_CPU_SECONDS = 10.0**6
_PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)


def main(orders: Orders) -> None:
    """Runs the program and writes the outcome to stdout. The caller ends the run by closing stdin.

    Returns only in the child that has become a Python program, after that has ended.
    """
    kernel.prctl(kernel.SET_CHILD_SUBREAPER, 1)
    kernel.prctl(kernel.SET_DUMPABLE, 0)
    if orders.proxy_channel >= 0:
        _send_listener(orders.proxy_channel)
    started = time.monotonic()
    watchdog = processes.Watchdog(orders)
    child = _start(orders)
    if child is None:
        run_python(orders.argv[0])
        return
    pid, streams, trouble = child
    answer = marshal.dumps({"trouble": trouble} if trouble else _Run(orders, watchdog, pid, streams).watch(started), 4)
    while answer:
        answer = answer[os.write(_ANSWER, answer) :]
    os._exit(0)


def _send_listener(channel_number: int) -> None:
    """Sends out a socket that listens in the program's network, so that the proxy outside can accept on it."""
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    channel = _socket.socket(fileno=channel_number)
    listener.bind(("127.0.0.1", PROXY_PORT))
    listener.listen(64)
    rights = listener.fileno().to_bytes(4, sys.byteorder)
    channel.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
    for end in (channel, listener):
        end.close()


def _start(orders: Orders) -> "tuple[int, tuple[int, int], str] | None":
    """Returns the child's process id, its output and error streams, and why it did not start; None in the child."""
    (out, out_in), (err, err_in), (trouble, trouble_in) = os.pipe(), os.pipe(), os.pipe()
    gc.freeze()  # a collection in the child would touch, and so copy, all pages; this saves milliseconds
    pid = os.fork()
    if not pid:
        enter(orders, (out_in, err_in), trouble_in)
        return None
    for descriptor in (out_in, err_in, trouble_in):
        os.close(descriptor)
    message = os.read(trouble, _CHUNK).decode(errors="replace")  # empty once the program starts, which closes the pipe
    os.close(trouble)
    return pid, (out, err), message


class _Run:
    """One program from its start to the end of its last descendant."""

    def __init__(self, orders: Orders, watchdog: processes.Watchdog, pid: int, streams: tuple[int, int]) -> None:
        self._orders = orders
        self._watchdog = watchdog
        self._pid = pid
        self._outputs = (_Output(orders.output), _Output(orders.output))
        self._streams = dict(zip(streams, self._outputs, strict=True))
        self._status: int | None = None
        self._verdict = ""
        self._until = 0.0
        self._ended = os.pidfd_open(pid) if kernel.LINUX else -1
        self._poll = select.poll()
        for descriptor in (_LIFELINE, self._ended, *streams):
            if descriptor >= 0:
                self._poll.register(descriptor, select.POLLIN)

    def watch(self, started: float) -> dict[str, object]:
        """Returns the outcome. In any case no process is left."""
        try:
            self._watch(started)
        finally:
            self._end()
        return {
            "stdout": self._outputs[0].excerpt(),
            "stderr": self._outputs[1].excerpt(),
            "status": self._status,
            "killed_because": self._verdict,
            "seconds": time.monotonic() - started,
        }

    def _watch(self, started: float) -> None:
        looked, self._until = started, started + self._orders.seconds
        while self._goes_on():
            left = max(0.0, self._until - time.monotonic())
            for descriptor, _ in self._poll.poll(min(self._watchdog.pause, left) * 1000):
                self._attend(descriptor)
            if time.monotonic() - looked >= self._watchdog.pause:
                self._reap()  # zombies must not count as tasks
                self._verdict = self._verdict or self._watchdog.verdict()
                looked = time.monotonic()
        if not self._verdict and self._status is None:
            self._verdict = "time"

    def _goes_on(self) -> bool:
        return not self._verdict and time.monotonic() < self._until and bool(self._streams or self._status is None)

    def _attend(self, descriptor: int) -> None:
        if descriptor == self._ended:
            self._poll.unregister(descriptor)
            self._reap()
        elif descriptor == _LIFELINE:
            self._verdict = "cancelled"
        else:
            self._read(descriptor)

    def _read(self, descriptor: int) -> None:
        data = os.read(descriptor, _CHUNK)
        self._streams[descriptor].feed(data)
        if not data:
            self._poll.unregister(descriptor)
            del self._streams[descriptor]
        elif sum(output.total for output in self._outputs) > self._orders.drain:
            self._verdict = "output"

    def _reap(self) -> None:
        died, _ = processes.reap(self._pid)
        if self._status is None and died is not None:
            self._status = died
            self._until = min(self._until, time.monotonic() + _LINGER_SECONDS)

    def _end(self) -> None:
        died = processes.kill_all(self._pid)
        self._status = died if self._status is None else self._status
        for descriptor, output in self._streams.items():
            os.set_blocking(descriptor, False)
            try:
                output.feed(os.read(descriptor, _CHUNK))
            except BlockingIOError:
                continue


class _Output:
    """Keeps the head and the tail of any amount of output, in constant memory."""

    def __init__(self, cap: int) -> None:
        self.total = 0
        self._half = cap // 2
        self._head = bytearray()
        self._tail = bytearray()

    def feed(self, data: bytes) -> None:
        self.total += len(data)
        room = max(0, self._half - len(self._head))
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 4 * self._half:
            self._shorten()

    def excerpt(self) -> bytes:
        self._shorten()
        left_out = self.total - len(self._head) - len(self._tail)
        if not left_out:
            return bytes(self._head + self._tail)
        return b"%b\n[... %d bytes left out ...]\n%b" % (bytes(self._head), left_out, bytes(self._tail))

    def _shorten(self) -> None:
        del self._tail[: max(0, len(self._tail) - self._half)]


def enter(orders: Orders, streams: tuple[int, int], trouble: int) -> None:
    """Makes the child confine itself and become the program.

    Returns only for a Python program, which goes on in this interpreter instead of starting another. If any restriction
    fails, the reason is written to `trouble` and nothing runs.
    """
    try:
        # The order matters: each step must still be possible under the restrictions of those above it.
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
        _restore_defaults(orders)
    except (OSError, ValueError) as error:
        os.write(trouble, str(error).encode())
        os._exit(126)


def run_python(path: str) -> None:
    """Runs a program in this interpreter as if it were in the workspace, where its imports look first."""
    for name in [name for name in sys.modules if name.partition(".")[0] == __package__]:
        del sys.modules[name]  # the program may have a module of this name
    sys.path[0] = os.getcwd()
    sys.argv = [path]
    sys.excepthook = lambda kind, error, _: _show(path, kind, error)
    # Output must not be lost in a buffer when the program is killed.
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    module = sys.modules["__main__"] = ModuleType("__main__")
    module.__file__ = path
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    exec(code, vars(module))  # noqa: S102 - this is what it is for


def _show(path: str, kind: type[BaseException], error: BaseException) -> None:
    """Prints the traceback without our own frames."""
    kept = error.__traceback__
    while kept and kept.tb_frame.f_code.co_filename != path:
        kept = kept.tb_next
    sys.__excepthook__(kind, error.with_traceback(kept), None)


def _restore_defaults(orders: Orders) -> None:
    """Restores what exec would have reset: environment, signal handling, and all descriptors but three."""
    os.environ.clear()
    os.environ.update(orders.environment)
    for number in _PYTHON_IGNORES:
        signal.signal(number, signal.SIG_IGN)
    kernel.prctl(kernel.SET_DUMPABLE, 1)
    os.closerange(3, orders.open_files)


def _detach(streams: tuple[int, int]) -> None:
    os.setsid()
    os.umask(0o022)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in zip((nothing, *streams), range(3), strict=True):
        os.dup2(source, target)
    # Python ignores these signals; in a shell, `yes | head` needs their default.
    for number in _PYTHON_IGNORES:
        signal.signal(number, signal.SIG_DFL)


def _limit(orders: Orders) -> None:
    limits = {
        # For all threads together; wall time is the supervisor's business.
        resource.RLIMIT_CPU: (int(min(orders.seconds, _MAX_CPU_SECONDS)) + 2) * (os.cpu_count() or 1),
        resource.RLIMIT_FSIZE: orders.file_size,
        resource.RLIMIT_NOFILE: orders.open_files,
        # On Linux 0 would still start a crash collector, which writes elsewhere; 1 byte is too small for a dump.
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
