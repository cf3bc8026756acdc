"""A process that raises benchmarks and lets them be killed: `begin DIR SUITE` or `resume DIR` on standard input.

It forks for each, answers with the process id, and to the next line, `end`, with the exit code. What a benchmark was
told to be finished is noted beside DIR, one line each, in writes that outlive it.
"""

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from ai_battle.benchmark.loading import Wishes, load
from ai_battle.benchmark.run import Terms, begin, reopened, run
from ai_battle.benchmark.runner import Progress

TOLD = "told"


def noting(folder: Path) -> Callable[[Progress], None]:
    def hear(progress: Progress) -> None:
        fd = os.open(folder.with_name(f"{folder.name}.{TOLD}"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(fd, f"{progress.finished}\n".encode())
        os.close(fd)

    return hear


def play(action: str, folder: Path, suite: str) -> None:
    if action == "begin":
        loaded = load(suite)
        store = begin(loaded, folder)
    else:
        loaded, store = reopened(folder, Wishes())
    run(loaded, store, Terms(noting(folder)))
    store.close()


def child(action: str, folder: Path, suite: str) -> int:
    try:
        play(action, folder, suite)
    except BaseException:
        traceback.print_exc()
        return 70
    return 0


def main() -> None:
    for order in sys.stdin:
        action, folder, suite = order.split()
        pid = os.fork()
        if not pid:
            os._exit(child(action, Path(folder), suite))
        print(pid, flush=True)
        sys.stdin.readline()
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
