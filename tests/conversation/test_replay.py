"""A finished run, played again: as it was, or with one participant exchanged."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ai_battle import ConversationManager, Participant
from ai_battle.config.loading import load
from ai_battle.conversation.journal import Journal
from ai_battle.conversation.plan import Plan
from ai_battle.conversation.replay import Difference, replay, swap
from ai_battle.conversation.run_config import config_without_models, recast
from ai_battle.core.errors import ConfigError
from ai_battle.core.events import (
    EventLog,
    ModelReplied,
    RunFinished,
    RunResumed,
    RunStarted,
    TextDelta,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from ai_battle.core.exchange import NOTHING_USED
from ai_battle.providers.scripted import ScriptedClient

from .runs import turn


def plan(ann: ScriptedClient, bob: ScriptedClient) -> Plan:
    return Plan((Participant("ann", ann, persona="You are Ann."), Participant("bob", bob)), goal="Count.", turns=2)


@pytest.fixture
async def run_dir(tmp_path: Path) -> Path:
    ann, bob = ScriptedClient("One.", "Three."), ScriptedClient("Two.", "Four.")
    people = [Participant("ann", ann, persona="You are Ann."), Participant("bob", bob)]
    manager = ConversationManager(people, goal="Count.", turns=2, out=tmp_path / "run")
    return (await manager.run_discussion()).run_dir


async def differences_with(run_dir: Path, plan: Plan, name: str, log: EventLog) -> list[Difference]:
    return [difference async for difference in swap(run_dir, plan, name, log)]


async def test_a_run_is_told_again_without_a_model(run_dir: Path) -> None:
    before = (run_dir / "journal.jsonl").read_bytes()
    await replay(run_dir, log := EventLog())

    assert [event.text for event in log.events if isinstance(event, TextDelta)] == ["One.", "Two.", "Three.", "Four."]
    assert isinstance(log.events[0], RunStarted)
    assert isinstance(log.events[-1], RunFinished)
    assert (run_dir / "journal.jsonl").read_bytes() == before


async def test_what_a_crash_cut_off_is_not_told(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path)
    failed = TurnFailed(2, 1, "bob", "no connection", "stop")
    cut_off = (TurnStarted(2, 1, "bob"), failed, RunFinished("failed", "bob", 1, NOTHING_USED))
    killed = (RunResumed(2, 1), TurnStarted(2, 1, "bob"), ModelReplied("m", NOTHING_USED, 0.1))
    again = (RunResumed(2, 1), TurnStarted(2, 1, "bob"), turn(2, "bob", "Two."))
    told = (TurnStarted(1, 1, "ann"), turn(1, "ann", "One."))
    for event in (*told, *cut_off, *killed, *again):
        await journal(event)
    await journal.close()

    await replay(tmp_path, log := EventLog())
    assert [event for event in log.events if not isinstance(event, TextDelta)] == [*told, *again[1:]]


async def test_one_participant_answers_anew_and_the_others_say_what_they_said(run_dir: Path) -> None:
    ann, bob = ScriptedClient(), ScriptedClient("Zwei.", "Four.")
    first, second = await differences_with(run_dir, plan(ann, bob), "bob", log := EventLog())

    assert first.diff.splitlines() == [
        "--- turn 2, bob: said",
        "+++ turn 2, bob: says now",
        "@@ -1 +1 @@",
        "-Two.",
        "+Zwei.",
    ]
    assert (second.turn, second.diff) == (4, "")
    assert [e.message.text for e in log.events if isinstance(e, TurnFinished)] == ["One.", "Zwei.", "Three.", "Four."]
    assert ann.requests == [], "whose turns are recorded needs no client"


async def test_the_new_client_is_asked_what_the_old_one_would_have_been_asked(run_dir: Path) -> None:
    """Its own new answers stand in the history in the place of the recorded ones."""
    ann = ScriptedClient("Uno.", "Tres.")
    await differences_with(run_dir, plan(ann, ScriptedClient()), "ann", EventLog())

    assert "You are Ann." in ann.requests[0].system
    said = [(message.role, message.text) for message in ann.requests[1].messages]
    assert said == [("user", "Count."), ("assistant", "Uno."), ("user", "Two.")]


async def test_where_all_answer_at_once_the_new_client_hears_nobody_of_its_round(run_dir: Path) -> None:
    bob = ScriptedClient("Zwei.", "Vier.")
    at_once = replace(plan(ScriptedClient(), bob), parallel=True)
    await differences_with(run_dir, at_once, "bob", EventLog())

    assert [message.text for message in bob.requests[0].messages] == ["Count."]
    assert [message.text for message in bob.requests[1].messages][:2] == ["Count.\n\nOne.", "Zwei."]
    assert "Three." not in str(bob.requests[1].messages)


async def test_a_new_client_that_fails_is_a_difference_too(run_dir: Path) -> None:
    ann = ScriptedClient({"fail": "refused"}, "Three.")
    first, _ = await differences_with(run_dir, plan(ann, ScriptedClient()), "ann", log := EventLog())

    assert first.now.startswith("(no answer: ")
    assert any(isinstance(event, TurnFailed) for event in log.events)


CONFIG: dict[str, Any] = {
    "discussion": {
        "goal": "Count.",
        "models": {
            "ann": {"type": "openai/gpt-4o", "persona": "You are Ann.", "parameters": {"temperature": 0.5}},
            "bob": {"type": "scripted", "script": ["Two."], "role": "human"},
        },
    }
}


def test_the_configuration_for_a_swap_needs_only_the_model_that_is_asked() -> None:
    cast = recast(CONFIG, "bob", "anthropic/claude-sonnet-4")

    assert load(cast).file.discussion.models["ann"].type == "scripted"
    assert cast["discussion"]["models"]["bob"] == {"type": "anthropic/claude-sonnet-4", "role": "human"}
    assert cast["discussion"]["models"]["ann"]["persona"] == "You are Ann."
    assert json.dumps(CONFIG).count("scripted") == 1, "the given one is left as it was"


def test_who_is_exchanged_or_shown_needs_none_of_the_models_that_help() -> None:
    pairs = [{"primary": "openai/gpt-4o", "secondary": "mine/large"}]
    helped = {"discussion": {**CONFIG["discussion"], "collaboration": {"pairs": pairs}}}

    for cast in (recast(helped, "bob", "ollama/phi4"), config_without_models(helped)):
        assert not load(cast).file.discussion.collaboration


async def test_a_participant_that_was_not_there_is_named(run_dir: Path) -> None:
    with pytest.raises(ConfigError, match="The run has no participant 'bop'; did you mean 'bob'"):
        recast(CONFIG, "bop", "openai/gpt-4o")
    with pytest.raises(ConfigError, match="The run has no participant 'bop'; did you mean 'bob'"):
        await differences_with(run_dir, plan(ScriptedClient(), ScriptedClient()), "bop", EventLog())
