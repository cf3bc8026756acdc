"""`ai-battle runs` and `configs`: what was run before, and what comes with the package."""

import json
import signal
from pathlib import Path

import pytest
import yaml

from ai_battle.testing import FakeProviders
from tests.scenarios.terminal import begin, run, sized_terminal, terminal, wait_for

from .conftest import Run

MODELS = {"Ann": {"type": "scripted/a", "script": ["It rains."]}, "Bob": {"type": "scripted/b", "script": ["Let it."]}}


def talk(ai_battle: Run, name: str) -> Path:
    Path(f"{name}.yaml").write_text(
        yaml.safe_dump({"discussion": {"turns": 1, "goal": f"About {name}.", "models": MODELS}})
    )
    place = Path("runs", f"2026-11-23T04-0{len([*Path.cwd().glob('runs/*')])}-00Z-{name}")
    assert ai_battle("run", f"{name}.yaml", "-q", "--out", place).code == 0
    return place


def test_runs_are_listed_those_that_were_begun_last_first(ai_battle: Run) -> None:
    talk(ai_battle, "wind")
    talk(ai_battle, "rain")

    listed = ai_battle("runs")

    assert [line.split()[0][21:] for line in listed.lines[1:]] == ["rain", "wind"]
    assert listed.lines[1].split()[1:] == ["done", "2", "$0", "scripted/a,", "scripted/b"]
    assert listed.lines[0].index("models") == listed.lines[1].index("scripted/a")
    assert ai_battle("runs", "list", "-n", 1).err == "1 older run: --limit 2 shows all.\n"
    (first, _) = json.loads(ai_battle("runs", "list", "--json").out)
    assert (first["status"], first["turns"], first["name"]) == ("done", 2, "rain")


def test_where_there_are_none_it_says_how_to_begin_one(ai_battle: Run) -> None:
    assert "ai-battle talk" in ai_battle("runs").err


OF_A_RUN = ["resume last", "show last 1", "fork last --at 1", "judge last -m x", "runs open no"]


@pytest.mark.parametrize("command", OF_A_RUN)
def test_a_run_where_there_are_none_is_answered_with_how_to_begin_one(ai_battle: Run, command: str) -> None:
    refused = ai_battle(*command.split())

    assert refused.code == 2
    assert "says how to begin one" in refused.err or "`ai-battle run` and `ai-battle talk` make them" in refused.err


def test_a_run_is_found_by_words_that_stand_in_one_message(ai_battle: Run) -> None:
    talk(ai_battle, "weather")

    found = ai_battle("runs", "search", "RAINS", "it")

    assert (found.code, found.lines[1]) == (0, "  Ann: It rains.")
    assert ai_battle("runs", "search", "rains", "let").code == 1
    assert json.loads(ai_battle("runs", "search", "weather", "--json").out)[0]["run"].endswith("-weather")


def test_a_run_is_found_by_its_outcome(ai_battle: Run) -> None:
    models = {**MODELS, "Bob": {"type": "scripted/b", "script": ["Let it.", "Take an umbrella."]}}
    settings = {"turns": 1, "goal": "Rain.", "models": models, "outcome": "What is to be done?"}
    Path("rain.yaml").write_text(yaml.safe_dump({"discussion": settings}))
    assert ai_battle("run", "rain.yaml", "-q").code == 0

    assert ai_battle("runs", "search", "umbrella").lines[1] == "  Bob: Take an umbrella."


def test_part_of_a_name_is_enough_for_every_command_that_reads_a_run(ai_battle: Run) -> None:
    talk(ai_battle, "wind")
    talk(ai_battle, "rain")

    assert ai_battle("show", "win", 1).lines[-1] == "It rains."
    talk(ai_battle, "wind-changed-1")
    assert ai_battle("show", "wind", 1).lines[-1] == "It rains."
    assert ai_battle("show", "last", 2).lines[-1] == "Let it."
    assert ai_battle("export", "rain").out.count("It rains.") == 1


def test_a_name_that_several_runs_match_is_answered_with_their_names(ai_battle: Run) -> None:
    places = [talk(ai_battle, "wind"), talk(ai_battle, "rain")]

    outcome = ai_battle("show", "Z", 1)

    assert outcome.code == 2
    assert all(place.name in outcome.err for place in places)


