"""Settings that were not run: exact where recorded answers settle them, and said to be unknown where they do not."""

import gzip
import importlib.util
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ai_battle.benchmark.cascade import order
from ai_battle.benchmark.datasets.recorded import create
from ai_battle.benchmark.intervals import wilson
from ai_battle.benchmark.sweep import (
    JudgedAnswer,
    Policy,
    Replayed,
    grid,
    recorded_pairs,
    sweep,
)

from .suites import play_suite

CORPUS = Path(os.environ.get("AI_BATTLE_CORPORA", "")) / "cascade"
SHIPPED = Path(__file__).parents[2] / "configs/benchmarks/data/gsm8k.mixtral-8x7b.gpt-4-1106.jsonl.gz"
PRICES = {"recorded/small": {"input": 1, "output": 1}, "recorded/large": {"input": 10, "output": 30}}


def item(small: float, large: float, quality: float, *, at_once: bool = False) -> Replayed:
    mine = JudgedAnswer("small", small, quality, at_once, 0.001, 1.0)
    return Replayed(mine, JudgedAnswer("large", large, 0.9, at_once=False, cost_usd=0.01, seconds=3.0))


FOUR = [
    item(1, 1, 0.9),
    item(0, 1, 0.5),
    item(0, 1, 0.2),
    item(0, 0, 0.1, at_once=True),
]


def baselines(items: Sequence[Replayed]) -> dict[str, Mapping[str, float | None]]:
    """Sweeps other orders of the answers than the detector's; the oracle knows which small answers are wrong."""
    small, large = [each.small.score for each in items], [each.large.score for each in items]
    doubts = {
        "random": [0.0 for _ in items],
        "length": [float(len(each.small.text)) for each in items],
        "detector: quality": [1 - each.small.quality for each in items],
        "oracle": [1 - score for score in small],
    }
    found = {name: order(tuple(each), tuple(small), tuple(large)) for name, each in doubts.items()}
    return {
        name: {"auroc": each.auroc, "apgr": each.apgr, "cpt50": each.cpt50, "cpt80": each.cpt80}
        for name, each in found.items()
    }


def test_taking_over_below_a_threshold_is_exact() -> None:
    [found] = sweep(FOUR, [Policy("takeover", 0.4)])
    assert (found.quality, found.help_rate, found.unknown) == (0.5, 0.5, 0)
    assert found.cost_per_task == pytest.approx((2 * 0.001 + 2 * 0.011) / 4)
    assert found.seconds == pytest.approx((2 * 1 + 2 * 4) / 4)
    assert found.interval == wilson(2, 4)


def test_what_fails_a_hard_check_is_taken_over_below_any_threshold() -> None:
    [found] = sweep(FOUR, [Policy("takeover", 0.0)])
    assert found.help_rate == 0.25


def test_a_second_try_was_never_recorded_so_only_bounds_are_told() -> None:
    """The broken answer is not tried again, so it is known."""
    [found] = sweep(FOUR, [Policy("takeover", 0.6, max_retries=2)])
    assert (found.quality, found.help_rate, found.interval, found.cost_per_task) == (None, None, None, None)
    assert (found.unknown, found.least, found.most) == (2, 0.25, 0.75)


def test_retries_change_nothing_where_none_would_be_made() -> None:
    [once, often] = sweep(FOUR, [Policy("takeover", 0.0, 1), Policy("takeover", 0.0, 5)])
    assert (often.quality, often.help_rate) == (once.quality, once.help_rate)


def test_rescue_needs_an_answer_after_the_advice_and_yet_its_help_rate_is_known() -> None:
    [found] = sweep(FOUR, [Policy("rescue", 0.6)])
    assert found.help_rate == 0.75
    assert (found.quality, found.unknown > 0) == (None, True)
    assert (found.least, found.most) == (0.25, 1.0)


def test_a_cascade_keeps_a_poor_answer_when_the_large_one_is_broken() -> None:
    poor = JudgedAnswer("small", 1.0, 0.5, at_once=False)
    broken = JudgedAnswer("", 0.0, 0.0, at_once=True)
    took, kept = sweep([Replayed(poor, broken)], [Policy("takeover", 0.7), Policy("cascade", 0.7)])
    assert (took.quality, kept.quality) == (0.0, 1.0)


def test_costs_that_were_not_recorded_are_not_invented() -> None:
    bare = JudgedAnswer("small", 1.0, 0.9, at_once=False)
    [found] = sweep([Replayed(bare, bare)], [Policy("takeover")])
    assert (found.quality, found.cost_per_task, found.unknown) == (1.0, None, 0)


def test_nothing_recorded_is_nothing_swept() -> None:
    assert sweep([], grid()) == []


