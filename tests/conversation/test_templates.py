"""Templates of instructions: packaged ones and those of a user's folder, and what can't be filled."""

from pathlib import Path

import pytest

from ai_battle import ConversationManager
from ai_battle.conversation.replay import find_turn, request_of
from ai_battle.conversation.run_config import plan_of
from ai_battle.conversation.setup import load_checked
from ai_battle.core.errors import ConfigError

TALK = """
discussion:
  goal: Is our backup good enough?
  turns: 1
  templates: {folder}
  models:
    Ann:
      type: scripted
      script: [Well.]
      instructions: {{template: {template}, params: {params}}}
    Bob: {{type: scripted, script: [Well.]}}
"""


def talk(place: Path, template: str, params: str = "{}", folder: str = "./mine") -> Path:
    path = place / "talk.yaml"
    path.write_text(TALK.format(template=template, params=params, folder=folder), encoding="utf-8")
    return path


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "sceptic.md").write_text("Doubt $domain for $$5, after $years years.", encoding="utf-8")
    return folder


def requests(run_dir: Path, turns: int) -> list[str]:
    """Returns what was sent in each turn, the system prompt before it."""
    plan, _ = plan_of(run_dir)
    sent = (request_of(run_dir, plan, find_turn(run_dir, turn)) for turn in range(1, turns + 1))
    return [f"{request.system}\n{request.messages[-1].text}" for request in sent]


async def system_of(path: Path) -> str:
    """Returns what Ann is told of her part."""
    await ConversationManager.from_config(path, out=path.parent / "run").run_discussion()
    return requests(path.parent / "run", 1)[0]


def problem(path: Path) -> str:
    with pytest.raises(ConfigError) as error:
        load_checked(path)
    return str(error.value)


async def test_a_file_of_ones_own_folder_is_a_template(mine: Path) -> None:
    assert "Doubt backups for $5, after 9 years." in await system_of(
        talk(mine.parent, "sceptic", "{domain: backups, years: 9}")
    )


async def test_it_goes_before_a_packaged_one_of_the_same_name(mine: Path) -> None:
    (mine / "critical.md").write_text("Be kind about $goal", encoding="utf-8")

    assert "Be kind about Is our backup good enough?" in await system_of(talk(mine.parent, "critical"))


def test_a_missing_parameter_is_named_with_its_place(mine: Path) -> None:
    found = problem(talk(mine.parent, "sceptic", "{domain: backups}"))

    assert "talk.yaml:10:" in found
    assert "the template sceptic needs the parameter 'years'; given: 'goal', 'domain'" in found


def test_near_names_are_told_of_both_kinds(mine: Path) -> None:
    assert "did you mean 'sceptic'" in problem(talk(mine.parent, "skeptic"))
    assert "did you mean 'synthesis'" in problem(talk(mine.parent, "syntesis"))


def test_nothing_outside_of_the_folder_is_a_template(mine: Path) -> None:
    (mine.parent / "secret.md").write_text("hidden", encoding="utf-8")

    assert "there is no template '../secret'" in problem(talk(mine.parent, "../secret"))


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (b"Doubt $ 5", "write '$$' for a dollar"),
        (b"", "is empty"),
        (b"\xff\xfe\x00", "is not UTF-8 text"),
        (b"x" * 100_001, "larger than 100,000 bytes"),
    ],
)
def test_a_file_that_is_no_template_says_so(mine: Path, written: bytes, message: str) -> None:
    (mine / "odd.md").write_bytes(written)

    assert message in problem(talk(mine.parent, "odd"))


def test_a_folder_that_is_not_there_is_an_error_at_its_key(tmp_path: Path) -> None:
    found = problem(talk(tmp_path, "critical", folder="./gone"))

    assert "talk.yaml:5:" in found
    assert "discussion.templates" in found


PRODUCE = {"goal": "A poem on rain.", "goal_mode": "produce", "turns": 3}


async def texts_sent(place: Path, mode: str) -> dict[str, list[str]]:
    """Returns what each of two is sent in each round, in requests that are built again from the journal."""
    models = {
        "Ann": {"type": "scripted", "script": ["A draft, please.", "Shorter.", "Now all of it."], "role": "human"},
        "Bob": {"type": "scripted", "script": ["Rain.", "Rain!", "Rain, at last."]},
    }
    config = {"discussion": {**PRODUCE, "mode": mode, "models": models}}
    await ConversationManager.from_config(config, out=place).run_discussion()
    turns = requests(place, 6)
    return {"Ann": turns[::2], "Bob": turns[1::2]}


async def test_a_thing_is_made_draft_by_draft_and_asked_for_at_the_end(tmp_path: Path) -> None:
    told = await texts_sent(tmp_path / "run", "human-ai")

    assert all("Ask for a first draft at once" in request for request in told["Ann"])
    assert all("show the thing itself" in request for request in told["Bob"])
    assert ["finished thing now" in request for request in told["Ann"]] == [False, False, True]
    assert ["finished thing now" in request for request in told["Bob"]] == [False, False, True]
    assert "Ask for the finished thing now" in told["Ann"][-1]
    assert "Give the finished thing now" in told["Bob"][-1]


async def test_two_ais_make_it_together_and_no_meta_is_told_nothing(tmp_path: Path) -> None:
    equals = await texts_sent(tmp_path / "equals", "ai-ai")
    control = await texts_sent(tmp_path / "control", "no-meta")

    assert "Give the finished thing now" in equals["Ann"][-1]
    assert "thing" not in "".join(control["Ann"] + control["Bob"])


def test_that_no_meta_makes_nothing_is_said() -> None:
    voice = {"type": "scripted", "script": ["Yes."]}
    loaded = load_checked({"discussion": {**PRODUCE, "mode": "no-meta", "models": {"a": voice, "b": voice}}})

    assert any("goal_mode: has no effect with 'mode: no-meta'" in note for note in loaded.notes)
