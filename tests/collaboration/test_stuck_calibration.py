"""Calibration on answers of one's own: with and without labels, and data that can't be calibrated on."""

import json
import random
from collections.abc import Sequence

import pytest

from ai_battle import StuckDetector
from ai_battle.core.errors import ConfigError
from ai_battle.judging.calibrate import Report, Target, calibrate
from ai_battle.judging.calibration import Calibration
from ai_battle.judging.labels import LabelledAnswer
from ai_battle.judging.regression import RegressionProblem, Term, fit, probability


def answers(number: int, *, helper: float = 0.9, labels: bool = True) -> list[LabelledAnswer]:
    """Sums that hold are right and others wrong, nine times in ten; the helper is right with this probability."""
    dice = random.Random(number)
    made = []
    for _ in range(number):
        a, b = dice.randrange(10, 99), dice.randrange(10, 99)
        holds = dice.random() < 0.6
        result = a + b if holds else a + b + dice.randrange(1, 9)
        counting = "Let me count. " * dice.randrange(4)
        text = f"{counting}There are {a} and then {b} more, so {a} + {b} = {result} in all.\n#### {result}"
        good = float(holds if dice.random() < 0.9 else not holds)
        prompt, helped_ = (
            f"A box holds {a} pens and a bag holds {b}. How many pens are there?",
            float(dice.random() < helper),
        )
        made.append(LabelledAnswer(prompt, text, good, helped_) if labels else LabelledAnswer(prompt, text))
    return made


def help_rate(report: Report, made: Sequence[LabelledAnswer]) -> float:
    detector = StuckDetector(calibration=report.calibration)
    return sum(detector.assess(answer.response, answer.prompt).stuck for answer in made) / len(made)


def test_a_help_rate_needs_no_labels_and_says_how_sure_it_is() -> None:
    made = answers(100, labels=False)
    report = calibrate(made, Target("help_rate", 0.2))
    assert report.labels == 0
    assert report.calibration.error == pytest.approx(0.0784, abs=1e-3)
    assert help_rate(report, made) == pytest.approx(report.calibration.help_rate, abs=0.01)


@pytest.mark.parametrize("rate", [0.2, *(pytest.param(rate, marks=pytest.mark.slow) for rate in (0.05, 0.5))])
def test_of_answers_that_are_judged_alike_any_share_gets_help_and_the_same_ones_each_time(rate: float) -> None:
    made = [LabelledAnswer(f"How many are {n} and {n + 1}?", "I count them all.\n#### 15") for n in range(200)]
    report = calibrate(made, Target("help_rate", rate))
    again = StuckDetector(calibration=Calibration.of_json(json.loads(json.dumps(report.calibration.as_json()))))
    assert help_rate(report, made) == pytest.approx(rate, abs=0.01)
    assert report.calibration.help_rate == pytest.approx(rate, abs=0.01)
    assert [again.assess(a.response, a.prompt).stuck for a in made] == [
        StuckDetector(calibration=report.calibration).assess(a.response, a.prompt).stuck for a in made
    ]


@pytest.mark.slow
def test_what_is_promised_of_the_advantage_comes_on_answers_that_were_not_seen() -> None:
    """The cut is chosen by the lower bound, so a promise is kept in nine of ten draws, not in every other one."""
    everything = answers(2_500)
    kept = 0
    for start in range(0, 2_000, 200):
        report = calibrate(everything[start : start + 200], Target("pgr", 0.8))
        detector, others = StuckDetector(calibration=report.calibration), everything[2_000:]
        stuck = [detector.assess(a.response, a.prompt).stuck for a in others]
        served = [(a.helper_good if s else a.good) or 0.0 for a, s in zip(others, stuck, strict=True)]
        small, large = sum(a.good or 0.0 for a in others), sum(a.helper_good or 0.0 for a in others)
        kept += sum(served) - small >= 0.8 * (large - small)
    assert kept >= 9


@pytest.mark.slow
def test_with_labels_the_quality_that_is_asked_for_is_reached_with_the_fewest_calls() -> None:
    made = answers(300)
    report = calibrate(made, Target("quality", 0.8))
    assert report.refit
    rate = help_rate(report, made)
    assert rate == pytest.approx(report.calibration.help_rate, abs=0.01)
    stuck = [StuckDetector(calibration=report.calibration).assess(a.response, a.prompt).stuck for a in made]
    reached = [(a.helper_good if s else a.good) or 0.0 for a, s in zip(made, stuck, strict=True)]
    assert sum(reached) / len(reached) > 0.75
    assert rate < 0.6


