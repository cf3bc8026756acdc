"""One discussion in several modes, several times: what is run, shown, kept, and how a series ends."""

import json
import re
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ai_battle.config.loading import load
from ai_battle.core.exchange import Usage
from ai_battle.testing import FakeProviders, fault, reply
from tests.scenarios.terminal import begin, end_all, wait_for

from .conftest import Run

SCRIPTED = """
discussion:
  turns: 1
  mode: ai-ai
  goal: Count.
  models:
    Ann: {type: scripted/a, script: [one]}
    Bob: {type: scripted/b, script: [two]}
"""
PAIR = """
discussion:
  turns: 1
  goal: Say something.
  models:
    Ann: {type: gpt-4o, parameters: {max_tokens: 5000}}
    Bob: {type: gpt-4o, parameters: {max_tokens: 5000}}
"""


@pytest.fixture(autouse=True)
def nothing_goes_on() -> Iterator[None]:
    yield
    end_all()


@pytest.fixture
def scripted_file(folder: Path) -> Path:
    path = folder / "count.yaml"
    path.write_text(SCRIPTED)
    return path


@pytest.fixture
def pair(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProviders]:
    """Two models that cost something, in pair.yaml."""
    (folder / "pair.yaml").write_text(PAIR)
    with FakeProviders.in_thread() as fakes:
        for name, value in fakes.environment.items():
            monkeypatch.setenv(name, value)
        fakes.openai.always(reply("Something.", usage=Usage(100, 5_000)))
        yield fakes


def cost_of_one(ai_battle: Run) -> float:
    cost = json.loads(ai_battle("run", "pair.yaml", "--json").out)["usage"]["cost_usd"]
    assert cost > 0
    return float(cost)


def modes_and_repeats(out: str) -> list[tuple[str, int]]:
    return [(run["mode"], run["repeat"]) for run in json.loads(out)["runs"]]


