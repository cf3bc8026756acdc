"""Text that goes round in circles, and text that stops in the middle."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.signals.endings import four_word_repetition, is_cut_off, looping_tail

SENTENCE = "We add the numbers and get the next number of the row. "


@pytest.mark.parametrize(("text", "period"), [(SENTENCE * 4, len(SENTENCE)), ("a" * 80, 1), ("So 12. " * 20, 7)])
def test_a_block_that_comes_again_and_again_at_the_end_is_a_loop(text: str, period: int) -> None:
    assert looping_tail(text) == period


@pytest.mark.parametrize(
    "text", ["", SENTENCE * 2, "-" * 200, "a b c " * 4, "| - " * 50, f"{SENTENCE * 5}Done, it is 5."]
)
def test_rules_dots_and_a_text_that_goes_on_are_none(text: str) -> None:
    assert looping_tail(text) == 0


@given(st.text("ab .", max_size=40), st.text("ab .", min_size=1, max_size=40), st.integers(0, 70))
def test_the_period_is_the_shortest_block_that_the_end_repeats_for_sixty_signs(begin: str, block: str, n: int) -> None:
    text = (begin + block * n).rstrip()
    lengths = range(1, len(text) // 3 + 1)
    shortest = next((n for n in lengths if text.endswith(text[-n:] * max(3, -(-60 // n)))), 0)
    assert looping_tail(text) == (shortest if text[-shortest:].strip(" .") else 0)


def test_repetition_is_the_share_of_runs_of_four_words_that_were_there_before() -> None:
    assert four_word_repetition(SENTENCE * 10) > 0.8
    assert four_word_repetition(" ".join(map(str, range(100)))) == 0
    assert four_word_repetition("too short to tell too short to tell") == 0


@pytest.mark.parametrize(
    "text",
    [
        "The total is",
        "First, we add 3 +",
        "```python\nprint(1)",
        '{"answer": "4',
        "It costs more than the",
        "So (1, 2,",
    ],
)
def test_a_text_that_stops_in_the_middle_is_cut_off(text: str) -> None:
    assert is_cut_off(text)


@pytest.mark.parametrize(
    "text",
    [
        "It is 4.",
        "4",
        "",
        "```python\nprint(1)\n```",
        '{"answer": "4"}',
        '```json\n{"answer": 4}',
        "Which one do you want?",
        "#### 18",
    ],
)
def test_a_text_that_ends_is_not(text: str) -> None:
    assert not is_cut_off(text)
