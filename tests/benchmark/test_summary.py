"""The summary of results: what each setting came to, which are worth their price, and which differ."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ai_battle.benchmark.intervals import mean_interval, wilson
from ai_battle.benchmark.sample import AnswerScore, HelpRecord, Sample
from ai_battle.benchmark.summary import BenchmarkSummary, SettingRow, summary_of
from ai_battle.benchmark.tasks import Recording, Task
from ai_battle.cli import main
from ai_battle.core.exchange import Usage
from ai_battle.reporting.benchmark_report import write_benchmark_reports

from .results import HELPED, LARGE, SMALL, helped_samples, results, scored_samples

GOOD, POOR = [1.0] * 30 + [0.0] * 10, [1.0] * 20 + [0.0] * 20


def summary(folder: Path, settings: dict[str, Any], samples: list[Sample]) -> BenchmarkSummary:
    store = results(folder / "results", settings, samples)
    try:
        return summary_of(store)
    finally:
        store.close()


def row(found: BenchmarkSummary, name: str) -> SettingRow:
    return next(each for each in found.settings if each.name == name)


def test_a_rate_of_right_answers_has_wilsons_interval(tmp_path: Path) -> None:
    found = row(summary(tmp_path, {"small": SMALL}, scored_samples("small", GOOD)), "small")
    assert (found.n, found.quality) == (40, 0.75)
    assert (found.low, found.high) == wilson(30, 40)


def test_repeats_of_a_task_are_one_value(tmp_path: Path) -> None:
    """Forty samples of ten tasks are ten values, so the interval is as wide as that of ten."""
    samples = [replace(each, repeat=n) for n in range(4) for each in scored_samples("small", [1.0] * 6 + [0.0] * 4)]
    found = row(summary(tmp_path, {"small": SMALL}, samples), "small")
    assert (found.n, found.samples, found.quality) == (10, 40, 0.6)
    assert (found.low, found.high) == wilson(6, 10)


def test_what_no_scorer_could_read_is_wrong_and_what_failed_is_left_out(tmp_path: Path) -> None:
    samples = scored_samples("small", [1.0, 0.0, None, 1.0])
    unhelped = HelpRecord(1, failed=1, failure="HTTP 500")
    samples[2] = replace(samples[2], score=AnswerScore(None, "no number in the answer"), help=unhelped)
    samples.append(Sample("small", "t4", error="RateLimited: later"))
    samples.append(Sample("small", "t5", score=AnswerScore(None, "the judge gave no grade", scorer_failed=True)))
    found = summary(tmp_path, {"small": SMALL}, samples)
    only = row(found, "small")
    assert (only.n, only.unscored, only.failed) == (4, 1, 2)
    assert only.quality == pytest.approx(2 / 4)
    assert only.errors == {"RateLimited: later": 1, "the judge gave no grade": 1}
    assert found.notes == (
        "the figures are over the 4 of 6 tasks that all compared settings have",
        "2 of 6 samples failed, for no fault of the answer, and are left out: small (2)"
        "; bench resume --retry-failed plays them again",
        "1 of 6 samples could not be read by a scorer and count as wrong: small (1)",
        "1 failed with: RateLimited: later",
        "1 failed with: the judge gave no grade",
        "1 could not be read: no number in the answer",
        "small: help failed (1): HTTP 500",
    )


def test_a_suite_may_leave_out_what_no_scorer_could_read(tmp_path: Path) -> None:
    store = results(tmp_path / "results", {"small": SMALL}, scored_samples("small", [1.0, 0.0, None, 1.0]))
    store.set_fact("unscored", "exclude")
    found = summary_of(store)
    store.close()
    only = row(found, "small")
    assert only.n == 3
    assert only.quality == pytest.approx(2 / 3)
    assert (
        "1 of 4 samples could not be read by a scorer and are left out (`unscored: exclude`): small (1)" in found.notes
    )


def test_a_model_that_gives_up_on_what_it_does_not_know_wins_nothing(tmp_path: Path) -> None:
    """One is right on 10 of 100 and says nothing to the others, one is right on 95 of 100."""
    samples = [
        *scored_samples("mute", [1.0] * 10 + [None] * 90, 0.001),
        *scored_samples("good", [1.0] * 95 + [0.0] * 5, 0.01),
    ]
    for unscored in ("wrong", "exclude"):
        store = results(tmp_path / unscored, {"mute": SMALL, "good": LARGE}, samples)
        store.set_fact("unscored", unscored)
        found = summary_of(store)
        store.close()
        assert row(found, "good").dominated == ""
        assert "good" in [each.name for each in found.front]
        assert (row(found, "good").n, found.compared) == (100, 100)
    found = summary(tmp_path, {"mute": SMALL, "good": LARGE}, samples)
    assert (row(found, "mute").quality, row(found, "good").quality) == (0.1, 0.95)
    assert [pair.verdict for pair in found.pairs] == ["better"]


def test_all_settings_are_compared_on_the_same_tasks(tmp_path: Path) -> None:
    """What one of them failed on counts for none of them."""
    hard = [Sample("small", f"t{n}", error="Unreachable: gone") for n in range(30, 40)]
    samples = [*scored_samples("small", GOOD[:30], 0.001), *hard, *scored_samples("large", GOOD, 0.01)]
    found = summary(tmp_path, {"small": SMALL, "large": LARGE}, samples)
    assert [(each.name, each.n, each.quality) for each in found.settings] == [("small", 30, 1.0), ("large", 30, 1.0)]
    assert found.pairs[0].found.count == found.compared == 30
    assert "the figures are over the 30 of 40 tasks that all compared settings have" in found.notes


def test_a_setting_that_failed_nearly_always_is_compared_with_no_other(tmp_path: Path) -> None:
    broken = [Sample("broken", f"t{n}", error="Unreachable: gone") for n in range(2, 40)]
    samples = [
        *scored_samples("broken", [1.0, 1.0], 0.0001),
        *broken,
        *scored_samples("small", POOR),
        *scored_samples("large", GOOD, 0.01),
    ]
    found = summary(tmp_path, {"broken": SMALL, "small": SMALL, "large": LARGE}, samples)
    assert [(each.name, each.n) for each in found.settings] == [("broken", 2), ("small", 40), ("large", 40)]
    assert ([each.name for each in found.front], [each.name for each in found.apart]) == (
        ["small", "large"],
        ["broken"],
    )
    assert {(pair.a, pair.b) for pair in found.pairs} == {("small", "large")}
    assert "broken has scores for 2 of 40 tasks and is compared with no other setting" in found.notes


def test_a_difference_that_chance_makes_beats_nobody(tmp_path: Path) -> None:
    """A model that is right on 29 of 40 tasks and one on 30, at the same price."""
    one, other = [1.0] * 30 + [0.0] * 10, [0.0] + [1.0] * 29 + [0.0] * 10
    found = summary(
        tmp_path, {"one": SMALL, "other": LARGE}, [*scored_samples("one", one), *scored_samples("other", other)]
    )
    assert [each.dominated for each in found.settings] == ["", ""]
    dear = summary(
        tmp_path / "dear",
        {"one": SMALL, "other": LARGE},
        [*scored_samples("one", one), *scored_samples("other", other, 0.01)],
    )
    assert row(dear, "other").dominated == "one"


def test_of_many_equal_settings_none_beats_the_others_by_a_price_that_chance_makes(tmp_path: Path) -> None:
    """What two settings show alone is too little if it is one of 21 comparisons."""
    spread = [-0.0003 + 0.00002 * n for n in range(40)]

    def beaten(folder: str, equal: int) -> list[str]:
        names = [f"s{n}" for n in range(equal)]
        paid = [replace(each, usage=Usage(cost_usd=0.001 + off)) for off, each in zip(spread, dear, strict=True)]
        samples = [*paid, *(sample for name in names for sample in scored_samples(name, GOOD))]
        found = summary(tmp_path / folder, {"dear": LARGE, **dict.fromkeys(names, SMALL)}, samples)
        return [each.name for each in found.settings if each.dominated]

    dear = scored_samples("dear", GOOD)
    assert beaten("two", 1) == ["dear"]
    assert beaten("seven", 6) == []


def test_costs_and_times_have_intervals_too(tmp_path: Path) -> None:
    costs = [0.001 * (1 + n % 5) for n in range(40)]
    samples = [
        replace(each, usage=replace(each.usage, cost_usd=cost))
        for each, cost in zip(scored_samples("small", GOOD), costs, strict=True)
    ]
    found = row(summary(tmp_path, {"small": SMALL}, samples), "small")
    assert found.cost_usd == pytest.approx(sum(costs))
    assert (found.cost_low, found.cost_high) == pytest.approx(mean_interval(costs), abs=1e-4)
    assert found.quality_per_dollar == pytest.approx(0.75 / 0.003)
    assert found.seconds_p50 == pytest.approx(0.695)
    assert found.seconds_p50_low is not None
    assert found.seconds_p50_high is not None
    assert found.seconds_p50_low < 0.695 < found.seconds_p50_high
    assert found.seconds_p95_high is None, "forty samples do not bound it"


def test_a_setting_that_another_beats_in_both_is_dominated(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"cheap": SMALL, "dear": LARGE, "silly": {"model": "openai/silly"}}
    samples = [
        *scored_samples("cheap", POOR, 0.001),
        *scored_samples("dear", GOOD, 0.01),
        *scored_samples("silly", POOR, 0.02),
    ]
    found = summary(tmp_path, settings, samples)
    assert [each.dominated for each in found.settings] == ["", "", "cheap"]
    assert [each.name for each in found.front] == ["cheap", "dear"]


def test_settings_are_compared_by_tokens_where_a_price_is_not_known(tmp_path: Path) -> None:
    samples = [*scored_samples("small", POOR, None), *scored_samples("large", GOOD, 0.01)]
    found = summary(tmp_path, {"small": SMALL, "large": LARGE}, samples)
    assert found.axis == "tokens"
    assert row(found, "small").cost_per_task is None
    assert row(found, "small").effort == 150


def test_each_setting_is_compared_with_each_on_the_same_tasks(tmp_path: Path) -> None:
    samples = [*scored_samples("small", POOR), *scored_samples("large", GOOD), *scored_samples("same", POOR)]
    found = summary(tmp_path, {"small": SMALL, "large": LARGE, "same": SMALL}, samples)
    verdicts = {(pair.a, pair.b): pair.verdict for pair in found.pairs}
    assert verdicts == {
        ("small", "large"): "better",
        ("small", "same"): "no difference shown",
        ("large", "same"): "worse",
    }
    assert {round(pair.p_holm / pair.found.p) for pair in found.pairs} == {1, 3}


def test_what_the_detector_says_is_held_against_what_was_right(tmp_path: Path) -> None:
    """An answer that two settings share counts once."""
    of_helped = helped_samples("xxxxx.....", "xxxx.xx...", "....xxxx..")
    twice = [*of_helped, *(replace(each, setting="again") for each in of_helped)]
    found = summary(tmp_path, {"helped": HELPED, "again": HELPED}, twice)
    assert [(each.n, each.said, each.right) for each in found.calibration] == [
        (4, 0.5, 0.25),
        (6, pytest.approx(0.9), pytest.approx(4 / 6)),
    ]
    assert found.calibration_error == pytest.approx((4 * 0.25 + 6 * (0.9 - 4 / 6)) / 10)


def test_other_settings_are_swept_where_both_models_answered(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"small": SMALL, "helped": HELPED, "large": LARGE}
    samples = [
        *scored_samples("small", POOR[15:25]),
        *helped_samples("x" * 10, "x" * 10, "." * 10),
        *scored_samples("large", GOOD[:10]),
    ]
    found = summary(tmp_path, settings, samples)
    assert found.sweep_of == "small and large"
    assert {each.policy.strategy for each in found.sweep} == {"takeover", "cascade", "rescue"}
    assert {each.count for each in found.sweep} == {10}


def test_a_helper_that_was_only_recorded_is_known_from_its_recording(tmp_path: Path) -> None:
    tasks = [
        Task(f"t{n}", "Prompt.", recorded={"large": Recording("", 1.0), "small": Recording("", 0.0)}) for n in range(10)
    ]
    described = {"recorded": "small", "secondary": ["recorded/large"], "strategy": "takeover"}
    samples = helped_samples("xxxxx.....", "xxxx.xx...", "....xxxx..")
    store = results(tmp_path / "results", {"helped": described}, samples, tasks)
    found = row(summary_of(store), "helped")
    assert (found.order.large, found.model) == (1.0, "recorded/small")
    store.close()


def test_an_unfinished_run_says_so(tmp_path: Path) -> None:
    found = summary(tmp_path, {"small": SMALL, "large": LARGE}, scored_samples("small", [1.0, 0.0, 1.0]))
    assert found.notes[-1] == "the run is not finished: 3 samples are missing"
    assert (row(found, "large").quality, row(found, "large").samples) == (None, 0)


def test_the_files_hold_what_the_summary_says(tmp_path: Path) -> None:
    samples = [*scored_samples("small", POOR), *scored_samples("large", [None, *GOOD[1:]], error="")]
    samples[0] = replace(samples[0], score=AnswerScore(1.0, "=HYPERLINK(1)"), answer="long " * 1000)
    store = results(tmp_path / "results", {"small": SMALL, "large": LARGE}, samples)
    found = write_benchmark_reports(store)
    store.close()
    said = json.loads((tmp_path / "results" / "summary.json").read_text())
    assert said["settings"][0]["quality"] == found.settings[0].quality
    assert said["pairs"][0]["verdict"] == found.pairs[0].verdict
    assert said["front"] == [each.name for each in found.front]
    with open(tmp_path / "results" / "results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 80
    assert [each["score"] for each in rows if each["setting"] == "large"][:2] == ["", "1.0"]
    assert "'=HYPERLINK(1)" in {each["why"] for each in rows}, "no spreadsheet takes it for a formula"
    assert (tmp_path / "results" / "report.html").stat().st_size > 10_000


def test_results_without_a_sample_are_summed_up_too(tmp_path: Path) -> None:
    store = results(tmp_path / "results", {"small": SMALL}, [], [Task("t", "Prompt.")])
    found = write_benchmark_reports(store)
    store.close()
    assert (found.settings[0].n, found.settings[0].quality) == (0, None)


def test_results_are_summed_up_again_at_any_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    samples = [
        *scored_samples("small", POOR, 0.001),
        *scored_samples("large", GOOD, 0.01),
        *scored_samples("silly", POOR, 0.02),
    ]
    settings: dict[str, Any] = {"small": SMALL, "large": LARGE, "silly": SMALL}
    results(tmp_path / "results", settings, samples).close()
    with pytest.raises(SystemExit) as ended:
        main(["bench", "report", str(tmp_path / "results")])
    shown = capsys.readouterr().out
    assert not ended.value.code
    assert shown.splitlines()[1].split()[:4] == ["small", "50.0", "%", "(35.2"]
    assert "not beaten, the cheapest first: small (50.0 %), large (75.0 %)" in shown
    assert "silly is beaten by small, which is no worse, no dearer, and shown to be better in one of both" in shown
    assert "- large is better than small by 25.0 points" in shown
    assert shown.splitlines()[-1] == str(tmp_path / "results" / "report.html")


def test_the_quality_on_each_of_several_datasets_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mean over sums and tool calls may hide that a setting can do only one of them."""
    samples = [*scored_samples("small", [1, 1, 0, 0, 0]), *scored_samples("large", [1, 1, 1, 1, None])]
    tasks = [Task(f"t{n}", "?", extra={"dataset": "sums" if n < 2 else "calls"}) for n in range(5)]
    results(tmp_path / "results", {"small": SMALL, "large": LARGE}, samples, tasks).close()
    with pytest.raises(SystemExit):
        main(["bench", "report", str(tmp_path / "results")])

    shown = capsys.readouterr().out.split("\n\n")[1].splitlines()
    assert shown[0].split() == ["quality", "on", "sums", "calls"]
    assert re.findall(r"[\d.]+ %", shown[1]) == ["100.0 %", "34.2 %", "100.0 %", "0.0 %", "0.0 %", "56.1 %"]
    assert re.findall(r"[\d.]+ %", shown[2])[3:] == ["66.7 %", "20.8 %", "93.9 %"]
    report = (tmp_path / "results" / "report.html").read_text()
    assert re.search(r'data-head="calls" data-by="0.66666\d+"><span>66.7 %<small>20.8 % to 93.9 %', report)
    assert '"calls": {\n          "n": 3,' in (tmp_path / "results" / "summary.json").read_text()


def test_a_machine_gets_the_whole_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results(tmp_path / "results", {"small": SMALL}, scored_samples("small", POOR)).close()
    with pytest.raises(SystemExit):
        main(["bench", "report", str(tmp_path / "results"), "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said["settings"][0]["name"] == "small"
    assert said["results"] == str(tmp_path / "results")
