"""Compares two costs by the median of their ratios.

The two are measured in turn, so that a machine that changes its speed does so for both.
"""

import asyncio
import gc
from collections.abc import Callable, Coroutine
from statistics import median
from time import perf_counter
from typing import Any

from ._times import Times

Cost = Callable[[], float]
Work = Callable[[], Coroutine[Any, Any, list[Times]]]

HEADER = f"{'benchmark':60} {'ours':>12} {'floor':>12}   ratio (lowest to highest)"


def compare(name: str, ours: Cost, bare: Cost, rounds: int = 5) -> float:
    """Prints and returns the median ratio. The first round of each warms up and does not count."""
    ours()
    bare()
    return compare_warm(name, ours, bare, rounds)


def compare_warm(name: str, ours: Cost, bare: Cost, rounds: int) -> float:
    """Prints and returns the median ratio without a round to warm up."""
    pairs = [(ours(), bare()) for _ in range(rounds)]
    ratios = sorted(ours / bare for ours, bare in pairs)
    costs = f"{median(ours for ours, _ in pairs):9.2f} ms {median(bare for _, bare in pairs):9.2f} ms"
    print(f"{name:60} {costs}   {median(ratios):5.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})", flush=True)
    return median(ratios)


def cost_of_run(work: Work, clock: Callable[[], float]) -> Cost:
    """Returns a function that runs `work` in a new event loop and returns its milliseconds by `clock`."""

    def cost() -> float:
        gc.collect()
        started = clock()
        asyncio.run(work())
        return (clock() - started) * 1e3

    return cost


def cost_of_call(work: Callable[[], None], clock: Callable[[], float] = perf_counter) -> Cost:
    """Returns a function that calls `work` and returns its milliseconds by `clock`."""

    def cost() -> float:
        gc.collect()
        started = clock()
        work()
        return (clock() - started) * 1e3

    return cost


def cost_of_times(work: Work, seconds: Callable[[Times], float]) -> Cost:
    """Returns a function that runs `work` and returns a figure of its turns, in milliseconds."""
    return lambda: seconds(asyncio.run(work())[0]) * 1e3
