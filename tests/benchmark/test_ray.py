"""Samples on a Ray cluster: the same table, though workers and nodes are lost, and no word of Ray's own."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ai_battle.benchmark.loading import LoadOptions
from ai_battle.benchmark.run import BenchmarkProgress, RunOptions
from ai_battle.cli import run_command
from ai_battle.core.errors import ConfigError
from ai_battle.core.exchange import Usage
from ai_battle.testing import FakeProviders, reply
from tests.clusters import HAS_RAY, needs_ray, processes, wait_for_process

from .suites import ALWAYS_4, KNOWS, play_suite, suite

DEADLY = """
import os

from ai_battle.benchmark.sample import AnswerScore


class Deadly:
    def lacks(self, task):
        return ""

    async def score(self, task, answer):
        if task.id == "s3":
            os._exit(1)
        return AnswerScore(1.0)


def create():
    return Deadly()
"""
SETTINGS = ({"name": "knows", "model": KNOWS}, {"name": "four", "model": ALWAYS_4})
SLOW = {
    "name": "slow",
    "model": {"type": "scripted/slow", "when": [{"match": "What", "say": "It is 4.", "delay": 0.3}]},
}


@needs_ray
def test_both_executors_give_the_same_table(tmp_path: Path) -> None:
    tables = []
    for executor in ("local", "ray"):
        folder = tmp_path / executor
        folder.mkdir()
        _, samples = play_suite(folder, suite(folder, *SETTINGS, executor=executor))
        tables.append([(key, sample.answer, sample.score, sample.usage) for key, sample in samples.items()])
    assert tables[0] == tables[1]
    assert len(tables[0]) == 8


@needs_ray
@pytest.mark.parametrize("lost", ["ray::_play", "raylet/raylet"])
def test_a_lost_worker_or_node_costs_only_what_it_was_playing(tmp_path: Path, lost: str) -> None:
    """It is killed once a sample is finished; what it was playing is played again, on a new node if there is none."""
    killed: list[int] = []
    told: list[str] = []

    def kill(progress: BenchmarkProgress) -> None:
        if not killed:
            killed.extend(processes(lost)[:1])
            os.kill(killed[0], signal.SIGKILL)

    written = suite(tmp_path, SLOW, executor="ray", concurrency=2, repeats=3)
    ended, samples = play_suite(tmp_path, written, RunOptions(kill, tell=told.append))
    assert killed
    assert (ended.limit, ended.progress.failed, len(samples)) == ("", 0, 12)
    assert [words for words in told if not words.startswith("A process or a node of Ray was lost")] == []


@needs_ray
def test_the_benchmark_of_a_lost_node_is_one_json_document(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(json.dumps(suite(tmp_path, SLOW, repeats=4)))
    command = [sys.executable, "-m", "ai_battle", "bench", "run", str(path), "--executor", "ray", "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    run: subprocess.Popen[str] = subprocess.Popen([*command, "--out", str(tmp_path / "out")], **pipes)  # type: ignore[call-overload]
    for words in ("ray::_play", "raylet/raylet"):  # it is lost while it plays
        last = wait_for_process(words)
    os.kill(last, signal.SIGKILL)
    out, err = run.communicate(timeout=120)
    assert (run.returncode, json.loads(out)["settings"][0]["samples"]) == (0, 16), err
    assert [line for line in err.splitlines() if "ray" in line.lower() and "of Ray was lost" not in line] == []


@needs_ray
def test_a_sample_that_ends_its_process_each_time_fails_alone(tmp_path: Path) -> None:
    """Its scorer does, at the third task; the others are played once."""
    scorer = tmp_path / "deadly.py"
    scorer.write_text(DEADLY)
    written = suite(tmp_path, SETTINGS[1], executor="ray", scorers=[str(scorer)])
    _, samples = play_suite(tmp_path, written, loading=LoadOptions(trust=True))
    errors = {key.task: sample.error for key, sample in samples.items()}
    died = "; ".join(["its process was lost"] * 4)
    assert errors == {"s1": "", "s2": "", "s3": f"It was lost 4 times: {died}.", "s4": ""}


@needs_ray
def test_an_address_where_nothing_answers_ends_it_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^No Ray cluster answers at 127\.0\.0\.1:1: .*HOST:PORT"):
        play_suite(tmp_path, suite(tmp_path, *SETTINGS, executor="ray"), RunOptions(address="127.0.0.1:1"))


@needs_ray
def test_samples_elsewhere_keep_to_the_limit_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five samples fit of twenty."""
    price = {"prices": {"openai/gpt-4o": {"input": 0, "output": 100}}}
    with FakeProviders.in_thread() as fakes:
        for name, value in fakes.environment.items():
            monkeypatch.setenv(name, value)
        fakes.openai.always(reply("It is 4.", usage=Usage(10, 1_000)))
        model = {"type": "openai/gpt-4o", "parameters": {"max_tokens": 1_000}}
        limits = {"cost_usd": 0.55}
        written = suite(tmp_path, {"name": "dear", "model": model}, executor="ray", repeats=5, limits=limits, **price)
        ended, samples = play_suite(tmp_path, written)
        asked = len(fakes.openai.questions)
    assert (ended.limit, asked) == ("cost_usd", 5)
    assert sum(sample.spent_usd for sample in samples.values()) == pytest.approx(0.5)


@needs_ray
def test_results_without_a_cluster_can_be_gone_on_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "suite.yaml", tmp_path / "out"
    path.write_text(json.dumps(suite(tmp_path, *SETTINGS)))
    options = ["--executor", "ray", "--address", "127.0.0.1:1", "--out", str(out)]
    assert run_command(["bench", "run", str(path), *options]) == 2
    assert f"continue with: ai-battle bench resume {out}" in capsys.readouterr().err
    assert run_command(["bench", "resume", str(out), "--executor", "local"]) == 0


def test_the_local_executor_has_no_address(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="local has no option 'address'"):
        play_suite(tmp_path, suite(tmp_path, *SETTINGS), RunOptions(address="127.0.0.1:1"))


@pytest.mark.skipif(HAS_RAY, reason="Ray is here")
def test_without_ray_it_is_said_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ray is not installed; it comes with: pip install 'ai-battle\[ray\]'"):
        play_suite(tmp_path, suite(tmp_path, *SETTINGS, executor="ray"))
