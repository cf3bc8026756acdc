"""`ai-battle bench` as it is typed."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from ai_battle.benchmark.store import Store
from ai_battle.cli.output import column_groups
from ai_battle.core.files import lock_directory
from ai_battle.testing import FakeProviders
from tests.benchmark.suites import ALWAYS_4, KNOWS, SUMS, suite
from tests.scenarios.terminal import begin, sized_terminal

from .conftest import Run

ERASED = "\r\x1b[2K"
SETTINGS = ({"name": "knows", "model": KNOWS}, {"name": "four", "model": ALWAYS_4})


def write_suite(folder: Path, **more: object) -> None:
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite(folder, *SETTINGS, **more), sort_keys=False))


def test_a_run_shows_a_forecast_its_progress_and_a_table(ai_battle: Run, folder: Path) -> None:
    write_suite(folder)
    shown = ai_battle("bench", "run", "suite.yaml", "--out", "out")

    assert shown.code == 0
    assert shown.err.splitlines()[0] == "8 samples, about $0"
    assert shown.err.splitlines()[-1].startswith("8/8 samples (100 %), 0:00, $0 spent")
    assert any(line.startswith("knows") and "100.0 %" in line for line in shown.lines)
    assert "tokens / 1,000 tasks" in shown.lines[0], "where nothing has a price, settings are compared by tokens"
    assert any(line.startswith("four") and "25.0 %" in line for line in shown.lines)
    assert {path.name for path in (folder / "out").iterdir()} >= {"results.sqlite", "suite.yaml", "report.html"}


def test_a_run_as_json_is_one_document(ai_battle: Run, folder: Path) -> None:
    write_suite(folder)
    shown = ai_battle("bench", "run", "suite.yaml", "--out", "out", "--json")
    said = json.loads(shown.out)

    assert said["results"] == "out"
    assert {row["name"]: row["quality"] for row in said["settings"]} == {"knows": 1.0, "four": 0.25}


def test_a_dry_run_calls_nobody_and_leaves_nothing(ai_battle: Run, folder: Path) -> None:
    write_suite(folder)
    shown = ai_battle("bench", "run", "suite.yaml", "--dry-run", "--json")

    assert shown.code == 0
    assert json.loads(shown.out)["samples"] == 8
    assert sorted(path.name for path in folder.iterdir() if path.name != "cache") == ["suite.yaml", "sums.jsonl"]


def test_a_dry_run_shows_what_judges_cost_on_their_own_datasets(ai_battle: Run, folder: Path) -> None:
    """A judge of all datasets is asked once for each answer, and one of a single dataset for its answers alone."""
    (folder / "more.jsonl").write_text(json.dumps(SUMS[0]) + "\n", encoding="utf-8")
    judge, prices = [{"name": "judge", "model": "openai/judge"}], {"openai/judge": {"input": 1, "output": 2}}

    def cost_of_judging(*own: object) -> float:
        datasets = [{"path": "sums.jsonl"}, {"path": "more.jsonl", **dict(zip(("scorers",), own, strict=False))}]
        more = {} if own else {"scorers": judge}
        write_suite(folder, datasets=datasets, prices=prices, providers={"openai": {"api_key": "a-key"}}, **more)
        return float(json.loads(ai_battle("bench", "run", "suite.yaml", "--dry-run", "--json").out)["judging"])

    assert cost_of_judging() == pytest.approx(5 * cost_of_judging(judge))
    assert ai_battle("bench", "run", "suite.yaml", "--dry-run").lines[-1].startswith("  judges: up to $0.0")


def test_a_forecast_is_lowest_if_a_judge_after_other_scorers_is_never_asked(ai_battle: Run, folder: Path) -> None:
    prices = {"openai/judge": {"input": 1, "output": 2}}
    scorers = ["numeric", {"name": "judge", "model": "openai/judge"}]
    write_suite(folder, scorers=scorers, prices=prices, providers={"openai": {"api_key": "a-key"}})
    expected = json.loads(ai_battle("bench", "run", "suite.yaml", "--dry-run", "--json").out)

    assert (expected["low"], expected["high"]) == (0, expected["judging"])
    assert expected["judging"] > 0


def test_what_answers_of_one_word_cost_lies_in_the_forecast(ai_battle: Run, folder: Path) -> None:
    with FakeProviders.in_thread() as fakes:
        fakes.openai.always("4")
        providers = {"openai": {"base_url": f"{fakes.openai.url}/v1", "api_key": "a-key"}}
        gpt = {"name": "gpt", "model": "openai/gpt-4o"}
        (folder / "suite.yaml").write_text(yaml.safe_dump(suite(folder, gpt, providers=providers)))
        lines = ai_battle("bench", "run", "suite.yaml", "--dry-run").lines
        expected = json.loads(ai_battle("bench", "run", "suite.yaml", "--dry-run", "--json").out)
        spent = json.loads(ai_battle("bench", "run", "suite.yaml", "--out", "out", "--json").out)["spent_usd"]

    assert expected["low"] / 3 < spent < expected["low"] * 3
    assert lines[-1].endswith(" a sample, for answers of 1 to 1,024 tokens")


def test_fewer_tasks_and_changed_keys(ai_battle: Run, folder: Path) -> None:
    write_suite(folder)
    shown = ai_battle(
        "bench", "run", "suite.yaml", "--limit", "1", "--set", "benchmark.repeats=3", "--out", "out", "--json"
    )

    assert shown.code == 0
    store = Store.open(folder / "out")
    assert sorted(store.finished_keys()) == [(name, "s1", n) for name in ("four", "knows") for n in range(3)]
    store.close()


def test_results_are_resumed_by_their_folder_alone(ai_battle: Run, folder: Path) -> None:
    """The suite and the dataset may be gone meanwhile; what is finished stays as it is."""
    write_suite(folder)
    assert ai_battle("bench", "run", "suite.yaml", "--out", "out").code == 0
    (folder / "suite.yaml").unlink()
    (folder / "sums.jsonl").write_text("{}\n")
    shown = ai_battle("bench", "resume", "out")

    assert shown.code == 0, shown.err
    assert any(line.startswith("knows") for line in shown.lines)


def test_a_report_waits_for_nobody_who_still_writes_there(ai_battle: Run, folder: Path) -> None:
    write_suite(folder)
    ai_battle("bench", "run", "suite.yaml", "--out", "results")
    before = (folder / "results" / "report.html").stat().st_mtime_ns
    with lock_directory(folder / "results"):
        refused = ai_battle("bench", "report", "results")

    assert refused.code != 0
    assert "is in use by process" in refused.err
    assert (folder / "results" / "report.html").stat().st_mtime_ns == before
    assert ai_battle("bench", "report", "results").code == 0


def test_a_suite_that_is_wrong_is_misused(ai_battle: Run, folder: Path) -> None:
    write_suite(folder, scorers=["numerik"])
    shown = ai_battle("bench", "run", "suite.yaml")

    assert shown.code == 2
    assert "benchmark.scorers[0]: scorers has no 'numerik'; did you mean 'numeric'?" in shown.err
    assert (
        "first-stepz: there is no such file; did you mean 'first-steps'?"
        in ai_battle("bench", "run", "first-stepz").err
    )
    assert "no-such-suite.yaml: there is no such file" in ai_battle("bench", "run", "no-such-suite.yaml").err


def test_a_model_that_is_not_there_is_found_before_any_money_is_spent(ai_battle: Run, folder: Path) -> None:
    """With its place in the file and what its provider has; one that can't be reached is found, too."""
    settings = [{"name": "paid", "model": "gpt-4o"}, {"name": "lost", "model": "ollama/gemma4-1b"}]
    with FakeProviders.in_thread() as fakes:
        providers = {
            "openai": {"base_url": f"{fakes.openai.url}/v1", "api_key": "a-key-of-nobody"},
            "ollama": {"base_url": fakes.ollama.url},
        }
        (folder / "suite.yaml").write_text(yaml.safe_dump(suite(folder, *settings, providers=providers)))
        shown = ai_battle("bench", "run", "suite.yaml", "--out", "out")
        assert shown.code == 2
        assert "settings[1].model: ollama has no model 'gemma4-1b'; did you mean 'gemma3:1b'" in shown.err
        assert [request.method for request in fakes.openai.requests] == ["GET"]

    shown = ai_battle("bench", "run", "suite.yaml", "--out", "out")
    assert shown.code == 2
    assert len(re.findall(r"settings\[\d\]\.model: .*nothing listens there", shown.err)) == 2
    assert not (folder / "out").exists()


