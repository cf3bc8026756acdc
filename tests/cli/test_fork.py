"""`ai-battle fork`: what is taken over costs nothing, what follows is live, and a change is compared with none."""

import json
import random
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ai_battle.benchmark.intervals import mean_difference_interval, rate_difference_interval
from ai_battle.conversation.reading import messages, read
from ai_battle.core.events import RunForked, TurnFinished
from ai_battle.core.exchange import Usage
from ai_battle.testing import FakeProviders, reply
from tests.scenarios.terminal import command

from .conftest import Run

TALK = """
discussion:
  turns: 20
  goal: Count upwards.
  models:
    Ann: {type: gpt-4o}
    Bob: gpt-4o
"""
LETTERS = """
discussion:
  turns: 3
  goal: Say letters.
  models:
    Ann: {type: scripted/a, script: [a, b, c, d]}
    Bob: {type: scripted/b, script: [x, y, z]}
"""


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProviders]:
    with FakeProviders.in_thread() as fakes:
        for name, value in fakes.environment.items():
            monkeypatch.setenv(name, value)
        fakes.openai.always(reply("One more.", usage=Usage(1_000, 500)))
        yield fakes


@pytest.fixture
def talk(folder: Path, fakes: FakeProviders, ai_battle: Run) -> Path:
    """A run of forty turns."""
    (folder / "talk.yaml").write_text(TALK)
    assert ai_battle("run", "talk.yaml", "--out", "talk", "--quiet").code == 0
    fakes.openai.requests.clear()
    return folder / "talk"


@pytest.fixture
def letters(folder: Path, ai_battle: Run) -> Path:
    (folder / "letters.yaml").write_text(LETTERS)
    assert ai_battle("run", "letters.yaml", "--out", "letters", "--quiet").code == 0
    return folder / "letters"


def texts_of(run_dir: Path) -> list[str]:
    return [message.text for message in messages(run_dir)][1:]


