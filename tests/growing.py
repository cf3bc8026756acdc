"""Whether work grows as what it is done on: CPU time compared with CPU time, so a busy machine changes nothing."""

import gc
from collections.abc import Callable
from time import process_time

TIMES, SHORTEST = 16, 0.005
IN_PROPORTION = 64
"""Below it is what grows in proportion (16) or not at all, above it what grows with the square (256)."""


def growth(work: Callable[[int], object], size: int) -> float:
    """Returns how many times as long sixteen times the size takes.

    The size is one of which the square would show: what takes less than five milliseconds counts as five.
    """
    short = min(_seconds(work, size) for _ in range(2))
    return _seconds(work, TIMES * size) / max(short, SHORTEST)


def _seconds(work: Callable[[int], object], size: int) -> float:
    gc.disable()
    try:
        started = process_time()
        work(size)
        return process_time() - started
    finally:
        gc.enable()
