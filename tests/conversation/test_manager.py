"""Discussions from a file, from a dictionary and by single turns."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import ai_battle
from ai_battle import CollaborativeConversationManager, ConversationManager, Participant
from ai_battle.conversation.reading import read
from ai_battle.core.errors import ConfigError, ProviderError
from ai_battle.core.events import EventLog, PromptGiven, RunStarted, Warned
from ai_battle.core.messages import Image, Message, Text
from ai_battle.providers.scripted import ScriptedClient
from tests.pixels import png

PNG = png(300, 30)


def config(**discussion: Any) -> dict[str, Any]:
    models = {
        "Ada": {"type": "scripted", "role": "human", "script": ["What is it?", "Why?", "I see."]},
        "Bob": {"type": "scripted", "script": ["A robot.", "To help.", "Good."]},
    }
    return {"discussion": {"turns": 2, "goal": "Talk about robots.", "models": models, **discussion}}


def texts(messages: Any) -> list[str]:
    return [message.text for message in messages]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def test_a_dictionary_runs_and_leaves_a_run_directory(here: Path) -> None:
    result = await CollaborativeConversationManager.from_config(config()).run_discussion(log := EventLog())

    assert texts(result.messages) == ["Talk about robots.", "What is it?", "A robot.", "Why?", "To help."]
    assert (result.status, result.usage.cost_usd) == ("done", 0.0)
    assert (here / result.run_dir).parent.name == "runs"
    assert (result.run_dir / "config.yaml").is_file()
    assert isinstance(log.events[0], RunStarted)
    assert dict(log.events[0].participants) == {"Ada": "scripted", "Bob": "scripted"}


async def test_a_yaml_file_runs_with_its_inputs_persona_and_template(here: Path) -> None:
    (here / "deep").mkdir()
    (here / "deep/notes.py").write_text("print('```')\n")
    (here / "deep/x.png").write_bytes(PNG)
    text = """
discussion:
  turns: 1
  goal: Look at it.
  models:
    Ada: {type: scripted, role: human, persona: 'A cat: {"a": $b}', script: [Hm.],
          instructions: {template: human_system_instructions, params: {domain: optics}}}
    Bob: {type: scripted, script: [Aha.], instructions: Say little.}
  input_file: {path: x.png, type: image, max_resolution: 1024x1024}
  input_files: [{path: notes.py, type: code}]
  established_facts: {colour: blue}
