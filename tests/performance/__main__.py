"""Measures the package against a bare aiohttp loop in the same run: `python -m tests.performance [NAME ...]`.

Run it from the checkout. Most figures are ratios; research/figures/speed.md has the goals.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir
from functools import partial
from pathlib import Path
from statistics import mean, median

from ..ui.browser import CHROMIUM
from . import (
    _bare,
    _benchmarking,
    _calls,
    _codecs,
    _detecting,
    _dialects,
    _dispatching,
    _helped,
    _memory,
    _product,
    _sandboxed,
    _signals,
    _starting,
    _sweeping,
    _tool_rounds,
)
from ._advising import unused_advisor
from ._comparing import HEADER, Cost, Work, compare, compare_warm, cost_of_call, cost_of_run, cost_of_times
from ._lessons import lessons
from ._page import page_delay, page_load
from ._redis import redis_counts
from ._server import server
from ._serving import budgets, client_advisor, server_requests
from ._shadowing import shadow
from ._times import Times

LIBRARIES = "import pydantic, yaml, click"
STARTS = {
    "import ai_battle": ("-c", "import ai_battle"),
    "import ConversationManager": ("-c", "from ai_battle import ConversationManager"),
    "ai-battle --help": ("-m", "ai_battle", "--help"),
}


STREAMS = {"an event per word": 60, "an event per five words": 12}
"""The number of chunks of an answer of 60 words: as models stream it, and coarser, as some gateways pass it on."""


def turns() -> None:
    """Compares the CPU of whole discussions with that of the loop."""
    for way, chunks in STREAMS.items():
        with server(words=60, chunks=chunks) as url:
            for number in (20, 200):
                ours, bare = _cpu(url, number)
                compare(f"cpu, {number} turns, {way}", ours, bare)


def turns_without_listeners() -> None:
    """Compares the CPU of discussions without a listener with a loop that asks for whole answers."""
    with server(words=60, chunks=60) as url:
        for number in (20, 200):
            ours = cost_of_run(partial(_product.run_without_listener, url, number), time.process_time)
            bare = cost_of_run(partial(_bare.discussions, url, number, streamed=False), time.process_time)
            compare(f"cpu, {number} turns, no listener", ours, bare)


def burst() -> None:
    """Compares the wall time to the first text of an answer of 400 tokens that arrives in one burst."""
    with server(words=400, chunks=400) as url:
        ours, bare = (cost_of_times(partial(talk, url, 20), _first) for talk in BOTH)
        compare("wall to the first text of a burst of 400", ours, bare)


def growth() -> None:
    """Compares how much more CPU a turn takes after 350 turns than at the beginning."""
    with server(words=60, chunks=12) as url:
        ours, bare = (cost_of_times(partial(talk, url, 400), _growth) for talk in BOTH)
        compare("cpu that a turn gains in 350 turns", ours, bare)
        single = cost_of_times(partial(_product.single_turns, url, 400), _growth)
        compare("cpu that run_conversation_turn gains in 350 calls", single, bare)


def turns_with_help() -> None:
    """Compares the CPU of a turn at the end of a helped discussion of 2,000 turns with one at its beginning."""
    with server(words=60, chunks=12) as over_http:
        for way, url in (("scripts", ""), ("HTTP", over_http)):
            for name, listens in (("an event per word", True), ("whole answers", False)):
                late, early = _late_and_early(partial(_helped.run_with_help, url, 2_000, listens=listens))
                compare_warm(f"cpu, helped turn 2,000 against turn 20, {way}, {name}", late, early, rounds=3)


def concurrent_runs() -> None:
    """Compares the wall time of 200 concurrent discussions of 10 turns, with 20 ms per answer."""
    for way, chunks in STREAMS.items():
        with server(words=60, chunks=chunks, delay=0.02) as url:
            ours, bare = (cost_of_run(partial(talk, url, 10, 200), time.perf_counter) for talk in BOTH)
            compare(f"wall, 200 at once, {way}", ours, bare, rounds=3)


def stream() -> None:
    """Compares the CPU of long streamed answers, with 4,000 chunks a turn."""
    with server(words=4_000, chunks=4_000) as url:
        ours, bare = _cpu(url, 10)
        compare("cpu, 40,000 streamed chunks", ours, bare)


def first_token() -> None:
    """Compares the wall time from the beginning of a turn to its first text."""
    for model, delay in (("a model of 20 ms", 0.02), ("a model of no time", 0.0)):
        with server(words=60, chunks=12, delay=delay) as url:
            ours, bare = (cost_of_times(partial(talk, url, 50), _first) for talk in BOTH)
            compare(f"wall to the first text, {model}", ours, bare)


def imports() -> None:
    """Compares the CPU of importing the package with that of its libraries, both beyond an empty Python."""
    for name, arguments in STARTS.items():
        ours, bare = partial(_starting.milliseconds, *arguments), partial(_starting.milliseconds, "-c", LIBRARIES)
        compare(f"cpu, {name}", ours, bare, rounds=15)


def startup() -> None:
    """Compares the CPU of a whole live run of two turns with that of importing its libraries."""
    with _starting.live_run() as ours:
        compare("cpu, a live run of two turns", ours, partial(_starting.whole, "-c", f"{LIBRARIES}, aiohttp"), rounds=9)


def first_answer() -> None:
    """Compares the wall time from `ai-battle talk` to its first answer with that of importing its libraries."""
    with _starting.first_text() as ours:
        libraries = partial(_starting.whole_wall, "-c", f"{LIBRARIES}, aiohttp")
        compare("wall, the first answer of a talk", ours, libraries, rounds=9)


def memory() -> None:
    """Prints the memory of a discussion of 10,000 turns with a context budget, without a network."""
    for turn, size in _memory.memory_held(10_000, (1_000, 10_000)).items():
        print(f"{f'memory after {turn:,} turns':60} {size:8.2f} MiB", flush=True)


def tools() -> None:
    """Compares the CPU of one call of a trivial tool, and of eight at once, with that of calling its function."""
    for name, number in ((name, number) for name in _dispatching.TOOLS for number in (1, 8)):
        compare(
            f"CPU, calls of {name} at once: {number}",
            partial(_dispatching.dispatch, name, number),
            partial(_dispatching.direct, name, number),
        )


def tool_rounds() -> None:
    """Compares the CPU of turns over HTTP that call eight tools at once with a bare loop that streams."""
    with server(words=60, chunks=12, calls=8) as url:
        ours, bare = (
            cost_of_run(partial(work, url, 20), time.process_time) for work in (_tool_rounds.ours, _tool_rounds.bare)
        )
        compare("cpu, 20 turns, eight tools at once in each", ours, bare)


def function_calls() -> None:
    """Counts the functions of Python that a turn calls, and a run besides its turns; load does not change them."""
    unstreamed = partial(_bare.discussions, streamed=False)
    for name, chunks, tools_called, ours, bare in (
        ("no listener", 60, 0, _product.run_without_listener, unstreamed),
        ("an event per word", 60, 0, *BOTH),
        ("eight tools at once", 12, 8, _tool_rounds.ours, _tool_rounds.bare),
    ):
        with server(words=60, chunks=chunks, calls=tools_called) as url:
            pairs = zip(*(_calls.counts(partial(work, url)) for work in (ours, bare)), strict=True)
        for what, (our, their) in zip(("of a turn", "besides the turns"), pairs, strict=True):
            print(f"{f'calls {what}, {name}':60} {our:9,.0f}    {their:9,.0f}    {our / their:5.2f}", flush=True)


def dialects() -> None:
    """Prints the reader's speed on ordinary answers, and its CPU for 1 MB and 64 KB of each hostile pattern."""
    texts = _dialects.answers()
    print(f"{'answers in all dialects':60} {max(_dialects.speed(texts * 9) for _ in range(3)):8.2f} MB/s", flush=True)
    for pattern in _dialects.HOSTILE:
        sizes = (_dialects.LARGE, _dialects.SMALL)
        large, small = (min(_dialects.milliseconds(pattern, size) for _ in range(2)) for size in sizes)
        print(f"{pattern[:40]!r:60} {large:9.2f} ms {small:9.2f} ms   {large / small:5.2f}", flush=True)


