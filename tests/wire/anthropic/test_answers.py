"""Answers and errors of the Messages API, and what a server of it receives."""

import json
from dataclasses import replace
from typing import Any

import anthropic as sdk
import pytest

from ai_battle.core.errors import BadReply, ContextTooLong, ProviderError, RateLimited, Refused
from ai_battle.core.exchange import ModelRequest, ModelResponse, Stop, Usage
from ai_battle.core.messages import Message, Text, Thinking, ToolCall, ToolResult, assistant, user
from ai_battle.wire import anthropic
from ai_battle.wire.errors import http_error

ANSWER: dict[str, Any] = {
    "id": "msg_013Zva2CMHLNnjNjJJKqJ2EF",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-8-20260401",
    "content": [
        {"type": "thinking", "thinking": "The user greets me.", "signature": "EqQBCgIYAhIM"},
        {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix"},
        {"type": "text", "text": "Hi! Let me look.", "citations": None},
        {
            "type": "tool_use",
            "id": "toolu_01D7FLrfh4GYq7yT1ULFeyMV",
            "name": "get_stock_price",
            "input": {"ticker": "^GSPC"},
            "caller": {"type": "direct"},
        },
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 2095,
        "output_tokens": 503,
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 200},
        "service_tier": "standard",
    },
}


def test_an_answer_of_the_api_is_read() -> None:
    response = anthropic.decode_response(ANSWER)

    assert response.text == "Hi! Let me look."
    assert response.message.parts[0] == Thinking("The user greets me.", "EqQBCgIYAhIM")
    assert response.tool_calls[0].arguments == {"ticker": "^GSPC"}
    assert response.stop == "tool_calls"
    assert response.model == "claude-opus-4-8-20260401"
    assert response.usage == Usage(2245, 503, 50, 100, 200)


def test_what_the_assistant_said_goes_back_as_it_came() -> None:
    """Signed and redacted thinking too: the API refuses it changed."""
    request = ModelRequest((user("Hi"), anthropic.decode_response(ANSWER).message))
    body = json.loads(anthropic.encode_request(request, "claude-opus-4-8"))

    said = [{key: value for key, value in block.items() if value is not None} for block in ANSWER["content"]]
    assert body["messages"][1] == {"role": "assistant", "content": said}


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "end"),
        ("max_tokens", "length"),
        ("stop_sequence", "stop_sequence"),
        ("pause_turn", "pause"),
        ("refusal", "refusal"),
        ("model_context_window_exceeded", "length"),
        ("something_new", "end"),
        (None, "end"),
    ],
)
def test_every_stop_reason_is_known(reason: str | None, stop: Stop) -> None:
    body = {**ANSWER, "content": [{"type": "text", "text": "Hi"}], "stop_reason": reason}

    assert anthropic.decode_response(body).stop == stop


@pytest.mark.parametrize("reason", ["model_context_window_exceeded", "a_reason_of_tomorrow"])
def test_a_reason_to_stop_that_only_this_api_has_goes_on_to_its_clients(reason: str) -> None:
    body = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hi"}], "stop_reason": reason}
    response = anthropic.decode_response(body)
    streamed = anthropic.StreamWriter("claude-x").finish(response)

    assert json.loads(anthropic.encode_response(response, "claude-x"))["stop_reason"] == reason
    assert f'"stop_reason":"{reason}"'.encode() in streamed


RESPONSES = [
    ModelResponse(assistant("Hi"), model="m", usage=Usage(10, 5)),
    ModelResponse(assistant("Hi"), model="m", stop="length", usage=Usage(10, 5, 3, 2, 1)),
    ModelResponse(assistant("Hi"), model="m", stop="stop_sequence", extra={"anthropic": {"stop_sequence": "END"}}),
    ModelResponse(Message("assistant", (Text("No."),)), model="m", stop="refusal"),
    ModelResponse(
        Message("assistant", (Thinking("hm", "sig"), Text("a"), ToolCall("add", {"a": 1}, "toolu_1"))),
        model="m",
        stop="tool_calls",
    ),
]


@pytest.mark.parametrize("response", RESPONSES, ids=range(len(RESPONSES)))
def test_an_answer_survives_the_wire_and_is_one_to_the_official_client(response: ModelResponse) -> None:
    body = anthropic.encode_response(response, "m")

    assert anthropic.decode_response(json.loads(body)) == response
    official = sdk.types.Message.model_validate_json(body)
    assert [block.type for block in official.content] == [block["type"] for block in json.loads(body)["content"]]
    assert official.usage.input_tokens == response.usage.input_tokens - sum(
        (response.usage.cache_read_tokens, response.usage.cache_write_tokens)
    )


def test_an_answer_of_another_provider_suits_clients_of_this_api() -> None:
    """Unsigned thinking is shown, calls end as calls, an empty answer is a list of no blocks, ids are our own."""
    said = Message("assistant", (Thinking("hm"), ToolCall("add", {}, "call.1", malformed='{"a":')))
    body = json.loads(anthropic.encode_response(ModelResponse(said), "claude-x"))

    assert body["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "tool_use", "id": "call_1", "name": "add", "input": {}},
    ]
    assert (body["stop_reason"], body["stop_sequence"], body["model"]) == ("tool_use", None, "claude-x")
    assert json.loads(anthropic.encode_response(ModelResponse(assistant("")), "m"))["content"] == []
    assert body["id"] != json.loads(anthropic.encode_response(ModelResponse(said), "claude-x"))["id"]


def test_a_call_without_an_id_or_with_one_of_another_gets_its_own() -> None:
    block = {"type": "tool_use", "name": "add", "input": {}}
    blocks = [block, {**block, "id": "a"}, {**block, "id": "a"}]
    ids = [call.id for call in anthropic.decode_response({**ANSWER, "content": blocks}).tool_calls]

    assert ids[1] == "a"
    assert len({*ids}) == 3
    assert all(ids)