"""
    (here / "deep/robot.yaml").write_text(text)

    result = await ConversationManager.from_config("deep/robot.yaml").run_discussion(log := EventLog())

    prompt = result.messages[0]
    assert isinstance(prompt.parts[1], Image)
    assert prompt.parts[1].data == PNG
    assert "x.png:\n" in prompt.text
    assert "notes.py:\n````py\n1| print('```')\n````" in prompt.text
    assert prompt.text.endswith("Look at it.")
    warnings = [event.message for event in log.events if isinstance(event, Warned)]
    assert warnings == []
    assert result.run_dir.name.endswith("-robot")


async def test_any_number_of_runs_of_one_manager_share_nothing(here: Path) -> None:
    manager = ConversationManager.from_config(config())

    results = await asyncio.gather(*(manager.run_discussion() for _ in range(20)))
    results.append(await manager.run_discussion())

    assert len({result.run_dir for result in results}) == 21
    assert {tuple(texts(result.messages)) for result in results} == {tuple(texts(results[0].messages))}
    assert manager.conversation_history == []


async def test_a_killed_scripted_run_goes_on_with_the_next_line_of_the_script(here: Path) -> None:
    manager = ConversationManager.from_config(config())
    whole = await manager.run_discussion()
    journal = whole.run_dir / "journal.jsonl"
    expected = texts(whole.messages)
    lines = journal.read_bytes().splitlines(keepends=True)

    for cut in range(1, len(lines)):
        journal.write_bytes(b"".join(lines[:cut]))
        assert texts((await manager.resume(whole.run_dir)).messages) == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"input_file": {"path": "gone.png"}},
            r"discussion\.input_file\.path: there is no file 'gone\.png'",
        ),
        (
            {"input_file": {"path": "odd.bin"}},
            r"discussion\.input_file\.path: odd\.bin is not UTF-8 text",
        ),
        ({"input_files": ["empty.txt"]}, r"discussion\.input_files\.files\[0\]\.path: empty\.txt is empty"),
        (
            {"input_file": {"path": "paper.pdf"}},
            r"input_file\.path: paper\.pdf is a PDF that can't be read: it is damaged",
        ),
    ],
)
def test_an_input_that_can_not_be_read_is_found_before_anything_runs(
    change: dict[str, Any], message: str, here: Path
) -> None:
    (here / "odd.bin").write_bytes(b"\xff\xfe\x00\x01")
    (here / "empty.txt").write_bytes(b"\n")
    (here / "paper.pdf").write_bytes(b"%PDF-1.7 ...")

    with pytest.raises(ConfigError, match=message):
        ConversationManager.from_config(config(**change))
    assert not (here / "runs").exists()


def test_a_template_that_does_not_exist_is_named_with_its_place() -> None:
    wrong = config()
    wrong["discussion"]["models"]["Ada"]["instructions"] = {"template": "human_instructions"}

    with pytest.raises(ConfigError, match=r"discussion\.models\.Ada\.instructions: there is no template"):
        ConversationManager.from_config(wrong)


async def test_what_came_from_the_environment_is_not_in_the_journal(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROBOT_SECRET", "swordfish")
    secretive = config(goal="Talk about ${ROBOT_SECRET}.", allow_secrets=["ROBOT_SECRET"])

    result = await ConversationManager.from_config(secretive).run_discussion(log := EventLog())

    assert "swordfish" not in (result.run_dir / "journal.jsonl").read_text()
    assert "swordfish" not in (result.run_dir / "config.yaml").read_text()
    prompt = next(event for event in log.events if isinstance(event, PromptGiven))
    assert prompt.message.text == "Talk about ${ROBOT_SECRET}."


async def test_single_turns_keep_a_history_that_each_role_sees_from_its_side() -> None:
    manager = CollaborativeConversationManager(
        [Participant("a", ScriptedClient()), Participant("b", ScriptedClient())], goal="x"
    )
    human, ai = ScriptedClient("And why?"), ScriptedClient("Because.", "It scatters.")

    first = await manager.run_conversation_turn("Why blue?", "gpt-4o", ai, "human-ai", "assistant")
    second = await manager.run_conversation_turn(first, "phi4", human, "human-ai", "human")
    await manager.run_conversation_turn(second, "gpt-4o", ai, "human-ai", "assistant", system_instruction="Be brief.")

    assert manager.conversation_history == [
        {"role": "user", "content": "Why blue?"},
        {"role": "assistant", "content": "Because."},
        {"role": "human", "content": "And why?"},
        {"role": "assistant", "content": "It scatters."},
    ]
    assert [(m.role, m.text) for m in ai.requests[1].messages] == [
        ("user", "Why blue?"),
        ("assistant", "Because."),
        ("user", "And why?"),
    ]
    assert ai.requests[1].system == "Be brief."
    assert "the human" in human.requests[0].system


async def test_a_single_turn_that_fails_leaves_the_history_as_it_was() -> None:
    manager = ConversationManager([Participant("a", ScriptedClient()), Participant("b", ScriptedClient())], goal="x")

    with pytest.raises(ProviderError):
        await manager.run_conversation_turn("Hi", "m", ScriptedClient({"fail": "cut"}), "no-meta", "assistant")

    assert manager.conversation_history == []


async def test_a_single_turn_passes_files_on() -> None:
    manager = ConversationManager([Participant("a", ScriptedClient()), Participant("b", ScriptedClient())], goal="x")
    client = ScriptedClient("A cat.")
    picture = {"type": "image", "base64": "eA==", "mime_type": "image/png"}

    await manager.run_conversation_turn("What is it?", "m", client, "no-meta", "assistant", file_data=picture)

    assert client.requests[0].messages == (Message("user", (Image("image/png", b"x"), Text("What is it?"))),)
    assert client.requests[0].system == ""


def test_the_public_names_are_the_same_everywhere() -> None:
    assert ai_battle.ConversationManager is ConversationManager
    assert ai_battle.Participant is Participant


async def test_a_journal_line_says_who_said_what_at_which_cost(here: Path) -> None:
    result = await ConversationManager.from_config(config()).run_discussion()

    record = next(
        record for record, event in read(result.run_dir) if getattr(event, "turn", 0) == 1 and "message" in record
    )
    assert record["speaker"] == "Ada"
    assert record["message"]["parts"] == [{"type": "text", "content": "What is it?"}]
    assert {"usage", "model", "seconds", "attempts", "round"} <= json.loads(json.dumps(record)).keys()
