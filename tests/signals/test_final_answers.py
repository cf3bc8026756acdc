"""The final answer of a text: found as models write it, and compared as people would."""

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.signals.final_answers import FinalAnswer, Kind, final_answer, kind_of, options, same
from ai_battle.signals.numbers import amounts, plain
from tests.growing import IN_PROPORTION, growth

CORPUS = Path(os.environ.get("AI_BATTLE_CORPORA", "")) / "cascade"
KINDS = get_args(Kind)
CHOICE = "Which one?\n(A) red\n(B) a blue one\n(C) 0.39\n(D) none of these"
NUMBERS = {
    "$1,200.00": "1200",
    "3/4": "0.75",
    "1 1/2": "1.5",
    "25 %": "25",
    "2.5e3": "2500",
    r"\frac{1}{2}": "0.5",
    r"\$5": "5",
    "1{,}000": "1000",
    "1.2k": "1200",
    "\u22125": "-5",
    "-$5": "-5",
    ".5": "0.5",
    "33.333333": "33.33",
    "100/3": "33.33",
    "1/3": "0.333",
    "0.333333": "0.333",
    "2.999": "3",
}
SAYING_18 = (
    "So 6 * 3 = 18.\n#### 18",
    "#### $18.00",
    r"Therefore \boxed{18}.",
    r"\[ \boxed{\$18} \]",
    "The answer is 18.",
    "**Final answer:** 18 dollars",
    "The final answer is: **18**. It is not 17.",
    "Answer: She makes $18 at the 1 market.",
    "The correct answer to this question would be 18",
    '{"reasoning": "7 + 11 is what we want", "answer": "18"}',
    '```json\n{"answer": 18}\n```\nThat is all, in 3 steps.',
    '{"answer": "7 + 11 = 18"}',
    "Die Antwort ist 18.",
    "La respuesta es 18.",
    "La r\u00e9ponse est : 18",
    "\u7b54\u6848\u662f18\u3002",
    "I first said that the answer is 17. Wait, the answer is 18.",
    "It costs 3 dollars each, so all of them cost 18.0 dollars.",
)
PICKING_B = (
    "The answer is (B).",
    "Answer: B",
    "**B**",
    "B",
    "b)",
    "(B) a blue one",
    r"\boxed{\text{B}}",
    "I think option B fits best.",
    '{"answer": "B. a blue one"}',
    "The correct answer is a blue one.",
    "(A) is wrong, and so is (C). It must be (B), I believe.",
)


@pytest.mark.parametrize("written", NUMBERS)
def test_a_number_is_read_as_people_write_it(written: str) -> None:
    assert [plain(amount.value) for amount in amounts(written)] == [NUMBERS[written]]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("20 x 4 = <<20*4=80>>80", ["20", "4", "20", "4", "80", "80"]),
        ("5-3", ["5", "3"]),
        ("x2 and v1.2.3", []),
        ("1/0", []),
        ("9" * 5000, []),
        ("1, 2,3", ["1", "2", "3"]),
    ],
)
def test_what_is_part_of_a_word_or_can_not_be_a_value_is_no_number(text: str, found: list[str]) -> None:
    assert [plain(amount.value) for amount in amounts(text)] == found


@pytest.mark.parametrize("text", SAYING_18)
def test_a_number_is_found_however_it_is_stated(text: str) -> None:
    found = final_answer(text, "How many are 7 and 11?")
    assert found is not None
    assert (found.kind, found.key) == ("number", "18")


@pytest.mark.parametrize("text", PICKING_B)
def test_an_option_is_found_however_it_is_picked(text: str) -> None:
    found = final_answer(text, CHOICE)
    assert found is not None
    assert (found.kind, found.key) == ("option", "B")


@pytest.mark.parametrize("text", ["I am not sure at all.", "A man walks into a bar.", "", "The answer is (Q)."])
def test_a_text_that_picks_no_option_has_no_final_answer(text: str) -> None:
    assert final_answer(text, CHOICE) is None


def test_an_option_that_is_given_by_its_value_is_that_option() -> None:
    assert final_answer("The answer is 0.39.", CHOICE) == FinalAnswer("option", "0.39", "C")


def test_the_last_number_stands_in_where_no_answer_is_stated_and_it_is_said() -> None:
    found = final_answer("He runs 60 * 9 meters, which makes 540 meters.", "How many meters?")
    assert found == FinalAnswer("number", "540", "540", stated=False)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("['a', 1]", '["a",1]'),
        ("hello you", "'hello you'"),
        ("''", '""'),
        ("assert f(1) == [2]", "[ 2 ]"),
        ("`7`", "7"),
    ],
)
def test_values_of_programs_are_the_same_whatever_their_quotes_and_spaces(a: str, b: str) -> None:
    assert same(final_answer(a, kind="code"), final_answer(b, kind="code"))


@pytest.mark.parametrize(("a", "b"), [("'a b'", "'a  b'"), ("['a b']", "['ab']"), ("[1, 2]", "[12]"), ("'X'", "'x'")])
def test_values_of_programs_differ_where_a_program_would_tell_them_apart(a: str, b: str) -> None:
    assert not same(final_answer(a, kind="code"), final_answer(b, kind="code"))


def test_words_are_the_same_whatever_their_case_and_marks() -> None:
    assert same(final_answer("The answer is: **Paris**!", "Capital?"), final_answer("paris", "Capital?"))
    assert not same(final_answer("paris", "Capital?"), final_answer("london", "Capital?"))


def test_formulas_are_compared_whole() -> None:
    """Not by the first number in them."""
    a, b = (final_answer(rf"\boxed{{2\sqrt{{{n}}}}}", kind="number") for n in (3, 5))
    assert a is not None
    assert not same(a, b)
    assert same(a, final_answer(r"The answer is $2 \sqrt{3}$.", kind="number"))


