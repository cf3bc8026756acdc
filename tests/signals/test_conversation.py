"""Measures of a conversation: what each of them says."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ai_battle.signals.conversation import ConversationSignals, TurnSignals

PLAIN = (
    "The harbour opens at six, when the first boats bring herring and the women of the market wait with their carts."
)


def measure(*turns: str, opening: str = "") -> TurnSignals:
    """The measures of the last turn, two speaking in turn."""
    fold = ConversationSignals(len(turns))
    fold.open(opening)
    return [fold.add("AB"[n % 2], turn) for n, turn in enumerate(turns)][-1]


def test_the_first_turn_has_nothing_to_be_compared_with() -> None:
    found = measure(PLAIN)

    assert (found.words, found.coherence, found.repetition, found.balance, found.phase) == (21, 0, 0, 1, 1)


def test_questions_are_a_share_of_sentences_in_every_script() -> None:
    assert measure("Why? I do not know. How? Nobody said.").questions == 0.5
    assert measure("为什么？我不知道。").questions == 0.5  # noqa: RUF001
    assert measure("لماذا؟ لا أعرف.").questions == 0.5


def test_a_hard_text_reads_harder_than_an_easy_one() -> None:
    easy = measure("The cat sat on the mat. It was wet. The dog ran in. He was wet too.").readability
    hard = measure(
        "Notwithstanding jurisdictional considerations, administrative authorities exercising discretionary "
        "competences necessarily anticipate constitutional proportionality requirements."
    ).readability
    assert easy is not None
    assert hard is not None
    assert easy < 25 < 60 < hard


def test_scripts_without_spaces_have_no_readability() -> None:
    found = measure("港口六点开门,第一批渔船带来鲱鱼,市场的妇女推着车等候。")

    assert found.readability is None
    assert "readability" not in found.figures()
    assert found.words > 12


def test_one_who_speaks_alone_is_out_of_balance() -> None:
    assert measure(PLAIN * 9, "Yes.").balance < 0.02 < 0.9 < measure(PLAIN, PLAIN).balance


def test_the_same_words_again_and_again_are_a_poor_vocabulary() -> None:
    assert measure("yes no " * 40).vocabulary < 0.1 < 0.7 < measure(PLAIN).vocabulary


def test_code_and_quotations_are_nothing_that_is_said_again() -> None:
    code = "```python\n" + "total = add(first, second, third)\n" * 9 + "```"
    turns = [f"{code}\n> {PLAIN * 2}\n{said}" for said in ("Fine.", "Ship it then.", "Good.", "Well.", "Done.")]

    assert measure(*turns).repetition == 0


def test_who_echoes_the_other_repeats_as_well() -> None:
    other = "Bakers in the old town start at two, so that rye loaves are on the shelves before the first tram leaves."

    assert measure(PLAIN, other).repetition == 0
    assert measure(PLAIN, other, PLAIN, f"Well: {PLAIN}").repetition == 1


def test_few_words_are_not_judged() -> None:
    assert measure(*["Great point, I completely agree."] * 6).agreement == 0


@pytest.mark.parametrize("text", ["", "   ", "...", "?!", "\x00\ud800", "```\nopen", "🙂🙂🙂", "a" * 100_000, "1 2 3"])
def test_any_text_is_measured(text: str) -> None:
    found = measure(text, text, text, opening=text)

    assert all(0 <= value <= 1 for name, value in found.figures().items() if name not in ("words", "readability"))


def test_a_turn_of_a_megabyte_is_read_in_part() -> None:
    started = time.process_time()
    measure("?- " * 350_000, "agree " * 170_000)

    assert time.process_time() - started < 1


def test_what_was_only_measured_changes_nothing() -> None:
    one, other = ConversationSignals(4), ConversationSignals(4)
    for fold in (one, other):
        fold.open("Herring")
        fold.add("A", PLAIN)
    one.measure("B", "Something else entirely, with a good many words about trains and nothing of fish at all.")

    assert one.add("B", PLAIN) == other.add("B", PLAIN)


@pytest.mark.slow
def test_another_process_measures_the_same() -> None:
    """Resumed runs go on with measures that were taken in a process with other hashes."""
    script = (
        "from research.steering import dialogues\n"
        "print([[each.figures() for each in one.signals] for one in dialogues() if one.half == 'dev'])"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
