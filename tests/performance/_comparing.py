"""Two costs in turn, so that a machine that changes its pace does so for both; what counts is the median ratio."""

import asyncio
import gc
from collections.abc import Callable, Coroutine
from statistics import median
from time import perf_counter
from typing import Any

from ._times import Times

Cost = Callable[[], float]
Work = Callable[[], Coroutine[Any, Any, list[Times]]]

HEADER = f"{'':44} {'ours':>12} {'bare':>12}   ratio"


def compare(name: str, ours: Cost, bare: Cost, rounds: int = 5) -> float:
    """Prints and returns the median ratio; the first round of each warms up and does not count."""
    ours()
    bare()
    return in_turn(name, ours, bare, rounds)


def in_turn(name: str, ours: Cost, bare: Cost, rounds: int) -> float:
    """The same of what is warm already."""
    pairs = [(ours(), bare()) for _ in range(rounds)]
    ratios = sorted(ours / bare for ours, bare in pairs)
    costs = f"{median(ours for ours, _ in pairs):9.2f} ms {median(bare for _, bare in pairs):9.2f} ms"
    print(f"{name:44} {costs}   {median(ratios):5.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})", flush=True)
    return median(ratios)


def milliseconds(work: Work, clock: Callable[[], float]) -> Cost:
    """Returns what all of `work` costs, in an event loop of its own."""

    def cost() -> float:
        gc.collect()
        started = clock()
        asyncio.run(work())
        return (clock() - started) * 1e3

    return cost


def of_wall(work: Callable[[], None], clock: Callable[[], float] = perf_counter) -> Cost:
    """The wall time of something that is not awaited; by another clock its CPU time."""

    def cost() -> float:
        gc.collect()
        started = clock()
        work()
        return (clock() - started) * 1e3

    return cost


def of_times(work: Work, seconds: Callable[[Times], float]) -> Cost:
    """A figure out of the times of its turns."""
    return lambda: seconds(asyncio.run(work())[0]) * 1e3
