"""What a good configuration becomes."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from ai_battle.config.loading import LoadedDiscussion, load
from ai_battle.config.packaged import packaged_config, packaged_names
from ai_battle.config.problems import Problem
from ai_battle.conversation.inputs import problems as input_problems

from .conftest import PARTICIPANTS, SMALL, Written

Load = Callable[..., LoadedDiscussion]

EVERYTHING = """\
discussion:
  turns: 5
  mode: ai-ai
  goal: |
    Decide.
      Indented: kept
  initial_prompt: Let us begin.
  models:
    model1:
      type: ollama-phi4
      role: human
      persona: |
        name: Ada
        traits: [curious, "{braces}"]
      instructions: {template: human_system_instructions, params: {domain: chess}}
      parameters:
        {temperature: 0.8, max_tokens: 1024, top_p: 0.9, seed: 7, stop: [], reasoning: medium, num_ctx: 16384}
      tools: [code_execution]
    model2:
      type: scripted
      script: [Hello., {say: no, think: hm, call: {tool: t, parameters: {a: 1}}}, {fail: rate_limited, delay: 0.2}]
      when: [{match: "^bye", say: Bye.}]
      loop: true
    chair: {type: scripted, role: moderator, script: [Order!]}
    me: {role: user}
  speaker_selection: moderator
  stop: {any: [{max_messages: 40}, {phrase: "DONE"}, {all: [{consensus: true}, {seconds: 600}]}]}
  limits: {cost_usd: 1.0, tokens: 200000, seconds: 1800, tool_calls: 50}
  timeouts: {request: 300, retry_count: 2, notify_on: [timeout, retry, error]}
  execution: {parallel: true, delay_between_turns: 0.5, max_conversation_tokens: 32768}
  input_file: {path: ./x.png, type: image, max_resolution: 1024x1024}
  input_files: {files: [a.py, {path: b.png, type: image}], directory: ./src, file_pattern: "*.py", max_files: 10}
  tools:
    enabled: true
    registry:
      - {name: code_execution, enabled: true, parameters: {timeout: 15}}
      - file_manipulation
    paths: [../tools/dice.py]
    mcp: {servers: {time: {command: mcp-server-time, args: []}, docs: {url: "http://127.0.0.1:8000/mcp"}}}
    workspace: ./work
    sandbox: auto
    calling: auto
    approval: {default: allow, ask: [file_manipulation], deny: []}
    runner: {max_rounds: 3, allow_chaining: true, summarize_threshold: 4000, backoff_seconds: 0.1}
  collaboration:
    enabled: true
    pairs:
      - {primary: ollama-gemma3-1b, secondary: claude-3-sonnet, strategy: rescue, threshold: 0.7, max_retries: 2}
      - {primary: model2, secondary: gpt-4o, strategy: boost, max_loops: 3, limits: {calls: 3, per: turn}}
established_facts: {place: here, year: 2026}
local_only: true
durability: every_turn
providers:
  openai: {base_url: "http://127.0.0.1:1/v1", headers: {X-Team: a}, transport: sdk}
