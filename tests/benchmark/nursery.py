"""Benchmarks that can be killed: `begin DIR SUITE` or `resume DIR SUITE`.

What a benchmark was told to be finished is noted beside DIR, one line each.
"""

import traceback
from collections.abc import Callable
from pathlib import Path

from ai_battle.benchmark.loading import LoadOptions, load
from ai_battle.benchmark.run import BenchmarkProgress, RunOptions, begin, reopen, run
from tests.nursery import note, serve

TOLD = "told"


def noting(folder: Path) -> Callable[[BenchmarkProgress], None]:
    def hear(progress: BenchmarkProgress) -> None:
        note(folder.with_name(f"{folder.name}.{TOLD}"), str(progress.finished))

    return hear


def play(action: str, folder: Path, suite: str) -> None:
    if action == "begin":
        loaded = load(suite)
        store = begin(loaded, folder)
    else:
        loaded, store = reopen(folder, LoadOptions())
    run(loaded, store, RunOptions(noting(folder)))
    store.close()


def child(action: str, folder: str, suite: str) -> int:
    try:
        play(action, Path(folder), suite)
    except BaseException:
        traceback.print_exc()
        return 70
    return 0


if __name__ == "__main__":
    serve(child)
