"""The same suite on a Ray cluster, which has to give the same table."""

import importlib.util
import os
import signal
from pathlib import Path

import pytest

from ai_battle.benchmark.run import BenchmarkProgress, RunOptions
from ai_battle.core.errors import ConfigError

from .suites import ALWAYS_4, KNOWS, played, suite

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own
HAS_RAY = importlib.util.find_spec("ray") is not None
needs_ray = pytest.mark.skipif(not HAS_RAY, reason="needs Ray: pip install 'ai-battle[ray]'")
SETTINGS = ({"name": "knows", "model": KNOWS}, {"name": "four", "model": ALWAYS_4})


@needs_ray
def test_both_executors_give_the_same_table(tmp_path: Path) -> None:
    tables = []
    for executor in ("local", "ray"):
        folder = tmp_path / executor
        folder.mkdir()
        _, samples = played(folder, suite(folder, *SETTINGS, executor=executor))
        tables.append([(key, sample.answer, sample.score, sample.usage) for key, sample in samples.items()])
    assert tables[0] == tables[1]
    assert len(tables[0]) == 8


@needs_ray
def test_a_lost_worker_costs_only_what_it_was_playing(tmp_path: Path) -> None:
    """The first worker that reports is killed; its samples are played again elsewhere."""
    slow = {"type": "scripted/slow", "when": [{"match": "What", "say": "It is 4.", "delay": 0.3}]}
    killed: list[int] = []

    def kill(progress: BenchmarkProgress) -> None:
        if not killed:
            killed.extend(workers()[:1])
            os.kill(killed[0], signal.SIGKILL)

    ended, samples = played(
        tmp_path, suite(tmp_path, {"name": "slow", "model": slow}, executor="ray", concurrency=2), RunOptions(kill)
    )
    assert killed
    assert (ended.status, ended.progress.failed, len(samples)) == ("done", 0, 4)


@pytest.mark.skipif(HAS_RAY, reason="Ray is here")
def test_without_ray_it_is_said_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ray is not installed; it comes with: pip install 'ai-battle\[ray\]'"):
        played(tmp_path, suite(tmp_path, *SETTINGS, executor="ray"))


def workers() -> list[int]:
    """The processes of Ray that play samples, by what they call themselves."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if command.startswith(b"ray::_played"):
                found.append(int(folder.name))
    return found
