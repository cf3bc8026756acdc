"""Who speaks next, from what a model says."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.conversation.speakers import matching_name, random_name, round_robin

ANSWERS = [
    json.loads(line)
    for line in (Path(__file__).parent / "data/selector_answers.jsonl").read_text(encoding="utf-8").splitlines()
]


def test_at_least_95_percent_of_200_untidy_selector_answers_are_understood() -> None:
    found = [(answer, matching_name(answer["said"], answer["candidates"])) for answer in ANSWERS]
    wrong = [(answer["said"], got) for answer, got in found if (got[0] if got else None) != answer["right"]]
    fallbacks = sum(got is None for _, got in found)

    print(f"{len(found)} answers, {len(wrong)} wrong, {fallbacks} fallbacks")
    assert len(found) >= 197
    assert len(wrong) <= 0.05 * len(found), wrong
    assert fallbacks <= 0.05 * len(found)


@pytest.mark.parametrize(
    ("answer", "how"),
    [("Bob", "chosen"), ('{"next": "Bob"}', "chosen"), ("**bob**!", "normalised"), ("Bobb", "near match")],
)
def test_how_a_name_was_found_is_told(answer: str, how: str) -> None:
    assert matching_name(answer, ["Bob", "Caroline"]) == ("Bob", how)


@pytest.mark.parametrize("answer", ["", "I can't decide.", "Not Bob, not Caroline.", "{}", "[1, null]", "<think>Bob"])
def test_an_answer_that_means_nobody_is_no_guess(answer: str) -> None:
    assert matching_name(answer, ["Bob", "Caroline"]) is None


@given(st.text(), st.lists(st.text(min_size=1), min_size=1, max_size=4, unique=True))
def test_no_answer_breaks_the_search(answer: str, names: list[str]) -> None:
    found = matching_name(answer, names)

    assert found is None or found[0] in names


def test_round_robin_goes_on_after_the_last_speaker_and_leaves_out_who_left() -> None:
    order = ["ada", "bob", "cy"]

    assert round_robin(order, order, "") == "ada"
    assert round_robin(order, order, "cy") == "ada"
    assert round_robin(["ada", "cy"], order, "ada") == "cy"
    assert round_robin(["ada", "cy"], order, "bob") == "cy"


def test_a_draw_depends_on_seed_and_turn_alone() -> None:
    names = ["ada", "bob", "cy"]

    assert random_name(names, "ada", 1, 5) == random_name(names, "ada", 1, 5)
    assert {random_name(names, "ada", 1, turn) for turn in range(30)} == {"bob", "cy"}
    assert random_name(["ada"], "ada", 1, 5) == "ada"
