"""What a dry run says of models that help: what is certain, what the file says, and what nobody can know."""

from typing import Any

import pytest

from ai_battle.conversation.forecast import Expected, ExpectedHelp, forecast
from ai_battle.conversation.setup import load_checked

SMALL = {"type": "gpt-4o-mini"}
OTHER = {"type": "scripted", "script": ["Go on."], "loop": True}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC", "GROQ"):
        monkeypatch.setenv(f"{name}_API_KEY", "test-key")


def expected_help(pair: dict[str, Any], turns: int = 10) -> Expected:
    said = {
        "goal": "Find the number.",
        "turns": turns,
        "models": {"small": SMALL, "other": OTHER},
        "collaboration": {"pairs": [{"primary": "small", **pair}]},
    }
    return forecast(load_checked({"discussion": said}))[0]


def only(found: Expected, role: str) -> ExpectedHelp:
    (one,) = (each for each in found.help if each.role == role)
    return one


def test_how_often_a_model_is_stuck_is_not_known_and_said() -> None:
    """There is a price for each time, and it is not in the sum."""
    found = expected_help({"secondary": "gpt-4o"})

    one = only(found, "helper")
    assert (one.calls, one.when) == (None, "where small is stuck")
    assert one.each.cost_usd
    assert found.total == found.usage


@pytest.mark.parametrize(
    ("said", "calls"),
    [
        ({"help_rate": 0.2}, 2.0),
        ({"calibration": {"cut": 0.1, "help_rate": 0.3}}, 3.0),
        ({"help_rate": 0.5, "limits": {"calls": 3}}, 3.0),
        ({"help_rate": 0.5, "limits": {"calls": 3, "per": "turn"}}, 5.0),
    ],
    ids=["a rate", "calibrated", "limited", "limited in a turn"],
)
def test_a_share_of_help_that_the_file_says_is_in_the_sum(said: dict[str, Any], calls: float) -> None:
    found = expected_help({"secondary": "gpt-4o", **said})

    one = only(found, "helper")
    assert one.calls == pytest.approx(calls)
    assert found.total.cost_usd == pytest.approx((found.usage.cost_usd or 0) + calls * (one.each.cost_usd or 0))
    assert found.total.input_tokens > found.usage.input_tokens


def test_what_is_asked_in_each_turn_is_in_the_sum() -> None:
    found = expected_help({"strategy": "council", "peers": ["claude-haiku-4-5", "groq/llama-3.1-8b-instant"]})

    assert [(one.role, one.calls, one.when) for one in found.help] == [("peer", 10, "in each turn")] * 2
    assert found.total.output_tokens == found.usage.output_tokens + 2 * 10 * 350


@pytest.mark.parametrize(
    ("pair", "role", "calls"),
    [
        ({"strategy": "peer", "peers": ["claude-haiku-4-5"], "secondary": "gpt-4o", "help_rate": 0.2}, "helper", None),
        ({"strategy": "vote", "samples": 5}, "own", 40),
        ({"strategy": "boost", "secondary": "gpt-4o"}, "boost", 10),
        ({"strategy": "minion", "secondary": "gpt-4o"}, "helper", None),
        ({"strategy": "handover", "secondary": "gpt-4o"}, "helper", None),
        ({"strategy": "ladder", "secondary": "gpt-4o", "help_rate": 0.2}, "helper", None),
        ({"secondary": "gpt-4o", "judge": "claude-haiku-4-5"}, "judge", None),
        ({"secondary": ["gpt-4o", "gpt-4.1"], "help_rate": 0.1}, "helper", 1.0),
        ({"strategy": "cascade", "models": ["gpt-4.1-mini"], "help_rate": 0.1}, "helper", None),
    ],
    ids=lambda value: value.get("strategy", "rescue") if isinstance(value, dict) else None,
)
def test_each_strategy_has_its_own_calls(pair: dict[str, Any], role: str, calls: float | None) -> None:
    assert only(expected_help(pair), role).calls == calls


def test_who_verifies_writes_little() -> None:
    assert only(expected_help({"strategy": "draft_verify", "secondary": "gpt-4o"}), "helper").each.output_tokens == 200


def test_a_judge_writes_a_word() -> None:
    one = only(expected_help({"secondary": "gpt-4o", "judge": "claude-haiku-4-5"}), "judge")

    assert one.each.output_tokens < 50 < one.each.input_tokens


def test_without_pairs_there_is_no_help() -> None:
    said = {"goal": "Talk.", "turns": 2, "models": {"small": SMALL, "other": OTHER}}

    assert [one.help for one in forecast(load_checked({"discussion": said}))] == [(), ()]


def test_who_opens_and_closes_and_the_outcome_are_in_the_sum() -> None:
    """They read what was said until then: the closing and the outcome are dearer than any turn."""
    host, guest = {**SMALL, "role": "moderator"}, {**SMALL, "role": "observer"}
    said = {"goal": "Talk.", "turns": 4, "models": {"host": host, "small": SMALL, "other": SMALL, "guest": guest}}
    found = {each.name: each for each in forecast(load_checked({"discussion": said | {"outcome": "Who won?"}}))}
    (outcome,) = found["host"].help

    assert [each.turns for each in found.values()] == [2, 4, 4, 1]
    assert outcome.usage.input_tokens > 4 * 2 * 350
    assert found["guest"].usage.input_tokens > 4 * 2 * 350
    assert found["host"].total.input_tokens == found["host"].usage.input_tokens + outcome.usage.input_tokens
    assert [len(found[name].help) for name in ("small", "other", "guest")] == [0, 0, 0]


def test_after_a_person_the_next_model_in_order_writes_the_outcome() -> None:
    me = {"type": "human", "role": "user"}
    said = {"goal": "Talk.", "turns": 2, "outcome": "Who won?", "models": {"first": SMALL, "other": OTHER, "me": me}}
    found = {each.name: each for each in forecast(load_checked({"discussion": said}))}

    assert [len(found[name].help) for name in ("first", "other")] == [1, 0]
