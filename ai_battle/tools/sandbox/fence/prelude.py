"""How a Python program starts behind the fence: as if it stood in the workspace, where its imports look first."""

import os
import sys
from types import CodeType

from . import supervisor


def program() -> CodeType:
    """Forks; the supervisor stays in here until it exits, the fenced process comes back with what it is to run."""
    path = supervisor.main().argv[0]
    sys.path.pop()
    sys.path[0] = os.getcwd()
    sys.argv = [path]
    names = vars(sys.modules["__main__"])
    del names["sys"], names["program"]
    names["__file__"] = path
    sys.excepthook = _show
    # What was printed before a program was killed has been printed.
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    with open(path, "rb") as file:
        return compile(file.read(), path, "exec")


def _show(kind: type[BaseException], error: BaseException, trace: object) -> None:
    """Without the frame that is ours."""
    first = error.__traceback__
    sys.__excepthook__(kind, error.with_traceback(first and first.tb_next), None)