class TestABranch:
    def test_it_begins_with_what_was_said_and_goes_on_live(self, ai_battle: Run, letters: Path) -> None:
        outcome = ai_battle("fork", letters, "--at", 3, "--out", "branch")

        assert outcome.code == 0
        assert texts_of(Path("branch/as-it-was-1")) == ["a", "x", "b", "y", "c", "z"]
        assert "Forked from" in outcome.out
        assert "[3]" not in outcome.out, "what was said before is not told again"
        assert "[4] Bob: y" in outcome.out

    @pytest.mark.slow
    def test_twenty_branches_of_forty_turns_call_for_their_own_turns_only(
        self, ai_battle: Run, talk: Path, fakes: FakeProviders
    ) -> None:
        assert ai_battle("fork", talk, "--at", 38, "-n", 20, "--out", "branches", "--quiet").code == 0

        assert len(fakes.openai.requests) == 20 * 2
        assert all(len(texts_of(branch)) == 40 for branch in Path("branches").glob("as-it-was-*"))

    def test_what_was_said_before_is_paid_for_in_the_run_it_was_said_in(self, ai_battle: Run, talk: Path) -> None:
        outcome = ai_battle("fork", talk, "--at", 38, "--set", "discussion.limits.tokens=8000", "--json", "--quiet")

        (run,) = json.loads(outcome.out)["runs"]
        assert run["status"] == "done", "the first 38 turns took 57,000 tokens, which are not counted"
        assert run["usage"]["input_tokens"] + run["usage"]["output_tokens"] == 2 * 1_500

    def test_another_model_speaks_from_there(self, ai_battle: Run, talk: Path, fakes: FakeProviders) -> None:
        ai_battle("fork", talk, "--at", 36, "--swap", "Bob=gpt-4o-mini", "--out", "swapped", "--quiet")

        assert [request.body["model"] for request in fakes.openai.requests] == [
            "gpt-4o", "gpt-4o-mini", "gpt-4o", "gpt-4o-mini",
        ]  # fmt: skip
        (listed,) = json.loads(ai_battle("runs", "list", "--in", "swapped", "--json").out)
        assert (listed["name"], listed["models"]) == ("talk-changed-1", ["openai/gpt-4o", "openai/gpt-4o-mini"])
        assert re.search(r"\*\*all\*\* \|  \| 4 \|", (Path(listed["run_dir"]) / "transcript.md").read_text())

    def test_another_goal_is_told_behind_what_was_said(self, ai_battle: Run, talk: Path, fakes: FakeProviders) -> None:
        ai_battle("fork", talk, "--at", 39, "--goal", "Count downwards.", "--quiet")

        (request,) = fakes.openai.requests
        sent = request.body["messages"]
        assert "Count downwards." in json.dumps(sent[-1])
        assert "Count upwards." in json.dumps(sent[:3])

    def test_it_can_be_resumed_shown_and_forked_again(self, ai_battle: Run, letters: Path) -> None:
        ai_battle("fork", letters, "--at", 2, "--out", "first", "--quiet")
        branch = Path("first/as-it-was-1")
        ai_battle("fork", branch, "--at", 5, "--out", "second", "--quiet")

        again = Path("second/as-it-was-1")
        assert texts_of(again) == texts_of(letters)
        assert ai_battle("resume", again).code == 0
        assert "y" in ai_battle("show", again, 4).out
        assert [event.turn for _, event in read(again) if isinstance(event, RunForked)] == [2, 5]

    def test_its_report_tells_where_it_comes_from_and_what_it_cost_itself(self, ai_battle: Run, talk: Path) -> None:
        ai_battle("fork", talk, "--at", 38, "--out", "branch", "--quiet")

        report = (Path("branch/as-it-was-1") / "report.html").read_text()
        assert "after turn 38" in report
        assert "3,000 tokens" in report

    def test_a_run_that_was_killed_is_forked_at_any_turn_that_was_over(self, ai_battle: Run, letters: Path) -> None:
        journal = letters / "journal.jsonl"
        lines = journal.read_text().splitlines(keepends=True)
        ends = [n for n, line in enumerate(lines) if '"turn_finished"' in line]
        journal.write_text("".join(lines[: ends[3] + 1]) + '{"torn')

        ai_battle("fork", letters, "--at", 4, "--out", "branch", "--quiet")

        assert texts_of(Path("branch/as-it-was-1")) == ["a", "x", "b", "y", "c", "z"]


class TestAComparison:
    def test_a_change_is_compared_with_as_many_branches_without_it(
        self, ai_battle: Run, talk: Path, fakes: FakeProviders
    ) -> None:
        fakes.openai.always("Five, I think.")
        fakes.openai.always("Four.", model="gpt-4o-mini")

        outcome = ai_battle(
            "fork", talk, "--at", 39, "--swap", "Bob=gpt-4o-mini", "-n", 5, "--expect", "four", "--out", "b", "--quiet"
        )

        assert outcome.code == 0, outcome.err
        assert len([*Path("b").glob("changed-*")]) == len([*Path("b").glob("as-it-was-*")]) == 5
        told = (
            "has what is expected: changed 100%, as it was 0%: +100%, between +39% and +100%. That is more than chance."
        )
        assert told in outcome.lines, outcome.out

    def test_the_page_says_where_the_branches_begin_and_what_is_changed_and_no_value_of_a_setting(
        self, ai_battle: Run, talk: Path
    ) -> None:
        change = ("--swap", "Bob=gpt-4o-mini", "--set", "discussion.models.Ann.persona=orchid-4711")
        ai_battle("fork", talk, "--at", 39, *change, "--out", "b", "--quiet")

        page = Path("b/comparison.html").read_text()
        assert "after turn 39, changed: Bob=gpt-4o-mini, discussion.models.Ann.persona: 2 runs</h1>" in page
        assert "orchid-4711" not in page

    def test_without_a_change_there_is_nothing_to_compare_and_all_branches_are_beside_each_other(
        self, ai_battle: Run, letters: Path
    ) -> None:
        ai_battle("fork", letters, "--at", 2, "-n", 3, "--out", "b", "--quiet")

        page = Path("b/comparison.html").read_text()
        assert page.count('scope="col">as-it-was-') == 3
        assert "after turn 2: 4 runs</h1>" in page
        assert "Did it matter" not in page

    def test_programs_get_the_values_behind_each_interval(
        self, ai_battle: Run, talk: Path, fakes: FakeProviders
    ) -> None:
        fakes.openai.always("Five, I think.")
        fakes.openai.always("Four.", model="gpt-4o-mini")

        outcome = ai_battle("fork", talk, "--at", 39, "--swap", "Bob=gpt-4o-mini", "-n", 2, "--json", "--quiet")

        (words,) = [each for each in json.loads(outcome.out)["changes"] if each["measure"] == "words"]
        assert (words["before"], words["after"], words["clear"]) == ([3, 3], [1, 1], True)

    def test_all_branches_together_keep_to_the_cost_that_is_allowed(
        self, ai_battle: Run, talk: Path, fakes: FakeProviders
    ) -> None:
        outcome = ai_battle("fork", talk, "--at", 38, "-n", 20, "--max-cost", 0.05, "--out", "b", "--quiet")

        assert outcome.code == 1
        assert "Not started" in outcome.err
        spent = len(fakes.openai.requests) * (1_000 * 2.5 + 500 * 10) / 1e6
        assert spent <= 0.05


