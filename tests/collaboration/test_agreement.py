"""Which answers say the same, and how much that is worth."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.core.exchange import ModelRequest, ModelResponse, ToolSpec
from ai_battle.core.messages import Message, ToolCall, assistant, user
from ai_battle.judging.agreement import Ballot, VoteCount, assessment_with_votes, ballot
from ai_battle.judging.assessment import Assessment

WEATHER = ToolSpec(
    "weather",
    schema={
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 1}},
        "required": ["city"],
    },
)
EIGHTEEN, TWENTY = Ballot("number", "18"), Ballot("number", "20")
DOUBTFUL = Assessment(0.6, 0.2, stuck=True)


def ballot_of_text(text: str, prompt: str = "How many?", **details: Any) -> Ballot | None:
    return ballot(ModelRequest((user(prompt),), **details), ModelResponse(assistant(text)))


def ballot_of_calls(*calls: ToolCall) -> Ballot | None:
    return ballot(ModelRequest((user("Hot?"),), tools=(WEATHER,)), ModelResponse(Message("assistant", calls)))


def test_answers_are_compared_by_what_they_come_down_to() -> None:
    assert ballot_of_text("So 7 + 11 = 18.\n#### 18") == ballot_of_text("**Answer:** $18.00") == EIGHTEEN
    assert ballot_of_text("It is B.", "Which?\n(A) one\n(B) two") == Ballot("option", "B")
    assert ballot_of_text("Paris!", "Which city?") == ballot_of_text("paris", "Which city?")
    assert ballot_of_text("A long story. " * 100, "Tell me one.") is None


def test_calls_are_the_same_whatever_their_spelling_order_and_ids() -> None:
    one = ballot_of_calls(
        ToolCall("weather", {"city": "Rome"}, "a"), ToolCall("weather", {"city": "Oslo", "days": 2}, "b")
    )
    other = ballot_of_calls(
        ToolCall("weather", {"days": "2", "city": "Oslo"}), ToolCall("weather", {"days": 1, "city": "Rome"})
    )
    assert one == other
    assert one != ballot_of_calls(ToolCall("weather", {"city": "Rome"}))


def test_json_is_the_same_whatever_stands_around_it() -> None:
    schema = {"type": "object"}
    one = ballot_of_text('{"a": 1, "b": [2]}', output_schema=schema)
    assert one == ballot_of_text('Here it is:\n```json\n{"b": [2.0], "a": 1}\n```', output_schema=schema)
    assert one != ballot_of_text('{"a": 2}', output_schema=schema)
    assert ballot_of_text("I have no object.", output_schema=schema) != one


@pytest.mark.parametrize("text", ["{" * 10_000, "[" * 100_000, '{"a": ' * 5_000, "", "}"])
def test_hostile_json_is_no_ballot_and_no_error(text: str) -> None:
    assert ballot_of_text(text, output_schema={"type": "object"}) is None


@pytest.mark.parametrize(
    ("votes", "leading"),
    [
        ("aab", (0, 1)),
        ("baa", (1, 2)),
        ("abc", ()),
        ("ab", ()),
        ("aa", (0, 1)),
        ("aabb", ()),
        ("aabc", (0, 1)),
        ("aabcd", ()),
        ("a", ()),
        ("", ()),
        ("a??", ()),
        ("aa?", (0, 1)),
        ("???", ()),
    ],
)
def test_what_leads_is_said_by_two_by_half_and_by_more_than_anything_else(votes: str, leading: tuple[int, ...]) -> None:
    """A question mark is an answer that can't be compared: it agrees with nothing."""
    assert VoteCount.of(None if vote == "?" else Ballot("text", vote) for vote in votes).leading == leading


def test_the_margin_says_how_divided_opinions_are() -> None:
    of_one_mind, divided = VoteCount.of([EIGHTEEN] * 3), VoteCount.of([EIGHTEEN, TWENTY, None])
    assert (of_one_mind.margin, divided.margin) == (3, 0)
    assert (VoteCount.of([EIGHTEEN, TWENTY, EIGHTEEN]).margin, VoteCount.of([]).margin) == (1, 0)


@given(st.lists(st.sampled_from([EIGHTEEN, TWENTY, None]), max_size=9))
def test_every_vote_is_counted_once(votes: list[Ballot | None]) -> None:
    tally = VoteCount.of(votes)
    assert sorted(place for group in tally.groups for place in group) == list(range(len(votes)))
    assert 0 <= tally.margin <= len(votes)


def test_agreement_raises_and_disagreement_lowers_what_an_answer_is_worth() -> None:
    agreed = assessment_with_votes(DOUBTFUL, EIGHTEEN, [EIGHTEEN])
    differing = assessment_with_votes(DOUBTFUL, EIGHTEEN, [TWENTY])
    assert (
        differing.quality
        < 0.4
        < DOUBTFUL.quality
        < 0.9
        < agreed.quality
        < assessment_with_votes(DOUBTFUL, EIGHTEEN, [EIGHTEEN] * 2).quality
    )
    assert (agreed.signals["agreement"], differing.signals["agreement"]) == (1, 0)


def test_agreement_does_not_mend_an_answer_that_fails_a_hard_check() -> None:
    cut_off = Assessment(0, 1, stuck=True, at_once=True)
    assert assessment_with_votes(cut_off, EIGHTEEN, [EIGHTEEN, EIGHTEEN]) is cut_off
