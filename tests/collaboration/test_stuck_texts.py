"""Answers in words: right ones are left alone in whatever form and language they come, flaws that show are found."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ai_battle import StuckDetector

DATA = Path(__file__).parent / "data"
LEAST = {
    "cut_off": 22,
    "loop": 20,
    "gives_up": 49,
    "empty_promise": 55,
    "no_answer": 3,
    "bad_code": 27,
    "bad_json": 6,
    "wrong_format": 21,
    "wrong_language": 9,
    "ignores_the_question": 2,
    "repeats_the_other": 6,
    "runs_on": 7,
    "contradicts_itself": 8,
    "compares_wrongly": 5,
    "lacks_a_part": 4,
    "goes_round": 2,
}
"""How many of each flaw are found, of those in the file.

Of texts that are cut off, those that show it by their last word or by an open clause: a missing stop alone shows
nothing, as right answers lack it as well; providers tell how an answer ended.
"""


def cases(name: str) -> Iterator[tuple[str, str, str]]:
    """The heading, the prompt and the answer of each."""
    heading = ""
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            heading = line.removeprefix("# ")
        else:
            prompt, _, answer = line.partition(" => ")
            yield heading, _unescape(prompt), _unescape(answer)


def _unescape(text: str) -> str:
    return text.replace("\\\\", "\0").replace("\\n", "\n").replace("\\t", "\t").replace("\0", "\\")


def test_right_answers_are_left_alone() -> None:
    found = {case: StuckDetector().assess(case[2], case[1]) for case in cases("texts_right.txt")}
    assert {case: each.reason for case, each in found.items() if each.at_once or each.stuck} == {}


@pytest.mark.parametrize("flaw", LEAST)
def test_a_flaw_that_shows_is_found(flaw: str) -> None:
    wrong = [(prompt, answer) for heading, prompt, answer in cases("texts_wrong.txt") if heading == flaw]
    missed = [(prompt, answer) for prompt, answer in wrong if not StuckDetector().assess(answer, prompt).stuck]

    assert len(wrong) - len(missed) >= LEAST[flaw], missed
