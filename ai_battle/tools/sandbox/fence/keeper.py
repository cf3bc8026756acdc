"""The process that starts one program and ends with it all that the program has started, also what left its session.

On Linux whoever loses its parent becomes a child of this process. Elsewhere only those are found whose parents still
run when the program ends.
"""

import _signal as signal  # type: ignore[import-not-found] # the signal module itself costs 5 ms
import os
from _collections_abc import Sequence

from . import _system, _tree

_PATIENCE = 2
_NOT_STARTED = 127


def main(command: Sequence[str]) -> None:
    """Returns in no process. SIGTERM is passed on; two seconds later nobody is left."""
    _system.prctl(_system.SET_CHILD_SUBREAPER, 1)
    _system.prctl(_system.SET_PDEATHSIG, signal.SIGTERM)
    program = _started(command)
    signal.signal(signal.SIGTERM, lambda *_: _end(program))
    signal.signal(signal.SIGALRM, lambda *_: _kill(program))
    for descriptor in range(3):
        os.close(descriptor)
    status = _awaited(program)
    _tree.sweep(program)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _started(command: Sequence[str]) -> int:
    if program := os.fork():
        return program
    os.setsid()
    _system.prctl(_system.SET_PDEATHSIG, signal.SIGKILL)
    try:
        os.execv(command[0], list(command))  # noqa: S606 - the program itself, no line for a shell
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}".encode())
    os._exit(_NOT_STARTED)


def _awaited(program: int) -> int:
    """The status of the program; whoever else ends meanwhile is buried."""
    dead, status = os.waitpid(-1, 0)
    while dead != program:
        dead, status = os.waitpid(-1, 0)
    return status


def _end(program: int) -> None:
    signal.alarm(_PATIENCE)
    os.killpg(program, signal.SIGTERM)


def _kill(program: int) -> None:
    _tree.sweep(program)
    os._exit(_NOT_STARTED)