class TestAtOnce:
    def test_branches_run_at_the_same_time_and_each_tells_its_end(
        self, ai_battle: Run, talk: Path, fakes: FakeProviders
    ) -> None:
        fakes.openai.always(reply("One more.", delay=1.0))
        outcome = ai_battle("fork", talk, "--at", 39, "-n", 8, "--at-once", 8, "--out", "b")

        assert outcome.code == 0
        first, *_, last = (request.time for request in fakes.openai.requests)
        assert last - first < 7, "one after another they would begin a second apart"
        assert sorted(line.split()[3].rstrip(":") for line in outcome.err.splitlines() if " of 8 " in line) == [
            f"as-it-was-{number}" for number in range(1, 9)
        ]
        assert [line.split()[0] for line in outcome.lines if line.startswith("b/as")] == [
            f"b/as-it-was-{number}" for number in range(1, 9)
        ]

    def test_a_person_takes_part_in_one_run_after_another(self, ai_battle: Run, folder: Path) -> None:
        (folder / "me.yaml").write_text(LETTERS.replace("{type: scripted/b, script: [x, y, z]}", "{role: user}"))
        outcome = ai_battle("run", "me.yaml", "--repeat", 2, "--at-once", 2)

        assert outcome.code == 2
        assert "a person takes part" in outcome.err


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("--at", 9), "can't be forked after turn 9; turns 1 to 6 are over"),
            (("--at", 6), "fork earlier, name more with --turns, or set an outcome"),
            (("--at", 2, "--swap", "Bob"), "PARTICIPANT=TYPE"),
            (("--at", 2, "--swap", "Rob=gpt-4o"), "did you mean 'Bob'"),
            (("--at", 2, "--expect", "("), "not a regular expression"),
            (("--at", 2, "--set", "discussion.turn=3"), "discussion.turn"),
        ],
    )
    def test_the_error_names_the_thing_and_the_way_out_and_nothing_is_left_behind(
        self, ai_battle: Run, letters: Path, folder: Path, arguments: tuple[object, ...], words: str
    ) -> None:
        outcome = ai_battle("fork", letters, *arguments, "--quiet")

        assert outcome.code == 2
        assert words in outcome.err
        assert not (folder / "runs").exists()

    def test_a_folder_that_is_no_run_is_said_to_be_none(self, ai_battle: Run, folder: Path) -> None:
        assert "is not a run directory" in ai_battle("fork", folder, "--at", 1).err

    def test_the_outcome_of_a_run_that_was_over_is_all_that_is_asked_for(
        self, ai_battle: Run, talk: Path, fakes: FakeProviders
    ) -> None:
        """Also of several branches: none goes on without the change, since nothing is left to be said."""
        fakes.openai.always("The minutes: they counted.")
        wish = "discussion.outcome=Write the minutes."
        assert ai_battle("fork", talk, "--at", 40, "--set", wish, "-n", 2, "--out", "b", "-q").code == 0

        assert [path.read_text() for path in Path("b").rglob("outcome.md")] == ["The minutes: they counted.\n"] * 2
        assert len(fakes.openai.requests) == 2

    def test_more_rounds_let_a_run_that_was_over_go_on(self, ai_battle: Run, letters: Path) -> None:
        ai_battle(
            "fork", letters, "--at", 6, "--turns", 4, "--set", "discussion.models.Bob.loop=true", "--out", "b", "-q"
        )

        assert texts_of(Path("b/changed-1"))[6:7] == ["d"]


