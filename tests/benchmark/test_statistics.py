"""Intervals, tests and verdicts: against SciPy and values of statsmodels, and by what they promise."""

import math
import random
from itertools import product
from operator import mul
from statistics import fmean
from typing import Any

import pytest

from ai_battle.benchmark.intervals import (
    mean_interval,
    quantile_interval,
    rate_interval,
    student,
    wilson,
)
from ai_battle.benchmark.paired import (
    compare_pairs,
    conclusions,
    difference,
    holm,
    mcnemar,
    score_interval,
    sign_flips,
    smallest_seen,
    tasks_to_show,
)

EXACT = 1e-6


@pytest.fixture
def scipy() -> Any:
    return pytest.importorskip("scipy.stats", reason="SciPy is not installed")


def draw_values(seed: int, count: int, grid: int = 0) -> list[float]:
    dice = random.Random(seed)
    return [round(dice.random() * grid) / grid if grid else dice.gauss(0.3, 1) for _ in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize(("successes", "count"), [(0, 5), (3, 5), (5, 5), (37, 40), (500, 1319)])
def test_wilson_is_that_of_scipy(scipy: Any, successes: int, count: int) -> None:
    theirs = scipy.binomtest(successes, count).proportion_ci(method="wilson")
    assert wilson(successes, count) == pytest.approx((theirs.low, theirs.high), abs=EXACT)


@pytest.mark.slow
@pytest.mark.parametrize("freedom", [1, 2, 3, 8, 39, 200, 999])
def test_students_t_is_that_of_scipy(scipy: Any, freedom: int) -> None:
    assert student(0.95, freedom) == pytest.approx(scipy.t.ppf(0.975, freedom), rel=EXACT)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.95])
@pytest.mark.parametrize("count", [4, 20, 101])
def test_intervals_of_quantiles_are_those_of_scipy(scipy: Any, count: int, share: float) -> None:
    values = sorted(draw_values(count, count))
    theirs = scipy.quantile_test(values, p=share).confidence_interval()
    for mine, their in zip(quantile_interval(values, share), theirs, strict=True):
        assert (math.isnan(their) and mine is None) or mine == pytest.approx(their, abs=EXACT)


@pytest.mark.slow
@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (1, 0), (6, 0), (3, 9), (12, 30), (400, 350)])
def test_mcnemar_is_the_exact_binomial_test_of_scipy(scipy: Any, gained: int, lost: int) -> None:
    theirs = scipy.binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
    assert mcnemar(gained, lost) == pytest.approx(theirs, abs=EXACT)


@pytest.mark.slow
@pytest.mark.parametrize("grid", [0, 1, 3, 4])
@pytest.mark.parametrize("count", [3, 8, 11])
def test_sign_flips_are_the_paired_permutation_test_of_scipy(scipy: Any, count: int, grid: int) -> None:
    import numpy as np

    a, b = draw_values(1, count, grid), draw_values(2, count, grid)
    theirs = scipy.permutation_test(
        (np.array(b), np.array(a)),
        lambda x, y: float(np.mean(x - y)),
        permutation_type="samples",
        n_resamples=math.inf,
        vectorized=False,
    )
    assert sign_flips([y - x for x, y in zip(a, b, strict=True)]) == pytest.approx(theirs.pvalue, abs=EXACT)


@pytest.mark.parametrize(
    ("gained", "lost", "count", "published"),
    [(1, 7, 21, (-0.517, -0.026)), (7, 1, 21, (0.026, 0.517)), (0, 0, 40, (-0.0876, 0.0876))],
)
def test_the_interval_of_a_difference_of_rates_is_tangos(
    gained: int, lost: int, count: int, published: tuple[float, float]
) -> None:
    """The first is the example of Fagerland, Lydersen and Laake (2014), of 21 patients before and after treatment."""
    assert score_interval(gained, lost, count) == pytest.approx(published, abs=5e-4)


def test_where_few_tasks_differ_95_of_100_intervals_hold_the_truth() -> None:
    dice, count = random.Random(4), 60
    held = 0
    for _ in range(300):
        off = [_toss(dice, 0.05, 0.05) for _ in range(count)]
        a = _by_task([float(each < 0) for each in off])
        low, high = difference(a, _by_task([float(each > 0) for each in off])).interval
        held += low <= 0 <= high
    assert held / 300 >= 0.94


def test_holm_is_that_of_statsmodels() -> None:
    """The expected values are those of `multipletests(chances, method="holm")` in statsmodels 0.15."""
    chances = [0.508, 0.33, 0.031, 0.004, 0.068, 0.027, 0.377, 0.008, 0.052, 0.116, 0.68, 0.065]
    theirs = [1.0, 1.0, 0.279, 0.048, 0.455, 0.27, 1.0, 0.088, 0.416, 0.58, 1.0, 0.455]
    assert holm(chances) == pytest.approx(theirs, abs=EXACT)


