"""The command line as a process of its own: in a pipe as scripts see it, on a pseudo-terminal as people do."""

import atexit
import os
import pty
import re
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from fcntl import ioctl
from functools import cache
from pathlib import Path
from struct import pack
from termios import TIOCSWINSZ
from typing import TextIO

from tests.nursery import Nursery, Process

WAIT_SECONDS = 60.0
STATUS = re.compile(r"(?:\x1bD\x1b\[A)?\x1b7.*?\x1b8", re.DOTALL)
_begun: list["Piped"] = []


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "ai_battle", *map(str, arguments)]


@cache
def command_nursery() -> Nursery:
    """Returns the process that has loaded the command line, of which commands are forked."""
    nursery = Nursery("tests.scenarios.nursery")
    atexit.register(nursery.close)
    return nursery


@dataclass
class Piped:
    """A command whose standard input, output and errors are pipes."""

    process: Process
    stdin: TextIO
    stdout: TextIO
    stderr: TextIO

    def end(self, typed: str = "") -> "Ended":
        """Its input ends with what is typed."""
        started = time.monotonic()
        with self.stdin:
            self.stdin.write(typed)
        out, err = map(rest, (self.stdout, self.stderr))
        return Ended(self.process.wait(), out, err, time.monotonic() - started)


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str
    seconds: float = 0.0


def rest(pipe: TextIO) -> str:
    """All that comes, or nothing where it was closed."""
    if pipe.closed:
        return ""
    with pipe:
        return pipe.read()


def begin(*arguments: object, **environment: str) -> Piped:
    stdin, stdout, stderr = os.pipe(), os.pipe(), os.pipe()
    streams = (stdin[0], stdout[1], stderr[1])
    process = command_nursery().begin(*arguments, streams=streams, **environment)
    _begun.append(begun := Piped(process, os.fdopen(stdin[1], "w"), os.fdopen(stdout[0]), os.fdopen(stderr[0])))
    return begun


def end_all() -> None:
    """Nothing that a failed test began goes on."""
    while _begun:
        _begun.pop().process.send_signal(signal.SIGKILL)


def run(*arguments: object, **environment: str) -> Ended:
    return begin(*arguments, **environment).end()


def wait_for(text: str, path: Path) -> None:
    """Until the file has the text."""
    wait_until(lambda: path.exists() and text in path.read_text(encoding="utf-8"), f"{path} never got {text!r}")


def wait_until(holds: Callable[[], bool], lacking: str = "it never did") -> None:
    ends = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert time.monotonic() < ends, lacking
        time.sleep(0.01)


class Terminal:
    """What a person has: keys to press, and all that was shown so far."""

    def __init__(self, process: Process, fd: int) -> None:
        self.shown = ""
        self._process, self._fd = process, fd

    def resize(self, rows: int, columns: int) -> None:
        set_size(self._fd, rows, columns)

    def read_until(self, text: str, times: int = 1) -> None:
        ends = time.monotonic() + WAIT_SECONDS
        # The status line may be drawn between two letters of what is printed; the cursor goes back to where it was.
        while max(self.shown.count(text), STATUS.sub("", self.shown).count(text)) < times:
            assert time.monotonic() < ends, f"never shown: {text!r}, but\n{self.shown}"
            assert self._read(), f"ended without {text!r}:\n{self.shown}"

    def press(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def press_long(self, keys: str) -> None:
        """More keys than a terminal holds: what it echoes is read meanwhile."""
        data = keys.encode()
        while data:
            readable, writable, _ = select.select([self._fd], [self._fd], [], WAIT_SECONDS)
            if readable:
                self._read()
            if writable:
                data = data[os.write(self._fd, data[:4096]) :]

    def end(self) -> int:
        """The exit code, after everything was read; negative for a signal."""
        while self._read():
            pass
        return self._process.wait()

    def close(self) -> None:
        os.close(self._fd)
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def _read(self) -> bool:
        """More of what is shown; false at the end."""
        ready, _, _ = select.select([self._fd], [], [], WAIT_SECONDS)
        assert ready, f"nothing more was shown after\n{self.shown}"
        try:
            data = os.read(self._fd, 65_536)
        except OSError:
            return False
        self.shown += data.decode(errors="replace")
        return bool(data)


def terminal(*arguments: object, **environment: str) -> AbstractContextManager[Terminal]:
    return sized_terminal(24, 80, arguments, None, **environment)


@contextmanager
def sized_terminal(
    rows: int, columns: int, arguments: Iterable[object], stdout: int | None, **environment: str
) -> Iterator[Terminal]:
    """The file descriptor `stdout` leads elsewhere."""
    fd, inside = pty.openpty()
    set_size(fd, rows, columns)
    streams = (inside, inside if stdout is None else stdout, inside)
    variables = {"TERM": "xterm-256color", "COLUMNS": "", "LINES": "", **environment}
    process = command_nursery().begin(*arguments, streams=streams, **variables)
    with closing(Terminal(process, fd)) as opened:
        wait_until(lambda: os.tcgetpgrp(fd) == process.pid)
        yield opened


def set_size(fd: int, rows: int, columns: int) -> None:
    ioctl(fd, TIOCSWINSZ, pack("HHHH", rows, columns, 0, 0))
