"""What the earlier format wrote, and keys that may stand in two places: all of it loads."""

from collections.abc import Callable

import pytest

from ai_battle.config.discussion import InputFiles
from ai_battle.config.loading import LoadedDiscussion

from .conftest import SMALL, Problems

Load = Callable[..., LoadedDiscussion]

EARLIER = """\
discussion:
  turns: 3
  demo_generation: true
  models:
    model1:
      type: "claude-3-7-reasoning"
      role: "human"
      persona: |
        You are an expert with these traits:
          - name: [not, yaml
          expertise: {medicine
    model2:
      type: "gemini-2.0-flash-exp"
      role: "assistant"
      persona: |
        You are an assistant.
  timeouts:
    request: 300
    retry_count: 3
    notify_on:
      - timeout
      - retry
      - error
  input_file:
    path: "./scan.mp4"
    type: "video"
    max_resolution: "4K"
  goal: |
    Look at it.
"""


def test_a_discussion_of_the_earlier_format_loads(load_text: Load) -> None:
    here = load_text(EARLIER)
    discussion = here.file.discussion

    assert "name: [not, yaml" in discussion.models["model1"].persona
    assert discussion.timeouts.notify_on == ("timeout", "retry", "error")
    assert discussion.input_file is not None
    assert discussion.input_file.max_resolution == "4K"
    assert here.notes == ("discussion.demo_generation: has no effect any more and can be removed",)


@pytest.mark.parametrize(
    ("written_as", "mode"),
    [
        ("default", "no-meta"),
        ("no-meta-prompting", "no-meta"),
        ("no_meta", "no-meta"),
        ("Human-AI", "human-ai"),
        ("ai_ai", "ai-ai"),
    ],
)
def test_modes_have_several_spellings(load_text: Load, written_as: str, mode: str) -> None:
    assert load_text(f"{SMALL}  mode: {written_as}\n").file.discussion.mode == mode


def test_speaker_selection_may_be_written_with_a_dash(load_text: Load) -> None:
    assert load_text(f"{SMALL}  speaker_selection: round-robin\n").file.discussion.speaker_selection == "round_robin"


@pytest.mark.parametrize("pair", [("human", "assistant"), ("human", "human"), ("assistant", "Assistant")])
def test_any_pair_of_roles_loads(load_text: Load, pair: tuple[str, str]) -> None:
    text = (
        f"discussion:\n  goal: Talk.\n  models: {{a: {{type: x, role: {pair[0]}}}, b: {{type: y, role: {pair[1]}}}}}\n"
    )

    assert [model.role for model in load_text(text).file.discussion.models.values()] == [pair[0], pair[1].lower()]


def test_a_role_of_ones_own_is_taken_as_assistant_and_noted(load_text: Load) -> None:
    here = load_text(SMALL.replace("role: human", "role: teacher"))

    assert here.file.discussion.models["Ada"].role == "assistant"
    assert here.notes == ("discussion.models.Ada.role: 'teacher' has no rules of its own; taken as assistant",)


def test_roles_may_stand_beside_the_models(load_text: Load) -> None:
    assert load_text(f"{SMALL}  Bob_role: human\n").file.discussion.models["Bob"].role == "human"


@pytest.mark.parametrize(
    "written_as",
    [
        "[a.py, b.py]",
        "[{path: a.py}, {path: b.py, type: code}]",
        "{files: [a.py, b.py]}",
        "{files: [{path: a.py}, b.py]}",
    ],
)
def test_input_files_are_listed_in_several_ways(load_text: Load, written_as: str) -> None:
    files = load_text(f"{SMALL}  input_files: {written_as}\n").file.discussion.input_files

    assert isinstance(files, InputFiles)
    assert [file.path for file in files.files] == ["a.py", "b.py"]


@pytest.mark.parametrize(
    ("single", "listed"),
    [
        ("tools: dice", "tools: [dice]"),
        ("tools: {registry: dice}", "tools: {registry: [dice]}"),
        (
            "tools: {mcp: {servers: {a: {command: b, args: c}}}}",
            "tools: {mcp: {servers: {a: {command: b, args: [c]}}}}",
        ),
        ("input_files: a.py", "input_files: [a.py]"),
        ("stop: {any: {all: {phrase: x}}}", "stop: {any: [{all: [{phrase: x}]}]}"),
        (
            "collaboration: {pairs: {primary: Bob, secondary: x}}",
            "collaboration: {pairs: [{primary: Bob, secondary: x}]}",
        ),
    ],
)
def test_a_single_entry_is_short_for_a_list(load_text: Load, single: str, listed: str) -> None:
    assert load_text(f"{SMALL}  {single}\n").file == load_text(f"{SMALL}  {listed}\n").file


def test_an_input_file_may_be_a_path_alone(load_text: Load) -> None:
    file = load_text(f"{SMALL}  input_file: x.png\n").file.discussion.input_file

    assert file is not None
    assert file.path == "x.png"


@pytest.mark.parametrize(
    "written_as",
    [
        "[code_execution, dice]",
        "[{name: code_execution}, dice]",
        "{registry: [code_execution, {name: dice}]}",
        "{enabled: true, registry: [{name: code_execution, enabled: true}, {name: dice}]}",
    ],
)
def test_tools_are_listed_in_several_ways(load_text: Load, written_as: str) -> None:
    tools = load_text(f"{SMALL}  tools: {written_as}\n").file.discussion.tools

    assert tools is not None
    assert tools.enabled
    assert [tool.name for tool in tools.registry] == ["code_execution", "dice"]


@pytest.mark.parametrize("key", ["established_facts: {a: 1}", "local_only: true", "durability: every_turn"])
def test_settings_of_a_discussion_may_stand_beside_it(load_text: Load, key: str) -> None:
    assert load_text(f"{SMALL}{key}\n").file == load_text(f"{SMALL}  {key}\n").file


@pytest.mark.parametrize(
    "key",
    ["providers: {x: {base_url: 'http://a'}}", "prices: {x: {input: 1, output: 2}}", "context_windows: {x: 9000}"],
)
def test_what_holds_for_any_discussion_may_stand_in_one(load_text: Load, key: str) -> None:
    assert load_text(f"{SMALL}  {key}\n").file == load_text(f"{SMALL}{key}\n").file


def test_how_long_it_is_may_be_said_in_rounds_of_the_discussion_and_in_turns_of_a_phase(load_text: Load) -> None:
    assert load_text(f"{SMALL}  rounds: 7\n").file.discussion.turns == 7
    assert load_text(f"{SMALL}  phases: [{{name: first, turns: 2}}]\n").file.discussion.phases[0].rounds == 2


def test_a_moved_key_keeps_its_place(problems: Problems) -> None:
    assert problems(f"{SMALL}durability: never\n")[0].startswith("talk.yaml:6:13 discussion.durability: must be")


def test_a_key_in_both_places_is_one_too_many(problems: Problems) -> None:
    found = problems(f"{SMALL}  local_only: true\nlocal_only: false\n")

    assert found == ("talk.yaml:7:1 local_only: unknown key here; it belongs under 'discussion:'",)


def test_a_person_needs_no_model(load_text: Load) -> None:
    here = load_text(f"{SMALL}    Eve: {{type: ollama-phi4, role: user}}\n")

    assert here.notes == ("discussion.models.Eve.type: has no effect; a user is a person at the keyboard",)