def test_holm_multiplies_the_smallest_by_their_number_and_keeps_the_order() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


def test_sign_flips_of_right_and_wrong_are_mcnemar() -> None:
    assert sign_flips([1] * 9 + [-1] * 3 + [0] * 50) == pytest.approx(mcnemar(9, 3))


@pytest.mark.parametrize("grid", [1, 2, 3, 10])
def test_flips_that_are_counted_are_those_that_are_tried_one_by_one(grid: int) -> None:
    """Of more than a dozen differences all flips are counted at once."""
    off = [
        each
        for each in (b - a for a, b in zip(draw_values(1, 40, grid), draw_values(2, 40, grid), strict=True))
        if each
    ][:14]
    sums = [sum(map(mul, signs, off)) for signs in product((1, -1), repeat=len(off))]
    as_far = sum(abs(total) >= abs(sum(off)) - EXACT for total in sums) / len(sums)
    assert sign_flips(off) == pytest.approx(as_far, abs=EXACT)


@pytest.mark.slow
def test_differences_on_no_grid_are_rounded_and_the_test_is_hardly_changed(scipy: Any) -> None:
    import numpy as np

    off = draw_values(5, 40)
    theirs = scipy.permutation_test(
        (np.array(off),), np.mean, permutation_type="samples", n_resamples=100_000, vectorized=True, rng=1
    )
    assert sign_flips(off) == pytest.approx(theirs.pvalue, abs=0.004)


def test_many_differences_are_tested_by_the_normal_distribution_which_is_the_same_then() -> None:
    dice = random.Random(9)
    off = [dice.choice([-1, -1, 1, 1, 1]) / dice.choice([1, 2, 3]) for _ in range(300)]
    counted = sign_flips(off)
    assert sign_flips([*off, 0.001, -0.001]) == pytest.approx(counted, rel=0.05)
    assert 1e-8 < counted < 0.05


def test_an_interval_of_a_rate_is_never_a_point_and_never_beyond_0_and_1() -> None:
    assert rate_interval([1.0] * 20).low == pytest.approx(0.8389, abs=1e-4)
    assert rate_interval([0.5] * 20).width > 0.3
    low, high = rate_interval([0.9, 1, 1, 1, 1, 1, 1, 1, 1, 0.2])
    assert 0 <= low < high <= 1


def test_the_interval_of_a_mean_of_even_values_is_students() -> None:
    low, high = mean_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (low, high) == pytest.approx((3 - 1.9633, 3 + 1.9633), abs=1e-3)
    assert mean_interval([0.0, 1.0]).width > 12, "two values hardly bound a mean"


def test_the_interval_of_a_mean_reaches_further_to_the_side_of_outliers() -> None:
    low, high = mean_interval([1.0] * 36 + [21.0] * 4)
    assert high - 3 > 2 * (3 - low) > 0


def test_what_never_differs_is_not_called_the_same_beyond_what_its_tasks_can_tell() -> None:
    same = {str(n): 1.0 for n in range(40)}
    found = difference(same, same)
    assert (found.mean, found.p) == (0, 1)
    assert found.interval == pytest.approx((-0.0876, 0.0876), abs=1e-4)


def test_only_tasks_of_both_are_compared() -> None:
    found = difference({"a": 1, "b": 0, "c": 0}, {"b": 1, "c": 0, "d": 1})
    assert (found.count, found.gained, found.lost, found.mean) == (2, 1, 0, 0.5)
    assert difference({"a": 1}, {"b": 1}).count == 0


@pytest.mark.parametrize(
    ("gained", "lost", "same", "verdict", "words"),
    [
        (30, 5, 65, "better", "b is better than a by 25.0 points"),
        (5, 30, 65, "worse", "b is worse than a by 25.0 points"),
        (6, 6, 288, "no difference shown", "no difference shown for a and b; with 300 tasks"),
        (6, 5, 29, "not enough data", "with 40 tasks only differences above 24 points can be seen"),
        (0, 0, 3, "not enough data", "with 3 tasks only differences above 72 points can be seen"),
        (5, 0, 0, "not enough data", "with 5 tasks"),
    ],
)
def test_a_comparison_ends_in_a_plain_verdict(gained: int, lost: int, same: int, verdict: str, words: str) -> None:
    a = [0.0] * gained + [1.0] * (lost + same)
    b = [1.0] * gained + [0.0] * lost + [1.0] * same
    [found] = compare_pairs([(("a", "b"), _by_task(a), _by_task(b))])
    assert found.verdict == verdict
    assert words in found.sentence


