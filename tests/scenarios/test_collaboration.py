"""Pairs of a discussion file at work: who is asked how often, what is said, what is kept, and what it cost."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ai_battle import CollaborativeConversationManager, Participant, RunResult
from ai_battle.conversation.reading import read
from ai_battle.core.errors import ConfigError
from ai_battle.core.events import EventLog, TurnFinished, Warned
from ai_battle.core.helping import DraftDropped, HelpAsked, HelpFailed, HelpSummed, LadderStood, StuckFound
from ai_battle.core.tooling import ToolCalled, ToolReturned
from ai_battle.testing import FakeProviders, ScriptedClient, call, fault

STUCK = "I do not know. " * 40
LOCAL = {"type": "ollama/phi4"}
OTHER = {"type": "scripted", "script": ["Go on."], "loop": True}


def discussion(pair: dict[str, Any], turns: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "discussion": {
            "goal": "Find the number.",
            "turns": turns,
            "models": {"small": LOCAL, "other": OTHER},
            "timeouts": {"retry_count": 0},
            "collaboration": {"pairs": [{"primary": "small", "secondary": "gpt-4o", **pair}]},
            **more,
        }
    }


async def play(source: dict[str, Any]) -> tuple[RunResult, EventLog]:
    log = EventLog()
    return await CollaborativeConversationManager.from_config(source).run_discussion(log), log


def of(kind: type, log: EventLog) -> list[Any]:
    return [event for event in log.events if isinstance(event, kind)]


async def test_an_answer_that_is_good_enough_costs_nothing_of_the_large_model(fakes: FakeProviders) -> None:
    fakes.ollama.says("The number is seven.")

    result, _ = await play(discussion({}))

    assert result.messages[1].text == "The number is seven."
    assert (len(fakes.ollama.questions), len(fakes.openai.questions)) == (1, 0)
    assert result.help
    assert (result.help.turns, result.help.helped, result.help.cost_usd) == (1, 0, 0)
    assert result.help.all_large_usd


async def test_a_stuck_model_gets_advice_and_tries_again(fakes: FakeProviders) -> None:
    fakes.ollama.says(STUCK, "The number is seven.")
    fakes.openai.says("Count the dwarfs.")

    result, log = await play(discussion({}))

    assert result.messages[1].text == "The number is seven."
    assert (len(fakes.ollama.questions), len(fakes.openai.questions)) == (2, 1)
    assert "Count the dwarfs." in json.dumps(fakes.ollama.questions[1].body)
    assert [event.speaker for kind in (StuckFound, HelpAsked, DraftDropped) for event in of(kind, log)] == ["small"] * 3


async def test_what_helping_cost_is_in_the_journal_and_adds_up(fakes: FakeProviders) -> None:
    fakes.ollama.says(STUCK, "The number is seven.")
    fakes.openai.says("Count the dwarfs.")

    result, _ = await play(discussion({}))

    (told,) = [event for _, event in read(result.run_dir) if isinstance(event, HelpSummed)]
    rows = {row["role"]: row for row in told.rows if row["participant"] == "small"}
    turn = next(record for record, _ in read(result.run_dir) if record["type"] == "turn_finished")
    assert replace(told, rows=tuple(told.rows)) == result.help
    assert (told.turns, told.helped) == (1, 1)
    assert {role: row["calls"] for role, row in rows.items()} == {"own": 1, "helper": 1, "wasted": 1}
    assert sum(row["output_tokens"] for row in rows.values()) == turn["usage"]["output_tokens"]
    assert rows["own"]["cost_usd"] == 0
    assert told.cost_usd == pytest.approx(rows["helper"]["cost_usd"])
    assert told.cost_usd


@pytest.mark.parametrize("name", ["http_500", "stall_before_headers", "refusal", "empty_answer"])
async def test_a_helper_that_fails_never_breaks_the_turn(fakes: FakeProviders, name: str) -> None:
    fakes.ollama.says(STUCK)
    fakes.openai.always(fault(name))

    result, log = await play(discussion({"helper_timeout": 0.5, "max_retries": 1}))

    assert result.status == "done"
    assert result.messages[1].text == STUCK
    assert len(fakes.ollama.questions) == 1
    assert len(of(HelpFailed, log)) == 1


async def test_the_next_of_several_helpers_stands_in(fakes: FakeProviders) -> None:
    fakes.ollama.says(STUCK, "The number is seven.")
    fakes.openai.always(fault("http_500"))
    fakes.anthropic.says("Count the dwarfs.")

    result, log = await play(discussion({"secondary": ["gpt-4o", "claude-sonnet-5-5"]}))

    assert result.messages[1].text == "The number is seven."
    assert (len(fakes.openai.questions), len(fakes.anthropic.questions)) == (1, 1)
    assert any("the next one is asked" in event.message for event in of(Warned, log))


@pytest.mark.parametrize("said", ["I'm sorry, but I can't help with that.", fault("refusal"), fault("empty_answer")])
async def test_the_next_of_several_helpers_stands_in_for_one_that_declines(fakes: FakeProviders, said: Any) -> None:
    """What the first one cost is in the ledger, as wasted."""
    fakes.ollama.says(STUCK, "The number is seven.")
    fakes.openai.says(said)
    fakes.anthropic.says("Count the dwarfs.")

    result, log = await play(discussion({"secondary": ["gpt-4o", "claude-sonnet-5-5"]}))

    assert result.messages[1].text == "The number is seven."
    assert (len(fakes.openai.questions), len(fakes.anthropic.questions)) == (1, 1)
    assert result.help
    assert result.help.helped == 1
    assert {row["role"]: row["calls"] for row in result.help.rows if row["participant"] == "small"}["helper"] == 1
    assert of(HelpFailed, log) == []


async def test_the_next_of_several_helpers_stands_in_for_one_that_hangs(fakes: FakeProviders) -> None:
    """Each has its share of the time."""
    fakes.ollama.says(STUCK, "The number is seven.")
    fakes.openai.always(fault("stall_before_headers"))
    fakes.anthropic.says("Count the dwarfs.")

    pair = {"secondary": ["gpt-4o", "claude-sonnet-5-5"], "helper_timeout": 1, "max_retries": 1}
    result, log = await play(discussion(pair))

    assert result.messages[1].text == "The number is seven."
    assert any("asked: no answer within 0.5 s" in event.message for event in of(Warned, log))


async def test_a_limit_of_calls_holds_over_the_run(fakes: FakeProviders) -> None:
    fakes.ollama.always(STUCK)
    fakes.openai.always("Count the dwarfs.")

    result, log = await play(discussion({"limits": {"calls": 2}}, turns=4))

    assert (result.status, len(fakes.openai.questions)) == ("done", 2)
    assert "limit of calls" in of(HelpFailed, log)[-1].reason


async def test_what_helpers_used_counts_after_a_resume(fakes: FakeProviders, here: Path) -> None:
    """Of two calls that the run may make, one was made before it was interrupted."""
    fakes.ollama.always(STUCK)
    fakes.openai.always("Count the dwarfs.")
    manager = CollaborativeConversationManager.from_config(
        discussion({"limits": {"calls": 2}}, turns=4), out=here / "r"
    )

    async def stop(event: Any) -> None:
        if type(event).__name__ == "TurnFinished" and event.turn == 2:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await manager.run_discussion(stop)
    result = await manager.resume(here / "r")

    assert (result.status, len(fakes.openai.questions)) == ("done", 2)
    assert result.help
    assert result.help.helped == 2


async def test_a_ladder_goes_on_from_its_rung_after_a_resume(fakes: FakeProviders, here: Path) -> None:
    """One troubled turn was before the interruption and one after it: that makes two in a row, and a rung."""
    fakes.ollama.always(STUCK)
    fakes.openai.always("The number is seven.")
    manager = CollaborativeConversationManager.from_config(discussion({"strategy": "ladder"}, turns=4), out=here / "r")

    async def stop(event: Any) -> None:
        if isinstance(event, TurnFinished) and event.turn == 2:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await manager.run_discussion(stop)
    await manager.resume(here / "r", log := EventLog())

    asked = [event.strategy for event in of(HelpAsked, log)]
    assert asked[:3] == ["ladder: hint", "ladder: plan", "ladder: takeover"]
    assert asked[3:5] == ["ladder: plan", "ladder: takeover"]
    stood = [event for _, event in read(here / "r") if isinstance(event, LadderStood)]
    assert [(event.rung, event.troubled) for event in stood] == [(0, 1), (1, 0), (1, 1), (2, 0)]


async def test_a_turn_that_was_interrupted_moves_a_ladder_once(fakes: FakeProviders, here: Path) -> None:
    fakes.ollama.always(STUCK)
    fakes.openai.always("The number is seven.")
    manager = CollaborativeConversationManager.from_config(discussion({"strategy": "ladder"}, turns=2), out=here / "r")

    async def stop(event: Any) -> None:
        if isinstance(event, LadderStood):
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await manager.run_discussion(stop)
    await manager.resume(here / "r", log := EventLog())

    assert [(event.rung, event.troubled) for event in of(LadderStood, log)] == [(0, 1), (1, 0)]


async def test_a_boost_pair_plans_with_the_large_model(fakes: FakeProviders) -> None:
    fakes.openai.says("SUMMARY:\nThe number is seven.")

    result, _ = await play(discussion({"strategy": "boost"}))

    assert result.messages[1].text == "The number is seven."
    assert (len(fakes.ollama.questions), len(fakes.openai.questions)) == (0, 1)


async def test_a_helper_named_like_a_participant_has_its_model(fakes: FakeProviders) -> None:
    source = discussion({"secondary": "teacher"})
    source["discussion"]["models"]["teacher"] = {"type": "claude-sonnet-5-5", "parameters": {"max_tokens": 77}}
    fakes.ollama.says(STUCK, "The number is seven.")

    await play(source)

    assert fakes.anthropic.questions[0].body["max_tokens"] == 77


async def test_setup_collaboration_pairs_two_models_of_the_file(fakes: FakeProviders) -> None:
    source = discussion({})
    del source["discussion"]["collaboration"]
    fakes.ollama.says(STUCK, "The number is seven.")
    fakes.openai.says("Count the dwarfs.")
    manager = CollaborativeConversationManager.from_config(source)

    manager.setup_collaboration("ollama/phi4", "gpt-4o", threshold=0.6, max_retries=2)
    result = await manager.run_discussion()

    assert result.messages[1].text == "The number is seven."
    assert len(fakes.openai.questions) == 1


@pytest.mark.parametrize(
    ("written", "spelled"), [("ollama-gemma3-1b", "ollama/gemma3:1b"), ("ollama/gemma3:1b", "ollama-gemma3-1b")]
)
async def test_a_model_may_be_called_in_another_spelling_than_in_the_file(
    fakes: FakeProviders, written: str, spelled: str
) -> None:
    source = discussion({})
    del source["discussion"]["collaboration"]
    source["discussion"]["models"]["small"] = {"type": written}
    fakes.ollama.says(STUCK, "The number is seven.")
    fakes.openai.says("Count the dwarfs.")
    manager = CollaborativeConversationManager.from_config(source)

    manager.setup_collaboration(spelled, "gpt-4o", max_retries=1)
    result = await manager.run_discussion()

    assert result.messages[1].text == "The number is seven."
    assert len(fakes.openai.questions) == 1


async def test_a_model_that_takes_no_part_is_helped_in_any_spelling(fakes: FakeProviders) -> None:
    manager = CollaborativeConversationManager.from_config(discussion({}))
    fakes.ollama.says(STUCK, "Seven.")
    fakes.openai.says("Count the dwarfs.")

    manager.setup_collaboration("ollama-gemma3-1b", "gpt-4o", max_retries=1)
    helped = await manager.run_conversation_turn_collaborative("Sure?", "ollama/gemma3:1b", "ai-ai", "assistant")

    assert (helped, len(fakes.openai.questions)) == ("Seven.", 1)


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (("ollama/phi4", "gtp-4o"), "gtp-4o"),
        (("olama/phi4", "gpt-4o"), "olama"),
        (("small", "small"), "can't help itself"),
        (("small", "gpt-4o", 1.5), "threshold"),
        (("small", "gpt-4o", 0.7, 0), "max_retries"),
        (("small", "gpt-4o", "high"), "threshold must be a number, not 'high'"),
        (("small", "gpt-4o", 0.7, 1.5), r"max_retries must be a whole number, not 1\.5"),
        (("small", ""), "must not be empty"),
        (("small", None), "is missing: rescue needs the model that helps"),
        (("smal", "gpt-4o"), "No participant is called 'smal'; did you mean 'small'"),
    ],
)
def test_setup_collaboration_names_what_is_missing(fakes: FakeProviders, arguments: Any, missing: str) -> None:
    source = discussion({})
    del source["discussion"]["collaboration"]
    manager = CollaborativeConversationManager.from_config(source)

    with pytest.raises(ValueError, match=missing):
        manager.setup_collaboration(*arguments)


@pytest.mark.parametrize(
    ("pair", "wrong"),
    [
        (("large", "small"), "'large' has a pair already"),
        (("largest", "small"), "'small' is itself helped by 'largest'"),
        (("small", "largest"), "'small' has a pair already"),
        (("largest", "largest"), "can't help itself"),
    ],
)
def test_setup_collaboration_refuses_pairs_that_go_round_in_a_circle(pair: tuple[str, str], wrong: str) -> None:
    people = [Participant(name, ScriptedClient("Yes.", loop=True)) for name in ("small", "large", "largest")]
    manager = CollaborativeConversationManager(people, goal="Talk.")
    manager.setup_collaboration("small", "large")
    manager.setup_collaboration("large", "largest")

    with pytest.raises(ValueError, match=wrong):
        manager.setup_collaboration(*pair)


async def test_a_direct_turn_is_helped_as_well(fakes: FakeProviders) -> None:
    fakes.ollama.says(STUCK, "The number is seven.")
    fakes.openai.says("Count the dwarfs.")
    manager = CollaborativeConversationManager.from_config(discussion({}))

    said = await manager.run_conversation_turn_collaborative("Which number?", "ollama/phi4", "ai-ai", "assistant")

    assert said == "The number is seven."
    assert manager.conversation_history == [
        {"role": "user", "content": "Which number?"},
        {"role": "assistant", "content": "The number is seven."},
    ]


async def test_a_direct_turn_of_a_model_that_takes_no_part(fakes: FakeProviders) -> None:
    manager = CollaborativeConversationManager.from_config(discussion({}))
    fakes.anthropic.says("Seven, I think.")
    fakes.ollama.says(STUCK, "Seven.")

    alone = await manager.run_conversation_turn_collaborative("Which?", "claude-sonnet-5-5", "ai-ai", "assistant")
    manager.setup_collaboration("ollama/gemma3:1b", "gpt-4o")
    helped = await manager.run_conversation_turn_collaborative("Sure?", "ollama/gemma3:1b", "ai-ai", "assistant")

    assert (alone, helped) == ("Seven, I think.", "Seven.")


async def test_a_direct_turn_of_an_unknown_model_says_so(fakes: FakeProviders) -> None:
    manager = CollaborativeConversationManager.from_config(discussion({}))

    with pytest.raises(ConfigError, match="gtp"):
        await manager.run_conversation_turn_collaborative("Which?", "gtp-4o", "ai-ai", "assistant")


async def test_a_helper_is_told_of_the_tools_and_the_small_model_has_them(fakes: FakeProviders) -> None:
    """The helper gets them as text and no `tools` of its own; the small model calls one with its help."""
    fakes.ollama.says(STUCK, call("calculator", expression="3 + 4"), "The number is seven.")
    fakes.openai.says("Add three and four with the calculator.")

    result, log = await play(discussion({}, tools=["calculator"]))

    advice = fakes.openai.questions[0].body
    assert result.messages[-2].text == "The number is seven."
    assert [event.call.arguments for event in of(ToolCalled, log)] == [{"expression": "3 + 4"}]
    assert "calculator" in json.dumps(advice["messages"])
    assert "tools" not in advice


async def test_a_model_that_takes_over_has_the_tools(fakes: FakeProviders) -> None:
    fakes.ollama.says(STUCK)
    fakes.openai.says(call("calculator", expression="3 + 4"), "The number is seven.")

    result, log = await play(discussion({"strategy": "takeover"}, tools=["calculator"]))

    assert result.messages[-2].text == "The number is seven."
    assert len(of(ToolReturned, log)) == 1
    assert len(fakes.openai.questions) == 2