def test_what_is_no_answer_is_the_same_as_nothing() -> None:
    assert not same(None, None)


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        (CHOICE, "option"),
        ("A) yes\nB) no", "option"),
        ("What does this print?\n```python\nprint(1)\n```", "code"),
        ("[PYTHON]\ndef f(x): return x\nassert f(1) == ??\n[/PYTHON]", "code"),
        ("James runs 3 sprints. How many meters is that?", "number"),
        ('How much do 2 cost? Answer as ```json\n{"answer": "___"}\n```', "number"),
        ("Why is the sky blue?", "text"),
        ("", "text"),
    ],
)
def test_the_prompt_says_what_kind_of_answer_it_wants(prompt: str, kind: Kind) -> None:
    assert kind_of(prompt) == kind


@pytest.mark.parametrize(
    "prompt",
    [
        "My talk:\nA. Why we sleep\nB. What helps\nC. Questions\nMake the titles livelier.",
        "(A) The shop opens at nine.\n(B) It closes at noon.\nPut both into one sentence.",
        "Sort these by age:\nA) oak\nB) rose\nC) moss",
        "Say this in Dutch:\nA) thank you\nB) you are welcome",
        "What I tried:\nA. restart\nB. reinstall\nC. another cable\nWhat else is there?",
    ],
)
def test_a_list_with_letters_that_nobody_is_to_pick_from_has_no_options(prompt: str) -> None:
    assert not options(prompt)


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        ("Lisbon, as Porto is the second city.", "B"),
        ("It's Lisbon. Porto is larger in the north, but the president sits in Lisbon.", "B"),
        ("I'd go with B.", "B"),
        ("B) Lisbon", "B"),
        ("A resposta \u00e9 C.", "C"),
        ("I have no idea what you mean.", None),
    ],
)
def test_a_short_answer_names_its_option_by_letter_or_in_words(answer: str, letter: str | None) -> None:
    found = final_answer(answer, "What is the capital of Portugal?\nA) Porto\nB) Lisbon\nC) Faro")
    assert (found and found.key) == letter


def test_options_are_those_of_the_last_list() -> None:
    assert list(options("Which is even?\n(A) one\n(B) two\n(C) three\n\nAnd here?\n(A) four\n(B) five")) == ["A", "B"]
    assert not options("A: Hello\nC: Hi")


@given(
    st.text(alphabet='0123456789.,-$/\\{}[]()"=#answer:is ABk\n', max_size=300),
    st.sampled_from(KINDS),
)
def test_no_text_is_too_odd(text: str, kind: Kind) -> None:
    found = final_answer(text, CHOICE, kind)
    assert found is None or found.key


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["1,", "9", "\\boxed{", '"answer": "', "answer is ", "\\frac{", "(A", "'", "1/", "#### ", "= "]
)
def test_hostile_texts_take_time_in_proportion_at_most(piece: str) -> None:
    """A long text is read as fast as what is looked at of it."""

    def read(size: int) -> None:
        for kind in KINDS:
            final_answer(piece * (size // len(piece)), CHOICE, kind)

    assert growth(read, 6_000) < IN_PROPORTION


def recorded_rows(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(CORPUS / name, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="AI_BATTLE_CORPORA names no folder with cascade")
@pytest.mark.parametrize(
    ("name", "kind", "least"),
    [("gsm8k", "number", 0.996), ("math-l5", "number", 0.995), ("crux", "code", 0.985), ("mmlu-pro", "option", 0.999)],
)
def test_recorded_answers_are_the_reference_where_their_graders_say_so(name: str, kind: Kind, least: float) -> None:
    right = answers = 0
    for row in recorded_rows(f"answers.{name}.jsonl.gz"):
        reference = final_answer(json.dumps({"answer": row["reference"]}), kind=kind)
        for answer in row["answers"].values():
            written = answer["answer"]
            found = final_answer(json.dumps({"answer": written}), kind=kind) if written is not None else None
            right += same(found, reference) == answer["correct"]
            answers += 1
    assert right / answers >= least


@pytest.mark.skipif(not CORPUS.is_dir(), reason="AI_BATTLE_CORPORA names no folder with cascade")
@pytest.mark.parametrize(
    ("name", "kind", "least", "most"),
    [
        # Its labels take the last number of "$64 for all 16 glasses", and tell $16.00 from 16.
        ("gsm8k.mixtral-8x7b.gpt-4-1106", "number", 0.995, 0.05),
        ("gsm8k.gemma2-2b.gpt-4o", "number", 1.0, 0.01),
        ("crux.qwen2.5-7b.qwen2.5-72b", "code", 0.98, 0.01),
        ("mmlu-pro.llama3.1-8b.llama3.1-70b", "option", 0.985, 0.001),
    ],
)
def test_final_answers_are_found_in_whole_recorded_texts(name: str, kind: Kind, least: float, most: float) -> None:
    """Of the answers that are labelled right nearly all are read so, and of all answers few that are labelled wrong."""
    answers = [
        (row, row[f"{side}_correct"], text)
        for row in recorded_rows(f"{name}.jsonl.gz")
        for side in ("small", "large")
        if isinstance(text := row[f"{side}_response"], str)
    ]
    read = [
        (
            labelled,
            same(
                final_answer(text, row["prompt"], kind),
                final_answer(json.dumps({"answer": row["reference"]}), kind=kind),
            ),
        )
        for row, labelled, text in answers
    ]
    assert read.count((True, True)) / sum(labelled for labelled, _ in read) >= least
    assert read.count((False, True)) / len(read) <= most
