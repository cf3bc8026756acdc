"""Ray clusters for tests, each in processes of its own, and how to find those that are to be lost."""

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., None])
HAS_RAY = importlib.util.find_spec("ray") is not None
IF_THERE = pytest.mark.skipif(not HAS_RAY, reason="needs Ray: pip install 'ai-battle[ray]'")
TWO_NODES = """
import sys
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
other = cluster.add_node(num_cpus=1)
print(cluster.address, flush=True)
for line in sys.stdin:
    cluster.remove_node(other, allow_graceful=False)
    break
sys.stdin.read()
cluster.shutdown()
"""


def needs_ray(test: Test) -> Test:
    """A cluster takes seconds to start; it is not one that runs on this machine already."""
    marked: Test = pytest.mark.usefixtures("own_cluster")(pytest.mark.slow(IF_THERE(test)))
    return marked


@dataclass
class TwoNodes:
    """A cluster of two nodes; one of them can be lost."""

    process: "subprocess.Popen[str]"
    address: str

    def lose_one(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("lose\n")
        self.process.stdin.flush()


@contextmanager
def two_nodes() -> Iterator[TwoNodes]:
    command = [sys.executable, "-c", TWO_NODES]
    quiet = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=quiet)
    assert process.stdin
    assert process.stdout
    try:
        yield TwoNodes(process, process.stdout.readline().strip())
    finally:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()


def wait_for_process(words: str, seconds: float = 60.0) -> int:
    ends = time.monotonic() + seconds
    while not (known := processes(words)):
        assert time.monotonic() < ends
        time.sleep(0.05)
    return known[0]


def processes(words: str) -> Sequence[int]:
    """Returns the processes below this one whose command line has the words."""
    commands, parents = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                commands[int(folder.name)] = (folder / "cmdline").read_bytes().decode(errors="replace")
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue

    def is_below(number: int) -> bool:
        return number == os.getpid() or (number in parents and is_below(parents[number]))

    return [number for number, command in commands.items() if is_below(number) and words in command]
