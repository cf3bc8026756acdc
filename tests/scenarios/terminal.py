"""The command line as a process of its own: in a pipe as scripts see it, on a pseudo-terminal as people do."""

import atexit
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fcntl import ioctl
from functools import cache
from pathlib import Path
from struct import pack
from termios import TIOCSWINSZ
from typing import Any
from urllib.parse import quote

from tests.nursery import Nursery

WAIT_SECONDS = 60.0
STATUS = re.compile(r"(?:\x1bD\x1b\[A)?\x1b7.*?\x1b8", re.DOTALL)
ROWS, COLUMNS = 24, 80
_begun: list[subprocess.Popen[str]] = []


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "ai_battle", *map(str, arguments)]


def begin(*arguments: object, **how: Any) -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    _begun.append(process := subprocess.Popen(command(*arguments), text=True, **(pipes | how)))
    return process


def end_all() -> None:
    """Nothing that a failed test began goes on."""
    while _begun:
        with _begun.pop() as process:
            process.kill()


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str
    seconds: float = 0.0


def run(*arguments: object, **how: Any) -> Ended:
    return wait_for_end(begin(*arguments, **how))


def run_in_turn(folder: Path, *commands: str, **environment: str) -> list[str]:
    """Runs commands that go well one after another in one new process, and returns what each prints."""
    program = "import sys; from ai_battle.cli import run_command\n"
    program += "for each in sys.argv[1:]: print(end=chr(0) * (run_command(each.split()) == 0), flush=True)"
    words = [sys.executable, "-c", program, *commands]
    done = subprocess.run(
        words, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    *printed, rest = done.stdout.split("\0")
    assert (len(printed), rest) == (len(commands), ""), done.stderr
    return printed


def wait_for_end(process: subprocess.Popen[str]) -> Ended:
    started = time.monotonic()
    out, err = process.communicate(timeout=WAIT_SECONDS)
    return Ended(process.returncode, out or "", err or "", time.monotonic() - started)


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

    def __init__(self, pid: int, fd: int, wait: Callable[[], int]) -> None:
        """`wait` returns the exit code of the process."""
        self.shown = ""
        self._pid, self._fd, self._wait, self._has_ended = pid, fd, wait, False

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
        self._has_ended = True
        return self._wait()

    def close(self) -> None:
        os.close(self._fd)
        if not self._has_ended:
            os.kill(self._pid, signal.SIGKILL)
            self._wait()

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


@cache
def command_nursery() -> Nursery:
    """Returns the process that has loaded the command line, of which one command at a time is forked."""
    nursery = Nursery("tests.scenarios.nursery")
    atexit.register(nursery.close)
    return nursery


@contextmanager
def terminal(*arguments: object, **environment: str) -> Iterator[Terminal]:
    fd, inside = pty.openpty()
    order = [[str(argument) for argument in arguments], str(Path.cwd()), variables(environment)]
    set_size(fd, ROWS, COLUMNS)
    pid = command_nursery().begin("open", Path(os.ttyname(inside)), quote(json.dumps(order)))
    with closing(Terminal(pid, fd, command_nursery().end)) as opened:
        wait_until(lambda: os.tcgetpgrp(fd) == pid)
        os.close(inside)
        yield opened


@contextmanager
def in_terminal(words: list[str], **environment: str) -> Iterator[Terminal]:
    pid, fd = pty.fork()
    if not pid:
        set_size(0, ROWS, COLUMNS)
        os.execvpe(words[0], words, variables(environment))
    with closing(Terminal(pid, fd, lambda: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))) as opened:
        yield opened


def set_size(fd: int, rows: int, columns: int) -> None:
    ioctl(fd, TIOCSWINSZ, pack("HHHH", rows, columns, 0, 0))


def variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without the size that pytest-xdist gives its workers: a terminal has its own."""
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    return {**kept, "TERM": "xterm-256color", **environment}