prices: {gpt-4.1: {input: 2, output: 8, cache_read: 0.5}}
context_windows: {gpt-4.1: 1e6}
"""


def test_every_documented_key_is_read(load_text: Load) -> None:
    file = load_text(EVERYTHING).file
    discussion = file.discussion
    model1, model2 = discussion.models["model1"], discussion.models["model2"]

    assert model1.persona == 'name: Ada\ntraits: [curious, "{braces}"]\n'
    assert model1.instructions.params == {"domain": "chess"}
    assert model1.parameters.options()["temperature"] == 0.8
    assert "top_k" not in model1.parameters.options()
    assert [entry.say for entry in model2.script] == ["Hello.", "no", ""]
    assert model2.script[1].call[0].parameters == {"a": 1}
    assert discussion.stop is not None
    assert [each.model_fields_set for each in discussion.stop.any] == [{"max_messages"}, {"phrase"}, {"all"}]
    assert discussion.stop.any[0].max_messages == 40
    assert discussion.timeouts.retry_count == 2
    assert discussion.input_files is not None
    assert [file.path for file in discussion.input_files.files] == ["a.py", "b.png"]
    assert discussion.tools is not None
    assert [tool.name for tool in discussion.tools.registry] == ["code_execution", "file_manipulation"]
    assert discussion.collaboration is not None
    assert discussion.collaboration.pairs[1].strategy == "boost"
    assert discussion.established_facts == {"place": "here", "year": 2026}
    assert discussion.local_only
    assert discussion.durability == "every_turn"
    assert file.providers["openai"].transport == "sdk"
    assert file.prices["gpt-4.1"].cache_read == 0.5
    assert file.context_windows == {"gpt-4.1": 1_000_000}


def test_what_is_not_written_has_the_documented_defaults(load_text: Load) -> None:
    discussion = load_text(SMALL).file.discussion

    assert (discussion.turns, discussion.mode, discussion.speaker_selection) == (3, "human-ai", "round_robin")
    assert (discussion.timeouts.request, discussion.timeouts.retry_count) == (600, 3)
    assert discussion.models["Bob"].role == "assistant"
    assert discussion.stop is None


def test_participants_keep_their_order(load_text: Load) -> None:
    assert list(load_text(EVERYTHING).file.discussion.models) == ["model1", "model2", "chair", "me"]


def test_a_choice_of_speakers_has_no_effect_where_all_answer_at_once(load_text: Load) -> None:
    here = load_text(f"{SMALL}  speaker_selection: auto\n  execution: {{parallel: true}}\n")

    assert here.notes == (
        "discussion.speaker_selection: has no effect with 'execution.parallel', where all answer at once",
    )


@pytest.mark.parametrize("key", ["help_rate: 0.2", "max_cost: 0.01", "calibration: own.json"])
def test_attempts_have_no_effect_where_the_gain_of_help_decides(load_text: Load, key: str) -> None:
    pairs = f"  collaboration: {{pairs: [{{primary: Bob, secondary: gpt-4o, {key}, max_retries: 3}}]}}\n"

    assert load_text(SMALL + pairs).notes == (
        "discussion.collaboration.pairs[0].max_retries: has no effect beside "
        f"{key.partition(':')[0]}, which leaves one attempt before help",
    )
    assert not load_text(SMALL + pairs.replace(key, "threshold: 0.5")).notes


def test_what_has_its_effect_is_no_matter_of_notes(load_text: Load) -> None:
    assert not load_text(SMALL).notes
    assert not [note for note in load_text(EVERYTHING).notes if "collaboration" in note or "approval" in note]


def test_a_script_that_nobody_plays_is_noted(load_text: Load) -> None:
    here = load_text(SMALL.replace("claude-3-sonnet", "claude-3-sonnet, script: [Hello.]"))

    assert here.notes == ("discussion.models.Bob.script: has no effect; only 'type: scripted' plays one",)


def test_a_dictionary_loads_as_the_file_does(load_text: Load) -> None:
    assert load(yaml.safe_load(SMALL), {}).file == load_text(SMALL).file


def test_a_dictionary_may_hold_paths_and_tuples(tmp_path: Path) -> None:
    source = {
        "discussion": {
            "goal": "Talk.",
            "models": {"a": {"type": "x"}, "b": {"type": "y", "script": ("Hello.",)}},
            "input_file": {"path": tmp_path / "a.txt"},
        }
    }

    assert next(input_problems(load(source, {}))).path == ("discussion", "input_file", "path")


@pytest.mark.parametrize(
    ("written_as", "meant"),
    [("no", "no"), ("on", "on"), ("12:30", "12:30"), ("1.10", "1.10"), ("0x10", "0x10"), ("2026-01-02", "2026-01-02")],
)
def test_text_stays_text_where_text_is_expected(load_text: Load, written_as: str, meant: str) -> None:
    assert load_text(f"discussion:\n  goal: {written_as}\n{PARTICIPANTS}").file.discussion.goal == meant


@pytest.mark.parametrize(
    ("written_as", "meant"), [("1e3", 1000), ("1_000", 1000), ("0x10", 16), ('"7"', 7), ("5.0", 5)]
)
def test_whole_numbers_may_be_written_in_many_ways(load_text: Load, written_as: str, meant: int) -> None:
    assert load_text(f"{SMALL}  turns: {written_as}\n").file.discussion.turns == meant


def test_values_of_free_shape_are_read_as_yaml_1_2(load_text: Load) -> None:
    facts = load_text(f"{SMALL}established_facts: [no, 12:30, 1e3, 010, true, ~, 'true', 0o10]\n").file.discussion

    assert facts.established_facts == ["no", "12:30", 1000.0, 10, True, None, "true", 8]


def test_a_key_without_a_value_is_as_if_it_was_not_written(load_text: Load) -> None:
    discussion = load_text(f"{SMALL}  turns:\n  stop: ~\n  tools:\n").file.discussion

    assert (discussion.turns, discussion.stop, discussion.tools) == (3, None, None)


def test_anchors_and_merges_are_written_out(load_text: Load) -> None:
    text = """\
