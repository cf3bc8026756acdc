"""`--approve`: what the command line says of calls of tools."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import Run

TALK = """
discussion:
  turns: 1
  mode: ai-ai
  goal: Work.
  models:
    Ann: {type: scripted/a, script: [{call: {tool: calculator, parameters: {expression: 6 * 7}}}, Done.]}
    Bob: {type: scripted/b, script: [{call: {tool: current_time}}, Done.], approval: {deny: current_time}}
  tools: TOOLS
"""
LISTED = "[calculator, current_time]"
WITH_ASK = "{registry: [calculator, current_time], approval: {default: deny, ask: [calculator]}}"


@pytest.fixture
def talk(folder: Path) -> Path:
    return write_config(folder, LISTED)


def write_config(folder: Path, tools: str) -> Path:
    path = folder / "talk.yaml"
    path.write_text(TALK.replace("TOOLS", tools))
    return path


def decisions(run_dir: Path = Path("run")) -> dict[str, tuple[str, str]]:
    lines = map(json.loads, (run_dir / "journal.jsonl").read_text(encoding="utf-8").splitlines())
    return {one["call"]["name"]: (one["decision"], one["by"]) for one in lines if one["type"] == "tool_decided"}


def approval(run_dir: Path = Path("run")) -> dict[str, Any]:
    said: dict[str, Any] = yaml.safe_load((run_dir / "config.yaml").read_text(encoding="utf-8"))
    found: dict[str, Any] = said["discussion"]["tools"]["approval"]
    return found


def test_without_a_word_all_calls_run_but_those_that_the_file_denies(ai_battle: Run, talk: Path) -> None:
    assert ai_battle("run", talk, "-q", "--out", "run").code == 0
    assert decisions() == {"calculator": ("allowed", "policy"), "current_time": ("denied", "policy")}


@pytest.mark.parametrize(
    ("said", "of_calculator"),
    [
        ("deny", ("denied", "policy")),
        ("ask", ("denied", "no terminal")),
        ("ask,calculator=allow", ("allowed", "policy")),
        ("calculator=deny", ("denied", "policy")),
        (" Calculator = allow , DENY ".replace("C", "c"), ("allowed", "policy")),
    ],
)
def test_a_word_is_the_default_and_single_tools_can_have_their_own(
    ai_battle: Run, talk: Path, said: str, of_calculator: tuple[str, str]
) -> None:
    assert ai_battle("run", talk, "-q", "--out", "run", "--approve", said).code == 0
    assert decisions()["calculator"] == of_calculator


def test_it_goes_before_the_lists_of_the_file_but_not_before_those_of_a_participant(
    ai_battle: Run, folder: Path
) -> None:
    talk = write_config(folder, WITH_ASK)
    said = "allow,calculator=allow,current_time=allow"
    assert ai_battle("run", talk, "-q", "--out", "run", "--approve", said).code == 0

    assert decisions() == {"calculator": ("allowed", "policy"), "current_time": ("denied", "policy")}
    assert approval() == {"default": "allow", "allow": ["calculator", "current_time"], "ask": [], "deny": []}


def test_the_variable_of_the_environment_says_the_same(
    ai_battle: Run, talk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AI_BATTLE_RUN_APPROVE", "deny")
    assert ai_battle("run", talk, "-q", "--out", "run").code == 0
    assert decisions()["calculator"] == ("denied", "policy")


def test_a_series_keeps_to_it(ai_battle: Run, talk: Path) -> None:
    assert ai_battle("run", talk, "-q", "--repeat", "2", "--out", "runs", "--approve", "deny").code == 0
    for run_dir in filter(Path.is_dir, Path("runs").iterdir()):
        assert decisions(run_dir)["calculator"] == ("denied", "policy")


def test_it_is_ignored_where_there_are_no_tools(ai_battle: Run, folder: Path) -> None:
    talk = write_config(folder, "{enabled: false}")
    talk.write_text(talk.read_text().replace("{call: {tool: calculator, parameters: {expression: 6 * 7}}}, ", ""))
    talk.write_text(
        talk.read_text().replace("{call: {tool: current_time}}, ", "").replace("{deny: current_time}", "{}")
    )
    assert ai_battle("run", talk, "-q", "--out", "run", "--approve", "ask").code == 0


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ("alow", "'alow' is not one of allow, ask, deny; did you mean 'allow'?"),
        ("calculater=ask", "this discussion has no tool 'calculater'; did you mean 'calculator'?"),
        ("calculator=maybe", "'maybe' is not one of allow, ask, deny"),
        ("ask,allow", "the word for all tools is given twice"),
        ("calculator=ask,calculator=deny", "calculator is given twice"),
        ("ask,", "'' is not one of allow, ask, deny"),
    ],
)
def test_mistakes_are_told_and_nothing_runs(ai_battle: Run, talk: Path, said: str, complaint: str) -> None:
    outcome = ai_battle("run", talk, "--out", "run", "--approve", said)
    assert outcome.code == 2
    assert " ".join(outcome.err.split()).endswith(complaint)
    assert not Path("run").exists()


def test_a_resumed_run_can_be_held_tighter_and_its_configuration_stays(ai_battle: Run, talk: Path) -> None:
    assert ai_battle("run", talk, "-q", "--out", "run").code == 0
    journal, before = Path("run/journal.jsonl"), Path("run/config.yaml").read_text()
    journal.write_text(journal.read_text().partition('{"v":1,"seq":2,')[0])

    assert ai_battle("resume", "run", "-q", "--approve", "calculator=deny").code == 0
    assert decisions()["calculator"] == ("denied", "policy")
    assert Path("run/config.yaml").read_text() == before
