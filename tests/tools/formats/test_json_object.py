"""Tools for models that can be held to a JSON schema."""

import json
from typing import Any

import pytest

from ai_battle.core.events import EventLog
from ai_battle.core.exchange import ModelRequest, ToolSpec
from ai_battle.core.messages import Message, ToolCall, ToolResult, user
from ai_battle.providers.scripted import ScriptedClient
from ai_battle.testing import contract
from ai_battle.tools.formats.text import JsonTools, schema

SCHEMA = {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}
LOOK = ToolSpec("look", "Looks something up.", SCHEMA)
REQUEST = ModelRequest((user("Well?"),), "Be brief.", (LOOK,))


def answer_json(content: str = "", *calls: dict[str, Any], more: bool = False) -> str:
    return json.dumps({"toolCalls": calls, "content": content, "needsMoreWork": more})


@pytest.mark.parametrize(
    "answer",
    [answer_json("A plain answer."), answer_json("", {"name": "look", "arguments": {"what": "a"}}), "No JSON."],
)
@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
async def test_tools_as_json_keep_the_contract(check: contract.Check, answer: str) -> None:
    subject = contract.wrapper(JsonTools, answer)
    await check(contract.Subject(subject.answers, subject.fails, subject.stalls, REQUEST))


async def test_the_model_is_held_to_the_schema_of_the_tools() -> None:
    model = ScriptedClient(answer_json("Hello."))
    await JsonTools(model).complete(REQUEST)

    [request] = model.requests
    assert request.tools == ()
    assert request.output_schema == schema([LOOK])
    assert "needsMoreWork" in request.system
    call = schema([LOOK])["properties"]["toolCalls"]["items"]["anyOf"][0]["properties"]
    assert call == {"name": {"type": "string", "enum": ["look"]}, "arguments": SCHEMA}


async def test_calls_are_calls_and_only_the_content_is_heard() -> None:
    answer = answer_json(
        "Let me look.",
        {"name": "look", "arguments": {"what": "a"}},
        {"name": "look", "arguments": {"what": "b"}},
        more=True,
    )
    response = await JsonTools(ScriptedClient(answer)).complete(REQUEST, log := EventLog())

    assert [call.arguments for call in response.tool_calls] == [{"what": "a"}, {"what": "b"}]
    assert len({call.id for call in response.tool_calls}) == 2
    assert response.text == log.text == "Let me look."


async def test_more_work_without_a_call_is_asked_for_once_more() -> None:
    model = ScriptedClient(answer_json("Hm.", more=True), answer_json("Still.", more=True), "never asked")
    response = await JsonTools(model).complete(REQUEST)
    assert response.text == "Still."
    assert len(model.requests) == 2
    assert "called no tool" in model.requests[1].messages[-1].text
    assert response.usage.input_tokens > model.requests[0].messages[0].text.count("")


async def test_an_earlier_call_is_told_in_the_same_form() -> None:
    call = ToolCall("look", {"what": "a"}, "call_1")
    messages = (user("Well?"), Message("assistant", (call,)), Message("tool", (ToolResult(call),)))
    model = ScriptedClient(answer_json("Done."))
    await JsonTools(model).complete(ModelRequest(messages, tools=(LOOK,)))
    told = json.loads(model.requests[0].messages[1].text)
    assert told["toolCalls"] == [{"name": "look", "arguments": {"what": "a"}}]


async def test_a_schema_of_the_answer_is_that_of_the_content() -> None:
    wanted = {"type": "object", "properties": {"time": {"type": "string"}}}
    model = ScriptedClient(json.dumps({"toolCalls": [], "content": {"time": "noon"}, "needsMoreWork": False}))
    response = await JsonTools(model).complete(ModelRequest((user("?"),), tools=(LOOK,), output_schema=wanted))
    assert json.loads(response.text) == {"time": "noon"}


async def test_a_call_that_is_only_content_is_no_call() -> None:
    quoted = 'Write <tool_call>{"name": "look", "arguments": {"what": "a"}}</tool_call>.'
    response = await JsonTools(ScriptedClient(answer_json(quoted))).complete(REQUEST)
    assert not response.tool_calls
    assert response.text == quoted


def test_a_schema_with_references_stays_out_of_the_large_one() -> None:
    tool = ToolSpec("a", schema={"type": "object", "properties": {"x": {"$ref": "#/$defs/x"}}, "$defs": {"x": {}}})
    [call] = schema([tool])["properties"]["toolCalls"]["items"]["anyOf"]
    assert call["properties"]["arguments"] == {"type": "object"}
