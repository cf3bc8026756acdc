"""Programs that begin within milliseconds and can be killed at every moment of theirs, because they are forked.

`serve` reads orders (`ACTION DIR WHAT`) on standard input and forks for each; it answers with the process id, and to
the next line, `end`, with the exit code: until then the id is nobody else's.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]


def note(path: Path, line: str) -> None:
    """One write, which outlives this process."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(fd, f"{line}\n".encode())
    os.close(fd)


def serve(child: Callable[[str, Path, str], int]) -> None:
    """`child` does what is ordered, and its result is the exit code."""
    for order in sys.stdin:
        action, folder, what = order.split()
        pid = os.fork()
        if not pid:
            os._exit(child(action, Path(folder), what))
        print(pid, flush=True)
        sys.stdin.readline()
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


class Nursery:
    """Gives the orders to a module that serves, and kills what it began."""

    def __init__(self, module: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def begin(self, action: str, folder: Path, what: object) -> int:
        return self._answer(f"{action} {folder} {what}")

    def end(self) -> int:
        """The exit code of what was begun last."""
        return self._answer("end")

    def play(self, action: str, folder: Path, what: object, kill_after: float | None = None) -> int:
        pid = self.begin(action, folder, what)
        if kill_after is not None:
            time.sleep(kill_after)
            os.kill(pid, signal.SIGKILL)
        return self.end()

    def close(self) -> None:
        self._process.communicate()

    def _answer(self, order: str) -> int:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{order}\n")
        return int(self._process.stdout.readline())
