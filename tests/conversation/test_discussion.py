"""A run from its first event to its last."""

from pathlib import Path

from ai_battle import ConversationManager, Participant
from ai_battle.core.events import EventLog, RunFinished, RunStarted, TurnFinished, TurnStarted
from ai_battle.providers.scripted import ScriptedClient


async def test_two_participants_speak_in_turns_for_the_rounds_that_were_asked_for(tmp_path: Path) -> None:
    ada, bob = ScriptedClient("One.", "Three."), ScriptedClient("Two.", "Four.")
    manager = ConversationManager(
        [Participant("ada", ada, role="human"), Participant("bob", bob)], goal="Count.", turns=2, out=tmp_path / "run"
    )

    result = await manager.run_discussion(log := EventLog())

    assert [message.text for message in result.messages] == ["Count.", "One.", "Two.", "Three.", "Four."]
    assert (result.status, result.stop_reason, result.turns) == ("done", "turns", 4)
    assert [event.turn for event in log.events if isinstance(event, TurnStarted)] == [1, 2, 3, 4]
    assert isinstance(log.events[0], RunStarted)
    assert isinstance(log.events[-1], RunFinished)
    assert sum(isinstance(event, TurnFinished) and event.kind == "turn" for event in log.events) == 4
    assert [message.text for message in ada.requests[1].messages] == ["Count.", "One.", "Two."]
    assert [message.role for message in ada.requests[1].messages] == ["user", "assistant", "user"]
