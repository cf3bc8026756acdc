"""Tools for models that can be held to a JSON schema."""

import json
from typing import Any

import pytest

from ai_battle.core.client import ModelClient
from ai_battle.core.events import DraftDelta, Emit, EventLog, TextDelta, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse, ToolSpec
from ai_battle.core.messages import Message, ToolCall, ToolResult, assistant, user
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
    assert "".join(event.text for event in log.events if isinstance(event, DraftDelta)) == "Let me look."


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


class InPieces(ModelClient):
    """Streams one text in pieces of a size."""

    def __init__(self, text: str, size: int) -> None:
        self.pieces = [text[at : at + size] for at in range(0, len(text), size)]

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        for piece in self.pieces:
            await emit(TextDelta(piece))
        return ModelResponse(assistant("".join(self.pieces)))


async def draft_text(text: str, size: int) -> str:
    await JsonTools(InPieces(text, size)).complete(REQUEST, log := EventLog())
    return "".join(event.text for event in log.events if isinstance(event, DraftDelta))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    "content", ["plain", 'quotes "and" \\ back\nlines', "\u00e9\u4e2d\U0001f600 \x00", "", '{"content": "no"}', "\\u12"]
)
async def test_the_content_is_read_from_pieces_of_any_size(content: str, size: int) -> None:
    arguments = {"content": "not this", "x": [{"content": "nor this"}]}
    for text in (
        answer_json(content, {"name": "content", "arguments": arguments}),
        json.dumps({"content": content, "more": ["content", {"content": 1}]}, ensure_ascii=False, indent=2),
        f"```json\n{answer_json(content)}\n```",
    ):
        assert await draft_text(text, size) == content


@pytest.mark.parametrize(
    "text",
    [
        '{"content": "\\ud83d nothing follows here"}',
        '{"content": "\\uZZZZ nothing follows"}',
        '"',
        "}}",
        "\\",
        "no object",
        "[1, {",
    ],
)
async def test_half_a_pair_and_broken_escapes_do_no_harm(text: str) -> None:
    await draft_text(text, 1)


async def test_a_long_answer_that_streams_is_read_in_linear_time() -> None:
    content = "Some words. " * 10_000
    text = await draft_text(answer_json(content), 4)
    assert content.startswith(text)
    assert len(text) > len(content) * 0.97
