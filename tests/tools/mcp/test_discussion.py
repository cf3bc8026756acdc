"""A discussion whose participants use the tools of a server."""

from pathlib import Path
from typing import Any

from ai_battle.conversation.manager import ConversationManager
from ai_battle.core.events import EventLog
from ai_battle.core.tooling import ToolReturned

from .conftest import children, program


async def test_participants_call_the_tools_of_a_server_that_ends_with_the_discussion(tmp_path: Path) -> None:
    asking: dict[str, Any] = {
        "type": "scripted",
        "script": [{"call": {"tool": "odd:quiet"}}, {"say": "It is here."}],
    }
    listening = {"type": "scripted", "script": [{"say": "I see."}]}
    server = program("odd", "flood")
    discussion = {
        "initial_prompt": "Where is it?",
        "models": {"ada": asking, "bob": listening},
        "turns": 1,
        "tools": {
            "mcp": {"servers": {"odd": {**server, "args": list(server["args"])}}},
            "approval": {"default": "allow"},
        },
    }
    log = EventLog()
    result = await ConversationManager.from_config({"discussion": discussion}, out=tmp_path).run_discussion(log)

    assert result.status == "done"
    returned = [event.result for event in log.events if isinstance(event, ToolReturned)]
    assert [answer.text for answer in returned] == ['{"result": "here"}']
    assert "It is here." in [message.text for message in result.messages]
    assert not children()


async def test_a_list_that_changes_within_a_turn_is_taken_up(tmp_path: Path) -> None:
    """After the call that changes it the new tool is offered in place of the old one, and is run."""
    calls = [{"call": {"tool": f"odd:{name}"}} for name in ("grow", "grown")]
    server = program("odd", "changes")
    discussion = {
        "initial_prompt": "Grow.",
        "models": {
            "ada": {"type": "scripted", "script": [*calls, {"say": "It has grown."}]},
            "bob": {"type": "scripted", "script": [{"say": "I see."}]},
        },
        "turns": 1,
        "tools": {
            "mcp": {"servers": {"odd": {**server, "args": list(server["args"])}}},
            "approval": {"default": "allow"},
        },
    }
    log = EventLog()
    await ConversationManager.from_config({"discussion": discussion}, out=tmp_path).run_discussion(log)

    returned = [event.result for event in log.events if isinstance(event, ToolReturned)]
    assert [(answer.call.name, answer.text) for answer in returned] == [
        ("odd:grow", '{"result": "here"}'),
        ("odd:grown", '{"result": "here"}'),
    ]
