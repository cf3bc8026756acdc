"""Pairs of a file that can't work are told with their place and the way out, before anything runs."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ai_battle.assembly.discussion import build, direct
from ai_battle.conversation.setup import load_checked
from ai_battle.core.errors import ConfigError

SCRIPTED = {"type": "scripted", "script": ["Yes."]}
MODELS: dict[str, Any] = {
    "Ada": {"type": "ollama/phi4"},
    "Bob": {"type": "ollama/gemma3:1b"},
    "Cleo": SCRIPTED,
    "Me": {"role": "user"},
}


def discussion(*pairs: dict[str, Any], models: dict[str, Any] = MODELS, **more: Any) -> dict[str, Any]:
    return {"discussion": {"goal": "Talk.", "models": models, "collaboration": {"pairs": list(pairs)}, **more}}


def refusal(*pairs: dict[str, Any], **more: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        load_checked(discussion(*pairs, **more))
    return str(caught.value)


PAIRS = "discussion.collaboration.pairs[0]"
OTHER = {"secondary": SCRIPTED}


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ({"primary": "Ad", **OTHER}, ".primary: no participant is or uses 'Ad'; did you mean 'Ada'?"),
        ({"primary": "ollama/phi3", **OTHER}, ".primary: no participant is or uses 'ollama/phi3'; did you mean"),
        ({"primary": "Ada", "secondary": "Ada"}, ".secondary: 'Ada' can't help itself; name another model"),
        ({"primary": "Ada", "secondary": "ollama-phi4"}, ".secondary: 'Ada' can't help itself; name another model"),
        ({"primary": "Cleo", "secondary": "Cleo"}, ".secondary: 'Cleo' can't help itself; name another model"),
        (
            {"primary": "Ada", "strategy": "resuce", **OTHER},
            ".strategy: there is no strategy 'resuce'; did you mean 'rescue'?",
        ),
        (
            {"primary": "Ada", "strategy": "measures", **OTHER},
            ".strategy: there is no strategy 'measures'",
        ),
        ({"primary": "Ada"}, ".secondary: is missing: rescue needs the model that helps"),
        (
            {"primary": "Ada", "strategy": "minion", "samples": 3, **OTHER},
            ".samples: minion has no such option; advisor, cascade, council, critique",
        ),
        ({"primary": "Ada", "max_loops": 3, **OTHER}, ".max_loops: rescue has no such option; boost"),
        (
            {"primary": "Ada", "strategy": "minion", "judge": "Bob", **OTHER},
            ".judge: minion has no such option; advisor, cascade, council, critique",
        ),
        ({"primary": "Ada", "judge": "ollama-phi4", **OTHER}, ".judge: 'Ada' can't judge itself; name another model"),
        (
            {"primary": "Ada", "judge": "Bob", "helper_sees": "prompt", **OTHER},
            ".helper_sees: is prompt, and a judge reads the attempt; say attempt or history",
        ),
        ({"primary": "Ada", "judge": "Me", **OTHER}, ".judge: 'Me' is a person; name a model"),
        ({"primary": "Ada", "check": "code_execution", **OTHER}, ".check: 'code_execution' is a tool, and discussion"),
        ({"primary": "Ada", "strategy": "peer", "peers": ["ollama-phi4"]}, ".peers[0]: 'Ada' answers already"),
        ({"primary": "Ada", "strategy": "cascade", "models": ["Bob", "Ada"]}, ".models[1]: 'Ada' answers already"),
        ({"primary": "Ada", "options": {"patience": 3}, **OTHER}, ".options: rescue has no option 'patience'"),
        ({"primary": "Ada", "options": {"primary": "Bob"}, **OTHER}, ".options: rescue has no option 'primary'"),
        ({"primary": "Ada", "options": {"helping": 3}, **OTHER}, ".options: rescue has no option 'helping'"),
        (
            {"primary": "Ada", "strategy": "vote", "options": {"samples": "three"}},
            ".options: 'samples' of vote must be a whole number, not 'three'",
        ),
        (
            {"primary": "Ada", "strategy": "handover", "options": {"hand_back_after": True}, **OTHER},
            ".options: 'hand_back_after' of handover must be a whole number, not True",
        ),
        (
            {"primary": "Ada", "strategy": "draft_verify", "options": {"max_tokens": 0}, **OTHER},
            ".options.max_tokens: max_tokens of draft_verify is 1 or more, not 0",
        ),
        ({"primary": "Me", **OTHER}, ".primary: 'Me' is a person, and only models are helped"),
        ({"primary": "Mee", **OTHER}, ".primary: no participant is or uses 'Mee'; there is Ada,"),
        ({"primary": "Ada", "secondary": "Me"}, ".secondary: 'Me' is a person; name a model"),
        ({"primary": "Ada", "strategy": "peer", "peers": ["Me"]}, ".peers[0]: 'Me' is a person; name a model"),
        ({"primary": "Ada", "secondary": "gpt-4o"}, ".secondary: "),
        ({"primary": "Ada", "secondary": "gtp-4o"}, ".secondary: "),
    ],
)
def test_a_pair_that_cannot_work_is_told_with_its_place(
    monkeypatch: pytest.MonkeyPatch, pair: dict[str, Any], message: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    assert f"{PAIRS}{message}" in refusal(pair)


def test_a_helper_without_a_key_names_the_variable_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)

    assert "ANTHROPIC_API_KEY" in refusal({"primary": "Ada", "secondary": "claude-sonnet-5-5"})


def test_two_pairs_for_one_participant_are_an_error_unless_they_are_ladders() -> None:
    twice = ({"primary": "Ada", **OTHER}, {"primary": "ollama-phi4", "secondary": "Bob"})

    assert "pairs[1].primary: 'Ada' is helped by collaboration.pairs[0] already" in refusal(*twice)
    load_checked(discussion(*({**pair, "strategy": "ladder"} for pair in twice)))


def test_models_that_help_each_other_are_a_circle() -> None:
    circle = ({"primary": "Ada", "secondary": "Bob"}, {"primary": "Bob", "secondary": "ollama-phi4"})

    assert "pairs[1].secondary: 'ollama-phi4' is itself helped by 'Bob'; one of them" in refusal(*circle)


def test_a_longer_circle_is_found_as_well() -> None:
    circle = (
        {"primary": "Ada", "secondary": "Bob"},
        {"primary": "Bob", "secondary": "Cleo"},
        {"primary": "Cleo", "secondary": "Ada"},
    )

    assert "pairs[2].secondary: 'Ada' is itself helped by 'Cleo', through others; one of them" in refusal(*circle)


def test_cascades_that_lead_to_each_other_are_a_circle_too() -> None:
    circle = (
        {"primary": "Ada", "strategy": "cascade", "models": ["Cleo", "Bob"]},
        {"primary": "Bob", "strategy": "cascade", "models": ["Ada"]},
    )

    assert "pairs[1].models[0]: 'Ada' is itself helped by 'Bob'" in refusal(*circle)


def test_a_chain_of_helpers_is_no_circle() -> None:
    load_checked(discussion({"primary": "Ada", "secondary": "Bob"}, {"primary": "Bob", "secondary": "Cleo"}))


def test_a_helper_elsewhere_is_refused_where_all_is_to_stay_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    pair = {"primary": "Ada", "secondary": "gpt-4o"}

    assert "'local_only: true'" in refusal(pair, local_only=True)


def test_all_that_is_wrong_is_told_at_once() -> None:
    said = refusal({"primary": "Nobody", **OTHER}, {"primary": "Ada", "strategy": "vot", **OTHER})

    assert "pairs[0].primary" in said
    assert "pairs[1].strategy" in said


def test_pairs_that_are_switched_off_are_not_looked_at() -> None:
    said = discussion({"primary": "Nobody", **OTHER})
    said["discussion"]["collaboration"]["enabled"] = False

    load_checked(said)


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ({"strategy": "council", "peers": ["Bob"]}, ".peers: council takes two models or more in 'peers', not 1"),
        ({"strategy": "peer"}, ".strategy: peer takes one model in 'peers', not 0"),
        ({"strategy": "vote", "samples": 1}, ".samples: vote takes two samples or more, not 1"),
        ({"strategy": "minion", "max_loops": 1, **OTHER}, ".max_loops: minion takes two rounds or more"),
        ({"strategy": "handover", "helper_sees": "prompt", **OTHER}, ".helper_sees: handover shows the helper"),
        (
            {"strategy": "draft_verify", "options": {"max_tokens": 0}, **OTHER},
            ".options.max_tokens: max_tokens of draft",
        ),
        (
            {"strategy": "boost", "options": {"template": "Do\nit."}, **OTHER},
            ".options.template: The template of boost has",
        ),
        (
            {"strategy": "boost", "options": {"template": "no.md"}, **OTHER},
            ".options.template: The template of boost is",
        ),
    ],
)
def test_what_only_the_strategy_knows_to_be_wrong_is_told_before_the_run_and_where_it_stands(
    pair: dict[str, Any], message: str
) -> None:
    assert f"pairs[0]{message}" in refusal({"primary": "Ada", **pair})


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"threshold": 0.5, "help_rate": 0.2}, ".help_rate: threshold already decides when help is due"),
        ({"help_rate": 0.2, "max_cost": 0.01}, ".max_cost: help_rate already decides when help is due"),
        ({"help_rate": 1.2}, ".help_rate: must be at most 1, not 1.2"),
        ({"calibration": "nowhere.json"}, "nowhere.json can't be read: No such file or directory"),
        ({"calibration": "~nobody/own.json"}, "own.json can't be read: No such file or directory"),
        ({"calibration": {"cat": 1}}, ".calibration: The calibration has no number as its cut"),
        ({"calibration": {"cut": 0.2, "corrections": {"maths": {}}}}, "has a family 'maths'"),
        ({"calibration": {"cut": 0.2, "corrections": {"math": 5}}}, "corrections that are not numbers"),
        ({"calibration": {"cut": 0.2, "corrections": 5}}, "corrections that are not numbers"),
        ({"calibration": {"cut": 0.2, "corrections": {"math": {"failure": {"length": "x"}}}}}, "are not numbers"),
        ({"calibration": {"cut": float("nan")}}, "no number as its cut"),
        ({"calibration": {"cut": 0.2, "help_rate": "often"}}, "no number as its help_rate"),
    ],
)
def test_what_decides_that_help_is_due_is_one_thing_that_can_be_read(keys: dict[str, Any], message: str) -> None:
    assert message in refusal({"primary": "Ada", **OTHER, **keys})


def test_dollars_without_a_price_are_refused() -> None:
    unpriced = {"type": "openai/house-model"}
    more = {"providers": {"openai": {"base_url": "http://127.0.0.1:9/v1", "api_key": "k"}}}
    said = {**discussion({"primary": "Ada", "secondary": unpriced, "max_cost": 0.01}), **more}

    with pytest.raises(
        ConfigError, match=r"\.max_cost: max_cost needs a price, and openai/house-model has no known price"
    ):
        load_checked(said)


def test_a_calibration_is_read_beside_the_file(tmp_path: Any) -> None:
    (tmp_path / "own.json").write_text('{"cut": 0.25}')
    file = tmp_path / "talk.yaml"
    file.write_text(
        "discussion: {goal: Talk., models: {Ada: {type: ollama/phi4}, Bob: {type: ollama/phi4}}, collaboration: "
        "{pairs: [{primary: Ada, secondary: {type: scripted, script: [Yes.]}, calibration: own.json}]}}"
    )

    load_checked(file)


def test_a_template_is_read_beside_the_file(tmp_path: Any) -> None:
    (tmp_path / "plan.md").write_text("Plan this: $request")
    pair = {"primary": "Ada", "strategy": "boost", "options": {"template": "plan.md"}, **OTHER}

    file = tmp_path / "talk.yaml"
    file.write_text(json.dumps(discussion(pair)))

    load_checked(file)
    assert "no file that can be read" in refusal(pair)


PLUGIN = """
from ai_battle.collaboration import rescue

