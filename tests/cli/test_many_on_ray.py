"""Many discussions on a Ray cluster: all are finished, none is played twice, and a lost node is told in our words."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from ai_battle.core.exchange import Usage
from ai_battle.testing import FakeProviders, reply
from tests.clusters import needs_ray, two_nodes, wait_for_process

from .conftest import Run
from .test_series import PAIR

TURNS = 4
LINE = "{say: It is so., delay: 0.05}"
DISCUSSION = f"""
discussion:
  turns: {TURNS // 2}
  goal: Count.
  models:
    Ann: {{type: scripted/a, script: [{LINE}, {LINE}]}}
    Bob: {{type: scripted/b, script: [{LINE}, {LINE}]}}
"""


def discussions(folder: Path, number: int) -> Path:
    folder.mkdir()
    for place in range(number):
        (folder / f"talk{place}.yaml").write_text(DISCUSSION)
    return folder


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "ai_battle", *map(str, arguments)]


def records(run_dir: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (run_dir / "journal.jsonl").read_text().splitlines()]


@needs_ray
@pytest.mark.timeout(400)
def test_of_two_hundred_discussions_all_are_finished_once_though_a_node_is_lost(tmp_path: Path) -> None:
    """Ten files, twenty times each; one of two nodes is killed when half are over."""
    talks, out = discussions(tmp_path / "talks", 10), tmp_path / "out"
    with two_nodes() as cluster:
        options = ["--repeat", 20, "--executor", "ray", "--address", cluster.address, "--out", out, "--json"]
        with open(tmp_path / "out.json", "w") as printed:
            run = subprocess.Popen(command("run", talks, *options), stdout=printed, stderr=subprocess.PIPE, text=True)
        assert run.stderr
        told = []
        for line in run.stderr:
            told.append(line)
            if line.startswith("100 of 200"):
                cluster.lose_one()
        assert run.wait(60) == 0, told
        run.stderr.close()
    document = json.loads((tmp_path / "out.json").read_text())
    assert Counter(entry["status"] for entry in document["runs"]) == {"done": 200}
    assert len({entry["run"] for entry in document["runs"]}) == 200
    for entry in document["runs"]:
        journal = records(Path(entry["run"]))
        kinds = Counter(record["type"] for record in journal)
        assert (kinds["run_started"], kinds["run_finished"]) == (1, 1)
        assert [record["turn"] for record in journal if record["type"] == "turn_finished"] == [*range(1, TURNS + 1)]
    assert [line for line in told if line.startswith("A process or a node of Ray was lost.")]
    assert not [line for line in told if "raylet" in line]


@needs_ray
def test_what_all_runs_may_cost_holds_over_all_workers(
    tmp_path: Path, ai_battle: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is worth three runs, six are played at once, and none of them knows what the others pay."""
    path = tmp_path / "dear.yaml"
    path.write_text(PAIR)
    with FakeProviders.in_thread() as fakes:
        for name, value in fakes.environment.items():
            monkeypatch.setenv(name, value)
        fakes.openai.always(reply("Something.", usage=Usage(100, 5_000)))
        each = json.loads(ai_battle("run", path, "--json").out)["usage"]["cost_usd"]
        asked, limit = len(fakes.openai.questions), 3.2 * each
        options = ["--repeat", 6, "--executor", "ray", "--at-once", 6, "--max-cost", limit, "--json"]
        outcome = ai_battle("run", path, *options, "--out", tmp_path / "out")
        asked = len(fakes.openai.questions) - asked
    runs = json.loads(outcome.out)["runs"]
    spent = sum(run["usage"]["cost_usd"] for run in runs)
    assert outcome.code == 1
    assert spent == pytest.approx(asked * each / 2)
    assert 2 * each < spent <= limit


@needs_ray
@pytest.mark.parametrize("lost", ["raylet/raylet", "_ray_driver"])
def test_what_was_paid_on_a_lost_node_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str) -> None:
    """The limit is worth six calls; the node of this machine, or the way to it, is lost in the middle of some."""
    path = tmp_path / "dear.yaml"
    path.write_text(PAIR)
    with FakeProviders.in_thread() as fakes:
        for name, value in fakes.environment.items():
            monkeypatch.setenv(name, value)
        fakes.openai.always(reply("Something.", usage=Usage(100, 5_000), delay=0.5))
        each = 100 * 2.5e-6 + 5_000 * 1e-5
        options = ["--repeat", 8, "--executor", "ray", "--max-cost", 6.4 * each, "--out", tmp_path / "out", "-q"]
        run = subprocess.Popen(command("run", path, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while len(fakes.openai.questions) < 3:
            assert run.poll() is None
            time.sleep(0.02)
        os.kill(wait_for_process(lost), signal.SIGKILL)
        _, err = run.communicate(timeout=120)
        asked = len(fakes.openai.questions)
    assert run.returncode == 1, err
    assert 3 <= asked <= 6


@needs_ray
def test_a_run_for_which_no_node_had_room_in_time_is_not_begun(tmp_path: Path, ai_battle: Run) -> None:
    """All sixty are handed out at once, and take half a second each on two processors."""
    path, out = tmp_path / "slow.yaml", tmp_path / "out"
    path.write_text(DISCUSSION.replace("0.05", "0.13"))
    with two_nodes() as cluster:
        options = ["--repeat", 60, "--executor", "ray", "--address", cluster.address, "--max-time", 10, "--json"]
        outcome = ai_battle("run", path, *options, "--out", out)
    assert outcome.code == 1
    assert re.search(r"^--max-time is used up by the earlier runs", outcome.err, re.MULTILINE)
    begun = len(json.loads(outcome.out)["runs"])
    (not_begun,) = re.findall(r"^Not started: (.*)\.$", outcome.err, re.MULTILINE)
    assert begun + len(not_begun.split(", ")) == 60
    assert len([*out.glob("*/journal.jsonl")]) == len([*out.glob("*/")]) == begun


@needs_ray
def test_ctrl_c_says_how_to_go_on_with_what_was_begun(tmp_path: Path) -> None:
    path = tmp_path / "slow.yaml"
    path.write_text(DISCUSSION.replace("0.05", "0.5"))
    options = ["--repeat", 20, "--executor", "ray", "--out", tmp_path / "out"]
    run = subprocess.Popen(command("run", path, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stderr
    first = next(iter(run.stderr))
    run.send_signal(signal.SIGINT)
    _, rest = run.communicate(timeout=60)
    assert first.startswith("1 of 20  human-ai-")
    assert run.returncode == 130
    resumable = re.findall(
        r"^Interrupted; every finished turn is kept. To go on: ai-battle resume (.*)$", rest, re.MULTILINE
    )
    assert resumable
    assert subprocess.run(command("resume", resumable[0], "-q"), capture_output=True, timeout=60).returncode == 0


@needs_ray
def test_forks_are_played_on_a_cluster_too(tmp_path: Path, ai_battle: Run) -> None:
    path = discussions(tmp_path / "talks", 1) / "talk0.yaml"
    assert ai_battle("run", path, "--out", tmp_path / "origin", "-q").code == 0
    outcome = ai_battle(
        *("fork", tmp_path / "origin", "--at", 2, "-n", 2, "--executor", "ray", "--out", tmp_path / "forks", "--json")
    )
    assert outcome.code == 0, outcome.err
    runs = json.loads(outcome.out)["runs"]
    assert [(run["status"], run["turns"]) for run in runs] == [("done", TURNS)] * 2


def test_nobody_can_take_part_in_a_run_elsewhere(tmp_path: Path, ai_battle: Run) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("discussion: {goal: Talk., models: {Ann: {type: scripted/a, script: [Hi.]}, Me: {role: user}}}")
    outcome = ai_battle("run", path, "--executor", "ray")
    assert outcome.code == 2
    assert "a person takes part here, in one run after another" in outcome.err


def test_an_address_needs_an_executor_that_has_one(tmp_path: Path, ai_battle: Run) -> None:
    path = discussions(tmp_path / "talks", 1) / "talk0.yaml"
    outcome = ai_battle("run", path, "--repeat", 2, "--address", "127.0.0.1:6379")
    assert (outcome.code, "local has no option 'address'" in outcome.err) == (2, True)
