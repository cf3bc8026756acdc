"""When a discussion is over before its turns are."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ai_battle.conversation.state import RECENT_TURNS
from ai_battle.conversation.stopping import RunUse, StopContext, condition
from ai_battle.core.errors import ConfigError
from ai_battle.core.events import ModelReplied
from ai_battle.core.exchange import Usage
from ai_battle.core.messages import Message, assistant

DIALOGUES = [
    json.loads(line)
    for line in (Path(__file__).parent / "data/dialogues/labelled.jsonl").read_text(encoding="utf-8").splitlines()
]


def context(*texts: str, **more: Any) -> StopContext:
    said = [assistant(text, ("ada", "bob")[turn % 2]) for turn, text in enumerate(texts)]
    return StopContext(len(said), len(said), said, more.get("use", RunUse()))


def stops_after(dialogue: Mapping[str, Any], stop: Any) -> int | None:
    """After how many messages the dialogue would have been stopped."""
    holds = condition(stop)
    said: list[Message] = [assistant(text, speaker) for speaker, text in dialogue["says"]]
    for count in range(1, len(said) + 1):
        if holds(StopContext(count, count, said[max(0, count - RECENT_TURNS) : count], RunUse())):
            return count
    return None


def test_consensus_and_no_novelty_end_30_labelled_dialogues_with_at_most_one_wrong_stop() -> None:
    assert len(DIALOGUES) >= 20
    wrong, missed = [], []
    for dialogue in DIALOGUES:
        stopped, over_from = stops_after(dialogue, [{"consensus": True}, {"no_novelty": True}]), dialogue["over_from"]
        if stopped is None:
            missed += [dialogue["name"]] if over_from else []
        elif over_from is None or stopped < over_from:
            wrong.append((dialogue["name"], stopped, over_from))

    assert len(wrong) <= 1, wrong
    assert len(missed) <= 1, missed


@pytest.mark.parametrize("signal", ["consensus", "no_novelty"])
def test_each_of_the_two_signals_ends_a_thank_you_loop(signal: str) -> None:
    loop = next(dialogue for dialogue in DIALOGUES if dialogue["name"] == "thank-you loop")

    assert stops_after(loop, {signal: True}) is not None


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ({"max_messages": 2}, "max_messages: 2"),
        ({"max_messages": 3}, ""),
        ({"turns": 2}, "turns: 2"),
        ({"any": [{"max_messages": 9}, {"phrase": "done"}]}, "phrase: done"),
        ({"all": [{"max_messages": 2}, {"phrase": "DONE"}]}, "max_messages: 2 and phrase: DONE"),
        ({"all": [{"max_messages": 9}, {"phrase": "DONE"}]}, ""),
        ({"all": [{"any": [{"max_messages": 9}, {"turns": 1}]}, {"phrase": "done"}]}, "turns: 1 and phrase: done"),
        ([{"max_messages": 9}, {"turns": 1}], "turns: 1"),
        ({"consensus": False}, ""),
        ({}, ""),
        ((), ""),
        ({"all": []}, ""),
    ],
    ids=str,
)
def test_conditions_nest_and_say_why(stop: Any, reason: str) -> None:
    assert condition(stop)(context("One.", "Two, and we are done.")) == reason


@pytest.mark.parametrize("text", ["DONE", "We are\nall   done now", "**Done**.", "I say: done"])
def test_a_phrase_is_found_in_any_case_and_anywhere_in_the_last_message(text: str) -> None:
    assert condition({"phrase": "done" if " " not in text else "Done"})(context("Hm.", text))
    assert not condition({"phrase": "done"})(context(text, "Hm."))


def test_what_was_used_can_stop_too() -> None:
    use = RunUse()
    use.ledger.book(ModelReplied("m", Usage(900, 100, cost_usd=0.2), 1.0))
    use.ledger.book(ModelReplied("m", Usage(10, 10), 1.0))

    assert condition({"cost_usd": 0.2})(context("One.", use=use)) == "cost_usd: 0.2"
    assert condition({"tokens": 1020})(context("One.", use=use)) == "tokens: 1020"
    assert not condition({"seconds": 5})(context("One.", use=use))


def test_an_unknown_condition_is_named_with_a_near_one() -> None:
    with pytest.raises(ConfigError, match=r"'max_mesages'; did you mean 'max_messages'\?"):
        condition({"max_mesages": 3})
