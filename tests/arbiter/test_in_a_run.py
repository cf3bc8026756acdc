"""`judge:` in a discussion and `ai-battle judge` behind it, with models over HTTP."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ai_battle.arbiter.verdict import Verdict
from ai_battle.conversation.reading import read
from ai_battle.core.files import lock_directory
from ai_battle.core.helping import RunJudged
from ai_battle.testing import FakeProviders, fault, reply
from tests.cli.conftest import Run, ai_battle, folder

from .judges import Asked, answer, plain

__all__ = ["ai_battle", "folder"]

BEES = """
discussion:
  turns: 1
  goal: Should Ann or Bob keep bees?
  models:
    Ann: {type: scripted/a, script: ["Bees are no trouble at all."]}
    Bob: {type: scripted/b, script: ["They sting, as Ann found out."]}
"""
MODELS = {"openai": "gpt-4o", "anthropic": "claude-haiku-4-5", "ollama": "ollama/phi4"}


@pytest.fixture
def judges(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProviders]:
    """Models of all providers that judge by the middle of the scale."""
    (folder / "bees.yaml").write_text(BEES)
    with FakeProviders.in_thread() as fakes:
        for name, value in fakes.environment.items():
            monkeypatch.setenv(name, value)
        for fake in fakes.all:
            fake.always(judgement)
        yield fakes


def judgement(body: Mapping[str, Any]) -> str:
    return answer(Asked.in_body(body), plain)


def with_judge(folder: Path, judge: str) -> Path:
    path = folder / "judged.yaml"
    path.write_text(f"{BEES}  judge: {judge}\n")
    return path


def verdicts_in(run_dir: Path) -> list[Verdict]:
    return [Verdict.from_json(event.verdict) for _, event in read(run_dir) if isinstance(event, RunJudged)]


class TestTheCommand:
    @pytest.mark.parametrize("wire", MODELS)
    def test_a_run_is_judged_by_any_model(self, ai_battle: Run, judges: FakeProviders, wire: str) -> None:
        ai_battle("run", "bees.yaml", "-q", "--out", "r")
        before = Path("r/journal.jsonl").read_bytes()
        outcome = ai_battle("judge", "r", "--model", MODELS[wire])

        assert outcome.code == 0
        assert [line.split() for line in outcome.lines[:3]] == [
            ["r"],
            ["Ann", "Bob"],
            ["goal", "(25%)", "5.00", "5.00"],
        ]
        assert "A tie: nobody is ahead in both orders." in outcome.lines
        assert Path("r/journal.jsonl").read_bytes() == before
        assert "quotation" in Path("r/judgements.jsonl").read_text()
        assert "Bees are no trouble at all." in Path("r/report.html").read_text().split('class="verdict"')[1]
        assert "judging, apart" in Path("r/transcript.md").read_text()
        assert sum(len(fake.questions) for fake in judges.all) == 2

    def test_several_runs_and_judges_are_one_document(self, ai_battle: Run, judges: FakeProviders) -> None:
        for name in ("r", "s"):
            ai_battle("run", "bees.yaml", "-q", "--out", name)
        outcome = ai_battle("judge", "r", "s", "-m", "gpt-4o", "-m", "claude-haiku-4-5", "--json")
        assert [(one["run"], one["judges"]) for one in json.loads(outcome.out)] == [
            (run, ["openai/gpt-4o", "anthropic/claude-haiku-4-5"]) for run in ("r", "s")
        ]
        assert json.loads(outcome.out)[0]["agreement"] is None  # all scores are the same, so nothing can be said

    def test_show_has_the_ratings_that_quote_a_turn(self, ai_battle: Run, judges: FakeProviders) -> None:
        ai_battle("run", "bees.yaml", "-q", "--out", "r")
        ai_battle("judge", "r", "-m", "gpt-4o")
        assert "Bob, goal: 5 by openai/gpt-4o: “They sting, as Ann found out.” (turn 2). It shows." in (
            ai_battle("show", "r", 2).out
        )
        assert len(json.loads(ai_battle("show", "r", 2, "--json").out)["ratings"]) == 10

    def test_a_rubric_of_ones_own_and_what_is_wrong_with_it(self, ai_battle: Run, judges: FakeProviders) -> None:
        ai_battle("run", "bees.yaml", "-q", "--out", "r")
        rubric = Path("mine.yaml")
        rubric.write_text("rubric:\n  scale: [1, 5]\n  criteria:\n    wit: {asks: Is it funny?, weight: 0.7}\n")
        outcome = ai_battle("judge", "r", "-m", "gpt-4o", "--rubric", "mine.yaml")
        assert outcome.code == 2
        wrong = "mine.yaml:4:5 rubric.criteria: the weights add up to 0.7, not to 1 or 100"
        assert wrong in outcome.err
        assert wrong in ai_battle("validate", "mine.yaml").out
        assert "run it with: ai-battle judge RUN --model MODEL --rubric mine.yaml" in ai_battle("run", rubric).err
        rubric.write_text(rubric.read_text().replace("0.7", "1"))
        assert ai_battle("validate", "mine.yaml").code == 0
        assert "wit (100%)" in ai_battle("judge", "r", "-m", "gpt-4o", "--rubric", "mine.yaml").out

    def test_a_judge_that_answers_in_prose_is_told_and_leaves_nothing(
        self, ai_battle: Run, judges: FakeProviders
    ) -> None:
        ai_battle("run", "bees.yaml", "-q", "--out", "r")
        judges.openai.always("Ann was great!")
        outcome = ai_battle("judge", "r", "-m", "gpt-4o")
        assert outcome.code == 1
        assert re.search(r"gpt-4o has answered \(.* in, .* out, \$", outcome.err)
        assert "r was not judged: " in outcome.err
        assert "it answers in prose: Ann was great!" in outcome.err
        assert not Path("r/judgements.jsonl").exists()

    def test_an_answer_that_is_cut_off_is_told_as_that(self, ai_battle: Run, judges: FakeProviders) -> None:
        ai_battle("run", "bees.yaml", "-q", "--out", "r")
        judges.openai.always(reply('{"scores": [', stop="length"))
        assert "its answer was cut off at its length limit" in ai_battle("judge", "r", "-m", "gpt-4o").err

    def test_a_run_that_somebody_works_on_is_not_judged_and_costs_nothing(
        self, ai_battle: Run, judges: FakeProviders
    ) -> None:
        ai_battle("run", "bees.yaml", "-q", "--out", "r")
        with lock_directory(Path("r")):
            outcome = ai_battle("judge", "r", "-m", "gpt-4o")
        assert outcome.code == 1
        assert str(os.getpid()) in outcome.err
        assert judges.openai.questions == []

    def test_a_line_that_is_no_verdict_is_named(self, ai_battle: Run, judges: FakeProviders) -> None:
        ai_battle("run", "bees.yaml", "-q", "--out", "r")
        Path("r/judgements.jsonl").write_text('{"v": 1}\n')
        outcome = ai_battle("export", "r")
        assert outcome.code == 1
        assert "r/judgements.jsonl:1: this is not a verdict" in outcome.err

    def test_a_judge_where_nothing_listens_is_told_at_once(
        self, ai_battle: Run, judges: FakeProviders, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ai_battle("run", "bees.yaml", "-q", "--out", "r")
        monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
        outcome = ai_battle("judge", "r", "-m", "ollama/phi4")
        assert outcome.code == 1
        assert "r was not judged: ollama/phi4 did not judge: " in outcome.err
        assert "127.0.0.1:9" in outcome.err

    def test_no_more_is_spent_than_allowed(self, ai_battle: Run, judges: FakeProviders) -> None:
        ai_battle("run", "bees.yaml", "-q", "--out", "r")
        outcome = ai_battle("judge", "r", "-m", "gpt-4o", "--max-cost", "0.0001")
        assert outcome.code == 1
        assert "leaves no room for a call of openai/gpt-4o" in outcome.err
        assert judges.openai.questions == []

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("r", "-m", "gpt-4oo/x"), "gpt-4oo"),
            (("nowhere", "-m", "gpt-4o"), "nowhere"),
            (("r",), "--model"),
            (("r", "-m", "gpt-4o", "--rubric", "gone.yaml"), "gone.yaml: there is no such file"),
            (("r", "-m", "gpt-4o", "--rubric", "bees.yaml"), "this is a discussion file"),
            (("r", "-m", "openai/own", "--max-cost", "1"), "openai/own is not known, so a limit in dollars can't hold"),
            (("r", "-m", "openai/own", "--max-cost", "1"), "leave the limit out, or take a judge that"),
        ],
    )
    def test_what_is_wrong_costs_nothing(
        self, ai_battle: Run, judges: FakeProviders, arguments: tuple[str, ...], words: str
    ) -> None:
        ai_battle("run", "bees.yaml", "-q", "--out", "r")
        outcome = ai_battle("judge", *arguments)
        assert outcome.code == 2
        assert words in outcome.err
        assert judges.openai.questions == []


class TestTheKey:
    def test_a_discussion_is_judged_at_its_end(self, ai_battle: Run, judges: FakeProviders, folder: Path) -> None:
        outcome = ai_battle("run", with_judge(folder, "gpt-4o"), "--out", "r")
        assert outcome.code == 0
        assert "Judged by openai/gpt-4o: Ann 5.00, Bob 5.00 (from 1 to 10). A tie: nobody is ahead in both orders." in (
            outcome.lines
        )
        (verdict,) = verdicts_in(Path("r"))
        assert verdict.total("Ann") == 5
        last = [json.loads(line)["type"] for line in Path("r/journal.jsonl").read_text().splitlines()][-2:]
        assert last == ["run_judged", "run_finished"]

    def test_what_judging_cost_is_apart_from_what_the_run_cost(
        self, ai_battle: Run, judges: FakeProviders, folder: Path
    ) -> None:
        document = json.loads(ai_battle("run", with_judge(folder, "gpt-4o"), "--out", "r", "--json").out)
        assert document["usage"]["cost_usd"] == 0
        assert document["judgement"]["usage"]["cost_usd"] > 0
        assert document["judgement"]["totals"] == {"Ann": 5, "Bob": 5}
        judging = Path("r/transcript.md").read_text().partition("*judging, apart*")
        assert judging[0].splitlines()[-2].endswith("| $0 |")

    def test_a_judge_that_fails_does_not_fail_the_run(
        self, ai_battle: Run, judges: FakeProviders, folder: Path
    ) -> None:
        judges.openai.always(fault("http_401"))
        outcome = ai_battle("run", with_judge(folder, "gpt-4o"), "--out", "r")
        assert outcome.code == 0
        assert "The run was not judged: " in outcome.out
        assert verdicts_in(Path("r")) == []

    def test_the_limit_of_the_run_holds_for_both(self, ai_battle: Run, judges: FakeProviders, folder: Path) -> None:
        outcome = ai_battle("run", with_judge(folder, "gpt-4o"), "--out", "r", "--max-cost", "0.0001")
        assert outcome.code == 0
        assert "The run was not judged: " in outcome.out
        assert judges.openai.questions == []

    def test_a_run_that_is_over_is_not_judged_again_by_resuming(
        self, ai_battle: Run, judges: FakeProviders, folder: Path
    ) -> None:
        ai_battle("run", with_judge(folder, "gpt-4o"), "--out", "r", "-q")
        document = json.loads(ai_battle("resume", "r", "--json").out)
        assert document["judgement"]["totals"] == {"Ann": 5, "Bob": 5}
        assert len(judges.openai.questions) == 2

    def test_a_run_that_ended_behind_its_verdict_keeps_it_and_one_that_ended_before_is_judged(
        self, ai_battle: Run, judges: FakeProviders, folder: Path
    ) -> None:
        ai_battle("run", with_judge(folder, "gpt-4o"), "--out", "r", "-q")
        journal = Path("r/journal.jsonl")
        lines = journal.read_text().splitlines(keepends=True)
        journal.write_text("".join(lines[:-1]))  # a crash between the verdict and the end of the run
        document = json.loads(ai_battle("resume", "r", "--json").out)
        assert (document["judgement"]["totals"]["Ann"], len(judges.openai.questions)) == (5, 2)
        before = next(place for place, line in enumerate(lines) if '"run_judged"' in line)
        journal.write_text("".join(lines[:before]))
        document = json.loads(ai_battle("resume", "r", "--json").out)
        assert (document["judgement"]["totals"]["Ann"], len(judges.openai.questions)) == (5, 4)
        assert document["usage"]["cost_usd"] == 0

    def test_a_mapping_has_models_criteria_and_a_scale(
        self, ai_battle: Run, judges: FakeProviders, folder: Path
    ) -> None:
        judge = "{models: [gpt-4o, {type: ollama/phi4, name: Phi}], criteria: {wit: Is it funny?}, scale: [1, 5]}"
        document = json.loads(ai_battle("run", with_judge(folder, judge), "--out", "r", "--json").out)
        assert document["judgement"]["judges"] == ["openai/gpt-4o", "Phi"]
        assert document["judgement"]["scores"]["Ann"] == {"wit": 5}

    @pytest.mark.parametrize(
        ("judge", "words"),
        [
            ("nobody/x", "judged.yaml:8:10 discussion.judge.models[0].type: "),
            ("{model: gpt-4o, rubric: gone.yaml}", "discussion.judge.rubric: "),
            ("{model: gpt-4o, criteria: {a: {asks: x, weight: 0.5}}}", "the weights add up to 0.5, not to 1 or 100"),
            ("{model: gpt-4o, critria: {a: x}}", "unknown key; did you mean 'criteria'?"),
            ("{criteria: {a: x}}", "discussion.judge.models: is missing"),
            ("{model: gpt-4o, criteria: {a: x}, rubric: y}", "leave one of the two out"),
        ],
    )
    def test_what_is_wrong_is_told_with_its_place(
        self, ai_battle: Run, judges: FakeProviders, folder: Path, judge: str, words: str
    ) -> None:
        outcome = ai_battle("validate", with_judge(folder, judge))
        assert outcome.code == 2
        assert words in outcome.out + outcome.err

    def test_a_judge_of_a_script_has_its_words_in_the_file(
        self, ai_battle: Run, folder: Path, judges: FakeProviders
    ) -> None:
        entries = [
            {"participant": f"Participant {label}", "criterion": "wit", "score": 4, "quotation": said, "reason": "Dry."}
            for label, said in (("A", "Bees are no trouble at all."), ("B", "They sting, as Participant A found out."))
        ]
        first = json.dumps({"scores": entries})
        other = (
            first.replace("Participant A", "@").replace("Participant B", "Participant A").replace("@", "Participant B")
        )
        judge = {"model": {"type": "scripted", "script": [first, other]}, "criteria": {"wit": "Is it funny?"}}
        path = with_judge(folder, json.dumps(judge))
        document = json.loads(ai_battle("run", path, "--out", "r", "--json").out)
        assert document["judgement"]["totals"] == {"Ann": 4, "Bob": 4}
        assert judges.openai.requests == []


def test_secrets_that_a_judge_repeats_stay_out_of_what_is_kept(
    ai_battle: Run, judges: FakeProviders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEE_API_KEY", "honey-is-sweet-1234")
    judges.openai.always(lambda body: reply(judgement(body).replace("It shows.", "The key is honey-is-sweet-1234.")))
    ai_battle("run", "bees.yaml", "-q", "--out", "r")
    outcome = ai_battle("judge", "r", "-m", "gpt-4o", "--json")
    kept = Path("r/judgements.jsonl").read_text() + Path("r/report.html").read_text() + outcome.out
    assert "honey-is-sweet-1234" not in kept
    assert "${BEE_API_KEY}" in kept
