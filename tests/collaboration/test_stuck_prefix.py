"""Reading along while an answer streams."""

import pytest

from ai_battle import StuckDetector
from ai_battle.core.exchange import ModelRequest, ToolSpec
from ai_battle.core.messages import user
from ai_battle.judging.early_stop import Prefix
from tests.growing import IN_PROPORTION, growth

LOOP = "Then we add the next number to the sum and get the next sum. "
PROSE = " ".join(f"Line {number} says that {number * 7} follows {number * 3}." for number in range(400))


def read(text: str, piece: int = 7, *, offers_tools: bool = False) -> Prefix:
    watcher = Prefix(offers_tools=offers_tools)
    for start in range(0, len(text), piece):
        if watcher.feed(text[start : start + piece]):
            break
    return watcher


@pytest.mark.parametrize("piece", [1, 7, 5_000])
def test_a_loop_is_cut_short_however_the_text_comes(piece: int) -> None:
    watcher = read(PROSE[:1_000] + LOOP * 200, piece)
    assert "circles" in watcher.reason
    if piece < 100:
        assert watcher.length < 3_000


def test_a_refusal_is_cut_short_at_its_opening_unless_tools_are_offered() -> None:
    text = f"I'm sorry, but I can't help with that. {PROSE}"
    assert "refuses" in read(text).reason
    assert read(text).length < 300
    assert read(text, offers_tools=True).reason == ""


def test_rambling_is_cut_short() -> None:
    words = ["the sum is large", "and so it goes on", "we try this again", "as before it was"]
    text = " ".join(words[(number * number) % 4] for number in range(600))
    assert read(text).reason


@pytest.mark.parametrize("text", ["", "It is 4.", PROSE, "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, " * 8 + PROSE, "- " * 2_000])
def test_what_goes_on_is_read_to_its_end(text: str) -> None:
    watcher = read(text)
    assert watcher.reason == ""
    assert watcher.length == len(text)


def test_the_first_reason_stays() -> None:
    watcher = read(LOOP * 200)
    assert watcher.feed(PROSE) == watcher.reason != ""


def test_the_detector_hands_out_one_reader_for_each_answer() -> None:
    detector = StuckDetector()
    request = ModelRequest((user("Hello"),), tools=(ToolSpec("clock"),))
    assert detector.watch(request) is not detector.watch(request)
    assert detector.watch(request).feed("I'm sorry, I can't help with that. " + "x" * 300) == ""


def test_a_character_costs_the_same_at_the_end_of_a_long_answer() -> None:
    def read(words: int) -> None:
        watcher = Prefix()
        for number in range(words):
            watcher.feed(f"word {number * 7919 % 10_007} ")

    assert growth(read, 1_500) < IN_PROPORTION