def create(primary, secondary, *, mood: int = 1):
    assert mood, "No mood."
    return rescue.create(primary, secondary)
"""


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"options": {"mud": 2}}, "options: own_strategies.moody has no option 'mud'; there is mood"),
        ({"options": {"mood": "good"}}, "options: 'mood' of own_strategies.moody must be a whole number, not 'good'"),
        ({"options": {"mood": 0}}, "own_strategies.moody can't be made of its options: AssertionError: No mood"),
        ({"peers": ["Bob"]}, "peers: own_strategies.moody has no such option"),
    ],
)
def test_what_a_strategy_of_ones_own_does_not_take_is_told_where_its_code_is_trusted(
    keys: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checking the file imports none of its code; the run is not begun."""
    (tmp_path / "own_strategies").mkdir()
    (tmp_path / "own_strategies" / "moody.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(tmp_path))
    loaded = load_checked(discussion({"primary": "Ada", "strategy": "own_strategies.moody", **OTHER, **keys}))

    assert "own_strategies.moody" not in sys.modules
    with pytest.raises(ConfigError) as caught:
        build(loaded)
    sys.modules.pop("own_strategies.moody", None)
    assert message in str(caught.value)


def test_a_single_turn_of_a_model_elsewhere_is_refused_where_all_is_to_stay_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    loaded = load_checked(discussion({"primary": "Ada", **OTHER}, local_only=True))

    with pytest.raises(ConfigError, match="not on this machine"):
        direct(loaded, "gpt-4o")


@pytest.mark.parametrize("wrong", [{"type": "gtp-4o"}, {"type": "scripted", "script": ["Yes.", ""]}])
def test_a_participant_that_cannot_be_is_told_once_and_with_all_else_that_is_wrong(wrong: dict[str, Any]) -> None:
    models = {"Ada": wrong, "Bob": {"type": "nowhere/bob"}}
    lines = refusal({"primary": "Ada", **OTHER}, models=models).splitlines()

    assert [line.partition(": ")[0] for line in lines] == ["discussion.models.Ada.type", "discussion.models.Bob.type"]


def test_that_the_model_of_a_helper_is_retired_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    loaded = load_checked(discussion({"primary": "Ada", "secondary": "claude-3-sonnet"}))

    assert "'claude-3-sonnet' is retired" in " ".join(build(loaded).warnings)


@pytest.mark.parametrize(
    ("mode", "strategy", "told"),
    [
        ("no-meta", "rescue", True),
        ("no-meta", "takeover", True),
        ("no-meta", "vote", False),
        ("ai-ai", "rescue", False),
    ],
)
def test_that_help_says_more_than_the_prompt_is_told_in_no_meta(mode: str, strategy: str, told: bool) -> None:
    said = discussion({"primary": "Ada", "strategy": strategy, **OTHER}, mode=mode)

    assert ("the prompt is all that is sent" in " ".join(build(load_checked(said)).warnings)) is told


def test_a_key_among_the_options_of_a_strategy_is_not_written_down() -> None:
    pair = {"primary": "Ada", "strategy": "own_strategies.moody", "options": {"api_key": "sk-quite-secret"}, **OTHER}
    loaded = load_checked(discussion(pair))

    assert "sk-quite-secret" in loaded.redactor.secrets
    assert 'api_key: "${PAIRS_API_KEY}"' in loaded.as_yaml()
    assert "sk-quite-secret" not in loaded.as_yaml()


def test_a_model_is_the_same_in_each_spelling() -> None:
    said = discussion({"primary": "ollama/gemma3:1b", "secondary": "ollama:gemma3:1b"})
    said["discussion"]["models"]["Ada"] = {"type": "ollama-gemma3-1b"}

    with pytest.raises(ConfigError, match=r"\.secondary: 'ollama/gemma3:1b' can't help itself"):
        load_checked(said)
