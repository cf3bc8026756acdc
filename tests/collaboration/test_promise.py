"""The cut of a promise: how often a pair of which it does not hold passes the test."""

from random import Random

import pytest

from ai_battle.judging.promise import safe_cut

TRIALS, LABELS, LOSS = 400, 200, 0.05


@pytest.mark.parametrize("graded", [False, True])
def test_a_promise_is_broken_in_one_of_twenty_calibrations_at_the_most(graded: bool) -> None:
    """Losses are spread over all scores, so the true loss at a cut is the share below it times what each loses."""
    dice = Random(7)
    of_each = 0.3 * (0.5 if graded else 1.0)
    broken = 0
    for _ in range(TRIALS):
        scores = [dice.random() for _ in range(LABELS)]
        losses = [(dice.random() if graded else 1.0) * (dice.random() < 0.3) for _ in scores]
        found = safe_cut([(score,) for score in scores], losses, LOSS, 0.95, (1.0,))
        broken += found[0] * of_each > LOSS
    assert broken / TRIALS <= 0.05 + 2 * (0.05 * 0.95 / TRIALS) ** 0.5


def test_answers_of_one_rank_all_get_help_or_none() -> None:
    ranks = [(0.1,)] * 150 + [(0.5,)] * 50
    losses = [0.0] * 150 + [1.0] * 20 + [0.0] * 30
    assert safe_cut(ranks, losses, LOSS, 0.95, (1.0,)) == (0.5,)
