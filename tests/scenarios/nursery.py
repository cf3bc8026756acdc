"""The command line in processes that are forked from one that has loaded it: `open TERMINAL COMMAND`.

Loading it takes a new process most of a second, and what tests see of a terminal does not depend on it.
"""

import json
import os
import sys
from fcntl import ioctl
from importlib import import_module
from pathlib import Path
from termios import TIOCSCTTY
from urllib.parse import unquote

from ai_battle import cli
from tests.nursery import serve

MODULES = (
    *("cli.ask", "cli.bench", "cli.council", "cli.resume", "cli.run", "cli.runs", "cli.talk", "cli.screen"),
    *("assembly.recipes", "assembly.tooling", "conversation.manager", "providers.openai", "providers.scripted"),
)


def run_in_terminal(_: str, terminal: Path, what: str) -> int:
    """Runs a command as the leader of the terminal's session, and ends with it as the command does."""
    arguments, folder, environment = json.loads(unquote(what))
    os.setsid()
    fd = os.open(terminal, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(fd, number)
    os.close(fd)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode, closefd=False) for number, mode in enumerate("rww"))
    os.chdir(folder)
    sys.path[0] = folder
    os.environ.clear()
    os.environ.update(environment)
    ioctl(0, TIOCSCTTY, 0)  # last, as it tells the test that all is there
    cli.main(arguments)
    raise AssertionError("The command has not exited.")


if __name__ == "__main__":
    for module in MODULES:
        import_module(f"ai_battle.{module}")
    serve(run_in_terminal)