def test_a_run_without_any_answer_has_failed_and_says_why(ai_battle: Run, folder: Path) -> None:
    mute = {"name": "mute", "model": {"type": "scripted", "script": [{"fail": "quota"}]}}
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite(folder, mute)))
    shown = ai_battle("bench", "run", "suite.yaml", "--out", "out")

    assert shown.code == 1
    failed = "note: 4 of 4 samples failed, for no fault of the answer, and are left out: mute (4)"
    assert f"{failed}; bench resume --retry-failed plays them again" in shown.lines
    assert any(line.startswith("note: 4 failed with: ") for line in shown.lines)
    assert shown.err.count("a sample failed: ") == 1, "as soon as the first has, not only at the end"


def test_columns_that_have_no_room_stand_below_beside_the_names_again() -> None:
    names, numbers = ("setting", "a" * 30), [("quality", "64.7 %"), ("95 %", "59.1 % to 69.9 %"), ("tasks", "300")]

    assert list(column_groups(names, numbers, 200)) == [numbers]
    assert list(column_groups(names, numbers, 62)) == [numbers[:2], numbers[2:]]
    assert list(column_groups(names, numbers, 10)) == [[column] for column in numbers]


def test_a_limit_that_stops_a_run_is_said_with_the_way_on(ai_battle: Run, folder: Path) -> None:
    dear = {"name": "dear", "model": {"type": "scripted/dear", "script": ["It is 4."]}}
    text = yaml.safe_dump(suite(folder, dear, prices={"scripted/dear": {"input": 1000, "output": 1000}}))
    (folder / "suite.yaml").write_text(text)
    shown = ai_battle("bench", "run", "suite.yaml", "--out", "out", "--max-cost", "0.01")

    assert shown.code == 1
    assert "Stopped by the limit of $0.01" in shown.err
    assert ".." not in shown.err
    assert "ai-battle bench resume out --max-cost USD" in shown.err
    assert ai_battle("bench", "resume", "out", "--max-cost", "1000").code == 0


