"""What all answers of a discussion may use of tools together."""

import json
from pathlib import Path

from ai_battle import ConversationManager, Participant, tool
from ai_battle.core.events import EventLog, TurnFinished
from ai_battle.core.tooling import LoopStopped, ToolCalled
from ai_battle.testing import FakeProviders, ScriptedClient, call

from .test_tools import discussion

MANY = {"registry": ["calculator"], "runner": {"max_rounds": 9, "backoff_seconds": 0}}


def calls(log: EventLog) -> int:
    return sum(isinstance(event, ToolCalled) for event in log.events)


def ends(log: EventLog) -> list[str]:
    return [event.reason for event in log.events if isinstance(event, LoopStopped)]


async def test_tool_calls_of_a_discussion_hold_over_turns_and_participants(fakes: FakeProviders) -> None:
    fakes.openai.says(*(call("calculator", expression=f"{n} + 1") for n in range(2)), "Two.", "No more.")
    fakes.anthropic.says(*(call("calculator", expression=f"{n} + 2") for n in range(9)), "Enough.")
    source = discussion(MANY, limits={"tool_calls": 3}, turns=3)
    result = await ConversationManager.from_config(source).run_discussion(log := EventLog())

    assert calls(log) == 3
    assert (result.status, result.stop_reason) == ("limit", "tool_calls: 3 of 3")
    assert "tools" not in fakes.anthropic.questions[-1].body


async def test_answers_at_once_share_them_too(fakes: FakeProviders) -> None:
    fakes.openai.says(*(call("calculator", expression=f"{n} + 1") for n in range(9)), "Enough.")
    fakes.anthropic.says(*(call("calculator", expression=f"{n} + 2") for n in range(9)), "Enough.")
    source = discussion(MANY, limits={"tool_calls": 4}, execution={"parallel": True})
    await ConversationManager.from_config(source).run_discussion(log := EventLog())
    assert calls(log) == 4


async def test_dollars_of_a_discussion_are_those_of_the_whole_run(fakes: FakeProviders) -> None:
    """Where no money is left for one more answer, what the tools returned is the answer, and the limit holds."""
    price = {"input": 0, "output": 100}
    fakes.openai.says("A long answer that costs something. " * 12)
    fakes.anthropic.says(*(call("calculator", expression=f"{n} + 2") for n in range(9)), "Enough.")
    source = discussion(MANY, limits={"cost_usd": 0.045}) | {
        "prices": {"openai/gpt-4o": price, "anthropic/claude-sonnet-4-5": price}
    }
    result = await ConversationManager.from_config(source).run_discussion(log := EventLog())

    first, second = (event for event in log.events if isinstance(event, TurnFinished))
    assert first.usage.cost_usd
    assert second.usage.cost_usd
    assert "leaves no room for a call of anthropic/claude-sonnet-4-5" in ends(log)[0]
    assert all(said in second.message.text for said in ("2", "3"))
    assert 0.01 < (result.usage.cost_usd or 0) <= 0.045


async def test_a_resumed_discussion_counts_what_its_journal_has(fakes: FakeProviders, tmp_path: Path) -> None:
    source = discussion(MANY, limits={"tool_calls": 3}, turns=2)
    fakes.openai.says(*(call("calculator", expression=f"{n} + 1") for n in range(2)), "Two.")
    fakes.anthropic.says("One.")
    manager = ConversationManager.from_config(source, out=tmp_path / "run")
    await manager.run_discussion()
    journal = tmp_path / "run" / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    ended = [json.loads(line)["type"] for line in lines].index("turn_finished")
    journal.write_text("".join(lines[: ended + 1]))

    fakes.anthropic.says(*(call("calculator", expression=f"{n} + 3") for n in range(5)), "Enough.")
    await manager.resume(tmp_path / "run", log := EventLog())
    assert calls(log) == 1


@tool
def double(number: int) -> int:
    """Twice the number."""
    return 2 * number


async def test_limits_of_a_discussion_from_python_hold_as_well_and_for_each_run_anew(here: Path) -> None:
    clients = (ScriptedClient(call("double", number=1), "Two.", loop=True) for _ in range(2))
    people = [Participant(name, client) for name, client in zip(("Ann", "Bob"), clients, strict=True)]
    manager = ConversationManager(people, goal="Count.", turns=2, tools=[double], limits={"tool_calls": 3})
    for name in ("one", "two"):
        await manager.run_discussion(log := EventLog())
        assert calls(log) == 3, name