def sandbox() -> None:
    """Compares the wall time of `print(1)` behind each fence with that of a plain process."""
    for name, fence in _sandboxed.fences().items():
        compare(f"wall, print(1) behind {name}", partial(_sandboxed.run_fenced, fence), _sandboxed.plain, rounds=30)


def benchmarks() -> None:
    """Compares CPU and wall time of a suite with those of bare clients, 64 requests at once; prints its memory."""
    works = (_benchmarking.suite, _benchmarking.bare)
    with server(words=60, chunks=12, delay=0.02) as url:
        ours, bare = (cost_of_call(partial(work, url, 4_000), time.process_time) for work in works)
        compare("cpu, 4,000 samples", ours, bare, rounds=3)
        ours, bare = (cost_of_call(partial(work, url, 10_000)) for work in works)
        compare_warm("wall, 10,000 samples", ours, bare, rounds=2)
        for number, size in _benchmarking.memory_held(url, 5_000).items():
            print(f"{f'memory after {number:,} samples':60} {size:8.2f} MiB", flush=True)


def wire_codecs() -> None:
    """Compares the CPU of writing streams and reading long requests with that of a dict and `json` for each."""
    for wire in _codecs.WIRES:
        name = wire.__name__.rpartition(".")[2]
        compare(f"cpu, {_codecs.CHUNKS:,} chunks written, {name}", _codecs.stream_writer(wire), _codecs.dump_stream)
    compare("cpu, requests of 110 kB read and sent on", _codecs.translate_requests, _codecs.parse_requests)


