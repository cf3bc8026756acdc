"""Two benchmarks are compared setting by setting, what became worse first."""

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ai_battle.benchmark.compare import compare, compare_settings
from ai_battle.benchmark.sample import AnswerScore, Sample
from ai_battle.benchmark.tasks import Task
from ai_battle.cli import main
from ai_battle.core.errors import ConfigError, JournalError

from .results import LARGE, SMALL, results, scored_samples

GOOD, POOR = [1.0] * 70 + [0.0] * 30, [1.0] * 40 + [0.0] * 60


def folder(path: Path, **settings: Sequence[float]) -> Path:
    samples = [sample for name, values in settings.items() for sample in scored_samples(name, values)]
    results(path, {name: SMALL if name == "small" else LARGE for name in settings}, samples).close()
    return path


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return folder(tmp_path / "before", small=GOOD, large=POOR, same=GOOD, gone=GOOD)


@pytest.fixture
def after(tmp_path: Path) -> Path:
    return folder(tmp_path / "after", same=GOOD, large=GOOD, small=POOR, new=GOOD)


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(each) for each in arguments])
    return int(ended.value.code or 0)


def test_regressions_come_first_then_what_is_better(before: Path, after: Path) -> None:
    found = compare(before, after)
    assert [(change.setting, change.verdict) for change in found.changes] == [
        ("small", "worse"),
        ("large", "better"),
        ("same", "no difference shown"),
    ]
    assert [change.setting for change in found.regressions] == ["small"]
    assert found.only == (("before", "gone"), ("after", "new"))
    assert (found.changes[0].before, found.changes[0].after) == (0.7, 0.4)


def test_a_setting_without_results_in_one_benchmark_has_no_figures(before: Path, tmp_path: Path) -> None:
    """A run that a limit ended has nothing of some settings, which is no quality of 0."""
    found = compare(before, folder(tmp_path / "short", small=POOR, large=[], same=GOOD))

    assert [change.setting for change in found.changes] == ["small", "same"]
    assert found.only == (("before", "large"), ("before", "gone"))


def test_a_regression_fails_a_build_that_asks_for_it(before: Path, after: Path) -> None:
    assert run("bench", "compare", before, after) == 0
    assert run("bench", "compare", before, after, "--fail-on-regression") == 1
    assert run("bench", "compare", before, before, "--fail-on-regression") == 0


def test_the_table_and_the_sentences_say_which_setting_is_worse(
    before: Path, after: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("bench", "compare", before, after)
    shown = capsys.readouterr().out
    assert shown.splitlines()[1].split()[:2] == ["small", "worse"]
    assert "small: after is worse than before by 30.0 points" in shown
    assert "only before: gone" in shown


def test_a_machine_reads_the_same(before: Path, after: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("bench", "compare", before, after, "--json")
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert said["regressions"] == ["small"]
    assert [each["verdict"] for each in said["changes"]] == ["worse", "better", "no difference shown"]
    assert said["changes"][0]["difference"] == pytest.approx(-0.3)


def test_with_several_datasets_the_change_on_each_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What one dataset gains hides what the other loses."""
    tasks = [Task(f"t{n}", f"Prompt {n}.", extra={"dataset": "sums" if n < 20 else "facts"}) for n in range(40)]
    for name, values in (("before", [1.0] * 20 + [0.0] * 20), ("after", [0.0] * 20 + [1.0] * 20)):
        results(tmp_path / name, {"small": SMALL}, scored_samples("small", values), tasks).close()

    run("bench", "compare", tmp_path / "before", tmp_path / "after")
    shown = capsys.readouterr().out
    run("bench", "compare", tmp_path / "before", tmp_path / "after", "--json")
    [change] = json.loads(capsys.readouterr().out)["changes"]

    assert re.search(r"points on +sums +facts\nsmall +-100\.0 \(.*\) +\+100\.0 \(", shown)
    assert {name: (each["n"], each["difference"]) for name, each in change["by_dataset"].items()} == {
        "sums": (20, -1.0),
        "facts": (20, 1.0),
    }


@pytest.mark.parametrize(
    ("later", "is_equal", "shown"),
    [
        (
            {"1": "new?", "2": "a?", "3": "b?"},
            True,
            "not compared: 1 task with other questions than before under the same id: 1",
        ),
        ({"one/1": "a?", "one/2": "b?"}, True, ""),
        ({"1": "a?", "2": "B, please?"}, True, "under the same id: 2"),
        (
            {"1": "new?", "2": "other?"},
            False,
            "have no scored task in common. 2 have the same id but ask something else",
        ),
    ],
    ids=["a row above", "another dataset", "another wording", "other tasks"],
)
def test_only_tasks_that_ask_the_same_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], later: dict[str, str], is_equal: bool, shown: str
) -> None:
    """Without ids, tasks are named by their lines, so the same id may be another task a day later."""
    right = {"a?": 1.0, "b?": 0.0}
    for day, tasks in (("monday", {"1": "a?", "2": "b?"}), ("tuesday", later)):
        samples = [Sample("small", name, score=AnswerScore(right.get(asks, 1.0))) for name, asks in tasks.items()]
        results(tmp_path / day, {"small": SMALL}, samples, [Task(*task) for task in tasks.items()]).close()

    assert run("bench", "compare", tmp_path / "monday", tmp_path / "tuesday") == (0 if is_equal else 2)

    out, err = capsys.readouterr()
    assert shown in out + err
    assert ("+0.0" in out) is is_equal


def test_two_settings_of_one_benchmark_are_compared_in_the_same_way(before: Path) -> None:
    [change] = compare_settings(before, "small", "large").changes
    assert (change.setting, change.verdict) == ("large", "worse")
    assert run("bench", "compare", before, "small", "large", "--fail-on-regression") == 1
    assert run("bench", "compare", before.parent, "before", "before") == 0, "folders within a folder"


def test_what_cannot_be_compared_is_told(before: Path, tmp_path: Path) -> None:
    other = folder(tmp_path / "other", another=GOOD)
    with pytest.raises(ConfigError, match="no setting in common: small, large, same, gone, another"):
        compare(before, other)
    with pytest.raises(ConfigError, match="no setting 'smal'; did you mean 'small'"):
        compare_settings(before, "smal", "large")
    with pytest.raises(JournalError, match=r"there is no results.sqlite in it"):
        compare(before, tmp_path)
    assert run("bench", "compare", before) == 2


def test_tasks_that_only_one_benchmark_has_are_left_out(tmp_path: Path) -> None:
    first = folder(tmp_path / "a", small=[1.0] * 60)
    second = folder(tmp_path / "b", small=[1.0] * 30)
    [change] = compare(first, second).changes
    assert (change.found.found.count, change.before, change.after) == (30, 1.0, 1.0)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_false_alarms_are_at_most_5_in_100_over_several_settings(tmp_path: Path) -> None:
    """Two runs of the same five settings that differ by chance alone: any alarm counts."""
    dice, alarms, names = random.Random(4), 0, [f"s{n}" for n in range(5)]
    for n in range(300):
        hard = {name: [dice.betavariate(2, 1) for _ in range(40)] for name in names}
        before, after = (
            folder(tmp_path / f"{side}{n}", **{name: [float(dice.random() < p) for p in hard[name]] for name in names})
            for side in ("a", "b")
        )
        alarms += any(change.verdict in ("better", "worse") for change in compare(before, after).changes)
    assert alarms / 300 <= 0.05
