"""`ai-battle talk`: from one line to a conversation, without a file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ai_battle.testing import FakeProviders, call
from tests.scenarios.terminal import terminal

from .conftest import Run

TWO = ("-m", "ollama/phi4", "-m", "gpt-4o")


@pytest.fixture
def fakes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProviders]:
    with FakeProviders.in_thread() as fakes:
        for name, value in fakes.environment.items():
            monkeypatch.setenv(name, value)
        yield fakes


def test_two_models_talk_about_a_topic_under_their_own_names(ai_battle: Run, fakes: FakeProviders) -> None:
    fakes.ollama.says("It falls.")
    fakes.openai.says("It wets.")

    outcome = ai_battle("talk", "What does rain do?", *TWO, "--turns", 1)

    assert outcome.code == 0, outcome.err
    assert outcome.lines[1:4] == ["What does rain do?", "[1] phi4: It falls.", "[2] gpt-4o: It wets."]
    assert outcome.lines[-1].endswith("-What-does-rain-do")


def test_a_model_can_be_given_a_name_and_two_of_the_same_are_told_apart(ai_battle: Run, fakes: FakeProviders) -> None:
    outcome = ai_battle("talk", "Rain.", "-m", "Ann=gpt-4o", "-m", "gpt-4o", "-m", "gpt-4o", "--turns", 1)

    assert [line.partition(":")[0] for line in outcome.lines[2:5]] == ["[1] Ann", "[2] gpt-4o", "[3] gpt-4o 2"]


def test_a_server_of_ones_own_takes_part_without_a_file(ai_battle: Run, fakes: FakeProviders) -> None:
    address = f"providers.lab.base_url={fakes.environment['OPENAI_BASE_URL']}"

    outcome = ai_battle("talk", "Rain.", "-m", "lab/our-7b", "-m", "gpt-4o", "--set", address, "--turns", 1)

    assert [line.partition(":")[0] for line in outcome.lines[2:4]] == ["[1] our-7b", "[2] gpt-4o"]


def test_what_is_saved_runs_as_the_talk_did(ai_battle: Run, fakes: FakeProviders) -> None:
    spoken = ai_battle("talk", "Say ${HOME}.", *TWO, "--turns", 1, "--save", "rain.yaml")

    assert "ai-battle run rain.yaml" in spoken.err
    again = ai_battle("run", "rain.yaml")
    assert again.lines[1:4] == spoken.lines[1:4]
    assert again.lines[1] == "Say ${HOME}."
    (transcript,) = Path("runs").glob("*rain*/transcript.md")
    assert transcript.read_text().startswith("# Say ${HOME}.\n")


def test_a_file_that_is_there_is_not_written_over(ai_battle: Run, fakes: FakeProviders) -> None:
    Path("mine.yaml").write_text("mine")

    outcome = ai_battle("talk", "Rain.", *TWO, "--save", "mine.yaml")

    assert (outcome.code, Path("mine.yaml").read_text()) == (2, "mine")
    assert "name another file with --save" in outcome.err
    assert not fakes.openai.questions


def test_tools_files_and_a_helper_take_part(ai_battle: Run, fakes: FakeProviders) -> None:
    Path("bed.txt").write_text("Seven beds of 24 pots.")
    fakes.openai.says(call("calculator", expression="7 * 24"), "168 pots.")
    fakes.ollama.always("I do not know. " * 40)
    fakes.anthropic.always("It is 168.")
    helped = ("--helper", "claude-sonnet-4-5", "--tools", "calculator", "-f", "bed.txt")

    outcome = ai_battle("talk", "How many?", *TWO, *helped, "--turns", 1, "--approve", "allow")

    assert outcome.code == 0, outcome.err
    assert "[2] gpt-4o: 168 pots." in outcome.lines
    assert fakes.anthropic.questions
    assert "Seven beds of 24 pots." in str(fakes.openai.questions[0].body)


@pytest.mark.parametrize(
    ("arguments", "way_out"),
    [
        ((), "name them with -m"),
        (("-m", "gpt-4o"), "name another model with -m, or take part yourself with --me"),
        (("-m", "gpt-4o", "-m", "nothing"), "ai-battle models list"),
        (("-m", "A=gpt-4o", "-m", "A=gpt-4o"), "give them names: NAME=TYPE"),
        (("-m", "You=gpt-4o", "-m", "gpt-4o"), "give gpt-4o another one"),
        ((*TWO, "--tools", "calculater"), "did you mean 'calculator'?"),
        ((*TWO, "-f", "none.txt"), "File 'none.txt' does not exist."),
    ],
)
def test_what_can_not_be_a_talk_is_answered_with_a_way_out(
    ai_battle: Run, fakes: FakeProviders, arguments: tuple[str, ...], way_out: str
) -> None:
    outcome = ai_battle("talk", "Rain.", *arguments)

    assert (outcome.code, Path("runs").exists()) == (2, False)
    assert way_out in outcome.err


def test_where_no_server_listens_nothing_is_begun(ai_battle: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")

    outcome = ai_battle("talk", "Rain.", "-m", "ollama/phi4", "-m", "ollama/gemma3", "--turns", 1)

    assert (outcome.code, Path("runs").exists()) == (1, False)
    assert "phi4, gemma3: ollama at http://127.0.0.1:9: nothing listens there" in outcome.err
    assert "ollama serve" in outcome.err


def test_a_person_takes_part_with_one_model(fakes: FakeProviders, tmp_path: Path) -> None:
    fakes.openai.says("Wet, I hear.")
    words = ("talk", "Rain.", "--me", "-m", "gpt-4o", "--turns", 1, "--out", tmp_path / "run")
    with terminal(*words, **fakes.environment) as opened:
        opened.read_until("You> ")
        opened.press("How is it?\n")
        opened.read_until("Wet, I hear.")
        assert opened.end() == 0
    assert "How is it?" in str(fakes.openai.questions[0].body)