def test_the_curve_runs_from_the_small_model_to_the_large_one_within_its_intervals() -> None:
    made = answers(120)
    report = calibrate(made, Target("pgr", 0.8))
    assert [report.curve[0].help_rate, report.curve[-1].help_rate] == [0, 1]
    assert report.curve[0].quality == pytest.approx(sum(a.good or 0 for a in made) / len(made))
    assert report.curve[-1].quality == pytest.approx(sum(a.helper_good or 0 for a in made) / len(made))
    assert all(point.low <= point.quality <= point.high for point in report.curve)


@pytest.mark.slow
def test_quality_means_what_it_says_after_calibration() -> None:
    made = answers(300)
    detector = StuckDetector(calibration=calibrate(made, Target("help_rate", 0.3)).calibration)
    said = [detector.assess(answer.response, answer.prompt).quality for answer in made]
    assert sum(said) / len(said) == pytest.approx(sum(a.good or 0 for a in made) / len(made), abs=0.05)


def test_below_fifty_labels_only_the_cut_moves() -> None:
    few = calibrate(answers(40), Target("quality", 0.8))
    assert not few.refit
    assert few.calibration.corrections == {}


@pytest.mark.slow
def test_a_limit_in_dollars_is_a_share_of_help_that_is_never_exceeded() -> None:
    """Answers that are judged alike are helped all or none, so the share can be smaller."""
    made = answers(100)
    small, large = (Target("max_cost", dollars, own_price=0.001, helper_price=0.01) for dollars in (0.003, 0.007))
    assert calibrate(made, small).calibration.help_rate <= 0.2
    assert 0.2 < calibrate(made, large).calibration.help_rate <= 0.6


def test_where_the_helper_is_no_better_no_answer_gets_help_and_it_is_said() -> None:
    made = answers(100, helper=0.2)
    report = calibrate(made, Target("quality", 0.9))
    assert not report.helps
    assert "brings nothing" in report.note
    assert help_rate(report, made) == 0


def test_a_calibration_survives_its_way_through_json() -> None:
    calibration = calibrate(answers(60), Target("help_rate", 0.25)).calibration
    assert Calibration.of_json(json.loads(json.dumps(calibration.as_json()))) == calibration
    assert Calibration.of_json(json.loads(json.dumps(calibration.as_json()))).corrections == calibration.corrections


@pytest.mark.parametrize(
    ("made", "target", "said"),
    [
        (answers(30, labels=False), Target("quality", 0.8), "None of the 30 answers"),
        (answers(10), Target("quality", 0.8), "10 answers with labels are too few"),
        (answers(10, labels=False), Target("help_rate", 0.2), "10 answers are too few"),
        ([a for a in answers(100) if a.good], Target("quality", 0.8), "answers are right"),
        ([a for a in answers(100) if not a.good], Target("quality", 0.8), "answers are wrong"),
        (answers(50), Target("max_cost", 0.1), "price"),
    ],
)
def test_data_that_cannot_tell_is_refused_with_the_reason(
    made: list[LabelledAnswer], target: Target, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        calibrate(made, target)


@pytest.mark.parametrize("data", [{}, {"cut": "high"}, {"cut": 0.1, "corrections": {"maths": {}}}])
def test_a_calibration_that_nobody_wrote_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="calibrate"):
        Calibration.of_json(data)


def test_the_prior_decides_where_there_are_no_data_and_the_data_where_there_are_many() -> None:
    dice = random.Random(1)
    column = [dice.gauss(0, 1) for _ in range(2_000)]
    labels = [float(dice.random() < probability(1.5 * value - 0.5)) for value in column]

    def fit_rows(rows: int) -> list[float]:
        terms = [Term(column[:rows], 8.0, prior=-1.0), Term([1.0] * rows, 0.01)]
        return fit(RegressionProblem(terms, labels[:rows], [1.0] * rows))

    assert fit_rows(2)[0] == pytest.approx(-1.0, abs=0.2)
    assert fit_rows(2_000) == pytest.approx([1.5, -0.5], abs=0.2)


def test_a_prior_far_from_the_data_does_not_lead_astray() -> None:
    """Newton's method alone runs away from here."""
    terms = [Term([float(place % 2) for place in range(200)], 0.1, prior=9.0), Term([1.0] * 200, 0.01, prior=12.0)]
    labels = [float(place % 4 == 1) for place in range(200)]
    weights = fit(RegressionProblem(terms, labels, [1.0] * 200))
    assert probability(sum(weights)) == pytest.approx(0.5, abs=0.05)
