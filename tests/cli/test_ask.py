"""`ai-battle ask`: one answer, of a model or of a pair."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ai_battle.testing import FakeProviders, call, fault, reply
from tests.pixels import png
from tests.scenarios.terminal import run, terminal

from .conftest import Outcome, run_piped

LOST = "I do not know. " * 40


@pytest.fixture
def fakes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProviders]:
    with FakeProviders.in_thread() as fakes:
        for name, value in fakes.environment.items():
            monkeypatch.setenv(name, value)
        yield fakes


def ask(*arguments: object, piped: bytes = b"") -> Outcome:
    return run_piped("ask", *arguments, piped=piped)


def test_the_answer_alone_goes_to_standard_output(fakes: FakeProviders) -> None:
    fakes.openai.says("It is 42.")

    ended = ask("How much is it?", "-m", "gpt-4o")

    assert (ended.code, ended.out) == (0, "It is 42.\n")
    assert ended.err.startswith("openai/gpt-4o: ")
    assert not Path("runs").exists()


def test_an_answer_that_the_limit_cut_is_said_to_be_cut(fakes: FakeProviders) -> None:
    fakes.openai.says(reply("It is about for", stop="length"))

    ended = ask("How much is it?", "-m", "gpt-4o")

    assert ended.out == "It is about for\n"
    assert ended.err.startswith("! cut off at the length limit\n")


def test_what_is_piped_goes_with_the_question_or_is_the_question(fakes: FakeProviders) -> None:
    ask("Sum it up.", "-m", "gpt-4o", piped=b"A long story.\n")
    ask("-m", "gpt-4o", piped=b"A question.\n")

    asked = [request.body["messages"][-1]["content"] for request in fakes.openai.questions]
    assert asked == ["Sum it up.\n\nA long story.", "A question."]


def test_files_and_a_system_prompt_go_with_it(fakes: FakeProviders) -> None:
    Path("bed.txt").write_text("Seven beds.")

    ask("How many?", "-m", "gpt-4o", "-f", "bed.txt", "--system", "Be brief.")

    (request,) = fakes.openai.questions
    assert request.body["messages"][0]["content"] == "Be brief."
    assert "Seven beds." in str(request.body["messages"][1])


def test_a_file_may_be_named_from_the_home_folder(fakes: FakeProviders, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shells leave the sign alone behind an equals sign."""
    monkeypatch.setenv("HOME", str(Path.cwd()))
    Path("bed.txt").write_text("Seven beds.")

    ask("How many?", "-m", "gpt-4o", "--file=~/bed.txt")

    assert "Seven beds." in str(fakes.openai.questions[0].body)


def test_of_a_pair_the_small_model_is_helped_and_the_document_says_by_whom(fakes: FakeProviders) -> None:
    fakes.ollama.says(LOST, LOST, LOST, "It is 168.")
    fakes.openai.always("Seven times 24 is 168.")

    ended = ask("How many?", "--pair", "ollama/phi4+gpt-4o", "--json")

    document = json.loads(ended.out)
    assert document["answer"]
    assert {(call["model"], call["role"]) for call in document["calls"]} >= {("ollama/phi4", "own")}
    assert "helper" in {call["role"] for call in document["calls"]}
    spent = sum(call["usage"]["output_tokens"] for call in document["calls"])
    assert document["usage"]["output_tokens"] == spent


@pytest.mark.parametrize(
    ("arguments", "piped", "way_out"),
    [
        (("Hm?",), b"", "--pair SMALL+BIG"),
        (("Hm?", "-m", "gpt-4o", "--pair", "a+b"), b"", "leave one of them out"),
        (("Hm?", "--pair", "gpt-4o"), b"", "write it as SMALL+BIG"),
        (("Hm?", "--pair", "gpt-4o+openai/gpt-4o"), b"", "can't help itself"),
        (("-m", "gpt-4o"), b"", "pipe the question"),
        (("-m", "gpt-4o"), b"\xff\xfe\x00", "is not UTF-8 text"),
        (("-m", "gpt-4o"), b"a" * 2_100_000, "more than 2 MiB"),
        (("Hm?", "-m", "gpt-4o", "-f", "none.txt"), b"", "File 'none.txt' does not exist."),
    ],
)
def test_what_can_not_be_asked_is_answered_with_a_way_out(
    fakes: FakeProviders, arguments: tuple[str, ...], piped: bytes, way_out: str
) -> None:
    ended = ask(*arguments, piped=piped)

    assert (ended.code, ended.out) == (2, "")
    assert way_out in ended.err
    assert not fakes.openai.questions


