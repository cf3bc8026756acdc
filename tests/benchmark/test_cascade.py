"""What help brings: of an order of answers, of the samples of a setting, and by signal."""

import math
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ai_battle.benchmark.cascade import NO_ADVANTAGE, TOO_FEW, by_signal, help_effect, order, per_rescued
from ai_battle.benchmark.summary import summary_of

from . import results as made

#            first answers, last answers, got help: of ten, four are helped, two rescued, one spoilt
TEN = ("xxxxx.....", "xxxx.xx...", "....xxxx..")


def test_an_order_that_knows_what_is_wrong_recovers_the_advantage_first() -> None:
    small, large = [1.0] * 6 + [0.0] * 4, [1.0] * 10
    knows = order(tuple(1 - each for each in small), tuple(small), tuple(large))
    assert (knows.small, knows.large, knows.auroc) == (0.6, 1.0, 1.0)
    assert knows.apgr == pytest.approx(0.8)
    assert [knows.cpt50, knows.cpt80] == pytest.approx([0.2, 0.32])
    assert knows.apgr_low is not None
    assert knows.apgr_low <= 0.8 <= (knows.apgr_high or 0)
    assert knows.curve[0] == (0.0, 0.6)
    assert knows.curve[-1] == (1.0, 1.0)


def test_an_order_that_knows_nothing_recovers_in_proportion() -> None:
    blind = order((0.0,) * 10, (1.0,) * 6 + (0.0,) * 4, (1.0,) * 10)
    assert [blind.apgr, blind.cpt50, blind.cpt80] == pytest.approx([0.5, 0.5, 0.8])


def test_a_large_model_without_an_advantage_has_no_measures_and_it_is_said() -> None:
    found = order(tuple(range(10)), (1.0,) * 10, (1.0, 0.0) * 5)
    assert (found.apgr, found.cpt50, found.note) == (None, None, NO_ADVANTAGE)


def test_a_few_tasks_are_not_measured() -> None:
    assert order((1, 2), (0, 1), (1, 1)).note == TOO_FEW


def test_help_is_counted_by_what_it_did_to_the_answers() -> None:
    found = help_effect(made.helped_samples(*TEN))
    assert found is not None
    assert (found.help_rate, found.rescued, found.spoilt, found.drafts_wasted) == (0.4, 2, 1, 4)
    assert found.wasted_usd == pytest.approx(0.004)
    assert (found.help_rate_low, found.help_rate_high) == pytest.approx((0.168, 0.687), abs=0.001)


def test_help_is_a_rate_of_tasks_where_there_are_repeats() -> None:
    twice = [replace(sample, repeat=n) for n in range(2) for sample in made.helped_samples(*TEN)]
    found = help_effect(twice)
    assert found is not None
    assert found.help_rate == 0.4
    assert (found.help_rate_low, found.help_rate_high) == pytest.approx((0.168, 0.687), abs=0.001), (
        "as ten tasks, not as twenty"
    )


def test_signals_tell_in_how_many_answers_they_spoke_and_what_became_of_those() -> None:
    doubtful = next(each for each in by_signal(made.helped_samples(*TEN)) if each.signal == "doubtful")
    assert (doubtful.spoke, doubtful.helped, doubtful.rescued) == (4, 4, 2)
    assert [doubtful.wrong, doubtful.wrong_else] == pytest.approx([0.75, 2 / 6])
    assert doubtful.wasted_usd == pytest.approx(0.004)


def test_a_first_answer_that_nobody_could_read_can_be_rescued() -> None:
    """Unless nobody has tried to read any: then nothing is known of what help brought."""
    samples = made.helped_samples("x...", "xx.x", ".xxx")
    one, none = (
        help_effect([replace(each, small_score=None) if n in hidden else each for n, each in enumerate(samples)])
        for hidden in ({1}, {0, 1, 2, 3})
    )

    assert one is not None
    assert (one.rescued, one.spoilt) == (2, 0)
    assert none is not None
    assert (none.rescued, none.spoilt) == (None, None)


def test_a_first_answer_that_nobody_could_read_counts_as_wrong_in_the_order_of_help(tmp_path: Path) -> None:
    unread = [replace(each, small_score=None) if n > 4 else each for n, each in enumerate(made.helped_samples(*TEN))]
    samples = [*made.scored_samples("large", [1.0] * 10, 0.01), *unread]
    with closing(made.results(tmp_path / "r", {"helped": made.HELPED, "large": made.LARGE}, samples)) as store:
        [row] = [row for row in summary_of(store).settings if row.name == "helped"]
    assert (row.order.count, row.order.small, row.order.note) == (10, 0.5, "")


def test_what_a_rescued_answer_costs_is_not_invented() -> None:
    assert per_rescued(0.4, 2) == 0.2
    assert per_rescued(0.4, 0) is None
    assert per_rescued(None, 2) is None


def test_dollars_per_rescued_answer_are_those_beyond_the_small_model_alone(tmp_path: Path) -> None:
    samples = [*made.scored_samples("small", [1.0] * 5 + [0.0] * 5), *made.scored_samples("large", [1.0] * 10, 0.01)]
    store = made.results(
        tmp_path / "r",
        {"small": made.SMALL, "helped": made.HELPED, "large": made.LARGE},
        [*samples, *made.helped_samples(*TEN)],
    )
    [row] = [row for row in summary_of(store).settings if row.name == "helped"]
    assert row.usd_per_rescued == pytest.approx(4 * 0.01 / 2)
    assert (row.order.small, row.order.large) == (0.5, 1.0)
    assert row.order.apgr is not None
    assert not math.isnan(row.order.apgr)
    store.close()
