"""Nothing hangs and nothing is left over, whatever clients and upstreams do."""

import asyncio
import sys
from collections import Counter
from pathlib import Path

import pytest

from ai_battle.testing import FakeProviders

from .loading import load, trouble
from .serving import serving_to, until
from .starting import start_server
from .test_changing import write
from .test_operating import fetch

KEPT = 10_000
GROWTH = 1.05


@pytest.fixture
async def fakes() -> object:
    async with FakeProviders(KEPT) as running:
        yield running


@pytest.mark.slow
async def test_clients_that_leave_and_upstreams_that_fail_leave_nothing_behind(fakes: FakeProviders) -> None:
    trouble(fakes.openai)
    async with serving_to(fakes, len, BIG_MODEL="openai/large") as (served, address):
        outcomes = await load(address, range(300), 20)
        await until(lambda: not served.admission.running and not fakes.openai.open_requests)
        assert served.current.running == 0
    assert await others() <= {"RequestHandler.start"}  # connections of the fake providers

    check(outcomes, 300)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the memory of a process from /proc")
@pytest.mark.timeout(300)
async def test_two_thousand_requests_at_two_hundred_at_once(fakes: FakeProviders, tmp_path: Path) -> None:
    """Memory is flat after the first 500: the 500th request and the 2,000th find about the same."""
    trouble(fakes.openai)
    file = tmp_path / "server.yaml"
    write(file, "claude-opus: openai/large, opus: openai/large")
    outcomes: Counter[str] = Counter()
    async with start_server(fakes, file, "--port", "0", LOG_LEVEL="critical") as server:
        sizes = []
        for begin in range(0, 2000, 500):
            outcomes += await load(server.address, range(begin, begin + 500), 200)
            sizes.append(resident(server.process.pid))
        await until(lambda: not fakes.openai.open_requests)
        _, text = await fetch(server.address, "/metrics")

    print(f"\n{dict(outcomes)}; resident MB after each 500: {[f'{size:.1f}' for size in sizes]}")
    check(outcomes, 2000)
    assert "ai_battle_requests_in_flight 0" in text.splitlines()
    assert sizes[-1] <= GROWTH * sizes[0]


def check(outcomes: Counter[str], number: int) -> None:
    assert outcomes.total() == number
    assert outcomes["hung"] == outcomes["cut"] == 0
    assert outcomes["left"] > number / 50
    assert outcomes["200"] > number * 0.75
    assert {"500", "429", "502"} <= outcomes.keys()


async def others() -> set[str]:
    """Returns what still runs beside the test."""
    await asyncio.sleep(0)
    mine = asyncio.current_task()
    return {getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks() if task is not mine}


def resident(pid: int) -> float:
    """Megabytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024