class TestRuns:
    def test_each_mode_is_run_as_often_as_asked_one_after_another(self, ai_battle: Run, scripted_file: Path) -> None:
        outcome = ai_battle("run", scripted_file, "--modes", "no-meta,human-ai", "--repeat", 2)

        assert outcome.code == 0
        assert [line for line in outcome.lines if line.startswith("Run ")] == [
            "Run 1 of 4: no-meta, 1 of 2",
            "Run 2 of 4: no-meta, 2 of 2",
            "Run 3 of 4: human-ai, 1 of 2",
            "Run 4 of 4: human-ai, 2 of 2",
        ]
        assert outcome.lines.count("[1] Ann: one") == 4

    def test_each_has_a_directory_that_tells_mode_and_number_and_runs_in_that_mode(
        self, ai_battle: Run, scripted_file: Path
    ) -> None:
        ai_battle("run", scripted_file, "--modes", "no-meta,human-ai", "--repeat", 2, "--quiet")

        names = sorted(path.name.partition("Z-")[2] for path in Path("runs").iterdir() if path.is_dir())
        assert names == ["count-human-ai-1", "count-human-ai-2", "count-no-meta-1", "count-no-meta-2"]
        for path in filter(Path.is_dir, Path("runs").iterdir()):
            assert str(load(path / "config.yaml").file.discussion.mode) in path.name
            assert {"journal.jsonl", "transcript.md", "report.html"} <= {file.name for file in path.iterdir()}

    def test_a_long_name_leaves_room_for_mode_and_number(self, ai_battle: Run, folder: Path) -> None:
        path = folder / f"{'long' * 30}.yaml"
        path.write_text(SCRIPTED)
        ai_battle("run", path, "--repeat", 1)
        (made,) = Path("runs").iterdir()
        assert made.name.endswith("-ai-ai-1")

    def test_with_out_they_are_folders_inside_of_it(self, ai_battle: Run, scripted_file: Path) -> None:
        ai_battle("run", scripted_file, "--modes", "ai-ai,no-meta", "--out", "all")
        assert sorted(path.name for path in Path("all").iterdir() if path.is_dir()) == ["ai-ai-1", "no-meta-1"]

    def test_repeat_alone_keeps_the_mode_of_the_file(self, ai_battle: Run, scripted_file: Path) -> None:
        outcome = ai_battle("run", scripted_file, "--repeat", 2, "--json")
        assert modes_and_repeats(outcome.out) == [("ai-ai", 1), ("ai-ai", 2)]

    def test_older_spellings_of_a_mode_are_read(self, ai_battle: Run, scripted_file: Path) -> None:
        outcome = ai_battle("run", scripted_file, "--modes", "Default, human_ai", "--json")
        assert modes_and_repeats(outcome.out) == [("no-meta", 1), ("human-ai", 1)]

    def test_the_options_have_twins_in_the_environment_and_set_goes_with_them(
        self, ai_battle: Run, scripted_file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AI_BATTLE_RUN_MODES", "ai-ai,no-meta")
        monkeypatch.setenv("AI_BATTLE_RUN_REPEAT", "2")
        runs = json.loads(ai_battle("run", scripted_file, "--json", "--set", "discussion.goal=Sing.").out)["runs"]
        assert len(runs) == 4
        assert {run["messages"][0]["parts"][0]["content"] for run in runs} == {"Sing."}

    def test_every_run_is_of_the_file_as_it_was_at_the_start(self, ai_battle: Run, folder: Path) -> None:
        """The tool of the first run stands for somebody who edits the file meanwhile."""
        path = folder / "edited.yaml"
        written = SCRIPTED.replace("[one]", "[{call: {tool: spoil}}, one]")
        path.write_text(f"{written}  tools: {{enabled: true, paths: [spoil.py]}}\n")
        (folder / "spoil.py").write_text(
            "from pathlib import Path\nfrom ai_battle import tool\n\n\n"
            "@tool\ndef spoil() -> dict[str, bool]:\n"
            '    """Spoils the file."""\n'
            f"    Path({str(path)!r}).write_text('nothing')\n"
            "    return {'spoilt': True}\n"
        )
        outcome = ai_battle("run", path, "--repeat", 2, "--trust", "--max-cost", 1, "--quiet")
        assert (outcome.code, path.read_text()) == (0, "nothing")


class TestFolders:
    @pytest.fixture
    def talks(self, folder: Path) -> Path:
        (folder / "talks").mkdir()
        for name in ("tea", "boat"):
            (folder / "talks" / f"{name}.yaml").write_text(SCRIPTED)
        return folder / "talks"

    def test_all_discussions_of_a_folder_are_run_and_called_after_their_files(
        self, ai_battle: Run, talks: Path
    ) -> None:
        outcome = ai_battle("run", talks, "--repeat", 2, "--at-once", 4, "--out", "all", "--json")
        assert outcome.code == 0
        assert [(run["discussion"], run["repeat"], run["run"]) for run in json.loads(outcome.out)["runs"]] == [
            (name, number, str(Path("all") / f"{name}-{number}")) for name in ("boat", "tea") for number in (1, 2)
        ]

    def test_each_can_be_run_in_several_modes(self, ai_battle: Run, talks: Path) -> None:
        assert ai_battle("run", talks, "--modes", "ai-ai,no-meta", "--out", "all", "-q").code == 0
        assert sorted(path.name for path in Path("all").iterdir() if path.is_dir()) == [
            *("boat-ai-ai-1", "boat-no-meta-1", "tea-ai-ai-1", "tea-no-meta-1")
        ]

    def test_a_dry_run_shows_the_first_requests_of_each(self, ai_battle: Run, talks: Path) -> None:
        outcome = ai_battle("run", talks, "--dry-run")
        assert [line for line in outcome.lines if line.startswith("Discussion ")] == [
            "Discussion boat, 1 run",
            "Discussion tea, 1 run",
        ]

    def test_a_folder_without_any_is_refused(self, ai_battle: Run, folder: Path) -> None:
        (folder / "empty").mkdir()
        outcome = ai_battle("run", "empty")
        assert (outcome.code, "empty has no discussions: no file in it ends with .yaml or .yml" in outcome.err) == (
            2,
            True,
        )

    def test_a_file_with_a_mistake_keeps_all_from_beginning(self, ai_battle: Run, talks: Path) -> None:
        (talks / "wrong.yaml").write_text("discussion: {goal: Talk.}")
        outcome = ai_battle("run", talks, "--out", "all")
        assert (outcome.code, "wrong.yaml" in outcome.err, Path("all").exists()) == (2, True, False)


class TestTime:
    def test_no_run_begins_when_the_time_of_all_is_used_up(self, ai_battle: Run, folder: Path) -> None:
        """Two answers of a quarter of a second each use up half a second."""
        (folder / "slow.yaml").write_text(re.sub(r"(one|two)\]", r"{say: \1, delay: 0.25}]", SCRIPTED))
        outcome = ai_battle("run", "slow.yaml", "--repeat", 3, "--max-time", 0.5, "--out", "all")
        assert outcome.code == 1
        assert "--max-time is used up by the earlier runs" in outcome.err
        assert outcome.err.splitlines()[-1] == "Not started: ai-ai-2, ai-ai-3."

    def test_a_single_run_is_limited_too(self, ai_battle: Run, folder: Path) -> None:
        (folder / "slow.yaml").write_text(SCRIPTED.replace("one]", "{say: one, delay: 0.25}]"))
        outcome = ai_battle("run", "slow.yaml", "--max-time", 0.2, "--set", "discussion.turns=5", "--json")
        assert json.loads(outcome.out)["status"] == "limit"


class TestResults:
    def test_a_table_sums_up_what_each_run_took(self, ai_battle: Run, scripted_file: Path) -> None:
        outcome = ai_battle("run", scripted_file, "--modes", "ai-ai,no-meta", "--out", "all", "--quiet")

        heading, first, second, total = outcome.lines[-5:-1]
        assert heading.split() == ["run", "mode", "repeat", "status", "turns", "tokens", "cost", "seconds"]
        assert first.split()[:5] == ["all/ai-ai-1", "ai-ai", "1", "done", "2"]
        assert re.fullmatch(r"all/no-meta-1 +no-meta +1 +done +2 +\d+ in, \d+ out +\$0 +\d+\.\d", second)
        assert re.fullmatch(r"All together: \d+ in, \d+ out, \$0\.", total)

    def test_json_is_one_document_of_all_runs(self, ai_battle: Run, scripted_file: Path) -> None:
        single = json.loads(ai_battle("run", scripted_file, "--json").out)
        outcome = ai_battle("run", scripted_file, "--repeat", 2, "--json", "--out", "all")

        (first, second) = json.loads(outcome.out)["runs"]
        assert {*first} == {*single, "mode", "repeat"}
        assert (first["run"], first["status"], first["turns"]) == ("all/ai-ai-1", "done", 2)
        assert second["messages"] == first["messages"] == single["messages"]
        assert "Run 2 of 2: ai-ai, 2 of 2" in outcome.err

    def test_the_exit_code_is_the_worst_and_a_run_that_fails_keeps_no_other_from_running(
        self, ai_battle: Run, pair: FakeProviders
    ) -> None:
        pair.openai.says("Hello.", "Hi.", fault("http_401"), "Hello again.")
        outcome = ai_battle("run", "pair.yaml", "--repeat", 3, "--out", "all")

        assert outcome.code == 1
        statuses = [re.split(r"  +", line)[3] for line in outcome.lines[-5:-2]]
        assert statuses == ["done", "failed", "done"]
        assert "ai-battle resume all/human-ai-2" in outcome.err

    def test_what_ended_is_reported_though_a_later_run_can_not_begin(self, ai_battle: Run, scripted_file: Path) -> None:
        """Somebody takes its directory away from it meanwhile: here a tool of the first run."""
        (scripted_file.parent / "take.py").write_text(
            "from pathlib import Path\nfrom ai_battle import tool\n\n\n"
            "@tool\ndef take() -> dict[str, bool]:\n"
            '    """Takes the place of the second run."""\n'
            f"    Path({str(scripted_file.parent / 'all/ai-ai-2')!r}).write_text('taken')\n"
            "    return {'taken': True}\n"
        )
        written = SCRIPTED.replace("[one]", "[{call: {tool: take}}, one]")
        scripted_file.write_text(f"{written}  tools: {{enabled: true, paths: [take.py]}}\n")
        outcome = ai_battle("run", scripted_file, "--repeat", 3, "--trust", "--out", "all", "--json")

        assert outcome.code == 2
        assert modes_and_repeats(outcome.out) == [("ai-ai", 1)]
        assert "all/ai-ai-2 is a file" in outcome.err
        assert "Not started: ai-ai-3." in outcome.err


class TestCost:
    def test_max_cost_holds_for_all_runs_together(self, ai_battle: Run, pair: FakeProviders) -> None:
        most = 2.1 * cost_of_one(ai_battle)
        outcome = ai_battle("run", "pair.yaml", "--repeat", 4, "--max-cost", most, "--out", "all")

        assert outcome.code == 1
        assert sorted(path.name for path in Path("all").iterdir() if path.is_dir()) == ["human-ai-1", "human-ai-2"]
        assert "--max-cost is used up by the earlier runs" in outcome.err
        assert "Not started: human-ai-3, human-ai-4." in outcome.err

    def test_a_run_may_use_what_is_left_and_no_more_than_the_file_allows(
        self, ai_battle: Run, pair: FakeProviders
    ) -> None:
        one = cost_of_one(ai_battle)
        limited = ("--set", f"discussion.limits.cost_usd={3 * one:f}")
        ai_battle("run", "pair.yaml", "--repeat", 2, "--max-cost", 3.5 * one, "--out", "all", *limited)

        allowed = [load(f"all/human-ai-{n}/config.yaml").file.discussion.limits.cost_usd for n in (1, 2)]
        assert allowed == pytest.approx([3 * one, 2.5 * one], rel=0.02)


class TestDryRun:
    def test_the_requests_of_each_mode_and_the_sum_of_the_forecast_are_shown(
        self, ai_battle: Run, scripted_file: Path
    ) -> None:
        outcome = ai_battle("run", scripted_file, "--modes", "ai-ai,no-meta", "--repeat", 3, "--dry-run")

        assert outcome.code == 0
        assert [line for line in outcome.lines if line.startswith("Mode ")] == [
            "Mode ai-ai, 3 runs",
            "Mode no-meta, 3 runs",
        ]
        assert outcome.lines.count("  user: Count.") == 4
        assert sum("You are Ann" in line for line in outcome.lines) == 1, "no-meta sends no system prompt"
        assert not Path("runs").exists()

    def test_the_sum_counts_every_run(self, ai_battle: Run, scripted_file: Path) -> None:
        document = json.loads(
            ai_battle("run", scripted_file, "--modes", "ai-ai,no-meta", "--repeat", 3, "--dry-run", "--json").out
        )
        modes = document["modes"]
        assert [(mode["mode"], mode["runs"]) for mode in modes] == [("ai-ai", 3), ("no-meta", 3)]
        tokens = [one["usage"]["input_tokens"] for mode in modes for one in mode["forecast"]]
        assert document["usage"]["input_tokens"] == 3 * sum(tokens)


class TestInterrupted:
    @pytest.mark.parametrize("options", [(), ("--json",)], ids=["shown", "json"])
    def test_ctrl_c_saves_the_run_and_says_how_to_go_on_and_what_was_not_started(
        self, folder: Path, options: tuple[str, ...]
    ) -> None:
        slow = SCRIPTED.replace("script: [two]", "pace: 0.05, script: [a b c d e f g h i j k l m n o p]")
        (folder / "slow.yaml").write_text(slow)
        shape = ("--set", "discussion.turns=1", "--modes", "ai-ai,no-meta", "--repeat", "2")
        running = begin("run", "slow.yaml", "--out", "all", *shape, *options)
        wait_for('"turn_started","turn":2', Path("all/ai-ai-2/journal.jsonl"))
        running.process.send_signal(signal.SIGINT)
        stopped = running.end()

        assert (stopped.code, "Traceback" in stopped.err) == (130, False)
        assert "Not started: no-meta-1, no-meta-2." in stopped.err
        assert sorted(path.name for path in Path("all").iterdir() if path.is_dir()) == ["ai-ai-1", "ai-ai-2"]
        (resume,) = re.findall(r"ai-battle (resume .*)", stopped.err)
        assert shlex.split(resume) == ["resume", "all/ai-ai-2"]
        if options:
            assert [run["status"] for run in json.loads(stopped.out)["runs"]] == ["done", "interrupted"]
        else:
            assert [re.split(r"  +", line)[3] for line in stopped.out.splitlines()[-4:-2]] == ["done", "interrupted"]


class TestBadInput:
    def test_a_wrong_mode_is_named_before_anything_runs(self, ai_battle: Run, scripted_file: Path) -> None:
        outcome = ai_battle("run", scripted_file, "--modes", "no-meta,ai-a")
        assert outcome.code == 2
        assert "--modes" in outcome.err
        assert "not 'ai-a'; did you mean 'ai-ai'?" in outcome.err
        assert not Path("runs").exists()

    @pytest.mark.parametrize(
        ("modes", "words"), [("no-meta,default", "no-meta is named twice"), (",", "names no mode")]
    )
    def test_modes_that_are_named_twice_or_not_at_all_are_refused(
        self, ai_battle: Run, scripted_file: Path, modes: str, words: str
    ) -> None:
        outcome = ai_battle("run", scripted_file, "--modes", modes, "--dry-run")
        assert (outcome.code, words in outcome.err) == (2, True)

    def test_an_empty_judge_is_none(self, ai_battle: Run, scripted_file: Path) -> None:
        """As where a shell's variable is not set."""
        assert ai_battle("run", scripted_file, "--judge", "", "-q").code == 0

    @pytest.mark.parametrize("number", ["0", "-1", "1001", "99999999999999999999", "two"])
    def test_a_number_of_runs_that_makes_no_sense_is_refused(
        self, ai_battle: Run, scripted_file: Path, number: str
    ) -> None:
        outcome = ai_battle("run", scripted_file, f"--repeat={number}")
        assert (outcome.code, "--repeat" in outcome.err, number in outcome.err) == (2, True, True)

    @pytest.mark.parametrize("option", ["--record", "--replay"])
    def test_a_recording_is_of_one_run(self, ai_battle: Run, scripted_file: Path, option: str) -> None:
        outcome = ai_battle("run", scripted_file, "--repeat", 2, option, "tape.jsonl")
        assert (outcome.code, "A recording is of one run" in outcome.err) == (2, True)
        assert not Path("tape.jsonl").exists()

    def test_a_directory_in_use_is_found_before_the_first_run(self, ai_battle: Run, scripted_file: Path) -> None:
        ai_battle("run", scripted_file, "--modes", "no-meta", "--out", "all")
        outcome = ai_battle("run", scripted_file, "--modes", "ai-ai,no-meta", "--out", "all")
        assert (outcome.code, "all/no-meta-1 exists and is not empty" in outcome.err) == (2, True)
        assert not Path("all/ai-ai-1").exists()
