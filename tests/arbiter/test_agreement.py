"""Krippendorff's alpha, against the figures that were published with their data."""

import pytest

from ai_battle.arbiter.verdict import krippendorff_alpha

# "Computing Krippendorff's Alpha-Reliability" (2011), example C: four observers, twelve units; interval alpha 0.849.
EXAMPLE_C = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)
# The example of Wikipedia's article on Krippendorff's alpha: three coders, fifteen units; interval alpha 0.811.
THREE_CODERS = (
    ". . . . . 3 4 1 2 1 1 3 3 . 3",
    "1 . 2 1 3 3 4 3 . . . . . . .",
    ". . 2 1 3 4 4 . 2 1 1 3 3 . 4",
)


@pytest.mark.parametrize(("raters", "published"), [(EXAMPLE_C, 0.849), (THREE_CODERS, 0.811)])
def test_it_is_what_was_published(raters: tuple[str, ...], published: float) -> None:
    values = [[None if value == "." else float(value) for value in rater.split()] for rater in raters]
    assert krippendorff_alpha([*zip(*values, strict=True)]) == pytest.approx(published, abs=0.0005)


def test_raters_who_agree_have_one_and_those_who_differ_more_than_by_chance_less_than_none() -> None:
    assert krippendorff_alpha([(1, 1), (4, 4), (9, 9)]) == 1
    assert (krippendorff_alpha([(1, 9), (9, 1)]) or 0) < 0


@pytest.mark.parametrize("units", [[], [(1,), (2,)], [(3, 3), (3, 3)], [(1, None), (None, 2)]])
def test_nothing_is_said_where_nothing_can_be_compared(units: list[tuple[float | None, ...]]) -> None:
    assert krippendorff_alpha(units) is None
