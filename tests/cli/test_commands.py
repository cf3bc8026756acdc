"""What people type, what they read, and the exit code."""

import json
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest

from ai_battle.cli import COMMANDS
from ai_battle.conversation.reading import read
from ai_battle.core.events import ModelReplied, TurnFinished
from ai_battle.testing import FakeProviders, fault
from tests.scenarios import terminal

from .conftest import Run

SCRIPTED = """
discussion:
  turns: 2
  mode: ai-ai
  goal: Count.
  models:
    Ann: {type: scripted/a, script: [one, three]}
    Bob: {type: scripted/b, script: [two, "fo\\x1b[31mur"]}
"""
PAIR = """
discussion:
  turns: 1
  goal: Say something.
  models:
    Ann: {type: gpt-4o}
    Bob: {type: ollama-phi4}
"""


@pytest.fixture
def scripted_file(folder: Path) -> Path:
    path = folder / "count.yaml"
    path.write_text(SCRIPTED)
    return path


@pytest.fixture
def pair(folder: Path) -> Path:
    path = folder / "pair.yaml"
    path.write_text(PAIR)
    return path


class TestRun:
    def test_a_run_is_shown_turn_by_turn_and_names_its_directory_last(
        self, ai_battle: Run, scripted_file: Path
    ) -> None:
        outcome = ai_battle("run", scripted_file)

        assert outcome.code == 0
        assert outcome.lines[:2] == ["count: Ann (scripted/a), Bob (scripted/b)", "Count."]
        assert outcome.lines[2:5] == ["[1] Ann: one", "[2] Bob: two", "[3] Ann: three"]
        run_dir = Path(outcome.lines[-1])
        assert {path.name for path in run_dir.iterdir()} == {
            "config.yaml",
            "journal.jsonl",
            "transcript.md",
            "report.html",
        }

    def test_control_characters_of_a_model_are_shown_not_sent(self, ai_battle: Run, scripted_file: Path) -> None:
        assert "[4] Bob: fo␛[31mur" in ai_battle("run", scripted_file).lines

    def test_json_is_one_document_on_stdout(self, ai_battle: Run, scripted_file: Path) -> None:
        outcome = ai_battle("run", scripted_file, "--json", "--out", "here")

        document = json.loads(outcome.out)
        assert (document["run"], document["status"], document["stop_reason"], document["turns"]) == (
            "here",
            "done",
            "turns",
            4,
        )
        assert document["usage"]["cost_usd"] == 0
        assert [message.get("name") for message in document["messages"]] == [None, "Ann", "Bob", "Ann", "Bob"]
        assert document["messages"][1]["parts"] == [{"type": "text", "content": "one"}]

    def test_quiet_leaves_only_the_result(self, ai_battle: Run, scripted_file: Path) -> None:
        outcome = ai_battle("run", scripted_file, "--quiet", "--out", "here")
        assert [outcome.lines[0][:4], outcome.lines[-1]] == ["Done", "here"]
        assert len(outcome.lines) == 2

    def test_turns_and_any_key_can_be_set_for_one_run(self, ai_battle: Run, scripted_file: Path) -> None:
        outcome = ai_battle("run", scripted_file, "--turns", 1, "--set", "discussion.goal=Sing.")
        assert outcome.lines[1:4] == ["Sing.", "[1] Ann: one", "[2] Bob: two"]

    def test_an_option_has_a_twin_in_the_environment(
        self, ai_battle: Run, scripted_file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AI_BATTLE_RUN_TURNS", "1")
        monkeypatch.setenv("AI_BATTLE_RUN_SET", "discussion.goal=Sing.")
        monkeypatch.setenv("AI_BATTLE_RUN_JSON", "1")
        document = json.loads(ai_battle("run", scripted_file).out)
        assert (document["turns"], document["messages"][0]["parts"][0]["content"]) == (2, "Sing.")

    def test_a_packaged_discussion_runs_by_its_name(self, ai_battle: Run) -> None:
        still = [f"--set=discussion.models.{name}.pace=0" for name in ("Ada", "Ben")]
        assert ai_battle("run", "quickstart", *still).code == 0

    def test_a_limit_ends_the_run_with_code_1(self, ai_battle: Run, scripted_file: Path) -> None:
        outcome = ai_battle("run", scripted_file, "--set", "discussion.limits.tokens=30")
        assert outcome.code == 1
        assert "Stopped by a limit (tokens" in outcome.out

    def test_a_dry_run_shows_the_requests_and_calls_no_model(self, ai_battle: Run, scripted_file: Path) -> None:
        outcome = ai_battle("run", scripted_file, "--dry-run")
        assert outcome.code == 0
        assert "user: Count." in outcome.out
        assert "No model was called." in outcome.out
        assert not Path("runs").exists()

    def test_a_dry_run_says_what_help_would_cost_and_that_it_is_not_in_the_sum(self, ai_battle: Run) -> None:
        outcome = ai_battle("run", "helped-demo", "--dry-run")
        assert "helper scripted/large, where Small is stuck:" in outcome.out
        assert "each time, not in the sum" in outcome.out
        assert "Calls that are not in the sum come on top" in outcome.out

    def test_a_run_over_fake_providers_uses_their_addresses_and_keys(
        self, ai_battle: Run, pair: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with FakeProviders.in_thread() as fakes:
            for name, value in fakes.environment.items():
                monkeypatch.setenv(name, value)
            fakes.openai.says("From the cloud.")
            fakes.ollama.says("From this machine.")
            outcome = ai_battle("run", pair)

        assert outcome.lines[2:4] == ["[1] Ann: From the cloud.", "[2] Bob: From this machine."]


class TestRecordings:
    def test_a_recorded_run_is_played_again_without_a_key_or_a_server(
        self, ai_battle: Run, pair: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as environment, FakeProviders.in_thread() as fakes:
            for name, value in fakes.environment.items():
                environment.setenv(name, value)
            live = ai_battle("run", pair, "--record", "tape.jsonl")

        again = ai_battle("run", pair, "--replay", "tape.jsonl")

        assert again.code == 0
        assert again.lines[:3] == live.lines[:3]
        assert "test-key" not in Path("tape.jsonl").read_text()

    def test_values_of_the_environment_are_in_no_recording_and_yet_it_can_be_played(
        self, ai_battle: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COMPANY_KEY", "swordfish-42")
        path = folder / "secret.yaml"
        written = SCRIPTED.replace("Count.", "Say ${COMPANY_KEY}.").replace("[one,", '["It is ${COMPANY_KEY}!",')
        path.write_text(f"{written}  allow_secrets: [COMPANY_KEY]\n")
        live = ai_battle("run", path, "--record", "tape.jsonl")
        assert "It is ${COMPANY_KEY}!" in live.out
        assert "swordfish" not in live.out
        assert "swordfish" not in Path("tape.jsonl").read_text()
        assert ai_battle("run", path, "--replay", "tape.jsonl").lines[:5] == live.lines[:5]

    def test_a_request_that_was_not_recorded_is_told(self, ai_battle: Run, scripted_file: Path) -> None:
        ai_battle("run", scripted_file, "--record", "tape.jsonl")
        outcome = ai_battle("run", scripted_file, "--replay", "tape.jsonl", "--set", "discussion.goal=Else.")
        assert outcome.code == 1
        assert "tape.jsonl has no answer to this request" in outcome.err

    def test_a_recording_is_never_written_over(self, ai_battle: Run, scripted_file: Path) -> None:
        ai_battle("run", scripted_file, "--record", "tape.jsonl")
        outcome = ai_battle("run", scripted_file, "--record", "tape.jsonl")
        assert (outcome.code, "tape.jsonl exists already" in outcome.err) == (2, True)

    def test_a_recording_that_is_not_there_is_told_before_the_run(self, ai_battle: Run, scripted_file: Path) -> None:
        outcome = ai_battle("run", scripted_file, "--replay", "nowhere.jsonl")
        assert (outcome.code, "nowhere.jsonl" in outcome.err) == (2, True)


class TestBadInput:
    def test_a_missing_file_is_named_with_near_ones(self, ai_battle: Run, scripted_file: Path) -> None:
        outcome = ai_battle("run", "cuont.yaml")
        assert outcome.code == 2
        assert "cuont.yaml" in outcome.err
        assert "count.yaml" in outcome.err

    def test_a_directory_in_use_is_refused_with_the_way_out(self, ai_battle: Run, scripted_file: Path) -> None:
        ai_battle("run", scripted_file, "--out", "here")
        outcome = ai_battle("run", scripted_file, "--out", "here")
        assert outcome.code == 2
        assert "here exists and is not empty" in outcome.err
        assert "ai-battle resume here" in outcome.err

    def test_a_missing_key_is_told_by_its_variable_before_anything_is_spent(self, ai_battle: Run, pair: Path) -> None:
        outcome = ai_battle("run", pair)
        assert outcome.code == 2
        assert "pair.yaml:6:17 discussion.models.Ann.type" in outcome.err
        assert "OPENAI_API_KEY" in outcome.err
        assert not Path("runs").exists()

    def test_a_server_that_is_not_running_is_told_by_its_address_and_how_to_start_it(
        self, ai_battle: Run, folder: Path
    ) -> None:
        quick = "timeouts: {retry_count: 0}"
        path = folder / "local.yaml"
        path.write_text(PAIR.replace("gpt-4o", "ollama-phi4").replace("turns: 1", f"turns: 1\n  {quick}"))
        path.write_text(path.read_text() + "providers: {ollama: {base_url: 'http://127.0.0.1:9'}}\n")

        outcome = ai_battle("run", path)

        assert outcome.code == 1
        assert "127.0.0.1:9" in outcome.out + outcome.err
        assert "ollama serve" in outcome.out + outcome.err

    def test_a_failed_run_says_how_to_go_on(self, ai_battle: Run, pair: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with FakeProviders.in_thread() as fakes:
            for name, value in fakes.environment.items():
                monkeypatch.setenv(name, value)
            fakes.openai.says(fault("http_401"))
            outcome = ai_battle("run", pair, "--out", "here")

            assert outcome.code == 1
            assert "OPENAI_API_KEY" in outcome.err
            assert "ai-battle resume here" in outcome.err
            assert "test-key" not in outcome.out + outcome.err + Path("here/journal.jsonl").read_text()
            assert ai_battle("resume", "here").code == 0

    @pytest.mark.parametrize(
        ("into", "times"),
        [
            pytest.param(subprocess.STDOUT, 1, id="one"),
            pytest.param(subprocess.PIPE, 2, id="two", marks=pytest.mark.slow),
        ],
    )
    def test_why_it_failed_is_told_once_in_each_place(
        self, pair: Path, monkeypatch: pytest.MonkeyPatch, into: int, times: int
    ) -> None:
        """On one terminal once; where stdout and stderr go apart, each tells it."""
        with FakeProviders.in_thread() as fakes:
            for name, value in fakes.environment.items():
                monkeypatch.setenv(name, value)
            fakes.openai.says(fault("http_401"))
            done = subprocess.run(
                terminal.command("run", pair), stdout=subprocess.PIPE, stderr=into, text=True, check=False
            )

        assert done.returncode == 1
        said = done.stdout + (done.stderr or "")
        assert said.count("Is OPENAI_API_KEY right?") == times
        assert "✗ Turn 1: Ann gave no answer (the run stopped)\n" in said
        assert "To continue once that is fixed: ai-battle resume" in said

    def test_a_misspelt_option_is_a_usage_error(self, ai_battle: Run, scripted_file: Path) -> None:
        outcome = ai_battle("run", scripted_file, "--truns", 3)
        assert (outcome.code, "--turns" in outcome.err) == (2, True)

    def test_code_that_a_file_names_runs_only_when_it_is_trusted(
        self, ai_battle: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (folder / "own.py").write_text("from ai_battle.providers.scripted import create")
        (folder / "ownpackage").mkdir()
        (folder / "ownpackage" / "bird.py").write_text(
            "from ai_battle.testing import ScriptedClient\n\n"
            "def create(model):\n    return ScriptedClient('tweet', loop=True)\n"
        )
        monkeypatch.syspath_prepend(str(folder))
        path = folder / "own.yaml"
        path.write_text(SCRIPTED.replace("scripted/a, script: [one, three]", "ownpackage.bird/x"))

        refused = ai_battle("run", path)
        assert (refused.code, "ownpackage.bird" in refused.err, "--trust" in refused.err) == (2, True, True)
        assert ai_battle("validate", path).code == 0
        assert "[1] Ann: tweet" in ai_battle("run", path, "--trust").lines


class TestResumeReplayExport:
    def test_a_finished_run_is_only_reported(self, ai_battle: Run, scripted_file: Path) -> None:
        ai_battle("run", scripted_file, "--out", "here")
        before = Path("here/journal.jsonl").read_bytes()

        outcome = ai_battle("resume", "here")

        assert (outcome.code, outcome.lines[-1]) == (0, "here")
        assert Path("here/journal.jsonl").read_bytes() == before

    def test_what_is_no_run_directory_is_said_to_be_none(self, ai_battle: Run, folder: Path) -> None:
        for command in ("resume", "replay", "export"):
            outcome = ai_battle(command, folder)
            assert outcome.code == 2
            assert "is not a run directory" in outcome.err

    def test_a_replay_says_it_all_again(self, ai_battle: Run, scripted_file: Path) -> None:
        first = ai_battle("run", scripted_file, "--out", "here")
        assert ai_battle("replay", "here").lines == first.lines[:6]

    def test_a_replay_with_one_participant_exchanged_shows_the_difference(
        self, ai_battle: Run, scripted_file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ai_battle("run", scripted_file, "--out", "here")
        with FakeProviders.in_thread() as fakes:
            for name, value in fakes.environment.items():
                monkeypatch.setenv(name, value)
            fakes.openai.says("two", "5")
            outcome = ai_battle("replay", "here", "--swap", "Bob=gpt-4o", "--quiet")

        assert "1 of 2 turns are different." in outcome.lines
        assert "+5" in outcome.lines
        swapped = Path(outcome.lines[-1])
        told = [event for _, event in read(swapped)]
        assert [event.message.text for event in told if isinstance(event, TurnFinished)][1::2] == ["two", "5"]
        assert [event.speaker for event in told if isinstance(event, ModelReplied)] == ["Bob", "Bob"]
        assert ">Bob=gpt-4o<" in (swapped / "comparison.html").read_text()

    def test_every_format_is_exported(self, ai_battle: Run, scripted_file: Path) -> None:
        ai_battle("run", scripted_file, "--out", "here")
        assert "## 1. Ann" in ai_battle("export", "here").out
        assert ai_battle("export", "here", "--format", "md,html,jsonl,openai,csv", "-o", "there").code == 0
        assert sorted(path.suffix for path in Path("there").iterdir()) == [".csv", ".html", ".json", ".jsonl", ".md"]

    def test_formats_that_are_possible_are_written_beside_one_that_is_not(
        self, ai_battle: Run, scripted_file: Path
    ) -> None:
        ai_battle("run", scripted_file, "--out", "here")
        outcome = ai_battle("export", "here", "--format", "md,dpo,csv", "-o", "there")
        assert (outcome.code, "here has no pairs" in outcome.err) == (2, True)
        assert sorted(path.suffix for path in Path("there").iterdir()) == [".csv", ".md"]

    def test_an_unknown_format_is_answered_with_near_ones(self, ai_battle: Run, scripted_file: Path) -> None:
        ai_battle("run", scripted_file, "--out", "here")
        outcome = ai_battle("export", "here", "--format", "md,cvs", "-o", "nothing")
        assert not Path("nothing").exists()
        assert (outcome.code, "did you mean 'csv'" in outcome.err) == (2, True)


class TestValidateAndSchema:
    def test_all_problems_are_told_with_their_places(self, ai_battle: Run, folder: Path) -> None:
        (folder / "bad.yaml").write_text(
            "discussion:\n  tunrs: 3\n  goal: x\n  input_file: {path: nowhere.png, type: image}\n"
            "  models:\n    Ann: {type: gpt-4oo}\n    Bob: {type: gpt-4o}\n"
        )
        outcome = ai_battle("validate", "bad.yaml")
        assert outcome.code == 2
        places = [line.split(" ", 2)[:2] for line in outcome.lines]
        assert places == [
            ["bad.yaml:2:3", "discussion.tunrs:"],
            ["bad.yaml:4:22", "discussion.input_file.path:"],
            ["bad.yaml:6:17", "discussion.models.Ann.type:"],
            ["bad.yaml:7:17", "discussion.models.Bob.type:"],
        ]
        assert "did you mean 'turns'?" in outcome.lines[0]
        assert "OPENAI_API_KEY" in outcome.lines[3]

    def test_a_benchmark_is_checked_as_one(self, ai_battle: Run, folder: Path) -> None:
        suite = Path(__file__).parents[2] / "configs" / "benchmarks" / "first-steps.yaml"
        assert ai_battle("validate", suite).lines[-1] == f"{suite}: ok"

        (folder / "suite.yaml").write_text("# mine\nbenchmark:\n  datsets: []\n  settings: []\n  scorers: [exact]\n")
        outcome = ai_battle("validate", "suite.yaml")
        assert outcome.code == 2
        assert "suite.yaml:3:3 benchmark.datsets: unknown key; did you mean 'datasets'?" in outcome.out

    def test_a_server_is_checked_as_one(self, ai_battle: Run, folder: Path) -> None:
        (folder / "server.yaml").write_text("server:\n  routes: {small: ollama/phi4}\n")
        assert ai_battle("validate", "server.yaml").lines[-1] == "server.yaml: ok"

        wrong = {
            "  rotes: {small: ollama/phi4}": ["2:3 server.rotes: unknown key; did you mean 'routes'"],
            "  routes: {a: olama/phi4, b: {primary: ollama/phi4, secondary: ollama/x, strategy: takover}}": [
                "2:15 server.routes.a.model: There is no provider 'olama'",
                "2:84 server.routes.b.strategy: there is no strategy 'takover'; did you mean 'takeover'?",
            ],
            "  routes: {a: ollama/phi4}\n  advisors: {claude-*: b}": ["server.advisors.claude-*.model: No provider"],
            "  routes: {a: ollama/phi4}\n  host: 0.0.0.0": [" 0.0.0.0 can be reached from elsewhere"],
            "  routes: {a: ollama/phi4}\n  keys: [{key: same, name: day}, {key: same, name: night}]": [
                "3:40 server.keys[1].key: is the same as server.keys[0].key"
            ],
        }
        for section, words in wrong.items():
            (folder / "server.yaml").write_text(f"server:\n{section}\n")
            outcome = ai_battle("validate", "server.yaml")
            problems = [line for line in outcome.lines if ": note: " not in line]
            assert (outcome.code, len(problems)) == (2, len(words)), outcome.out
            for line, expected in zip(problems, words, strict=True):
                assert line.startswith("server.yaml:")
                assert expected in line

    def test_routes_with_code_of_their_own_are_left_to_the_server(self, ai_battle: Run, folder: Path) -> None:
        (folder / "mine.py").write_text("raise SystemExit('it ran')")
        (folder / "server.yaml").write_text("server: {routes: {a: {primary: ollama/phi4, strategy: mine}}}")
        outcome = ai_battle("validate", "server.yaml")
        assert (outcome.code, "as they run code: " in outcome.out) == (0, True)

    def test_a_misspelt_provider_is_found(self, ai_battle: Run, scripted_file: Path) -> None:
        scripted_file.write_text(SCRIPTED + "providers: {opnai: {api_key: x}}\n")
        outcome = ai_battle("validate", scripted_file)
        assert outcome.code == 2
        assert (
            "providers.opnai: there is no such provider, and no base_url for one; did you mean 'openai'?" in outcome.out
        )

    def test_a_good_file_is_ok(self, ai_battle: Run, scripted_file: Path) -> None:
        assert ai_battle("validate", scripted_file).out == f"{scripted_file}: ok\n"

    def test_reports_are_there_for_programs(self, ai_battle: Run, scripted_file: Path) -> None:
        assert json.loads(ai_battle("validate", scripted_file, "--json").out) == [
            {"config": str(scripted_file), "problems": [], "notes": []}
        ]

    @pytest.mark.parametrize(
        ("text", "line", "column", "path", "message"),
        [
            (SCRIPTED.replace("turns: 2", "trns: 2"), 3, 3, "discussion.trns", "unknown key; did you mean 'turns'?"),
            (SCRIPTED.replace("goal:", "turns: 1\n  goal:"), 5, 3, "", "the key 'turns' is written twice"),
            ("discussion:\n\tgoal: x\n", 2, 1, "", "a tab, @, ` or % can't start a value"),
            ("discussion: [\n", 2, 1, "", "a value is missing here, or a bracket above is not closed"),
        ],
    )
    def test_a_problem_is_told_to_programs_in_fields(
        self, ai_battle: Run, folder: Path, text: str, line: int, column: int, path: str, message: str
    ) -> None:
        (folder / "talk.yaml").write_text(text)

        outcome = ai_battle("validate", "talk.yaml", "--json")

        assert outcome.code == 2
        problem = json.loads(outcome.out)[0]["problems"][0]
        where = {"file": "talk.yaml", "line": line, "column": column, "path": path}
        assert {key: problem[key] for key in where} == where
        assert problem["message"].startswith(message)
        assert problem["text"] == ai_battle("validate", "talk.yaml").lines[0]

    def test_a_file_that_is_not_there_is_told_to_programs_in_fields_too(self, ai_battle: Run) -> None:
        problem = json.loads(ai_battle("validate", "nothing.yaml", "--json").out)[0]["problems"][0]

        assert (problem["file"], problem["line"], problem["column"], problem["path"]) == (
            "nothing.yaml",
            None,
            None,
            "",
        )
        assert "there is no such file" in problem["message"]

    def test_the_schema_is_a_json_schema(self, ai_battle: Run) -> None:
        schema = json.loads(ai_battle("schema").out)
        jsonschema.Draft202012Validator.check_schema(schema)
        assert "discussion" in schema["properties"]


def test_help_lists_each_command_by_a_whole_sentence(ai_battle: Run) -> None:
    shown = "".join(ai_battle(*group, "--help").out for group in ([], *([name] for name in COMMANDS)))

    listed = re.findall(r"^  [a-z]+ {2,}([A-Z].*)$", shown, re.MULTILINE)
    assert len(listed) > 40
    assert [line for line in listed if not re.search(r"[^.]\.$", line)] == []


def test_a_misspelt_command_is_answered_with_the_one_that_was_meant(ai_battle: Run) -> None:
    assert "There is no command 'rnu'; did you mean 'run'?" in ai_battle("rnu").err


CHAIRED = """
discussion:
  turns: 1
  goal: Shall the street be closed on Saturdays?
  speaker_selection: moderator
  models:
    Chair: {type: scripted/chair, role: moderator, script: [Welcome., Ann, "Ann, once more.", Goodbye.]}
    Ann: {type: scripted/ann, script: [Yes., Why?]}
    Bob: {type: scripted/bob, script: [No.]}
    Cy: {type: scripted/cy, script: [Perhaps.]}
"""


def test_a_moderator_who_names_the_last_speaker_is_told_to_have_named_none_who_could_speak(
    ai_battle: Run, folder: Path
) -> None:
    (folder / "chaired.yaml").write_text(CHAIRED)

    told = ai_battle("run", "chaired.yaml", "--out", "run").out

    why = "The selector named nobody who could speak next, so Bob speaks: Ann, once more."
    assert f"! {why}\n" in told
    assert why in (folder / "run/transcript.md").read_text()