discussion:
  goal: Talk.
  models:
    Ada: &ada {type: ollama-phi4, persona: Calm., parameters: {seed: 1}}
    Bob: {<<: *ada, persona: Wild.}
"""
    models = load_text(text).file.discussion.models

    assert (models["Bob"].type, models["Bob"].persona) == ("ollama-phi4", "Wild.")


@pytest.mark.parametrize("stop", ["[{phrase: DONE}, {consensus: true}]", "{phrase: DONE, consensus: true}"])
def test_several_conditions_are_short_for_any(load_text: Load, stop: str) -> None:
    condition = load_text(f"{SMALL}  stop: {stop}\n").file.discussion.stop

    assert condition is not None
    assert [inner.model_fields_set for inner in condition.any] == [{"phrase"}, {"consensus"}]


def test_a_byte_order_mark_does_no_harm(write_config: Written) -> None:
    assert load(write_config(b"\xef\xbb\xbf" + SMALL.encode()), {}).file.discussion.goal == "Talk."


def test_a_packaged_configuration_is_found_by_its_name() -> None:
    found = packaged_config("quickstart")

    assert found is not None
    assert load("quickstart", {}).base == found.parent
    assert "quickstart" in packaged_names()
    assert packaged_config("../quickstart") is None


def test_a_file_goes_before_a_packaged_name(
    write_config: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_config(SMALL, "quickstart")
    monkeypatch.chdir(tmp_path)

    assert load("quickstart", {}).base == tmp_path


@pytest.mark.parametrize("name", ["x" * 5_000, "a/" + "x" * 300, "x\\0y"], ids=len)
def test_what_can_be_no_file_is_not_there(load_text: Load, name: str) -> None:
    """Too long for the system, or with a sign that no name has."""
    files = f'input_files: {{files: ["{name[:200]}", "{name[-150:]}"], directory: "{name}"}}'
    problems = input_problems(load_text(f"{SMALL}  {files}\n"))

    assert [problem.path[2] for problem in problems] == ["files", "files", "directory"]


def test_a_problem_found_later_is_located_as_well(load_text: Load) -> None:
    located = load_text(SMALL).with_place(Problem(("discussion", "models", "Bob", "type"), "no such model"))

    assert located.endswith("talk.yaml:5:17 discussion.models.Bob.type: no such model")


def test_missing_input_files_are_found_when_they_are_asked_for(load_text: Load, write_config: Written) -> None:
    write_config("x", "notes.txt")
    here = load_text(f"{SMALL}  input_file: note.txt\n  input_files: {{files: [notes.txt, .], directory: nowhere}}\n")

    first, second, third = (here.with_place(problem).partition(" ")[2] for problem in input_problems(here))
    assert first.startswith("discussion.input_file.path: there is no file 'note.txt' in ")
    assert first.endswith("; did you mean 'notes.txt'?")
    assert second.startswith("discussion.input_files.files[1].path: '.' is a directory")
    assert third == "discussion.input_files.directory: there is no directory 'nowhere'"
