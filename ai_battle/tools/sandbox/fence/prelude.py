"""How a Python program starts behind the fence: as if it stood in the workspace, where its imports look first."""

import os
import sys
from types import ModuleType

from . import supervisor
from .orders import Orders


def main(orders: Orders) -> None:
    """Forks; the supervisor stays in here until it exits, the fenced process comes back and is the program."""
    supervisor.main(orders)
    path = orders.argv[0]
    for name in [name for name in sys.modules if name.partition(".")[0] == __package__]:
        del sys.modules[name]  # the program may have a module of this name
    sys.path[0] = os.getcwd()
    sys.argv = [path]
    sys.excepthook = _show
    # What was printed before a program was killed has been printed.
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    module = sys.modules["__main__"] = ModuleType("__main__")
    module.__file__ = path
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    exec(code, vars(module))  # noqa: S102 - this is what it is for


def _show(kind: type[BaseException], error: BaseException, trace: object) -> None:
    """Without the two frames that are ours."""
    first = error.__traceback__
    second = first and first.tb_next
    sys.__excepthook__(kind, error.with_traceback(second and second.tb_next), None)
