"""Scores close comparisons: series, forks and swaps, each with an interval, and only where they can be compared."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ai_battle.reporting.comparison import ComparedRun, measured_changes
from ai_battle.testing import FakeProvider, FakeProviders
from tests.cli.conftest import Run, ai_battle, folder

from .judges import Asked, answer, plain
from .test_in_a_run import BEES, verdicts_in

__all__ = ["ai_battle", "folder"]


@pytest.fixture
def judges(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProviders]:
    (folder / "bees.yaml").write_text(BEES)
    with judges_of(monkeypatch) as fakes:
        yield fakes


@contextmanager
def judges_of(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProviders]:
    """They like what is sung, and nothing else; each run a little more than the one before."""
    with FakeProviders.in_thread() as fakes:
        for name, value in fakes.environment.items():
            monkeypatch.setenv(name, value)
        for fake in (fakes.openai, fakes.anthropic):
            fake.always(partial(liking, fake))
        yield fakes


def liking(fake: FakeProvider, body: Mapping[str, Any]) -> str:
    run = (len(fake.questions) - 1) // 2

    def rule(asked: Asked, label: str, criterion: str) -> Mapping[str, Any]:
        return {**plain(asked, label, criterion), "score": (8 if "sing" in asked.text.casefold() else 3) + run / 10}

    return answer(Asked.in_body(body), rule)


def scores(outcome_lines: list[str]) -> list[str]:
    return [line for line in outcome_lines if line.startswith("score")]


def test_a_series_is_compared_by_scores_whose_cost_stands_apart(ai_battle: Run, judges: FakeProviders) -> None:
    options = ("--modes", "ai-ai,no-meta", "--repeat", 2, "--out", "all")
    outcome = ai_battle("run", "bees.yaml", "-q", "--judge", "gpt-4o", *options)
    assert outcome.code == 0
    assert scores(outcome.lines) == [
        f"{name}: no-meta 3.25, ai-ai 3.05: +0.20, between -0.10 and +0.50. That may be chance."
        for name in ("score", "score of Ann", "score of Bob")
    ]
    assert "All together: " in outcome.out
    assert ", $0." in outcome.out.partition("All together: ")[2].splitlines()[0]
    assert "Judging them took " in outcome.out
    page = Path("all/comparison.html").read_text()
    assert "<td>3.00</td>" in page
    assert "ai-ai-1: Judged by openai/gpt-4o: Ann 3.00, Bob 3.00 (from 1 to 10)." in page


def test_branches_of_a_fork_are_judged_with_the_change_and_without(ai_battle: Run, judges: FakeProviders) -> None:
    ai_battle("run", "bees.yaml", "-q", "--out", "r")
    outcome = ai_battle("fork", "r", "--at", 1, "--goal", "Sing!", "-n", 2, "--judge", "gpt-4o", "-q", "--at-once", 1)
    assert outcome.code == 0
    assert scores(outcome.lines)[0].startswith("score: changed 8.25, as it was 3.05: +5.20, ")
    assert "That is more than chance." in scores(outcome.lines)[0]
    assert [len(verdicts_in(run)) for run in Path("runs").iterdir() if run.is_dir()] == [1] * 4


def test_judging_is_no_change_of_a_fork(ai_battle: Run, judges: FakeProviders) -> None:
    ai_battle("run", "bees.yaml", "-q", "--out", "r")
    document = json.loads(ai_battle("fork", "r", "--at", 1, "--judge", "gpt-4o", "--json").out)
    assert [run["branch"] for run in document["runs"]] == ["as it was"]
    assert document["runs"][0]["judgement"]["totals"]["Ann"] == 3


def test_a_swap_is_judged_beside_what_was_recorded(ai_battle: Run, judges: FakeProviders, folder: Path) -> None:
    (folder / "judged.yaml").write_text(f"{BEES}  judge: claude-haiku-4-5\n")
    ai_battle("run", "judged.yaml", "-q", "--out", "r")
    journal = Path("r/journal.jsonl").read_bytes()
    judges.ollama.always("I would rather sing.")
    outcome = ai_battle("replay", "r", "--swap", "Bob=ollama/phi4", "--judge", "gpt-4o", "-q", "--out", "s")
    assert outcome.code == 0
    assert "r: Judged by openai/gpt-4o: Ann 3.00, Bob 3.00 (from 1 to 10)." in outcome.out
    assert "Bob=ollama/phi4: Judged by openai/gpt-4o: Ann 8.10, Bob 8.10 (from 1 to 10)." in outcome.out
    assert "<td>8.10</td>" in Path("s/comparison.html").read_text()
    assert Path("r/journal.jsonl").read_bytes() == journal
    assert verdicts_in(Path("s")) == []
    assert ai_battle("replay", "r", "--judge", "gpt-4o").code == 2


def test_scores_of_other_judges_are_not_compared_and_none_is_made_up(ai_battle: Run, judges: FakeProviders) -> None:
    ai_battle("run", "bees.yaml", "-q", "--repeat", 2, "--modes", "ai-ai,no-meta", "--out", "all")
    assert "score" not in Path("all/comparison.html").read_text()
    runs = [ComparedRun(run, run.name[:-2], run.name) for run in sorted(Path("all").iterdir()) if run.is_dir()]
    for run in runs:
        ai_battle("judge", run.run_dir, "-m", "gpt-4o")
    assert "score" in {change.measure.name for change in measured_changes(runs)}
    ai_battle("judge", runs[0].run_dir, "-m", "claude-haiku-4-5")
    again = [ComparedRun(run.run_dir, run.variant, run.label) for run in runs]
    assert "score" not in {change.measure.name for change in measured_changes(again)}


def test_runs_that_are_judged_together_stand_on_one_page(ai_battle: Run, judges: FakeProviders) -> None:
    for name in ("one", "two"):
        ai_battle("run", "bees.yaml", "-q", "--out", name)
    outcome = ai_battle("judge", "one", "two", "-m", "gpt-4o", "-q")
    assert outcome.code == 0
    assert outcome.lines[-1] == "Comparison of all: one-judged.html"
    page = Path("one-judged.html").read_text()
    assert "two: Judged by openai/gpt-4o" in page
    assert "one/report.html" in page


def test_a_dry_run_says_what_judging_takes(ai_battle: Run, judges: FakeProviders) -> None:
    said = ai_battle("run", "bees.yaml", "--dry-run", "--judge", "gpt-4o").out
    assert "arbiter openai/gpt-4o, to judge: 2 calls, " in said
    assert "A judge reads the whole discussion twice" in said
    assert "arbiter" not in ai_battle("run", "bees.yaml", "--dry-run").out
    assert judges.openai.questions == []


def test_runs_that_not_all_judges_measured_are_not_compared(ai_battle: Run, judges: FakeProviders) -> None:
    """A strict judge that fails in one run would make that run look better."""
    ai_battle("run", "bees.yaml", "-q", "--repeat", 2, "--modes", "ai-ai,no-meta", "--out", "all")
    runs = sorted(run for run in Path("all").iterdir() if run.is_dir())
    for run in runs:
        judges.anthropic.says(*["I can't say."] * (2 if run is runs[0] else 0))
        ai_battle("judge", run, "-m", "gpt-4o", "-m", "claude-haiku-4-5")
    compared = [ComparedRun(run, run.name[:-2], run.name) for run in runs]
    assert compared[0].score() == 3
    assert "score" not in {change.measure.name for change in measured_changes(compared)}
