"""One turn of a run, and what was sent for it."""

import json
from pathlib import Path

import pytest

from ai_battle import ConversationManager, Participant
from ai_battle.providers.scripted import ScriptedClient

from .conftest import Run

TALK = """
providers:
  openai: {api_key: "${SOME_KEY:-none}"}
discussion:
  turns: 1
  mode: ai-ai
  goal: Look at it.
  input_file: {path: notes.txt}
  models:
    Ann: {type: scripted/a, persona: I am Ann., script: [{think: Hm., say: "O\\x1bne."}]}
    Bob: {type: scripted/b, parameters: {temperature: 0.5}, script: [Two.]}
"""


@pytest.fixture
def run_dir(ai_battle: Run, folder: Path) -> Path:
    (folder / "talk.yaml").write_text(TALK)
    (folder / "notes.txt").write_text("A note.")
    assert ai_battle("run", "talk.yaml", "--quiet", "--out", "run").code == 0
    (folder / "notes.txt").unlink()
    return folder / "run"


def test_a_turn_is_shown_with_what_it_took(ai_battle: Run, run_dir: Path) -> None:
    outcome = ai_battle("show", run_dir, 1)
    assert outcome.code == 0
    assert outcome.lines[0].startswith("Turn 1, round 1: Ann (scripted/a, 0.0 s, ")
    assert outcome.lines[1].startswith("words 1 · coherence 0 · drift 0 · ")
    assert outcome.lines[2:] == ["Hm.", "O␛ne."]


def test_the_request_is_shown_as_it_was_sent_though_files_are_gone(ai_battle: Run, run_dir: Path) -> None:
    outcome = ai_battle("show", run_dir, 2, "--request")

    assert outcome.code == 0
    for part in ("temperature: 0.5", "\nsystem\n", "You are Bob", "\nuser\n", "A note.", "Look at it.", "O␛ne."):
        assert part in outcome.out, part
    assert "Two." not in outcome.out
    assert "I am Ann." not in outcome.out


def test_both_come_as_json(ai_battle: Run, run_dir: Path) -> None:
    alone = json.loads(ai_battle("show", run_dir, 2, "--json").out)
    assert (alone["type"], alone["speaker"], alone["message"]["parts"][0]["content"]) == (
        "turn_finished",
        "Bob",
        "Two.",
    )
    assert "request" not in alone

    request = json.loads(ai_battle("show", run_dir, 2, "--request", "--json").out)["request"]
    assert "You are Bob" in request["system"]
    assert [message["role"] for message in request["messages"]] == ["user"]
    assert request["options"] == {"temperature": 0.5}


def test_a_turn_that_is_not_there_is_an_error_that_tells_which_are(ai_battle: Run, run_dir: Path) -> None:
    outcome = ai_battle("show", run_dir, 9)
    assert (outcome.code, "has no turn 9; there are turns 1 to 2." in outcome.err) == (2, True)


def test_a_run_without_a_turn_is_answered_with_how_to_see_all_of_it(ai_battle: Run, run_dir: Path) -> None:
    refused = ai_battle("show", run_dir)
    assert refused.code == 2
    assert "for the whole run: ai-battle export RUN_DIR" in refused.err


async def test_a_run_of_a_program_is_shown_without_its_requests(ai_battle: Run, folder: Path) -> None:
    people = [Participant(name, ScriptedClient("Hm.")) for name in ("Ann", "Bob")]
    await ConversationManager(people, goal="Talk.", turns=1, out=folder / "run").run_discussion()

    assert ai_battle("show", "run", 1).lines[2] == "Hm."
    outcome = ai_battle("show", "run", 1, "--request")
    assert outcome.code == 1
    assert "was started from Python" in outcome.err
