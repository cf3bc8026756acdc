"""Near a limit the discussion wraps up while there is room for it, and nothing is lost."""

from dataclasses import replace
from pathlib import Path

import pytest

from ai_battle import ConversationManager, Participant, RunResult
from ai_battle.core.client import ModelClient
from ai_battle.core.events import BudgetReached, Emit, EventLog, TurnFailed, TurnFinished, Warned, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse, Usage
from ai_battle.core.ledger import SpendingLimits
from ai_battle.core.messages import assistant
from ai_battle.providers.scripted import ScriptedClient


class Costly(ModelClient):
    """Every answer is 100 tokens and ten cents."""

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        self.requests.append(request)
        text = f"Point {len(self.requests)}."
        return ModelResponse(assistant(text), usage=Usage(90, 10, cost_usd=0.1), model="costly")


async def run(limits: SpendingLimits, out: Path, **settings: object) -> tuple[RunResult, EventLog, list[Costly]]:
    clients = [Costly(), Costly()]
    people = [Participant(name, client) for name, client in zip(("ada", "bob"), clients, strict=True)]
    manager = ConversationManager(people, goal="Talk.", turns=50, limits=limits, out=out, **settings)  # type: ignore[arg-type]
    return await manager.run_discussion(log := EventLog()), log, clients


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (SpendingLimits(cost_usd=1.0), "cost_usd: 0.8 of 1, and a turn may take 0.1"),
        (SpendingLimits(tokens=1000), "tokens: 800 of 1000, and a turn may take 100"),
        (SpendingLimits(tokens=1000, cost_usd=100), "tokens: 800 of 1000, and a turn may take 100"),
    ],
)
async def test_while_there_is_room_for_two_turns_one_wrap_up_turn_is_asked_for_and_the_run_ends(
    limits: SpendingLimits, reason: str, tmp_path: Path
) -> None:
    result, log, clients = await run(limits, tmp_path / "run")

    assert (result.status, result.stop_reason, result.turns) == ("limit", reason, 9)
    (reached,) = [event for event in log.events if isinstance(event, BudgetReached)]
    assert reached.share == pytest.approx(0.8)
    last = [event for event in log.events if isinstance(event, TurnFinished)][-1]
    assert (last.kind, last.speaker) == ("wrap_up", "ada")
    assert "last contribution" in clients[0].requests[-1].messages[-1].text
    assert "Point 4." in clients[0].requests[-1].messages[-1].text
    assert len(result.messages) == 10


async def test_a_run_that_was_killed_right_behind_the_turn_that_reached_a_limit_wraps_up_all_the_same(
    tmp_path: Path,
) -> None:
    await run(SpendingLimits(tokens=1000), tmp_path / "run")
    journal = tmp_path / "run" / "journal.jsonl"
    journal.write_text(journal.read_text().partition('"type":"budget_reached"')[0].rpartition("\n")[0] + "\n")

    people = [Participant("ada", Costly()), Participant("bob", Costly())]
    manager = ConversationManager(people, goal="Talk.", turns=50, limits=SpendingLimits(tokens=1000))
    result = await manager.resume(tmp_path / "run", log := EventLog())

    assert (result.status, result.stop_reason, result.turns) == (
        "limit",
        "tokens: 800 of 1000, and a turn may take 100",
        9,
    )
    assert [event.kind for event in log.events if isinstance(event, TurnFinished)] == ["wrap_up"]


async def test_no_tool_calls_at_all_do_not_end_a_discussion(tmp_path: Path) -> None:
    result, _, _ = await run(SpendingLimits(tool_calls=0), tmp_path / "run", stop={"max_messages": 4})

    assert (result.status, result.turns) == ("done", 4)


async def test_the_note_that_asks_to_wrap_up_stays_in_nobodys_memory(tmp_path: Path) -> None:
    result, _, _ = await run(SpendingLimits(tokens=1000), tmp_path / "run")

    assert all("last contribution" not in message.text for message in result.messages)


