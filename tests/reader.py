"""A reader of the tutorial: saves its files, types its commands, and compares what is printed."""

import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from . import pages
from .pages import Block

INSTALLING = ("python3 -m venv", ". .venv", "pip install")
BACKGROUND = "python -m ai_battle.testing"
CTRL_C = "^C"
WAIT_SECONDS = 120.0


class Reader:
    """Works in `folder`, where the page says to change to an empty one."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.commands_typed = 0
        self._folder = folder
        self._environment = dict(environment)
        self._background: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._background:
            process.terminate()
            process.communicate()

    def follow(self, block: Block) -> None:
        if block.language in ("yaml", "python"):
            assert block.name, f"{block}: under which name is this to be saved?"
            (self._folder / block.name).write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            for command, expected in block.exchanges:
                if not command.startswith(INSTALLING):
                    self._type(command, expected, str(block))

    def _type(self, command: str, expected: Sequence[str], where: str) -> None:
        self.commands_typed += 1
        if command.startswith(BACKGROUND):
            printed = self._start(command)
        elif CTRL_C in expected:
            printed = self._interrupt(command)
        else:
            printed = self._run(command).communicate(timeout=WAIT_SECONDS)[0]
        lines = [line for line in expected if line != CTRL_C]
        assert re.fullmatch(_pattern(lines), f"{printed.strip()}\n"), f"{where}: {command} printed\n{printed}"

    def _run(self, command: str) -> subprocess.Popen[str]:
        program, *arguments = pages.words(command)
        found = {"ai-battle": [sys.executable, "-m", "ai_battle"], "python": [sys.executable]}[program]
        return subprocess.Popen(
            [*found, *arguments],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def _start(self, command: str) -> str:
        """Leaves it running, and takes over the variables that it tells to export."""
        process = self._run(command)
        self._background.append(process)
        assert process.stdout
        lines: list[str] = []
        while not lines or lines[-1].startswith("export "):
            lines.append(process.stdout.readline())
        for line in lines[:-1]:
            name, _, value = shlex.split(line)[1].partition("=")
            self._environment[name] = value
        return "".join(lines)

    def _interrupt(self, command: str) -> str:
        """Ctrl-C when two turns are over."""
        words = pages.words(command)
        journal = self._folder / words[words.index("--out") + 1] / "journal.jsonl"
        process = self._run(command)
        ends = time.monotonic() + WAIT_SECONDS
        while not journal.exists() or journal.read_text(encoding="utf-8").count('"turn_finished"') < 3:
            assert time.monotonic() < ends, "no two turns were finished"
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        return process.communicate(timeout=WAIT_SECONDS)[0]


def _pattern(expected: Sequence[str]) -> str:
    """Three dots stand for anything, on a line of their own for any lines."""
    lines = (r"(?:.*\n)*?" if line == "..." else f"{re.escape(line)}\n" for line in expected)
    return "".join(lines).replace(r"\.\.\.", ".*")
