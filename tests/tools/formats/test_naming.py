"""Names of tools are what every provider takes, and are found again."""

import re

from ai_battle.core.events import EventLog, ToolCallDelta
from ai_battle.core.exchange import ModelRequest, ToolSpec
from ai_battle.core.messages import Message, ToolCall, ToolResult, user
from ai_battle.providers.scripted import ScriptedClient
from ai_battle.tools.formats.auto import NativeTools, WireNames

ALLOWED = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
AWKWARD = (
    "files:read",
    "files.read",
    "files/read",
    "1st",
    "-x",
    "größe",
    "",
    "a" * 65,
    "a" * 64 + "b",
    "x" * 300,
    "工具",
)


def test_names_that_are_fine_stay() -> None:
    names = WireNames(["read_file", "a-b", "a" * 64])
    assert not names
    assert names.wire_name("read_file") == "read_file"


def test_every_name_is_allowed_on_the_wire_and_found_again() -> None:
    names = WireNames(AWKWARD)
    sent = [names.wire_name(name) for name in AWKWARD]
    assert all(ALLOWED.fullmatch(form) for form in sent)
    assert [names.own_name(form) for form in sent] == list(AWKWARD)


def test_a_suffix_tells_names_apart_whatever_their_order() -> None:
    one, other = WireNames(["a:b", "a.b", "a_b"]), WireNames(["a_b", "a.b", "a:b"])
    assert one.wire_name("a_b") == "a_b"
    assert one.wire_name("a:b") == other.wire_name("a:b") != one.wire_name("a.b") == other.wire_name("a.b")
    assert one.wire_name("a:b").startswith("a_b_")


async def test_a_model_knows_only_the_wire_s_names_and_its_caller_only_the_tools() -> None:
    earlier = ToolCall("files:read", {"path": "a"}, "1")
    messages = (user("?"), Message("assistant", (earlier,)), Message("tool", (ToolResult(earlier),)))
    request = ModelRequest(messages, tools=(ToolSpec("files:read"),), tool_choice="files:read")
    model = ScriptedClient(ToolCall("files_read", {"path": "b"}, "2"))

    response = await NativeTools(model).complete(request, log := EventLog())

    assert [call.name for call in response.tool_calls] == ["files:read"]
    assert [event.name for event in log.events if isinstance(event, ToolCallDelta)] == ["files:read"]
    [asked] = model.requests
    assert (asked.tools[0].name, asked.tool_choice) == ("files_read", "files_read")
    assert asked.messages[1].tool_calls[0].name == asked.messages[2].tool_results[0].call.name == "files_read"
