"""How far a benchmark is: one line that changes on a terminal, a line now and then elsewhere."""

import shutil
import sys
from time import monotonic
from typing import TextIO

from ai_battle.benchmark.forecast import Forecast
from ai_battle.benchmark.runner import BenchmarkProgress

from ._money import dollars, duration

OFTEN, SELDOM = 0.2, 10.0
"""Seconds between two looks at it, on a terminal and elsewhere."""


class Shown:
    """A listener for progress, on stderr."""

    def __init__(self, limit: float | None, *, quiet: bool, out: TextIO | None = None) -> None:
        self._limit = limit
        self._quiet = quiet
        self._out = out or sys.stderr
        self._live = self._out.isatty()
        self._next = 0.0

    def __call__(self, progress: BenchmarkProgress) -> None:
        if self._quiet or (monotonic() < self._next and progress.finished < progress.total):
            return
        self._next = monotonic() + (OFTEN if self._live else SELDOM)
        line = said(progress, self._limit)
        if self._live:
            self._out.write(f"\r\x1b[2K{line[: shutil.get_terminal_size().columns - 1]}")
        else:
            self._out.write(f"{line}\n")
        self._out.flush()

    def close(self) -> None:
        """Leaves the last line where it is."""
        if self._live and self._next:
            self._out.write("\n")


def said(progress: BenchmarkProgress, limit: float | None) -> str:
    """`120/600 samples (20 %), 2 failed, 0:40, 2:40 left, $0.31 of $5.00 spent, $1.24 to come`."""
    share = 100 * progress.finished // max(1, progress.total)
    parts = [f"{progress.finished}/{progress.total} samples ({share} %)"]
    if progress.failed:
        parts.append(f"{progress.failed} failed")
    parts.append(duration(progress.seconds))
    if progress.left is not None and progress.finished < progress.total:
        parts.append(f"{duration(progress.left)} left")
    of = f" of {dollars(limit)}" if limit is not None else ""
    parts.append(f"{dollars(progress.spent)}{of} spent")
    if progress.to_come:
        parts.append(f"{dollars(progress.to_come)} to come")
    return ", ".join(parts)


def forecast_said(expected: Forecast) -> str:
    """What it is going to cost, before it starts."""
    low, high = dollars(expected.low), dollars(expected.high)
    cost = low if expected.low == expected.high else f"{low} to {high}"
    unknown = f"; no price is known for: {', '.join(expected.unknown)}" if expected.unknown else ""
    return f"{expected.samples} samples, about {cost}{unknown}"
