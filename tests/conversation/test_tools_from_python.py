"""Tools and settings that a program gives to a discussion."""

from pathlib import Path

import pytest

from ai_battle import ConfigError, ConversationManager, Participant, tool
from ai_battle.testing import ScriptedClient, call


@tool
def double(number: int) -> int:
    """Twice the number."""
    return 2 * number


async def test_every_participant_may_use_the_tools_of_the_discussion(tmp_path: Path) -> None:
    ann, bob = ScriptedClient(call("double", number=21), "It is 42."), ScriptedClient("Thanks.")
    people = [Participant("Ann", ann), Participant("Bob", bob)]

    result = await ConversationManager(
        people, goal="Count.", turns=1, tools=[double], out=tmp_path / "run"
    ).run_discussion()

    assert [message.text for message in result.messages][1:] == ["It is 42.", "Thanks."]
    assert "42" in ann.requests[1].messages[-1].tool_results[0].text
    assert [spec.name for spec in bob.requests[0].tools] == ["double"]


def test_a_misspelt_setting_is_answered_with_near_ones() -> None:
    people = [Participant("Ann", ScriptedClient("x")), Participant("Bob", ScriptedClient("y"))]
    with pytest.raises(ConfigError, match="ConversationManager has no option 'trns'; did you mean 'turns'"):
        ConversationManager(people, goal="x", trns=3)  # type: ignore[call-arg]
