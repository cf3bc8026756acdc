"""Benchmarks against a bare aiohttp loop in the same run: `python -m tests.performance [NAME ...]`, printed as ratios."""

import asyncio
import gc
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import chdir
from statistics import median

from . import _bare, _ours
from ._server import server

ROUNDS = 5
Work = Callable[[], Awaitable[object]]


def seconds_of(work: Work, clock: Callable[[], float]) -> float:
    gc.collect()
    started = clock()
    asyncio.run(_await(work))
    return clock() - started


async def _await(work: Work) -> None:
    await work()


def compared(name: str, ours: Work, bare: Work, clock: Callable[[], float], rounds: int = ROUNDS) -> float:
    """Runs both in turn, so that a machine that changes its pace does so for both; prints and returns the median ratio."""
    seconds_of(ours, clock)
    seconds_of(bare, clock)
    pairs = [(seconds_of(ours, clock), seconds_of(bare, clock)) for _ in range(rounds)]
    ratios = sorted(ours / bare for ours, bare in pairs)
    times = f"{median(ours for ours, _ in pairs) * 1e3:9.1f} ms {median(bare for _, bare in pairs) * 1e3:9.1f} ms"
    print(f"{name:44} {times}   {median(ratios):5.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})", flush=True)
    return median(ratios)


def turns() -> None:
    """CPU of whole discussions; answers of 60 words in 12 chunks."""
    with server(words=60, chunks=12) as url:
        for number in (20, 200):
            ours, bare = lambda n=number: _ours.discussions(url, n), lambda n=number: _bare.discussions(url, n)
            compared(f"cpu, {number} turns", ours, bare, time.process_time)


def at_once() -> None:
    """Wall time of 200 discussions at once, 10 turns, 20 ms per answer."""
    with server(words=60, chunks=12, delay=0.02) as url:
        ours, bare = lambda: _ours.discussions(url, 10, 200), lambda: _bare.discussions(url, 10, 200)
        compared("wall, 200 discussions at once", ours, bare, time.perf_counter, rounds=3)


def stream() -> None:
    """CPU of long streamed answers: 4,000 chunks a turn."""
    with server(words=4_000, chunks=4_000) as url:
        ours, bare = lambda: _ours.discussions(url, 10), lambda: _bare.discussions(url, 10)
        compared("cpu, 40,000 streamed chunks", ours, bare, time.process_time)


BENCHMARKS = {work.__name__: work for work in (turns, at_once, stream)}


def main(names: list[str]) -> None:
    print(f"{'':44} {'ours':>12} {'bare':>12}   ratio")
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for name in names or BENCHMARKS:
            BENCHMARKS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
