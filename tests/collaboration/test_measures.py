"""The measures of cascades, against their definitions, and a logistic regression that finds what made its data."""

import math
import random
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.judging.measures import apgr, auroc, calibration_error, cpt, curve
from ai_battle.judging.regression import fit_model, probability

SMALL, LARGE = [1, 0, 0, 1, 0], [1, 1, 1, 0, 1]
PERFECT = [0, 1, 1, -1, 1]
answers = st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), min_size=2, max_size=6)


def test_a_score_that_knows_recovers_all_with_the_fewest_calls() -> None:
    assert curve(PERFECT, SMALL, LARGE) == pytest.approx([0.4, 0.6, 0.8, 1.0, 1.0, 0.8])
    assert cpt(PERFECT, SMALL, LARGE, 0.5) == pytest.approx(0.2)
    assert cpt(PERFECT, SMALL, LARGE, 0.8) == pytest.approx(0.32)
    assert auroc(PERFECT, [not right for right in SMALL]) == 1


def test_a_score_that_knows_nothing_recovers_in_proportion() -> None:
    blind = [0] * 5
    assert apgr(blind, SMALL, LARGE) == pytest.approx(0.5)
    assert cpt(blind, SMALL, LARGE, 0.8) == pytest.approx(0.8)
    assert auroc(blind, [True, False, True, False, False]) == 0.5


def test_a_large_model_that_is_no_better_has_no_measures() -> None:
    assert math.isnan(apgr([1, 2], [1, 0], [0, 1]))
    assert math.isnan(auroc([1, 2], [True, True]))


@given(answers)
def test_equal_scores_count_as_the_mean_over_all_their_orders(rows: list[tuple[int, bool, bool]]) -> None:
    scores, small, large = zip(*rows, strict=True)
    orders = [order for order in permutations(range(len(rows))) if [scores[n] for n in order] == sorted(scores)[::-1]]
    for k in range(len(rows) + 1):
        each = [
            sum(large[n] if place < k else small[n] for place, n in enumerate(order)) / len(rows) for order in orders
        ]
        assert curve(scores, small, large)[k] == pytest.approx(sum(each) / len(each))


@given(answers)
def test_auroc_is_the_share_of_pairs_in_order(rows: list[tuple[int, bool, bool]]) -> None:
    bad, good = [s for s, wrong, _ in rows if wrong], [s for s, wrong, _ in rows if not wrong]
    if bad and good:
        wins = [1.0 if b > g else 0.5 if b == g else 0.0 for b, g in product(bad, good)]
        assert auroc([s for s, _, _ in rows], [w for _, w, _ in rows]) == pytest.approx(sum(wins) / len(wins))


def test_a_quality_that_holds_has_no_calibration_error() -> None:
    assert calibration_error([0.75] * 4, [1, 1, 1, 0]) == 0
    assert calibration_error([0.95] * 4, [0, 0, 0, 0]) == pytest.approx(0.95)


def test_the_weights_that_made_the_data_are_found() -> None:
    chance = random.Random(4)
    rows = [{"a": chance.gauss(0, 1), "b": chance.gauss(3, 2), "same": 7.0} for _ in range(4000)]
    labels = [float(chance.random() < probability(0.5 + 2 * row["a"] - 0.5 * row["b"])) for row in rows]
    found = fit_model(rows, labels, penalty=0.01)
    slopes = {name: weight / deviation for name, (_, deviation, weight) in found.features.items()}
    assert slopes["a"] == pytest.approx(2, abs=0.2)
    assert slopes["b"] == pytest.approx(-0.5, abs=0.1)
    assert slopes["same"] == pytest.approx(0, abs=1e-6)
    assert found.probability({}) == pytest.approx(probability(found.bias))


def test_data_that_can_be_told_apart_have_finite_weights() -> None:
    found = fit_model([{"x": float(n)} for n in range(20)], [float(n > 9) for n in range(20)])
    assert found.probability({"x": 0}) < 0.2
    assert found.probability({"x": 19}) > 0.8
