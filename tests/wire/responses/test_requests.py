"""Requests of the Responses API, and what of them reaches an upstream."""

import base64
import json
from typing import Any

import pytest

from ai_battle.core.errors import ConfigError
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import Document, Image, Message, Text, Thinking, ToolCall, ToolResult, assistant, user
from ai_battle.wire import anthropic
from ai_battle.wire.openai import served as openai
from ai_battle.wire.responses import StreamWriter, decode_request

from ..telling import answer

PNG = base64.b64encode(b"\x89PNG").decode()
FUNCTION = {"type": "function", "name": "weather", "description": "Tells it.", "parameters": {"type": "object"}}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather", "arguments": '{"city": "Köln"}'}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "rain"}
WEATHER = ToolCall("weather", {"city": "Köln"}, "call_1")


def decode(given: Any = "Hi", **fields: Any) -> ModelRequest:
    return decode_request({"model": "m", "input": given, **fields})


def sent_body(request: ModelRequest) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(openai.encode_request(request, "gpt"))
    return body


def user_item(*content: Any) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": list(content)}


def test_r_history_as_text() -> None:
    assert decode("Hi").messages == (user("Hi"),)


def test_r_history_as_items() -> None:
    """What the assistant thinks, says and calls in a row is one message."""
    said = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Hm."}]}
    request = decode(
        [{"role": "user", "content": "Hi"}, said, CALL, OUTPUT, user_item({"type": "input_text", "text": "?"})]
    )

    assert request.messages == (
        user("Hi"),
        Message("assistant", (Text("Hm."), WEATHER)),
        Message("tool", (ToolResult(WEATHER, (Text("rain"),)),)),
        user("?"),
    )


def test_r_history_with_reasoning() -> None:
    """What OpenAI has encrypted is kept untouched; no other upstream gets to see it."""
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    request = decode([{"role": "user", "content": "Hi"}, item, CALL, OUTPUT])
    thought, _ = request.messages[1].parts

    assert thought == Thinking("", extra={"responses": {"item": item}})
    assert "gAAA" not in json.dumps(sent_body(request)["messages"])
    assert b"thinking" not in anthropic.encode_request(request, "claude")


def test_a_signature_comes_back_to_the_upstream_that_gave_it() -> None:
    body = json.loads(StreamWriter("m").whole(answer(Thinking("Hm.", "sig"), WEATHER)))
    request = decode([{"role": "user", "content": "Hi"}, *body["output"], OUTPUT])
    first = json.loads(anthropic.encode_request(request, "claude"))["messages"][1]["content"][0]

    assert first == {"type": "thinking", "thinking": "Hm.", "signature": "sig"}