def test_a_run_that_its_seconds_end_goes_on_without_another_limit(ai_battle: Run, folder: Path) -> None:
    slow = {"name": "slow", "model": {"type": "scripted", "script": [{"say": "4", "delay": 0.1}]}}
    text = yaml.safe_dump(suite(folder, slow, limits={"seconds": 0.15}, concurrency=1))
    (folder / "suite.yaml").write_text(text)
    shown = ai_battle("bench", "run", "suite.yaml", "--out", "out")

    assert "Stopped by the limit of 0.15 seconds. Continue with: ai-battle bench resume out\n" in shown.err
    assert [ai_battle("bench", "resume", "out").code for _ in range(3)][-1] == 0


def test_code_that_a_suite_names_is_not_run_without_trust(ai_battle: Run, folder: Path) -> None:
    named = {"name": "x", "model": "json.decoder/x"}
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite(folder, named)))
    shown = ai_battle("bench", "run", "suite.yaml")

    assert shown.code == 2
    assert "runs code of its own (json.decoder). If you know it, say so: --trust" in shown.err


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(folder: Path) -> None:
    slow = {"name": "slow", "model": {"type": "scripted", "script": [{"say": "4", "delay": 0.2}]}}
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite(folder, slow, repeats=50, concurrency=1)))
    running = begin("bench", "run", "suite.yaml", "--out", "out")
    while not finished_count(folder / "out"):
        time.sleep(0.02)
    running.process.send_signal(signal.SIGINT)
    stopped = running.end()

    assert stopped.code == 130, stopped.err
    assert "Interrupted; continue with: ai-battle bench resume out" in stopped.err
    assert 0 < finished_count(folder / "out") < len(SUMS) * 50


@pytest.mark.slow
def test_a_full_disk_ends_a_run_with_the_way_on_and_loses_nothing(ai_battle: Run, folder: Path) -> None:
    """The limit of the size of a file stands for the disk."""
    long = {"name": "long", "model": {"type": "scripted", "script": ["It is 4. " * 2000]}}
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite(folder, long, repeats=20)))
    command = [sys.executable, "-m", "ai_battle", "bench", "run", "suite.yaml", "--out", "out"]
    limited = "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000)); "
    command[1:3] = ["-c", limited + "sys.argv[0] = 'x'; runpy.run_module('ai_battle', run_name='__main__')"]
    shown = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

    assert shown.returncode == 1
    assert "ai-battle bench resume out" in shown.stderr
    assert finished_count(folder / "out") < 80
    assert ai_battle("bench", "resume", "out", "-q").code == 0
    assert finished_count(folder / "out") == 80


def test_on_a_terminal_one_line_tells_how_far_it_is(folder: Path) -> None:
    write_suite(folder, limits={"cost_usd": 1})
    played, _, report = _on_terminal("run", "suite.yaml", "--out", "out").rpartition("\r\n")

    assert played.rpartition(ERASED)[2].startswith("8/8 samples (100 %), 0:00, $0 of $1.00 spent")
    assert report.endswith(ERASED), "what is told of the report goes once it is there"


def test_on_a_terminal_a_report_tells_each_step_and_leaves_nothing_of_it(ai_battle: Run, folder: Path) -> None:
    write_suite(folder)
    assert ai_battle("bench", "run", "suite.yaml", "--out", "out", "--quiet").err == ""

    steps = _on_terminal("report", "out").split(ERASED)
    assert steps == [
        "",
        "reading the samples",
        "comparing each of 2 settings with each other",
        "summing up knows (1 of 2)",
        "summing up four (2 of 2)",
        "working out settings that were not run",
        "writing the report",
        "",
    ]


def _on_terminal(*arguments: str) -> str:
    """Returns what a terminal gets on stderr."""
    elsewhere = os.open(os.devnull, os.O_WRONLY)
    with sized_terminal(24, 80, ["bench", *arguments], elsewhere) as screen:
        assert screen.end() == 0
    return screen.shown


def finished_count(results: Path) -> int:
    if not (results / "suite.yaml").exists():
        return 0
    store = Store.open(results)
    try:
        return len(store.finished_keys())
    finally:
        store.close()
