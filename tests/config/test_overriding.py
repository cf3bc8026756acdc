"""`--set path=value`: changes a value before the configuration is checked."""

from collections.abc import Callable

import pytest

from ai_battle.config.loading import LoadedDiscussion, load
from ai_battle.core.errors import ConfigError

from .conftest import SMALL, Written

Load = Callable[..., LoadedDiscussion]


def test_values_are_read_as_yaml(load_text: Load) -> None:
    overrides = (
        "discussion.turns=7",
        "discussion.stop=[{phrase: DONE}]",
        "discussion.models.Ada.persona='no: 1'",
        "prices={gpt-4.1: {input: 1, output: 2}}",
    )
    file = load_text(SMALL, None, overrides).file

    assert file.discussion.turns == 7
    assert file.discussion.stop is not None
    assert file.discussion.models["Ada"].persona == "no: 1"
    assert file.prices["gpt-4.1"].output == 2


def test_discussion_may_be_left_out_of_the_path(load_text: Load) -> None:
    assert load_text(SMALL, None, ("turns=7",)).file.discussion.turns == 7


def test_keys_may_hold_dots_themselves(load_text: Load) -> None:
    text = f"{SMALL}prices: {{gpt-4.1: {{input: 1, output: 2}}}}\n"

    assert load_text(text, None, ("prices.gpt-4.1.input=5",)).file.prices["gpt-4.1"].input == 5


def test_new_settings_and_entries_of_lists_can_be_reached(load_text: Load) -> None:
    text = SMALL.replace("{type: claude-3-sonnet}", "{type: scripted, script: [one, two]}")
    models = load_text(
        text, None, ("models.Bob.parameters.temperature=0.5", "models.Bob.script.1=deux", "models.Bob.script[0]=un")
    ).file.discussion.models

    assert models["Bob"].parameters.temperature == 0.5
    assert [entry.say for entry in models["Bob"].script] == ["un", "deux"]


def test_a_key_beside_a_plain_list_of_tools_leaves_the_list_as_it_is(load_text: Load) -> None:
    overrides = ("tools.workspace=./work", "tools.approval.default=ask", "tools.registry.0=current_time")
    tools = load_text(f"{SMALL}  tools: [calculator]\n", None, overrides).file.discussion.tools

    assert tools
    assert (tools.workspace, tools.approval.default) == ("./work", "ask")
    assert [entry.name for entry in tools.registry] == ["current_time"]
    assert load_text(f"{SMALL}  tools: [calculator]\n", None, ("tools.0=current_time",)).file.discussion.tools


@pytest.mark.parametrize(
    ("written", "goal"),
    [
        ("Compare: A and B", "Compare: A and B"),
        ("[draft] What is C # for?", "[draft] What is C # for?"),
        ("one\ntwo", "one\ntwo"),
        ("'so' is it", "'so' is it"),
        ("'Compare: A and B'", "Compare: A and B"),
        ('"one\\ntwo"', "one\ntwo"),
        ("|\n  one\n  two", "one\ntwo"),
    ],
)
def test_an_override_of_a_text_is_literal_unless_it_is_quoted(load_text: Load, written: str, goal: str) -> None:
    assert load_text(SMALL, None, (f"goal={written}",)).file.discussion.goal.strip() == goal


def test_overrides_set_keys_of_a_participant_that_is_only_a_type(load_text: Load) -> None:
    text = "discussion:\n  goal: Talk.\n  models: {Ann: gpt-4o, Bob 1.5: haiku}\n"
    overrides = ("models.Bob 1.5.persona=You sail.", "discussion.models.Ann=sonnet")
    models = load_text(text, None, overrides).file.discussion.models

    assert [(each.type, each.persona) for each in models.values()] == [("sonnet", ""), ("haiku", "You sail.")]


def test_an_empty_value_takes_a_setting_away(load_text: Load) -> None:
    assert load_text(f"{SMALL}  turns: 9\n", None, ("turns=",)).file.discussion.turns == 3


def test_an_anchor_is_changed_in_one_place_only(load_text: Load) -> None:
    text = "discussion:\n  goal: Talk.\n  models:\n    Ada: &a {type: x}\n    Bob: *a\n"
    models = load_text(text, None, ("models.Bob.type=y",)).file.discussion.models

    assert (models["Ada"].type, models["Bob"].type) == ("x", "y")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("discussion.trns=7", "--set discussion.trns: unknown key; did you mean 'turns'?"),
        ("trns=7", "--set trns discussion.trns: unknown key; did you mean 'turns'?"),
        ("models.Ada.typ=x", "--set models.Ada.typ discussion.models.Ada.typ: unknown key; did you mean 'type'?"),
        ("turns=many", "--set turns discussion.turns: must be a whole number, not 'many'"),
        ("goal.text=x", "--set goal.text: 'text' is asked of something that has no keys"),
        ("turns", "--set turns: must be path=value, for example discussion.turns=5"),
        ("=5", "--set =5: must be path=value"),
        ("turns=[1", "--set turns: a bracket is not closed"),
        ("stop=a: b: c", "--set stop: a second ': ' on this line; put quotes around text that holds a colon"),
        ("turns=!!python/none", "--set turns: the tag '!!python/none' is not allowed"),
    ],
)
def test_a_wrong_override_is_told_with_its_name(load_text: Load, override: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_text(SMALL, None, (override,))

    assert str(caught.value).startswith(message)


def test_an_entry_that_is_not_there_is_told(load_text: Load) -> None:
    text = SMALL.replace("{type: claude-3-sonnet}", "{type: scripted, script: [one, two]}")
    with pytest.raises(ConfigError, match="'2' is not one of the list's entries, 0 to 1"):
        load_text(text, None, ("models.Bob.script.2=x",))


def test_an_override_shows_no_value_in_errors(load_text: Load) -> None:
    with pytest.raises(ConfigError) as caught:
        load_text(SMALL, None, ("providers.openai.headers=[sk-secret]",))

    assert "sk-secret" not in str(caught.value)


def test_overrides_change_a_dictionary_too(write_config: Written) -> None:
    source = {"discussion": {"goal": "x", "models": {"a": {"type": "x"}, "b": {"type": "y"}}}}

    assert load(source, {}, ("turns=4",)).file.discussion.turns == 4
    assert "turns" not in source["discussion"]