def test_a_limit_in_dollars_is_kept(fakes: FakeProviders) -> None:
    ended = ask("Hm?", "-m", "gpt-4o", "--max-cost", "0.00001")

    assert ended.code == 1
    assert "leaves no room" in ended.err
    assert not fakes.openai.questions


def test_on_a_terminal_the_answer_streams_under_the_question(fakes: FakeProviders) -> None:
    fakes.openai.says("It is 42.")
    with terminal("ask", "How much?", "-m", "gpt-4o", **fakes.environment) as opened:
        opened.read_until("It is 42.")
        assert opened.end() == 0
    assert opened.shown.count("It is 42.") == 1


def test_a_model_that_sees_no_pictures_reads_what_another_one_says_of_them(fakes: FakeProviders) -> None:
    Path("chart.png").write_bytes(png(64, 48))
    fakes.gemini.always("Four bars, the third is the highest.")
    fakes.ollama.always("The third.")

    ended = ask(
        *("Which?", "-m", "ollama/phi4", "-f", "chart.png", "--describe-with", "gemini-2.5-flash", "--max-cost", "1")
    )

    assert (ended.code, ended.out) == (0, "The third.\n")
    assert ended.err.splitlines()[-1].startswith("gemini/gemini-2.5-flash, ollama/phi4: ")
    (asked,) = fakes.ollama.questions
    assert "chart.png: PNG, 64x48. You can't see it; this describes it:]\nFour bars, the third is the highest." in str(
        asked.body["messages"][-1]["content"].replace("\\n", "\n")
    )
    assert not asked.body["messages"][-1].get("images")


def test_of_a_pair_the_large_model_describes_pictures_to_one_that_sees_none(fakes: FakeProviders) -> None:
    Path("chart.png").write_bytes(png(64, 48))
    fakes.openai.always("Four bars, the third is the highest.")
    fakes.ollama.always("It is the third of the four bars that is the highest.")

    ended = ask("Which of the bars is the highest?", "--pair", "ollama/phi4+gpt-4o", "-f", "chart.png")

    assert ended.code == 0
    assert "Four bars, the third is the highest." in fakes.ollama.questions[0].body["messages"][-1]["content"]


def test_without_anybody_who_sees_the_user_is_told_what_to_do(fakes: FakeProviders) -> None:
    Path("chart.png").write_bytes(png(64, 48))
    fakes.ollama.always("Hm.")

    ended = ask("Which?", "-m", "ollama/phi4", "-f", "chart.png")

    assert "ollama/phi4 can't see the pictures, and is told so" in ended.err
    assert "--describe-with MODEL" in ended.err
    assert "(a picture, which you can't see)" in fakes.ollama.questions[0].body["messages"][-1]["content"]


def test_who_describes_has_to_see(fakes: FakeProviders) -> None:
    Path("chart.png").write_bytes(png(64, 48))

    ended = ask("Which?", "-m", "ollama/phi4", "-f", "chart.png", "--describe-with", "ollama/phi4-mini")

    assert ended.code == 2
    assert "ollama/phi4-mini sees no pictures, so it can't describe any; name a model that does" in ended.err
    assert not fakes.ollama.questions


@pytest.mark.parametrize("words", [("ask", "Hi"), ("talk", "Hi", "-m", "o3-mini"), ("council", "Hi", "-m", "o3-mini")])
def test_a_missing_key_is_told_once_and_without_the_path_of_a_file_that_nobody_wrote(
    folder: Path, words: tuple[str, ...]
) -> None:
    ended = run(*words, "-m", "gpt-4o")

    assert ended.code == 2
    assert ended.err.startswith("error: openai needs a key: set the environment variable OPENAI_API_KEY")
    assert ended.err.count("\n") == 1


def test_a_call_of_a_tool_that_was_not_offered_is_told_as_that(fakes: FakeProviders) -> None:
    fakes.ollama.always(call("look_up", word="roll"))

    ended = ask("What is a roll?", "-m", "ollama/llama3.2")

    assert ended.code == 1
    assert "only called look_up, which it was not offered" in ended.err


def test_an_error_of_the_only_attempt_is_said_once(fakes: FakeProviders) -> None:
    fakes.openai.says(fault("http_400"))

    ended = ask("How much is it?", "-m", "gpt-4o")

    assert ended.code == 1
    assert ended.err.startswith("error: ")
    assert ended.err.count("HTTP 400") == 1
