"""Runs in an object store: all that was said is there, one writes at a time, and what a store can't keep stays here."""

import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clusters import needs_ray, two_nodes
from tests.object_stores import BUCKET, ObjectStore, object_store

from .conftest import Run

DISCUSSION = """
discussion:
  turns: TURNS
  goal: Count.
  models:
    Ann: {type: scripted/a, loop: true, script: [{say: It is so., delay: DELAY}]}
    Bob: {type: scripted/b, loop: true, script: [{say: It is so., delay: DELAY}]}
"""
RUNS = f"s3://{BUCKET}/runs"


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    with object_store() as opened:
        opened.make_bucket()
        yield opened


@pytest.fixture
def store(server: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    use(server, monkeypatch)
    return server


@pytest.fixture
def talk(here: Path) -> Path:
    return discussion(here / "talk.yaml")


def use(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)


def discussion(path: Path, *, turns: int = 2, delay: float = 0.0) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(DISCUSSION.replace("TURNS", str(turns)).replace("DELAY", str(delay)))
    return path


def begin(*arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "ai_battle", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished_turns(store: ObjectStore, run: str) -> list[int]:
    try:
        journal = store.get(f"{run}/journal.jsonl").decode()
    except OSError:
        return []
    records = [json.loads(line) for line in journal.splitlines()]
    return [record["turn"] for record in records if record["type"] == "turn_finished"]


def wait_for_turns(store: ObjectStore, run: str, number: int) -> None:
    ends = time.monotonic() + 30
    while len(finished_turns(store, run)) < number:
        assert time.monotonic() < ends
        time.sleep(0.1)


def test_a_run_is_in_the_store_and_can_be_read_from_there(store: ObjectStore, talk: Path, ai_battle: Run) -> None:
    outcome = ai_battle("run", talk, "--out", f"{RUNS}/first", "--json", "-q")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["run"] == f"{RUNS}/first"
    assert finished_turns(store, "runs/first") == [1, 2, 3, 4]
    assert b"It is so." in store.get("runs/first/report.html")
    assert "It is so." in ai_battle("show", f"{RUNS}/first", 4).out
    assert "It is so." in ai_battle("export", f"{RUNS}/first", "--format", "md").out
    assert ai_battle("resume", f"{RUNS}/first", "-q").lines[-1] == f"{RUNS}/first"


def test_what_a_console_calls_a_folder_is_none_of_the_files(store: ObjectStore, talk: Path, ai_battle: Run) -> None:
    for name in ("", "bare/"):
        store.put(f"runs/marked/{name}", b"")
    outcome = ai_battle("run", talk, "-q", "--out", f"{RUNS}/marked")
    assert outcome.code == 0, outcome.err
    assert finished_turns(store, "runs/marked") == [1, 2, 3, 4]


def test_a_folder_in_use_is_named_by_its_address(store: ObjectStore, talk: Path, ai_battle: Run) -> None:
    store.put("runs/full/notes.txt", b"mine")
    outcome = ai_battle("run", talk, "--out", f"{RUNS}/full")
    assert (outcome.code, f"{RUNS}/full exists and is not empty" in outcome.err) == (2, True)
    assert store.get("runs/full/notes.txt") == b"mine"


def test_a_series_with_its_page_and_its_forks_is_in_the_store(store: ObjectStore, talk: Path, ai_battle: Run) -> None:
    outcome = ai_battle("run", talk, "--modes", "ai-ai,no-meta", "-q", "--out", f"{RUNS}/series")
    assert f"Comparison of all: {RUNS}/series/comparison.html" in outcome.lines
    assert b"no-meta-1" in store.get("runs/series/comparison.html")
    forked = ai_battle("fork", f"{RUNS}/series/no-meta-1", "--at", 2, "-q", "--out", f"{RUNS}/forks", "--json")
    (run,) = json.loads(forked.out)["runs"]
    assert finished_turns(store, run["run"].removeprefix(f"s3://{BUCKET}/")) == [1, 2, 3, 4]
    assert f"{RUNS}/series/no-meta-1" in store.get("runs/forks/as-it-was-1/journal.jsonl").decode()


def test_a_benchmark_is_in_the_store_and_goes_on_from_there(store: ObjectStore, here: Path, ai_battle: Run) -> None:
    results = f"s3://{BUCKET}/bench"
    outcome = ai_battle("bench", "run", "recorded-gsm8k", "--limit", 3, "-q", "--out", results)
    assert (outcome.code, outcome.lines[-1]) == (0, f"{results}/report.html")
    summary = store.get("bench/summary.json")
    store.put("bench/summary.json", b"")
    assert ai_battle("bench", "resume", results, "-q").code == 0
    assert store.get("bench/summary.json") == summary
    assert ai_battle("bench", "compare", results, results).code == 0


@pytest.mark.slow
def test_a_killed_run_goes_on_elsewhere_where_it_was(store: ObjectStore, here: Path, ai_battle: Run) -> None:
    run = begin("run", discussion(here / "slow.yaml", turns=12, delay=0.1), "-q", "--out", f"{RUNS}/killed")
    wait_for_turns(store, "runs/killed", 3)
    run.kill()
    run.communicate()
    kept = finished_turns(store, "runs/killed")
    outcome = ai_battle("resume", f"{RUNS}/killed", "-q")
    assert f"{RUNS}/killed is claimed;" in outcome.err
    assert outcome.code == 0
    assert kept < [*range(1, 25)] == finished_turns(store, "runs/killed")
    assert store.get("runs/killed/journal.jsonl").count(b'"run_resumed"') == 1


@pytest.mark.slow
def test_who_writes_is_not_disturbed(store: ObjectStore, here: Path, ai_battle: Run) -> None:
    run = begin("run", discussion(here / "slow.yaml", turns=20, delay=0.3), "-q", "--out", f"{RUNS}/busy")
    wait_for_turns(store, "runs/busy", 1)
    refused, read = ai_battle("resume", f"{RUNS}/busy", "-q"), ai_battle("show", f"{RUNS}/busy", 1)
    assert refused.code == 1
    assert re.search(rf"{RUNS}/busy is in use by process {run.pid} on \S+; wait until it has ended", refused.err)
    assert read.code == 0
    assert (run.communicate()[1], run.returncode) == ("", 0)
    assert len(finished_turns(store, "runs/busy")) == 40


@pytest.mark.slow
def test_who_was_thought_dead_stops_and_keeps_its_own(store: ObjectStore, here: Path, ai_battle: Run) -> None:
    run = begin("run", discussion(here / "slow.yaml", turns=30, delay=0.1), "-q", "--out", f"{RUNS}/frozen")
    wait_for_turns(store, "runs/frozen", 3)
    run.send_signal(signal.SIGSTOP)
    assert ai_battle("resume", f"{RUNS}/frozen", "-q").code == 0
    ended = store.get("runs/frozen/journal.jsonl")
    run.send_signal(signal.SIGCONT)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "was changed by somebody else, who continues there" in err
    (kept,) = re.findall(r"is kept in (\S+)\.", err)
    assert (Path(kept) / "journal.jsonl").is_file()
    assert store.get("runs/frozen/journal.jsonl") == ended


@pytest.mark.slow
def test_each_turn_is_stored_before_it_is_over_where_that_is_wanted(
    store: ObjectStore, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = discussion(here / "safe.yaml", turns=3, delay=0.2)
    path.write_text(f"{path.read_text()}\n  durability: every_turn\n")
    run = begin("run", path, "--out", f"{RUNS}/safe")
    assert run.stdout
    for line in run.stdout:
        if "It is so." in line:
            break
    run.kill()
    run.communicate()
    assert finished_turns(store, "runs/safe")


@pytest.mark.slow
def test_a_store_that_goes_away_costs_nothing_that_was_said(
    here: Path, ai_battle: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with object_store() as lost:
        lost.make_bucket()
        use(lost, monkeypatch)
        run = begin("run", discussion(here / "slow.yaml", turns=9, delay=0.1), "-q", "--out", f"{RUNS}/lost")
        wait_for_turns(lost, "runs/lost", 2)
        lost.lose()
        _, err = run.communicate(timeout=120)
    assert run.returncode == 1
    (kept,) = re.findall(r"is kept in (\S+)\.", err)
    assert f"error: {RUNS}/lost can't be used" in err
    assert ai_battle("show", kept, 18).code == 0


@pytest.mark.parametrize("address", [f"s3://{BUCKET}", "gs://bucket/runs", "s3:///runs"])
def test_an_address_of_another_kind_is_refused(talk: Path, ai_battle: Run, address: str) -> None:
    outcome = ai_battle("run", talk, "--out", address)
    assert (outcome.code, "write it as s3://BUCKET/FOLDER" in outcome.err) == (2, True)


def test_a_missing_package_is_named(talk: Path, ai_battle: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    outcome = ai_battle("run", talk, "--out", f"{RUNS}/none")
    assert (outcome.code, "pip install 'ai-battle[s3]'" in outcome.err) == (2, True)


def test_a_missing_bucket_is_named(store: ObjectStore, talk: Path, ai_battle: Run) -> None:
    outcome = ai_battle("run", talk, "--out", "s3://elsewhere/runs")
    assert (outcome.code, "s3://elsewhere/runs can't be used: there is no such bucket" in outcome.err) == (2, True)


@pytest.mark.usefixtures("store")
def test_missing_keys_are_named(talk: Path, ai_battle: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(talk))
    outcome = ai_battle("run", talk, "--out", f"{RUNS}/none")
    assert (outcome.code, "Credentials are read from AWS_ACCESS_KEY_ID" in outcome.err) == (2, True)


def test_who_has_no_rights_is_told_and_no_key_is_shown(
    talk: Path, ai_battle: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with object_store(INITIAL_NO_AUTH_ACTION_COUNT="0") as guarded:
        use(guarded, monkeypatch)
        outcome = ai_battle("run", talk, "--out", f"{RUNS}/none")
    assert (outcome.code, f"{RUNS}/none can't be used" in outcome.err) == (2, True)
    assert "some-secret" not in outcome.err


def test_a_key_leads_to_no_other_folder(store: ObjectStore, talk: Path, ai_battle: Run, tmp_path: Path) -> None:
    assert ai_battle("run", talk, "-q", "--out", f"{RUNS}/hostile").code == 0
    store.put("runs/hostile/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e" + f"{tmp_path}/evil.txt", b"evil")
    assert ai_battle("show", f"{RUNS}/hostile", 1).code == 0
    assert not (tmp_path / "evil.txt").exists()


@needs_ray
@pytest.mark.timeout(400)
@pytest.mark.usefixtures("store")
def test_a_lost_node_costs_no_run_of_a_series(store: ObjectStore, here: Path) -> None:
    for number in range(4):
        discussion(here / "talks" / f"talk{number}.yaml", turns=5, delay=0.1)
    with two_nodes() as cluster:
        where = ["--executor", "ray", "--address", cluster.address, "--out", f"{RUNS}/many"]
        run = begin("run", "talks", "--repeat", 5, "--json", *where)
        assert run.stderr
        for line in run.stderr:
            if line.startswith("6 of 20"):
                cluster.lose_one()
                break
        out, err = run.communicate(timeout=300)
    assert run.returncode == 0, err
    runs = json.loads(out)["runs"]
    assert Counter(entry["status"] for entry in runs) == {"done": 20}
    for entry in runs:
        key = entry["run"].removeprefix(f"s3://{BUCKET}/")
        assert finished_turns(store, key) == [*range(1, 11)]
        assert store.get(f"{key}/journal.jsonl").count(b'"run_started"') == 1


@needs_ray
@pytest.mark.usefixtures("store")
def test_forks_of_what_is_in_the_store_are_played_on_a_cluster(talk: Path, ai_battle: Run) -> None:
    assert ai_battle("run", talk, "--out", f"{RUNS}/origin", "-q").code == 0
    outcome = ai_battle(
        *("fork", f"{RUNS}/origin", "--at", 2, "-n", 2, "--executor", "ray", "--out", f"{RUNS}/branches", "--json")
    )
    assert outcome.code == 0, outcome.err
    assert [(run["status"], run["turns"]) for run in json.loads(outcome.out)["runs"]] == [("done", 4)] * 2