def test_many_comparisons_are_summed_up() -> None:
    """What is shown is said, the surest first; of the rest, how many there are and what could have been seen."""
    clear = (("a", "b"), _by_task([0.0] * 40), _by_task([1.0] * 40))
    clearer = (("a", "c"), _by_task([0.0] * 60), _by_task([1.0] * 60))
    unsure = (("a", "d"), _by_task([0.0, 1.0]), _by_task([1.0, 1.0]))
    other = (("a", "e"), _by_task([0.0, 1.0, 1.0]), _by_task([1.0, 1.0, 1.0]))

    assert list(conclusions(compare_pairs([clear, clearer, unsure, other]), 1)) == [
        "c is better than a by 100.0 points",
        "further differences that are shown: 1",
        "not enough data in 2 comparisons; with 2 to 3 tasks only differences above 100 points can be seen; "
        "10 points need about 262 to 393 tasks",
    ]
    assert list(conclusions(compare_pairs([unsure]), 1)) == [compare_pairs([unsure])[0].sentence]
    assert compare_pairs([unsure])[0].sentence.startswith("not enough data for a and d; with 2 tasks")


def _by_task(values: list[float]) -> dict[str, float]:
    return {str(n): value for n, value in enumerate(values)}


def test_the_number_of_tasks_that_is_asked_for_is_enough() -> None:
    """The difference that is wanted is then the smallest that is seen."""
    count = tasks_to_show(0.1, 0.25)
    assert count == 197
    assert smallest_seen(count, 0.25 * count) == pytest.approx(0.1, abs=0.002)


def test_power_is_what_it_says() -> None:
    """A true difference of the smallest size that is seen is found about four times in five."""
    dice, count = random.Random(3), 150
    smallest = smallest_seen(count, 0.2 * count)
    found = 0
    for _ in range(400):
        off = [_toss(dice, 0.1 + smallest / 2, 0.1 - smallest / 2) for _ in range(count)]
        found += mcnemar(off.count(1), off.count(-1)) < 0.05
    assert 0.68 < found / 400 < 0.87, "the exact test asks for a little more than the formula"


def _toss(dice: random.Random, gain: float, loss: float) -> int:
    drawn_ = dice.random()
    return 1 if drawn_ < gain else -1 if drawn_ < gain + loss else 0


def _suite(dice: random.Random, count: int, repeats: int) -> tuple[dict[str, float], float]:
    """The tasks' means of one simulated benchmark, and the true mean over all tasks there could be."""
    hard = dice.uniform(0.8, 3)
    chances = [dice.betavariate(hard, 1.5) for _ in range(count)]
    return _answers(dice, chances, repeats), hard / (hard + 1.5)


def _answers(dice: random.Random, chances: list[float], repeats: int) -> dict[str, float]:
    return _by_task([fmean([float(dice.random() < chance) for _ in range(repeats)]) for chance in chances])


def _coverage(suites: int, count: int, repeats: int) -> float:
    dice, held = random.Random(11), 0
    for _ in range(suites):
        values, truth = _suite(dice, count, repeats)
        low, high = rate_interval(list(values.values()))
        held += low <= truth <= high
    return held / suites


def _differences(suites: int, count: int, repeats: int) -> tuple[float, float]:
    """Returns how often the interval of a difference holds the true one, which is 0, and the share of false alarms."""
    dice, held, alarms = random.Random(12), 0, 0
    for _ in range(suites):
        hard = dice.uniform(0.8, 3)
        chances = [dice.betavariate(hard, 1.5) for _ in range(count)]
        a, b = (_answers(dice, chances, repeats) for _ in range(2))
        [found] = compare_pairs([(("a", "b"), a, b)])
        held += found.found.interval.low <= 0 <= found.found.interval.high
        alarms += found.verdict in ("better", "worse")
    return held / suites, alarms / suites


@pytest.mark.slow
def test_intervals_hold_the_truth_and_alarms_are_rare() -> None:
    """The small sister of the simulation below; its bounds leave room for chance."""
    assert 0.92 <= _coverage(1_000, 50, 1) <= 0.98
    held, alarms = _differences(100, 40, 1)
    assert held >= 0.88
    assert alarms <= 0.1


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("count", "repeats"), [(40, 1), (200, 1), (40, 3)])
def test_95_of_100_intervals_hold_the_truth(count: int, repeats: int) -> None:
    assert 0.93 <= _coverage(2_000, count, repeats) <= 0.97


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("count", "repeats"), [(40, 1), (40, 3)])
def test_95_of_100_intervals_of_differences_hold_the_truth_and_false_alarms_are_at_most_5(
    count: int, repeats: int
) -> None:
    held, alarms = _differences(2_000, count, repeats)
    assert 0.93 <= held <= 0.97
    assert alarms <= 0.05