class TestIntervals:
    """Cases as forks give them: few branches of each kind, with a truth that is known."""

    def test_of_rates_they_hold_the_truth_in_95_of_100(self) -> None:
        draw = random.Random(7)
        held = 0
        for _ in range(1_000):
            p, q, n = draw.random(), draw.random(), draw.randint(5, 20)
            before, after = ([draw.random() < rate for _ in range(n)] for rate in (p, q))
            low, high = rate_difference_interval(before, after)
            held += low <= q - p <= high
        assert held >= 950

    def test_of_means_they_hold_the_truth_in_95_of_100_also_where_spreads_differ(self) -> None:
        draw = random.Random(7)
        held = 0
        for _ in range(1_000):
            a, b, n = draw.uniform(50, 500), draw.uniform(50, 500), draw.randint(5, 20)
            before, after = ([draw.gauss(mean, mean * draw.uniform(0.1, 0.5)) for _ in range(n)] for mean in (a, b))
            low, high = mean_difference_interval(before, after)
            held += low <= b - a <= high
        assert held >= 940, "by chance 950 of 1,000 are between 936 and 964"


def test_recorded_turns_stay_as_they_were(ai_battle: Run, letters: Path) -> None:
    before = [event for _, event in read(letters) if isinstance(event, TurnFinished)]
    ai_battle("fork", letters, "--at", 4, "--out", "b", "--quiet")

    after = [event for _, event in read(Path("b/as-it-was-1")) if isinstance(event, TurnFinished)]
    assert after[:4] == before[:4]


def test_a_run_that_is_being_written_is_forked_behind_what_is_over_and_goes_on_undisturbed(
    folder: Path, ai_battle: Run
) -> None:
    (folder / "slow.yaml").write_text(LETTERS.replace("script: [a, b, c, d]", "script: [a, {say: b, delay: 600}, c]"))
    journal = folder / "slow" / "journal.jsonl"
    with subprocess.Popen(command("run", "slow.yaml", "--out", "slow", "-q"), stdout=subprocess.DEVNULL) as going:
        # The scripted model notes its place before it waits; from then on nothing is written.
        while not journal.exists() or b"script_advanced" not in journal.read_bytes().partition(b'started","turn":3')[2]:
            time.sleep(0.02)
        before = journal.read_bytes()

        early = ai_battle("fork", "slow", "--at", 3, "-q")
        forked = ai_battle("fork", "slow", "--at", 2, "--set", "discussion.models.Ann.script=[a, b, c]", "--json")

        assert (going.poll(), journal.read_bytes()) == (None, before)
        going.terminate()
    assert (early.code, "turns 1 to 2 are over" in early.err) == (2, True)
    assert forked.code == 0, forked.err
    (fork,) = [run for run in (folder / "runs").iterdir() if (run / "journal.jsonl").exists()]
    assert [message.text for message in messages(fork)][1:] == ["a", "x", "b", "y", "c", "z"]