def test_the_report_is_opened_in_the_browser(ai_battle: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    place = talk(ai_battle, "rain")
    browser = Path("browser.sh")
    browser.write_text('#!/bin/sh\necho "$1" > opened\n')
    browser.chmod(0o755)
    (place / "report.html").unlink()

    done = run("runs", "open", "rain", BROWSER=f"{browser.resolve()} %s")

    assert done.out.strip() == str(place / "report.html")
    assert Path("opened").read_text().strip() == (place / "report.html").resolve().as_uri()
    assert "It rains." in (place / "report.html").read_text()


def test_a_run_is_deleted_when_that_was_confirmed(ai_battle: Run) -> None:
    place = talk(ai_battle, "rain")

    assert ai_battle("runs", "delete", "rain").code == 2
    assert place.exists()
    with terminal("runs", "delete", "rain") as opened:
        opened.read_until("[y/N]")
        opened.press("n\n")
        assert opened.end() == 130
    assert place.exists()
    assert ai_battle("runs", "delete", "rain", "--yes").code == 0
    assert not place.exists()


def test_what_is_no_run_is_not_deleted(ai_battle: Run) -> None:
    Path("runs/notes").mkdir(parents=True)

    assert ai_battle("runs", "delete", "notes", "--yes").code == 2
    assert ai_battle("runs", "delete", "runs/notes", "--yes").code == 2
    assert Path("runs/notes").exists()


def test_a_narrow_terminal_folds_no_name_of_a_run(ai_battle: Run) -> None:
    talk(ai_battle, "rain")
    with sized_terminal(24, 60, ["runs"], None) as narrow:
        assert narrow.end() == 0
    assert narrow.shown.count("2026-11-23T04-00-00Z-rain ") == 2


def test_an_output_that_cannot_be_written_is_told_once_for_all_formats(ai_battle: Run) -> None:
    talk(ai_battle, "rain")
    Path("taken").touch()
    refused = ai_battle("export", "last", "--format", "md,csv,html", "--output", "taken/out")
    assert refused.code == 2
    assert refused.err.count("can't be written") == 1


def test_a_run_that_is_being_written_is_listed_as_that_and_not_deleted(ai_battle: Run, folder: Path) -> None:
    slow = {"Ann": {"type": "scripted/a", "pace": 5, "script": ["One two three four."]}, "Bob": {"role": "user"}}
    Path("slow.yaml").write_text(yaml.safe_dump({"discussion": {"goal": "Wait.", "models": slow}}))
    place = Path("runs/slow")
    running = begin("run", "slow.yaml", "--out", place)
    wait_for("turn_started", place / "journal.jsonl")
    assert ai_battle("runs").lines[1].split()[1] == "running"
    refused = ai_battle("runs", "delete", "slow", "--yes")
    opened = ai_battle("runs", "open", "slow", "--no-browser")
    running.process.send_signal(signal.SIGKILL)
    running.end()
    assert (opened.code, "not over" in opened.err) == (0, True)
    assert "Wait." in Path(opened.lines[-1]).read_text(encoding="utf-8")
    assert refused.code == 1
    assert f"in use by process {running.process.pid}" in refused.err
    assert (place / "journal.jsonl").exists()
    assert ai_battle("runs").lines[1].split()[1] == "unfinished"


def test_a_damaged_journal_does_not_keep_the_others_from_being_listed(ai_battle: Run) -> None:
    talk(ai_battle, "rain")
    broken = talk(ai_battle, "wind") / "journal.jsonl"
    broken.write_bytes(b"\xff\x00{" + broken.read_bytes()[5:])

    assert [line.split()[1] for line in ai_battle("runs").lines[1:]] == ["unreadable", "done"]
    assert ai_battle("runs", "search", "rains").lines[0].endswith("-rain")


def test_the_configurations_that_come_with_it_are_listed_and_shown(ai_battle: Run) -> None:
    listed = json.loads(ai_battle("configs", "list", "--json").out)

    assert "OPENAI_API_KEY" in listed["debate"]
    assert ai_battle("configs").lines[0].split() == ["config", "what", "it", "shows", "needs"]
    assert yaml.safe_load(ai_battle("configs", "show", "debate").out)["discussion"]["models"]
    assert "did you mean 'debate'" in ai_battle("configs", "show", "debat").err


def test_the_templates_of_instructions_are_listed_and_shown(ai_battle: Run) -> None:
    listed = json.loads(ai_battle("configs", "templates", "--json").out)

    assert listed["critical"]["params"] == ["domain"]
    assert ai_battle("configs", "templates").lines[0].split() == ["template", "params", "begins"]
    assert ai_battle("configs", "templates", "critical").out.strip() == listed["critical"]["text"]
    assert "did you mean 'critical'" in ai_battle("configs", "templates", "criticl").err


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["run", "quick"], "quickstart"),
        (["init", "quick"], "quickstart"),
        (["models", "show", "anthropic/claude-sonnet"], "anthropic/claude-sonnet-4-5"),
        (["show", "2026"], "2026-11-23T04-00-00Z-rain"),
        (["talk", "Rain.", "-m", "claude-sonnet"], "claude-sonnet-4-5"),
        (["talk", "Rain.", "-m", "olla"], "ollama/"),
        (["runs", "delete", "la"], "last"),
    ],
)
def test_a_shell_completes_configurations_runs_and_models(ai_battle: Run, typed: list[str], offered: str) -> None:
    talk(ai_battle, "rain")
    words = {"COMP_WORDS": f"ai-battle {' '.join(typed)}", "COMP_CWORD": str(len(typed))}

    done = run(**words, _AI_BATTLE_COMPLETE="bash_complete")

    assert f"plain,{offered}" in done.out.splitlines()


def test_a_shell_completes_the_models_of_a_provider_that_is_there(folder: Path) -> None:
    words = {"COMP_WORDS": "ai-battle ask Hm? -m ollama/p", "COMP_CWORD": "4", "_AI_BATTLE_COMPLETE": "bash_complete"}

    with FakeProviders.in_thread() as fakes:
        done = run(**fakes.environment, **words)

    assert done.out.splitlines() == ["plain,ollama/phi4:latest"]