@pytest.mark.parametrize(("strategy", "threshold"), [("takeover", 0.5), ("cascade", 0.9)])
def test_what_is_swept_is_what_a_run_comes_to(tmp_path: Path, strategy: Any, threshold: float) -> None:
    """The real strategy, played over the same recorded answers: quality, help rate and cost."""
    with gzip.open(SHIPPED, "rt", encoding="utf-8") as lines:
        (tmp_path / "few.jsonl").write_text("".join(line for _, line in zip(range(40), lines, strict=False)))
    pair = {"recorded": "small", "secondary": "recorded/large", "strategy": strategy, "threshold": threshold}
    settings = [
        {"name": "pair", **pair},
        {"name": "small", "recorded": "small"},
        {"name": "large", "recorded": "large"},
    ]
    written = {"benchmark": {"datasets": [{"path": "few.jsonl"}], "settings": settings}, "prices": PRICES}
    _, samples = play_suite(tmp_path, written)

    ran = [sample for key, sample in samples.items() if key.setting == "pair"]
    [found] = sweep(recorded_pairs(create().read(tmp_path / "few.jsonl")), [Policy(strategy, threshold)])
    assert found.help_rate == sum(sample.helped for sample in ran) / 40
    assert found.quality == pytest.approx(sum(sample.score.value or 0 for sample in ran) / 40)
    assert found.help_rate > 0


def test_random_and_the_oracle_are_the_baselines_on_a_small_sample() -> None:
    tasks = [task for _, task in zip(range(100), create().read(SHIPPED), strict=False)]
    found = baselines(recorded_pairs(tasks))
    assert found["random"]["apgr"] == pytest.approx(0.5)
    assert [found["random"][name] for name in ("cpt50", "cpt80")] == pytest.approx([0.5, 0.8])
    assert found["oracle"]["auroc"] == 1.0
    apgr = {name: each["apgr"] or 0.0 for name, each in found.items()}
    assert apgr["oracle"] > apgr["detector: quality"] > apgr["random"]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not CORPUS.is_dir(), reason="AI_BATTLE_CORPORA names no folder with cascade")
@pytest.mark.parametrize("pair", ["gsm8k.mixtral-8x7b.gpt-4-1106", "gsm8k.qwen2-7b.claude-3.5-sonnet"])
def test_baselines_of_recorded_pairs_are_those_of_the_definitions(pair: str) -> None:
    """Against the measures that came with the answers."""
    pytest.importorskip("numpy", reason="needs NumPy: pip install 'ai-battle[stats]'")
    spec = importlib.util.spec_from_file_location("metrics", CORPUS / "metrics.py")
    assert spec
    assert spec.loader
    metrics = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(metrics)
    items = recorded_pairs(create().read(CORPUS / f"{pair}.jsonl.gz"))
    small, large = ([getattr(each, of).score for each in items] for of in ("small", "large"))
    scores = {
        "random": [0.0] * len(items),
        "length": [float(len(each.small.text)) for each in items],
        "oracle": [1 - score for score in small],
        "detector: quality": [1 - each.small.quality for each in items],
    }
    found = baselines(items)
    for name, each in scores.items():
        theirs = metrics.allm(each, small, large)
        assert {key: found[name][key] for key in ("auroc", "apgr", "cpt50", "cpt80")} == pytest.approx(
            {key: theirs[key] for key in ("auroc", "apgr", "cpt50", "cpt80")}, abs=1e-9
        )
    apgr = {name: each["apgr"] or 0.0 for name, each in found.items()}
    assert apgr["random"] == pytest.approx(0.5)
    assert max(apgr, key=apgr.__getitem__) == "oracle"
    assert apgr["detector: quality"] > max(apgr["length"], apgr["random"])


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason="AI_BATTLE_CORPORA names no folder with cascade")
def test_baselines_are_near_those_that_were_measured_on_other_questions_of_the_same_pair() -> None:
    """Mixtral-8x7B and GPT-4 on GSM8K: the figures that came with the answers, of questions that were kept back."""
    found = baselines(recorded_pairs(create().read(CORPUS / "gsm8k.mixtral-8x7b.gpt-4-1106.jsonl.gz")))
    measured = {
        "random": {"auroc": 0.50, "apgr": 0.50, "cpt50": 0.50, "cpt80": 0.80},
        "length": {"auroc": 0.57, "apgr": 0.53, "cpt50": 0.42, "cpt80": 0.83},
        "oracle": {"auroc": 1.0, "apgr": 0.982, "cpt50": 0.14, "cpt80": 0.22},
    }
    for name, figures in measured.items():
        assert found[name] == pytest.approx(figures, abs=0.06), name
