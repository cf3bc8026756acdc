"""Runs a whole benchmark suite over loopback, and bare clients that send the same requests."""

import asyncio
import json
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ai_battle import create_client
from ai_battle.benchmark.loading import load
from ai_battle.benchmark.run import BenchmarkProgress, RunOptions, begin, run
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import user

AT_ONCE = 64
ANSWER = "word0"
"""The first word of each answer of the server in `_server`."""


def bare(url: str, samples: int) -> None:
    """Sends the requests with `AT_ONCE` loops that have one client each."""
    asyncio.run(_ask(url, samples))


async def _ask(url: str, samples: int) -> None:
    numbers = iter(range(samples))

    async def loop() -> None:
        client = create_client("gpt-4o", base_url=url, api_key="test-key")
        for number in numbers:
            response = await client.complete(ModelRequest((user(_prompt(number)),)))
            assert ANSWER in response.text

    await asyncio.gather(*(loop() for _ in range(AT_ONCE)))


def suite(url: str, samples: int, sizes: dict[int, float] | None = None) -> None:
    """Runs a suite from its files to the results on disk. `sizes` gets MiB of Python's memory by finished samples."""
    with tempfile.TemporaryDirectory() as folder:
        loaded = load(_write_suite(url, samples, Path(folder)), base=Path(folder))
        store = begin(loaded, Path(folder) / "out")
        try:
            ended = run(
                loaded, store, RunOptions(hear=_memory_meter(sizes) if sizes is not None else lambda progress: None)
            )
            assert (ended.progress.finished, ended.progress.failed) == (samples, 0)
        finally:
            store.close()


def memory_held(url: str, samples: int) -> dict[int, float]:
    sizes: dict[int, float] = {}
    tracemalloc.start()
    try:
        suite(url, samples, sizes)
    finally:
        tracemalloc.stop()
    return sizes


def _memory_meter(sizes: dict[int, float]) -> Any:
    def hear(progress: BenchmarkProgress) -> None:
        tenth = progress.finished * 10 // progress.total
        if tenth * progress.total // 10 not in sizes and tenth:
            sizes[tenth * progress.total // 10] = tracemalloc.get_traced_memory()[0] / 2**20

    return hear


def _write_suite(url: str, samples: int, folder: Path) -> dict[str, Any]:
    with (folder / "tasks.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(_rows(samples))
    return {
        "benchmark": {
            "datasets": [{"path": "tasks.jsonl"}],
            "scorers": ["contains"],
            "settings": [{"name": "alone", "model": "gpt-4o"}],
            "concurrency": AT_ONCE,
        },
        "providers": {"openai": {"base_url": url, "api_key": "test-key"}},
    }


def _rows(samples: int) -> Iterator[str]:
    for number in range(samples):
        yield json.dumps({"id": f"t{number}", "prompt": _prompt(number), "reference": ANSWER}) + "\n"


def _prompt(number: int) -> str:
    return f"Talk about the weather of day {number}."
