"""The picture of a calibration can be read."""

import re
from itertools import pairwise

import pytest
import yaml

from ai_battle.judging.calibrate import Report, Target, calibrate
from ai_battle.judging.calibration import Calibration
from ai_battle.judging.labels import LabelledAnswer
from ai_battle.reporting.calibration import LINE_WIDTH, fragment, likely, page, recommendation

RIGHT, WRONG = "7 * 24 = 168. The answer is 168.", "7 * 24 = 158. The answer is 158."
PROMPT = "A tray holds 24 rolls. How many are on 7 trays?"
SAVED = Target("help_rate", 0.3)


def answers(number: int = 60, helper: float = 1.0) -> list[LabelledAnswer]:
    return [LabelledAnswer(PROMPT, RIGHT if n % 3 else WRONG, float(n % 3 > 0), helper) for n in range(number)]


def recommendation_of(target: Target, made: list[LabelledAnswer]) -> str:
    return " ".join(recommendation(calibrate(made, target), target))


def test_each_line_has_a_name_and_no_two_names_lie_upon_each_other() -> None:
    drawn = page(calibrate(answers(), SAVED), SAVED, 60)

    names = {name: float(y) for y, name in re.findall(r'<text x="648" y="([\d.]+)"[^>]*>(\w+)</text>', drawn)}
    heights = sorted(names.values())
    assert {*names} == {"detector", "length", "oracle", "random", "never", "always"}
    assert min(b - a for a, b in pairwise(heights)) >= 12


def test_the_picture_says_what_its_axes_are_and_where_the_recommended_share_lies() -> None:
    drawn = page(calibrate(answers(), SAVED), SAVED, 60)

    assert "share of answers that get help" in drawn
    assert "recommended: 33.3%" in drawn
    assert "its 95 % interval is shaded" in drawn


def test_nothing_is_drawn_beyond_the_frame() -> None:
    """The upper end of the interval included, that is above all lines."""
    drawn = page(calibrate(answers(helper=0.5), SAVED), SAVED, 60)

    (band,) = re.findall(r'<polygon points="([^"]+)"', drawn)
    heights = [float(point.partition(",")[2]) for point in band.split()]
    assert min(heights) >= 32
    assert max(heights) <= 322


def test_without_labels_there_is_no_empty_table() -> None:
    made = [LabelledAnswer(PROMPT, RIGHT if n % 3 else WRONG) for n in range(60)]
    drawn = page(calibrate(made, SAVED), SAVED, 60)

    assert "60 answers, without labels." in drawn
    assert "no curve of quality" in drawn
    assert not {"<table", "<svg"} & {*re.findall(r"<\w+", drawn)}


def test_where_help_brings_nothing_the_page_does_not_recommend_any() -> None:
    drawn = page(calibrate(answers(helper=0.1), SAVED), SAVED, 60)

    assert "asking it brings nothing" in drawn
    assert "get help (±" not in drawn
    assert "calibration:" not in drawn
    assert "recommended:" not in drawn


def test_what_the_recommended_share_is_likely_to_bring_is_told() -> None:
    assert "33.3% of the answers get help" in recommendation_of(Target("quality", 1), answers())
    assert "about 1.000 (95 % interval" in recommendation_of(Target("quality", 1), answers())
    assert "100% of the helper's advantage" in recommendation_of(Target("quality", 1), answers())


def test_what_is_likely_lies_within_its_interval_also_between_two_points_of_the_curve() -> None:
    found = likely(calibrate(answers(), SAVED))

    assert found
    assert found.quality == 1
    assert 0.8 < found.low <= found.quality <= found.high


@pytest.mark.parametrize(
    ("target", "made", "words"),
    [
        (Target("quality", 0.99), answers(helper=0.9), "No share of help reaches a quality of 0.99: the most is 0.967"),
        (Target("help_rate", 0.1), answers(), "repeat each other, and get help all or none: 0.0% is as near to 10.0%"),
        (Target("max_cost", 0.001, 0.0, 0.01), answers(), "all or none: 0.0% is as near to 10.0%"),
        (Target("max_cost", 0.001, 0.002, 0.01), answers(), "alone costs $0.0020 an answer, so nothing is left"),
        (Target("max_cost", 0.005, 0.001, 0.01), answers(), "An answer costs about $0.0043 on average."),
        (Target("quality", 0.98), answers(helper=0.95), "No share of help is sure to reach a quality of 0.98"),
        (Target("pgr", 0.5), answers(helper=0.7), "Whether the helper is better at all is not certain"),
    ],
)
def test_what_to_know_before_relying_on_it_is_told(target: Target, made: list[LabelledAnswer], words: str) -> None:
    assert words in recommendation_of(target, made)


def test_nothing_is_doubted_without_a_reason() -> None:
    assert [*recommendation(calibrate(answers(), Target("help_rate", 1 / 3)), Target("help_rate", 1 / 3))][2:] == []


def test_what_a_pair_is_given_is_yaml_in_lines_that_fit_a_terminal() -> None:
    report = calibrate(answers(300), SAVED)
    written = fragment(report)
    loaded = yaml.safe_load(written)["calibration"]

    assert max(map(len, written.splitlines())) <= LINE_WIDTH
    assert Calibration.of_json(loaded) == report.calibration
    assert Calibration.of_json(loaded).corrections == report.calibration.corrections


def test_a_cut_of_nothing_is_written_as_well() -> None:
    assert fragment(Report(Calibration(0.0), labels=0, refit=False)) == 'calibration: {"cut": 0.0}'


@pytest.mark.parametrize("path", ["own.json", "of mine/own.json", "C: own #2.json"])
def test_a_path_is_written_so_that_it_is_read_as_it_is(path: str) -> None:
    assert yaml.safe_load(fragment(Report(Calibration(0.0), labels=0, refit=False), path)) == {"calibration": path}
