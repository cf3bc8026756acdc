"""Steps of a model that works with tools: when it is in trouble, and what is measured of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.signals.trouble import ToolStep, in_trouble, same_errors, troubles
from tests.growing import IN_PROPORTION, growth

LOOK = ToolStep("SELECT * FROM players", "[('Ann', 3), ('Bo', 5)]")
NO_TABLE = ToolStep("SELECT * FROM result", "Error executing query: Table 'poker.result' doesn't exist")
OTHER_TABLE = ToolStep("SELECT name FROM results", "Error executing query: Table 'poker.results' doesn't exist")
EMPTY = ToolStep("SELECT 1 WHERE 0", "[]")
TEXTS = st.text(max_size=60)
STEPS = st.lists(st.builds(ToolStep, TEXTS, TEXTS, st.booleans()), max_size=30)


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([LOOK, EMPTY], ""),
        ([LOOK, NO_TABLE, LOOK], "a call was repeated"),
        ([LOOK, ToolStep("select  *  from PLAYERS", "[]")], "a call was repeated"),
        ([NO_TABLE, OTHER_TABLE], "two calls in a row failed"),
        ([NO_TABLE, LOOK, OTHER_TABLE], "the same error came twice"),
        ([NO_TABLE, LOOK, ToolStep("DROP x", "Error: you may not")], ""),
        ([], ""),
    ],
)
def test_what_counts_as_trouble(steps: list[ToolStep], why: str) -> None:
    assert in_trouble(steps) == why


@pytest.mark.parametrize(
    "result",
    ['{"error": "no such file"}', "Traceback (most recent call last):", "ValueError: x", "Error: y", "FATAL disk full"],
)
def test_a_result_that_reads_like_an_error_is_one(result: str) -> None:
    assert ToolStep("call", result).is_failure


@pytest.mark.parametrize("result", ["", "[]", "{}", "None", "null", "[()]", "No results found.", "[(None,)]"])
def test_a_result_may_bring_nothing_without_being_an_error(result: str) -> None:
    assert not ToolStep("call", result).is_failure
    assert not ToolStep("call", result).brought_something


@pytest.mark.parametrize("result", ["0", "[(0,)]", "errors are rare here", "The answer", '{"error_rate": 0.1}'])
def test_a_result_that_says_something_is_neither(result: str) -> None:
    assert ToolStep("call", result).brought_something


def test_errors_are_the_same_whatever_names_and_numbers_stand_in_them() -> None:
    assert same_errors([NO_TABLE, LOOK, OTHER_TABLE, ToolStep("x", "Error: other")]) == 1


def test_measures_tell_a_model_that_gropes_from_one_that_finds() -> None:
    gropes = troubles([NO_TABLE, OTHER_TABLE, NO_TABLE], "Which players are there?")
    finds = troubles([ToolStep("SHOW TABLES", "[('players',)]"), LOOK], "Which players are there?")
    assert (gropes["nothing_yet"], finds["nothing_yet"]) == (1, 0)
    assert gropes["alike"] == 1 > finds["alike"]
    assert gropes["ungrounded"] > finds["ungrounded"]
    assert (gropes["two_errors"], gropes["same_error"], gropes["repeated"]) == (1, 2, 1)
    assert troubles([]) == {}


@given(STEPS, TEXTS)
def test_no_trajectory_is_too_odd(steps: list[ToolStep], prompt: str) -> None:
    in_trouble(steps)
    found = troubles(steps, prompt)
    assert all(isinstance(value, float) for value in found.values())
    assert bool(found) == bool(steps)


def test_time_grows_no_faster_than_the_texts_of_a_trajectory() -> None:
    """Only the newest steps and the beginnings of texts are looked at."""

    def look(size: int) -> None:
        quotes = "'" * size + "{" * size + "x"
        steps = [ToolStep(f"call {n} " + "x " * size, quotes) for n in range(100)]
        in_trouble(steps)
        troubles(steps, "word " * size)

    assert growth(look, 2_000) < IN_PROPORTION
