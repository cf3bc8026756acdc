"""`ai-battle council`: what a user is told of answers, ranks, chair and cost, over three wires."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ai_battle.testing import FakeProviders, fault
from tests.collaboration.deliberating import member
from tests.scenarios.terminal import STATUS, terminal

from .conftest import Outcome, run_piped

PARIS, LYON, NICE = OPINION = ("It is Paris.", "It is Lyon.", "It is Nice.")
THREE = ("-m", "ollama/phi4", "-m", "gpt-4o", "-m", "claude-sonnet-4-5")


@pytest.fixture
def fakes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProviders]:
    with FakeProviders.in_thread() as fakes:
        fakes.ollama.always(member(LYON, OPINION))
        fakes.openai.always(member(PARIS, OPINION))
        fakes.anthropic.always(member(NICE, OPINION))
        for name, value in fakes.environment.items():
            monkeypatch.setenv(name, value)
        yield fakes


def council(*arguments: object, piped: bytes = b"") -> Outcome:
    return run_piped("council", *arguments, piped=piped)


def document(*arguments: object) -> dict[str, Any]:
    ended = council("Which is the capital?", *arguments, "--json")
    assert ended.code == 0, ended.err
    found: dict[str, Any] = json.loads(ended.out)
    return found


def test_the_answer_alone_goes_to_standard_output_and_the_table_to_the_other(fakes: FakeProviders) -> None:
    ended = council("Which is the capital?", *THREE, "--chair", "gpt-4o-mini")

    assert (ended.code, ended.out) == (0, f"In the end: {PARIS}\n")
    *_, head, first, second, third, chair = ended.err.splitlines()
    assert head.split() == ["rank", "answer", "member", "points", "first", "for", "cost", "seconds"]
    assert [row.split()[2:5] for row in (first, second, third)] == [
        ["2:", "gpt-4o", "1.00"], ["1:", "ollama/phi4", "0.50"], ["3:", "claude-sonnet-4-5", "0.00"]
    ]  # fmt: skip
    assert chair.split()[:2] == ["openai/gpt-4o-mini", "(chair)"]
    assert "$" in chair
    assert not Path("runs").exists()


def test_the_document_has_each_answer_s_place_and_all_calls_with_their_cost(fakes: FakeProviders) -> None:
    found = document(*THREE)

    assert found["answer"] == f"In the end: {PARIS}"
    assert [(row["member"], row["rank"], row["firsts"]) for row in found["ranking"]] == [
        (2, 1, 2),
        (1, 2, 1),
        (3, 3, 0),
    ]
    assert len(found["rankings"]) == 3
    assert found["used"] == [found["ranking"][0]["label"]]
    assert (found["missing"], found["unmentioned"]) == ([], [])
    assert len(found["seed"]) == 8
    roles = [call["role"] for call in found["calls"]]
    assert sorted(roles) == ["chair", "judge", "judge", "judge", "own", "peer", "peer"]
    of_members = sum(call["usage"].get("cost_usd", 0) for call in found["calls"] if call["role"] != "chair")
    assert sum(row["cost_usd"] for row in found["ranking"]) == pytest.approx(of_members)


def test_the_same_question_is_shuffled_in_the_same_way(fakes: FakeProviders) -> None:
    first, second = document(*THREE), document(*THREE)
    assert [first[key] for key in ("seed", "rankings", "used")] == [second[key] for key in ("seed", "rankings", "used")]


def test_what_is_piped_and_files_go_to_all_of_them(fakes: FakeProviders) -> None:
    Path("bed.txt").write_text("Seven beds.")
    ended = council("How many?", *THREE, "-f", "bed.txt", "--system", "Be brief.", "-q", piped=b"A long story.")

    assert (ended.code, ended.err) == (0, "")
    for fake in (fakes.ollama, fakes.openai, fakes.anthropic):
        asked = json.dumps(fake.questions[0].body)
        assert "A long story." in asked
        assert "Seven beds." in asked
        assert "Be brief." in asked


def test_one_model_may_be_in_it_twice_and_that_is_told(fakes: FakeProviders) -> None:
    ended = council("Which is the capital?", "-m", "gpt-4o", "-m", "openai/gpt-4o", "-m", "ollama/phi4")

    assert ended.code == 0
    assert "openai/gpt-4o answers 2 times in one deliberation" in ended.err
    assert ended.err.count("gpt-4o answers as the judge") == 2


def test_the_chair_of_the_table_is_the_model_that_merged_the_answers(fakes: FakeProviders) -> None:
    fakes.ollama.always(fault("http_404"))
    ended = council("Which is the capital?", *THREE)

    *_, chair, missing = ended.err.splitlines()
    assert chair.split()[:2] == ["openai/gpt-4o", "(chair)"]
    assert missing.startswith("member 1 gave no answer: ollama/phi4")


def test_a_chair_that_can_t_be_reached_leaves_the_best_answer(fakes: FakeProviders) -> None:
    fakes.gemini.always(fault("http_404"))
    ended = council("Which is the capital?", *THREE, "--chair", "gemini/gemini-2.5-pro")

    assert (ended.code, ended.out) == (0, f"{PARIS}\n")
    assert "A call to help ollama/phi4 by deliberation failed" in ended.err


def test_a_limit_in_dollars_that_is_reached_leaves_what_is_there(fakes: FakeProviders) -> None:
    ended = council("Which is the capital?", "-m", "ollama/phi4", "-m", "gpt-4o", "--max-cost", "0.0001")

    assert ended.code == 0
    assert ended.out.strip().removeprefix("In the end: ") == LYON
    assert "leaves no room" in ended.err
    assert "member 2 gave no answer" in ended.err


@pytest.mark.parametrize(
    ("arguments", "way_out"),
    [
        (("Hm?",), "A council has two members or more"),
        (("Hm?", "-m", "gpt-4o"), "One model answers with ask"),
        (("Hm?", "-m", "gpt-4o", "-m", "gpt-4x/none/"), "gpt-4x"),
        (("Hm?", *THREE, "--chair", "nobody"), "nobody"),
        (THREE, "ai-battle council QUESTION"),
        (("Hm?", *THREE, "-f", "none.txt"), "File 'none.txt' does not exist."),
    ],
)
def test_what_can_not_be_asked_is_answered_with_a_way_out(
    fakes: FakeProviders, arguments: tuple[str, ...], way_out: str
) -> None:
    ended = council(*arguments)

    assert (ended.code, ended.out) == (2, "")
    assert way_out in ended.err
    assert not fakes.openai.questions


def test_on_a_terminal_the_chair_s_answer_streams_and_the_table_ends_it(fakes: FakeProviders) -> None:
    with terminal("council", "Which is the capital?", *THREE, **fakes.environment) as opened:
        opened.read_until("(chair)")
        assert opened.end() == 0
    assert f"\nIn the end: {PARIS}" in STATUS.sub("", opened.shown)
    assert "are ranked, best first" in opened.shown