def test_the_output_of_a_tool_may_have_pictures() -> None:
    shown = [
        {"type": "input_text", "text": "Here:"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
    ]
    (result,) = decode([CALL, OUTPUT | {"output": shown}]).messages[-1].tool_results

    assert result.parts == (Text("Here:"), Image("image/png", b"\x89PNG"))


def test_pictures_and_files_are_seen() -> None:
    message = decode(
        [
            user_item(
                {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "low"},
                {"type": "input_image", "image_url": "https://x.test/a.jpg"},
                {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PNG}"},
                {"type": "input_file", "filename": "b.pdf", "file_data": PNG},
                {"type": "input_file", "file_url": "https://x.test/c.pdf"},
            )
        ]
    ).messages[0]

    assert message.parts == (
        Image("image/png", b"\x89PNG", extra={"openai": {"detail": "low"}}),
        Image("image/jpeg", url="https://x.test/a.jpg"),
        Document("application/pdf", b"\x89PNG", name="a.pdf"),
        Document("application/pdf", b"\x89PNG", name="b.pdf"),
        Document("application/pdf", url="https://x.test/c.pdf"),
    )


def test_instructions_and_what_the_developer_says_first_are_the_system_prompt() -> None:
    developer = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Use tools."}]}
    request = decode([developer, {"role": "user", "content": "Hi"}, developer], instructions="Be brief.")

    assert request.system == "Be brief.\n\nUse tools."
    assert [message.role for message in request.messages] == ["user", "system"]


def test_tools_in_namespaces_and_custom_tools_become_functions() -> None:
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: WORD"}
    tools = [
        {"type": "namespace", "name": "mcp__docs__", "tools": [{"type": "function", "name": "find"}]},
        {"type": "custom", "name": "patch", "description": "Changes files.", "format": grammar},
    ]
    find, patch = decode(tools=tools).tools

    assert find.name == "mcp__docs__find"
    assert patch.schema["required"] == ["input"]
    assert patch.description == "Changes files.\n\nThe input must fit this grammar:\nstart: WORD"


def test_earlier_calls_of_such_tools_have_the_same_names() -> None:
    found = CALL | {"name": "find", "namespace": "docs"}
    patched = {"type": "custom_tool_call", "call_id": "call_2", "name": "patch", "input": "*** Begin"}
    done = {"type": "custom_tool_call_output", "call_id": "call_2", "output": "ok"}
    messages = decode([found, OUTPUT, patched, done]).messages

    assert messages[0].tool_calls[0].name == "docs__find"
    assert messages[2].tool_calls == (ToolCall("patch", {"input": "*** Begin"}, "call_2"),)
    assert messages[3].tool_results[0].text == "ok"


def test_a_name_that_would_be_too_long_is_shortened_the_same_way_every_time() -> None:
    space = {"type": "namespace", "name": "n" * 60, "tools": [{"type": "function", "name": "find_it"}]}
    names = {decode(tools=[space]).tools[0].name for _ in range(2)}

    assert len(names) == 1
    assert len(names.pop()) == 64


def test_tools_that_openai_runs_itself_are_left_out() -> None:
    tools = [{"type": "web_search"}, {"type": "local_shell"}, {"type": "mcp", "server_label": "x"}, FUNCTION]
    request = decode(tools=tools, tool_choice={"type": "web_search"})

    assert [tool.name for tool in request.tools] == ["weather"]
    assert request.tool_choice == "auto"


@pytest.mark.parametrize(
    ("choice", "meant"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ({"type": "function", "name": "weather"}, "weather"),
        ({"type": "file_search"}, "auto"),
    ],
)
def test_which_tool_is_to_be_called(choice: Any, meant: str) -> None:
    assert decode(tools=[FUNCTION], tool_choice=choice).tool_choice == meant


def test_a_tool_that_nobody_offers_can_not_be_chosen() -> None:
    with pytest.raises(ConfigError, match="'absent' is not one of the tools"):
        decode(tools=[FUNCTION], tool_choice={"type": "function", "name": "absent"})


def test_only_the_tools_that_are_allowed_are_offered() -> None:
    tools = [FUNCTION, FUNCTION | {"name": "time"}]
    allowed = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "time"}]}
    request = decode(tools=tools, tool_choice=allowed)

    assert [tool.name for tool in request.tools] == ["time"]
    assert request.tool_choice == "required"


def test_options() -> None:
    request = decode(
        max_output_tokens=9, temperature=0.5, top_p=0.9, reasoning={"effort": "low"}, parallel_tool_calls=False
    )
    assert request.options == {
        "max_tokens": 9,
        "temperature": 0.5,
        "top_p": 0.9,
        "reasoning": "low",
        "parallel_tool_calls": False,
    }
    assert decode().options == {}


def test_the_form_of_the_answer() -> None:
    form = {"type": "json_schema", "name": "a", "schema": {"type": "object"}, "strict": True}

    assert decode(text={"format": form}).output_schema == {"type": "object"}
    assert sent_body(decode(text={"format": {"type": "json_object"}}))["response_format"] == {"type": "json_object"}
    assert decode(text={"format": {"type": "text"}}).output_schema is None


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"conversation": {"id": "conv_1"}}, "conversation is not supported"),
        ({"background": True}, "background is not supported"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt is not supported"),
    ],
)
def test_what_this_server_does_not_do_is_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        decode(**fields)


def test_a_stored_prompt_is_refused_by_its_name_although_it_brings_no_input() -> None:
    with pytest.raises(ConfigError, match="prompt is not supported"):
        decode_request({"model": "m", "prompt": {"id": "pmpt_1"}})


def test_what_it_need_not_do_is_accepted() -> None:
    request = decode(store=True, include=["reasoning.encrypted_content"], prompt_cache_key="k", truncation="auto")
    assert sent_body(request).keys() == {"model", "messages"}


def test_items_of_tools_that_openai_ran_are_left_out() -> None:
    ran = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    assert decode([{"role": "user", "content": "Hi"}, ran, {"role": "assistant", "content": "Ho"}]).messages == (
        user("Hi"),
        assistant("Ho"),
    )