def detector() -> None:
    """Compares the CPU of judging an answer of 2,000 characters with adding up 100,000 numbers; and hostile texts."""
    for name in _detecting.ORDINARY:
        compare(f"cpu, judging {name}", partial(_detecting.ordinary, name), _detecting.add_up)
    for name in _detecting.HOSTILE:
        large, small = (partial(_detecting.hostile, name, size) for size in (1_000_000, 50_000))
        compare(f"cpu, judging {name}, 1 MB to 50 kB", large, small, rounds=3)


def signals() -> None:
    """Prints the CPU of measuring a turn of 150 words, early and late in a conversation."""
    for turns in (20, 200, 2_000):
        print(f"{f'cpu, measuring a turn after {turns:,}':60} {_signals.per_turn(turns):8.3f} ms", flush=True)


def sweeps() -> None:
    """Compares the wall time of 48 settings over 200 assessed answers with that of reading their file."""
    ours, reading = map(cost_of_call, _sweeping.works(Path.cwd()))
    compare("wall, 48 settings by 200 answers", ours, reading)


BOTH = (_product.discussions, _bare.discussions)
BENCHMARKS = {
    work.__name__: work
    for work in (
        turns,
        turns_without_listeners,
        burst,
        growth,
        turns_with_help,
        concurrent_runs,
        stream,
        first_token,
        imports,
        startup,
        first_answer,
        memory,
        tools,
        tool_rounds,
        function_calls,
        dialects,
        sandbox,
        server_requests,
        client_advisor,
        budgets,
        redis_counts,
        lessons,
        unused_advisor,
        shadow,
        benchmarks,
        signals,
        sweeps,
        wire_codecs,
        detector,
        *((page_load, page_delay) if CHROMIUM else ()),
    )
}


def _cpu(url: str, number: int) -> Iterator[Cost]:
    return (cost_of_run(partial(talk, url, number), time.process_time) for talk in BOTH)


def _growth(times: Times) -> float:
    return median(times.cpu[-50:]) - median(times.cpu[:50])


def _late_and_early(work: Work) -> tuple[Cost, Cost]:
    """Returns the mean milliseconds of a round's last 100 turns, and of 100 turns from the 20th on."""
    rounds: list[Times] = []

    def late() -> float:
        rounds.append(asyncio.run(work())[0])
        return mean(rounds[-1].cpu[-100:]) * 1e3

    return late, lambda: mean(rounds[-1].cpu[20:120]) * 1e3


def _first(times: Times) -> float:
    return median(times.first)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.performance", description=__doc__)
    parser.add_argument(
        "name", nargs="*", choices=[*BENCHMARKS, "all"], metavar="NAME", help=", ".join(BENCHMARKS), default="all"
    )
    names = parser.parse_args().name
    print(HEADER)
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for name in BENCHMARKS if "all" in names else names:
            BENCHMARKS[name]()


if __name__ == "__main__":
    main()
