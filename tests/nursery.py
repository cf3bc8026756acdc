"""Programs that begin within milliseconds and can be killed at every moment of theirs, because they are forked.

A process that has loaded what they need forks them: loading it would take each of them most of a second.
"""

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from fcntl import ioctl
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from socket import recv_fds, send_fds, socket, socketpair
from termios import TIOCSCTTY

ROOT = Path(__file__).parents[1]


def note(path: Path, line: str) -> None:
    """One write, which outlives this process."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(fd, f"{line}\n".encode())
    os.close(fd)


def serve(child: Callable[..., int | None]) -> None:
    """For each order, a process is forked that calls `child` with its arguments and exits with what that returns."""
    gc.freeze()
    signal.signal(signal.SIGCHLD, lambda *_: os.waitpid(-1, os.WNOHANG))  # of those who have told how a child ended
    orders = socket(fileno=int(sys.argv[1]))
    while fds := recv_fds(orders, 1, 4)[1]:
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            orders.close()
            _fork(child, *fds)
        for fd in fds:
            os.close(fd)


def _fork(child: Callable[..., int | None], test: int, *streams: int) -> None:
    """Forks once more, and tells the test which process that is and, when it has ended, how."""
    with Connection(test) as connection:
        arguments, folder, environment = connection.recv()
        if pid := os.fork():
            for fd in streams:
                os.close(fd)
            connection.send(pid)
            connection.send(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            os._exit(0)
    _settle(streams, folder, environment)
    sys.exit(child(*arguments))


def _settle(streams: tuple[int, ...], folder: str, environment: Mapping[str, str]) -> None:
    """Gets what a new program would have from its beginning."""
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
        os.close(fd)
    encoding = environment.get("PYTHONIOENCODING")
    sys.stdin, sys.stdout = (
        os.fdopen(0, encoding=encoding, closefd=False),
        os.fdopen(1, "w", encoding=encoding, closefd=False),
    )
    sys.stderr = os.fdopen(2, "w", 1, encoding=encoding, errors="backslashreplace", closefd=False)
    os.chdir(folder)
    sys.path[:1] = [folder, *environment.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ.clear()
    os.environ.update(environment)
    if os.isatty(0):
        os.setsid()
        ioctl(0, TIOCSCTTY, 0)  # last, as it tells the test that all is there


class Process:
    """One that was forked, to be used as a `subprocess.Popen`."""

    def __init__(self, connection: "Connection[object, int]") -> None:
        self.pid = connection.recv()
        self.returncode: int | None = None
        self._connection = connection

    def poll(self) -> int | None:
        return self.returncode if self.returncode is not None or not self._connection.poll() else self.wait()

    def wait(self) -> int:
        if self.returncode is None:
            with self._connection:
                self.returncode = self._connection.recv()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended since, and how it ended is on its way
                os.kill(self.pid, number)


class Nursery:
    """Gives the orders to a module that serves."""

    def __init__(self, module: str) -> None:
        self._orders, theirs = socketpair()
        command = [sys.executable, "-m", module, str(theirs.fileno())]
        with theirs:
            self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])

    def begin(self, *arguments: object, streams: tuple[int, ...] = (), **environment: str) -> Process:
        """The file descriptors `streams` become its standard input, output and errors; here they are closed."""
        ours, theirs = Pipe()
        with theirs:
            send_fds(self._orders, [b"."], [theirs.fileno(), *streams])
        for fd in set(streams):
            os.close(fd)
        ours.send(([*map(str, arguments)], str(Path.cwd()), {**os.environ, **environment}))
        return Process(ours)

    def play(self, *arguments: object, kill_after: float | None = None) -> int:
        process = self.begin(*arguments)
        if kill_after is not None:
            time.sleep(kill_after)
            process.send_signal(signal.SIGKILL)
        return process.wait()

    def close(self) -> None:
        self._orders.close()
        self._process.wait()
