"""Answers in words: right ones are left alone in whatever form and language they come, flaws that show are found."""
# ruff: noqa: RUF001

from collections.abc import Iterator
from pathlib import Path

import pytest

from ai_battle import StuckDetector

DATA = Path(__file__).parent / "data"
LEAST = {
    "cut_off": 20,
    "loop": 20,
    "gives_up": 49,
    "empty_promise": 55,
    "no_answer": 3,
    "bad_code": 27,
    "bad_json": 6,
    "wrong_format": 25,
    "wrong_language": 9,
    "ignores_the_question": 2,
    "repeats_the_other": 6,
    "runs_on": 7,
    "contradicts_itself": 8,
    "compares_wrongly": 4,
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


FRAMES = {
    "en": (
        "Absolutely! Here it is:\n\n{}",
        "{}\n\nFeel free to reach out if you have further questions.",
        "{} Hope that helps!",
        "Great question! {}",
        "{}\n\nWould you like me to explain it in more detail?",
        "> {}",
        "Here you go:\n\n> {}",
        "```\n{}\n```",
    ),
    "de": (
        "Klar! {}",
        "{}\n\nSag mir gern Bescheid, wenn du noch etwas brauchst.",
        "{} Ich hoffe, das hilft dir weiter.",
    ),
    "fr": ("Avec plaisir ! {}", "{}\n\nDites-moi si vous avez d'autres questions."),
    "es": ("¡Por supuesto! Aquí tienes:\n\n{}", "{} Avísame si necesitas algo más."),
    "zh": ("当然可以！{}", "{}\n\n希望对你有帮助！"),
}
FRAMED_RIGHT = (
    ("en", "Which is older, the Colosseum or the Eiffel Tower?", "The Colosseum."),
    ("en", "Put 14, 3 and 9 in order.", "3, 9, 14"),
    ("en", "What do 6 pens at $1.20 each cost?", "They cost $7.20."),
    ("en", "Write one line about rain.", "Rain drums softly on the tin roof."),
    ("de", "Was kosten 4 Brötchen zu je 0,45 €?", "Sie kosten 1,80 €."),
    ("fr", "Combien font 7 fois 8 ?", "56"),
    ("es", "¿Cuál es la capital de Perú?", "Lima."),
    ("zh", "8乘以7是多少？", "56"),
)
FRAMED_WRONG = (
    ("en", "What is 19 + 24?", "44"),
    ("en", "What do 6 pens at $1.20 each cost?", "6 × $1.20 = $8.20"),
    ("en", "Tell me about Oslo's harbour.", "I can't help with that."),
    ("de", "Erzähl mir etwas über Bremen.", "Das weiß ich leider nicht."),
    ("fr", "Combien font 7 fois 8 ?", "7 × 8 = 54"),
    ("es", "Háblame de Sevilla.", "Lo siento, no puedo ayudarte con eso."),
)


@pytest.mark.parametrize(("language", "prompt", "answer"), [*FRAMED_RIGHT, *FRAMED_WRONG])
def test_courtesies_and_quote_marks_around_an_answer_change_nothing(language: str, prompt: str, answer: str) -> None:
    is_wrong = (language, prompt, answer) in FRAMED_WRONG
    framed = [frame.format(answer) for frame in FRAMES[language]]

    assert {text: StuckDetector().assess(text, prompt).stuck for text in framed} == dict.fromkeys(framed, is_wrong)


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("Hi there, quick question. What is 68138 + 25635? Thanks!", "The sum is 93,772."),
        ("How many minutes is 5.75 hours?", "5.75\u00a0h\u00a0* 60\u00a0= 336\u00a0minutes"),
        ("How large is a floor of 6.0 m by 2.8 m?", "$6.0$ x $2.8$ = 16.71"),
        ("What is 23 + 19?", "I cannot perform calculations. 😊"),
    ],
)
def test_nor_do_courtesies_around_a_prompt_and_typography(prompt: str, answer: str) -> None:
    assert StuckDetector().assess(answer, prompt).stuck