async def test_time_is_a_limit_too_and_leaves_time_to_sum_up(tmp_path: Path) -> None:
    clients = [ScriptedClient({"say": "Hm.", "delay": 0.2}, loop=True) for _ in range(2)]
    people = [Participant(name, client) for name, client in zip(("ada", "bob"), clients, strict=True)]
    manager = ConversationManager(people, goal="Talk.", turns=50, limits={"seconds": 2}, out=tmp_path / "run")

    result = await manager.run_discussion(log := EventLog())

    assert (result.status, result.stop_reason.split()[0]) == ("limit", "seconds:")
    [reached] = [event for event in log.events if isinstance(event, BudgetReached)]
    summed_up = any(
        "last contribution" in request.messages[-1].text for client in clients for request in client.requests
    )
    assert reached.needed >= 0.2
    assert reached.allowed - reached.used < max(3 * reached.needed, 0.2), "not ended before its time"
    assert summed_up != reached.is_full


async def test_an_answer_that_does_not_come_holds_up_no_run_longer_than_its_seconds(tmp_path: Path) -> None:
    slow = ScriptedClient("One word, and then nothing for an hour.", pace=3600)
    people = [Participant("ada", ScriptedClient("Hm.")), Participant("bob", slow)]
    manager = ConversationManager(people, goal="Talk.", turns=50, limits={"seconds": 0.5}, out=tmp_path / "run")

    result = await manager.run_discussion(log := EventLog())

    [failed] = [event for event in log.events if isinstance(event, TurnFailed)]
    assert (result.status, result.stop_reason[:12], result.turns) == ("limit", "seconds: 0.5", 1)
    assert (failed.speaker, failed.error) == ("bob", "the 0.5 seconds of the run are over")
    assert failed.partial.strip() == "One"


async def test_no_meta_ends_without_a_note(tmp_path: Path) -> None:
    result, _, clients = await run(SpendingLimits(tokens=1000), tmp_path / "run", mode="no-meta")

    assert (result.status, result.turns) == ("limit", 8)
    assert all("contribution" not in m.text for client in clients for m in client.requests[-1].messages)


async def test_a_condition_that_stops_is_no_limit(tmp_path: Path) -> None:
    result, _, _ = await run(SpendingLimits(), tmp_path / "run", stop={"cost_usd": 0.5})

    assert (result.status, result.stop_reason, result.turns) == ("done", "cost_usd: 0.5", 5)


async def test_a_dollar_limit_says_when_it_can_not_hold(tmp_path: Path) -> None:
    class Unpriced(Costly):
        async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
            return replace(await super().complete(request, emit), usage=Usage(90, 10))

    people = [Participant("ada", Unpriced()), Participant("bob", Costly())]
    manager = ConversationManager(people, goal="Talk.", turns=2, limits={"cost_usd": 5}, out=tmp_path / "run")

    result = await manager.run_discussion(log := EventLog())

    warnings = [event.message for event in log.events if isinstance(event, Warned)]
    assert warnings == ["The price of costly is unknown; limits.cost_usd can't hold for what it uses."]
    assert result.usage.cost_usd is None


async def test_a_run_whose_turns_are_done_is_done_however_near_its_limit(tmp_path: Path) -> None:
    people = [Participant("ada", Costly()), Participant("bob", Costly())]
    manager = ConversationManager(people, goal="Talk.", turns=5, limits={"tokens": 1000}, out=tmp_path / "run")

    result = await manager.run_discussion()

    assert (result.status, result.stop_reason, result.turns) == (
        "limit",
        "tokens: 800 of 1000, and a turn may take 100",
        9,
    )
    manager = ConversationManager(people, goal="Talk.", turns=5, limits={"tokens": 1300}, out=tmp_path / "other")
    assert (await manager.run_discussion()).status == "done"
