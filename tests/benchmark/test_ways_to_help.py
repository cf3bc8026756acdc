"""Ways to help a small model stand in one table, with what each asked and paid, an advisor among them."""

import json
from pathlib import Path
from typing import Any

import pytest

from ai_battle.benchmark.forecast import forecast
from ai_battle.benchmark.loading import load
from ai_battle.benchmark.run import begin, run
from ai_battle.benchmark.sample import Sample
from ai_battle.benchmark.store import Store
from ai_battle.benchmark.summary import SettingRow, summary_of

from .suites import play_suite, rows

TASK = json.loads((Path(__file__).parents[2] / "configs/benchmarks/data/tools.jsonl").read_text().splitlines()[3])
"""Send Maria a message."""

ASKS = {"call": {"tool": "advisor", "parameters": {"question": "Which tool?"}}}
SENDS = {"call": {"tool": "send_message", "parameters": {"recipient": "Maria", "text": "I am on my way"}}}
DECLINES = "I can't send messages. I am only a language model."
LARGE = {"type": "scripted/large", "script": ["Call send."], "loop": True}
PRICES = {"scripted/small": {"input": 1, "output": 1}, "scripted/large": {"input": 10, "output": 10}}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SettingRow]:
    """The rows of the packaged suite, by setting."""
    suite = load("ways-to-help")
    store = begin(suite, tmp_path_factory.mktemp("ways") / "out")
    run(suite, store)
    try:
        return {row.name: row for row in summary_of(store).settings}
    finally:
        store.close()


def test_the_packaged_suite_compares_four_ways_with_each_model_alone(table: dict[str, SettingRow]) -> None:
    assert [*table] == ["small alone", "rescue", "takeover", "boost", "advisor", "large alone"]
    quality = {name: row.quality or 0 for name, row in table.items()}
    assert min(quality, key=quality.__getitem__) == "small alone"
    assert quality["boost"] == 1
    assert quality["advisor"] == quality["large alone"] == pytest.approx(0.9)


def test_the_table_says_what_each_asked_and_what_it_paid_for_that(table: dict[str, SettingRow]) -> None:
    assert {name: row.help.asked for name, row in table.items()} == {
        "small alone": 0, "rescue": 2, "takeover": 2, "boost": 10, "advisor": 3, "large alone": 0
    }  # fmt: skip
    for name in ("rescue", "takeover", "boost", "advisor"):
        row = table[name]
        assert row.help.help_usd
        assert row.cost_per_task
        assert row.help.help_usd < row.cost_per_task


def test_the_forecast_counts_help_that_a_strategy_takes_for_each_answer() -> None:
    low = {each.setting: each.low or 0 for each in forecast(load("ways-to-help")).settings}

    assert low["boost"] > low["large alone"] > 10 * low["takeover"]
    assert low["takeover"] == low["rescue"] == low["advisor"] == low["small alone"]


def sample(folder: Path, *small: Any, strategy: str = "advisor", **pair: Any) -> Sample:
    """The sample of one setting."""
    rows(folder / "tools.jsonl", [TASK])
    model = {"type": "scripted/small", "script": list(small)}
    setting = {"name": "helped", "model": model, "secondary": LARGE, "strategy": strategy, **pair}
    suite = {"datasets": [{"path": "tools.jsonl"}], "scorers": ["tool_calls"], "settings": [setting]}
    _, found = play_suite(folder, {"benchmark": suite, "prices": PRICES})
    (only,) = found.values()
    return only


def test_a_question_to_the_advisor_is_no_call_of_the_answer_and_no_first_answer(tmp_path: Path) -> None:
    asked = sample(tmp_path, ASKS, SENDS)

    assert asked.score.value == 1
    assert asked.answer.startswith("send_message(")
    assert (asked.help.asked, asked.help.declined, asked.help.asked_first) == (1, 0, True)


def test_advice_that_was_forced_has_an_answer_from_before_and_one_from_after(tmp_path: Path) -> None:
    forced = sample(tmp_path, DECLINES, SENDS)

    assert (forced.small_answer, forced.small_score, forced.score.value) == (DECLINES, 0, 1)
    assert not forced.help.asked_first


def test_a_declined_question_is_counted_and_costs_no_advice(tmp_path: Path) -> None:
    declined = sample(tmp_path, ASKS, SENDS, help_rate=0.0)

    assert (declined.help.asked, declined.help.declined, declined.help.cost_usd) == (0, 1, 0)
    assert not declined.helped


def test_the_helper_s_share_of_the_price_is_that_of_its_replies_alone(tmp_path: Path) -> None:
    helped = sample(tmp_path, DECLINES, strategy="takeover")

    assert helped.help.cost_usd
    assert helped.usage.cost_usd == pytest.approx(helped.help.cost_usd + (helped.wasted.cost_usd or 0))


def test_a_right_call_is_no_empty_answer_to_the_detector(tmp_path: Path) -> None:
    assert not {"empty", "no_call"} & sample(tmp_path, SENDS, strategy="takeover").signals.keys()


def test_the_report_says_what_answers_were_before_help_and_after_it(tmp_path: Path) -> None:
    sample(tmp_path, DECLINES, SENDS)
    store = Store.open(tmp_path / "out")
    try:
        (row,) = summary_of(store).settings
    finally:
        store.close()
    assert (row.help.before, row.help.after, row.help.rescued) == (0, 1, 1)
