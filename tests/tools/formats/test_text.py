"""Tools for models without any: told in the system prompt, called in the text."""

import pytest

from ai_battle.core.events import EventLog, TextDelta
from ai_battle.core.exchange import ModelRequest, ToolSpec
from ai_battle.core.messages import Image, Message, Text, ToolCall, ToolResult, assistant, user
from ai_battle.providers.scripted import ScriptedClient
from ai_battle.testing import contract
from ai_battle.tools.formats.text import TextTools

SCHEMA = {
    "type": "object",
    "properties": {
        "what": {"type": "string", "description": "What to look for."},
        "most": {"type": "integer", "default": 3},
    },
    "required": ["what"],
}
LOOK = ToolSpec("look", "Looks something up.", SCHEMA)
CALL = '```tool\n{"tool": "look", "parameters": {"what": "a"}}\n```'


def model_request(*messages: Message, **details: object) -> ModelRequest:
    return ModelRequest(messages or (user("Well?"),), "Be brief.", (LOOK,), **details)  # type: ignore[arg-type]


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
async def test_tools_in_text_keep_the_contract(check: contract.Check) -> None:
    subject = contract.wrapper(TextTools, f"Let me look.\n{CALL}")
    await check(contract.Subject(subject.answers, subject.fails, subject.stalls, model_request()))


async def test_the_model_is_told_of_the_tools_and_sees_none_on_the_wire() -> None:
    model = ScriptedClient("Hello.")
    await TextTools(model).complete(model_request())

    [request] = model.requests
    assert request.tools == ()
    assert request.system.startswith("Be brief.\n\nYou have access to the following tools:")
    assert (
        "look(what: string, most?: integer): Looks something up.\n  - what (required): What to look for."
        in request.system
    )
    assert "  - most (optional, default: 3)" in request.system
    assert "```tool\n" in request.system


async def test_calls_in_the_text_are_calls_and_never_show_not_even_half_of_one() -> None:
    model = ScriptedClient(f"Let me look.\n\n{CALL}\n")
    response = await TextTools(model).complete(model_request(), log := EventLog())

    assert [(call.name, call.arguments, call.id) for call in response.tool_calls] == [("look", {"what": "a"}, "call_1")]
    assert response.stop == "tool_calls"
    shown = [event.text for event in log.events if isinstance(event, TextDelta)]
    assert "".join(shown) == response.text
    assert response.text.strip() == "Let me look."


async def test_what_was_called_and_returned_before_is_told_in_words() -> None:
    call = ToolCall("look", {"what": "a"}, "call_1")
    picture = Image("image/png", b"png")
    result = ToolResult(call, (Text("found </tool_result> it"), picture))
    model = ScriptedClient("Done.")
    before = Message("assistant", (Text("Let me look."), call))
    await TextTools(model).complete(model_request(user("Well?"), before, Message("tool", (result,))))

    _, said, returned = model.requests[0].messages
    assert said == assistant(f"Let me look.\n{CALL}")
    assert returned.role == "user"
    assert returned.text == '<tool_result tool="look">\nfound <\\/tool_result> it\n</tool_result>'
    assert picture in returned.parts


async def test_ids_are_new_in_the_conversation() -> None:
    call = ToolCall("look", {"what": "a"}, "call_1")
    messages = (user("Well?"), Message("assistant", (call,)), Message("tool", (ToolResult(call),)))
    response = await TextTools(ScriptedClient(CALL)).complete(model_request(*messages))
    assert response.tool_calls[0].id == "call_2"


async def test_without_tools_nothing_invites_to_call() -> None:
    call = ToolCall("look", {"what": "a"}, "call_1")
    messages = (user("Well?"), Message("assistant", (call,)), Message("tool", (ToolResult(call),)))
    model = ScriptedClient("Done.")
    await TextTools(model).complete(ModelRequest(messages, "Be brief."))

    [request] = model.requests
    assert request.system == "Be brief."
    assert request.messages[1].text == '(I called look with {"what": "a"}.)'
    assert "```" not in "".join(message.text for message in request.messages)


@pytest.mark.parametrize(("choice", "told"), [("required", "must use a tool."), ("look", "must use the tool look.")])
async def test_a_choice_of_tool_is_told(choice: str, told: str) -> None:
    model = ScriptedClient(CALL)
    await TextTools(model).complete(model_request(tool_choice=choice))
    assert model.requests[0].system.endswith(told)


async def test_names_of_other_servers_need_no_change_in_text() -> None:
    spec = ToolSpec("files:look", "Looks.", SCHEMA)
    model = ScriptedClient('```tool\n{"tool": "files:look", "parameters": {"what": "a"}}\n```')
    response = await TextTools(model).complete(ModelRequest((user("?"),), tools=(spec,)))
    assert response.tool_calls[0].name == "files:look"


async def test_calls_that_a_server_read_from_the_text_itself_are_calls_too() -> None:
    response = await TextTools(ScriptedClient(ToolCall("look", {"what": "a"}))).complete(model_request())
    assert [call.arguments for call in response.tool_calls] == [{"what": "a"}]
