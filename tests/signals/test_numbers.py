"""Numbers of a text, and what a text is about, as fast sets."""

import pytest

from ai_battle.signals.languages import name_stems, share, stems
from ai_battle.signals.numbers import quantities, rounded_values, stands_among, without_samples


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("$1,250.50 and 25%", [1250.5, 25]),
        ("half of three dozen", [2, 3, 12]),
        ("Two of 7 days", [7, 2]),
        ("room 12b, 3.", [12, 3]),
        ("nothing", []),
        ("9" * 100, []),
    ],
)
def test_digits_come_first_and_words_then(text: str, found: list[float]) -> None:
    assert list(quantities(text)) == found


@pytest.mark.parametrize("used", [20.0, 0.2, 80.0, 0.8, 1.2, 2_000.0])
def test_a_number_that_is_given_is_found_as_a_percentage_and_as_what_is_left_of_one(used: float) -> None:
    assert stands_among(20, rounded_values([used, 300.0]))
    assert not stands_among(17, rounded_values([used, 300.0]))


def test_samples_of_code_and_of_a_format_are_no_part_of_a_question() -> None:
    assert without_samples('Add 2 and 3, as in `"answer": "42"`.\n```json\n{"answer": 7}\n```').count("2") == 1


def test_stems_are_words_without_endings_and_names_fall_into_words() -> None:
    assert stems("The farmers were farming.") == {"farmer", "were", "farmin"}
    assert name_stems("get_weatherReport.forCity") == {"get", "weathe", "report", "city"}
    assert share(stems("green trees"), stems("a green field")) == 0.5
    assert share(frozenset(), stems("any")) == 0