@pytest.mark.parametrize(
    ("change", "error", "again", "says"),
    [
        ({"content": []}, BadReply, "once", "empty"),
        ({"content": [{"type": "text", "text": " \n"}]}, BadReply, "once", "empty"),
        ({"content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]}, BadReply, "once", "empty"),
        ({"content": [], "stop_reason": "refusal"}, Refused, "never", "refused"),
        (
            {"content": [], "stop_reason": "refusal", "stop_details": {"type": "refusal", "explanation": "Not this."}},
            Refused,
            "never",
            "Not this.",
        ),
        ({"content": [{"type": "text"}]}, BadReply, "once", "no answer of this API"),
        ({"content": [{"text": "no type"}]}, BadReply, "once", "no answer of this API"),
        ({"content": None, "choices": [{"message": {}}]}, BadReply, "once", "no answer of this API"),
    ],
)
def test_what_is_no_answer_is_never_taken_for_one(
    change: dict[str, Any], error: type[ProviderError], again: str, says: str
) -> None:
    with pytest.raises(error, match=says) as caught:
        anthropic.decode_response({**ANSWER, "stop_reason": "end_turn", **change})

    assert caught.value.again == again


def test_an_error_object_with_200_is_an_error() -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    with pytest.raises(ProviderError, match="Overloaded"):
        anthropic.decode_response(overloaded)


@pytest.mark.parametrize(
    ("status", "kind", "message", "error", "again"),
    [
        (400, "invalid_request_error", "max_tokens: Field required", ProviderError, "never"),
        (400, "invalid_request_error", "prompt is too long: 209 tokens > 200 maximum", ContextTooLong, "never"),
        (400, "invalid_request_error", "Your credit balance is too low", RateLimited, "never"),
        (401, "authentication_error", "invalid x-api-key", ProviderError, "never"),
        (404, "not_found_error", "model: claude-0", ProviderError, "never"),
        (413, "request_too_large", "Request exceeds the maximum size", ContextTooLong, "never"),
        (429, "rate_limit_error", "Number of request tokens has exceeded your rate limit", RateLimited, "always"),
        (500, "api_error", "Internal server error", ProviderError, "always"),
        (529, "overloaded_error", "Overloaded", ProviderError, "always"),
    ],
)
def test_errors_of_the_api_are_of_our_tree(
    status: int, kind: str, message: str, error: type[ProviderError], again: str
) -> None:
    body = json.dumps({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}).encode()
    said = http_error(status, body, {"request-id": "req_1"})

    assert type(said) is error
    assert (said.again, said.status, said.request_id) == (again, status, "req_1")
    assert message in str(said)


CODING_ASSISTANT: dict[str, Any] = {
    "model": "claude-opus-5",
    "max_tokens": 32000,
    "stream": True,
    "system": [
        {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1; cch=abc12;"},
        {"type": "text", "text": "You code.", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
    ],
    "thinking": {"type": "adaptive"},
    "output_config": {"effort": "medium"},
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    "metadata": {"user_id": "user_1"},
    "tools": [
        {"name": "Read", "description": "Reads.", "input_schema": {"type": "object"}, "eager_input_streaming": True},
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 8},
    ],
    "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    "messages": [
        {"role": "user", "content": "Look at it."},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "", "signature": "sig"},
                {"type": "redacted_thinking", "data": "xyz"},
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
                {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "a.png"}},
                {"type": "tool_use", "id": "toolu_2", "name": "Read", "input": {"path": "b"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": [
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}},
                        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
                    ],
                },
                {"type": "tool_result", "tool_use_id": "toolu_2", "is_error": True, "content": "no such file"},
                {"type": "text", "text": "Go on.", "cache_control": {"type": "ephemeral"}},
            ],
        },
        {"role": "system", "content": "The user has changed the mode."},
    ],
}


def test_a_server_understands_a_coding_assistant() -> None:
    request = anthropic.decode_request(CODING_ASSISTANT)

    assert request.system == "You code.\n\nBe brief."
    assert [tool.name for tool in request.tools] == ["Read"]
    assert request.options == {"max_tokens": 32000, "parallel_tool_calls": False, "reasoning": "medium"}
    assert [m.role for m in request.messages] == ["user", "assistant", "tool", "user", "system"]
    first, second = request.messages[2].tool_results
    assert first.call == ToolCall("Read", {"path": "a.png"}, "toolu_1")
    assert first.parts[0].data == b"\x89PN"  # type: ignore[union-attr]
    assert second == ToolResult(ToolCall("Read", {"path": "b"}, "toolu_2"), (Text("no such file"),), is_error=True)


def test_what_a_coding_assistant_sent_reaches_an_upstream_of_the_same_api_untouched() -> None:
    request = anthropic.decode_request(CODING_ASSISTANT)
    body = json.loads(anthropic.encode_request(request, "claude-opus-5", stream=True))

    def plain(content: Any) -> Any:
        return [{"type": "text", "text": content}] if isinstance(content, str) else content

    expected = json.loads(json.dumps(CODING_ASSISTANT))
    for message in expected["messages"]:
        message["content"] = plain(message["content"])
    expected["messages"][2]["content"][1]["content"] = plain("no such file")
    assert body == expected


def test_what_a_wrapper_changes_wins_over_what_the_client_sent() -> None:
    request = anthropic.decode_request(CODING_ASSISTANT)
    changed = replace(request, system="You test.", options={**request.options, "reasoning": "none"})
    body = json.loads(anthropic.encode_request(changed, "claude-opus-5"))

    assert body["system"] == "You test."
    assert body["thinking"] == {"type": "disabled"}
