"""What a new Python pays to import something, without what it pays to start at all."""

import resource
import subprocess
import sys

EMPTY = ("-c", "pass")


def milliseconds(*arguments: str) -> float:
    """CPU of `python ARGUMENTS` beyond that of an empty program."""
    return _cpu(*arguments) - _cpu(*EMPTY)


def _cpu(*arguments: str) -> float:
    before = _of_children()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return (_of_children() - before) * 1e3


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
