"""Requests to Ollama say what its API documents."""

from typing import Any

import pytest
from ollama._types import ChatRequest
from pydantic_core import from_json

from ai_battle.core.errors import ConfigError
from ai_battle.core.exchange import ModelRequest, ToolSpec
from ai_battle.core.messages import Document, Image, Message, Text, Thinking, ToolCall, ToolResult, assistant, user
from ai_battle.wire.ollama import encode_request

PNG, JPEG = b"\x89PNG\r\n", b"\xff\xd8\xff"
ADD = ToolCall("add", {"a": 1}, "call_1")
CLOCK = ToolCall("clock", {}, "call_2")
ADDER = ToolSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})


def body(request: ModelRequest, model: str = "qwen3", **options: Any) -> dict[str, Any]:
    encoded: dict[str, Any] = from_json(encode_request(request, model, **options))
    return encoded


def messages(*said: Message) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = body(ModelRequest(said))["messages"]
    return sent


EXAMPLES = {
    "one question": ModelRequest((user("Hi"),)),
    "a discussion": ModelRequest((user("Hi"), assistant("Ho"), user("Hm")), "Be brief."),
    "calls and results": ModelRequest(
        (
            Message("assistant", (Thinking("Hm."), Text("One moment."), ADD, CLOCK)),
            Message(
                "tool", (ToolResult(ADD, (Text("3"), Image("image/png", PNG))), ToolResult(CLOCK, (Text("noon"),)))
            ),
            assistant("It is 3, at noon."),
        ),
        tools=(ADDER, ToolSpec("clock")),
    ),
    "a call that was malformed": ModelRequest((Message("assistant", (ToolCall("add", {}, "c", "{a:"),)),)),
    "pictures": ModelRequest((Message("user", (Text("See"), Image("image/png", PNG), Image("image/jpeg", JPEG))),)),
    "options": ModelRequest(
        (user("Hi"),),
        output_schema={"type": "object"},
        options={
            "temperature": 0.5,
            "max_tokens": 9,
            "num_ctx": 16384,
            "top_p": 0.9,
            "seed": 7,
            "stop": ["x"],
            "reasoning": "none",
            "keep_alive": "10m",
        },
    ),
    "what only this API knows": ModelRequest(
        (Message("user", (Text("Hi"),), extra={"ollama": {"note": "x"}}),),
        extra={"ollama": {"format": "json", "truncate": False}},
    ),
}


@pytest.mark.parametrize("request_", EXAMPLES.values(), ids=EXAMPLES)
def test_the_official_sdk_knows_every_body(request_: ModelRequest) -> None:
    read = ChatRequest.model_validate(body(request_))

    assert read.model == "qwen3"
    assert len(read.tools or ()) == len(request_.tools)


def test_pictures_are_sent_as_data_beside_the_text() -> None:
    assert messages(Message("user", (Text("See"), Image("image/png", b"abc")))) == [
        {"role": "user", "content": "See", "images": ["YWJj"]}
    ]


def test_a_picture_by_address_is_refused_with_the_way_out() -> None:
    with pytest.raises(ConfigError, match=r"download https://example\.org/a\.png first"):
        messages(Message("user", (Image("image/png", url="https://example.org/a.png"),)))


def test_a_file_of_text_is_sent_as_text_and_another_is_refused() -> None:
    (sent,) = messages(Message("user", (Document("text/plain", b"abc", name="a.txt"), Text("Sum it up."))))

    assert sent["content"] == "a.txt:\nabc\n\nSum it up."
    with pytest.raises(ConfigError, match="read application/pdf files"):
        messages(Message("user", (Document("application/pdf", b"%PDF"),)))


def test_calls_and_results_are_said_in_the_words_of_the_api() -> None:
    sent = messages(
        Message("assistant", (Thinking("Hm."), ADD)),
        Message("tool", (ToolResult(ADD, (Text("3"),)), Text("And now?"))),
    )

    assert sent == [
        {
            "role": "assistant",
            "content": "",
            "thinking": "Hm.",
            "tool_calls": [{"id": "call_1", "function": {"name": "add", "arguments": {"a": 1}}}],
        },
        {"role": "tool", "content": "3", "tool_name": "add", "tool_call_id": "call_1"},
        {"role": "user", "content": "And now?"},
    ]


def test_options_have_the_names_of_the_api() -> None:
    sent = body(EXAMPLES["options"])

    assert sent["options"] == {
        "temperature": 0.5,
        "num_predict": 9,
        "num_ctx": 16384,
        "top_p": 0.9,
        "seed": 7,
        "stop": ["x"],
    }
    assert (sent["think"], sent["keep_alive"], sent["format"]) == (False, "10m", {"type": "object"})


def test_options_that_are_not_set_are_left_to_the_model() -> None:
    assert "options" not in body(ModelRequest((), options={"stop": [], "seed": None}))
    assert body(ModelRequest((), options={"temperature": 0, "seed": 0}))["options"] == {"temperature": 0, "seed": 0}


def test_one_stop_word_is_a_list_of_one() -> None:
    assert body(ModelRequest((), options={"stop": "END"}))["options"] == {"stop": ["END"]}


@pytest.mark.parametrize(
    ("model", "reasoning", "think"),
    [
        ("qwen3", "none", False),
        ("qwen3", False, False),
        ("qwen3", "high", True),
        ("qwen3", True, True),
        ("gpt-oss:20b", "high", "high"),
        ("gpt-oss:20b", True, "medium"),
        ("gpt-oss:20b", "none", "low"),
        ("gpt-oss:20b", "minimal", "low"),
        ("gpt-oss:20b", "max", "high"),
    ],
)
def test_thinking_is_asked_for_as_the_model_takes_it(model: str, reasoning: Any, think: Any) -> None:
    assert body(ModelRequest((user("Hi"),), options={"reasoning": reasoning}), model)["think"] == think


def test_nothing_is_sent_that_nobody_asked_for() -> None:
    assert body(ModelRequest((user("Hi"),))).keys() == {"model", "stream", "messages"}


@pytest.mark.parametrize(
    ("choice", "offered"),
    [("auto", ["add", "clock"]), ("required", ["add", "clock"]), ("none", None), ("add", ["add"])],
)
def test_a_model_is_offered_only_the_tools_that_it_may_call(choice: str, offered: list[str] | None) -> None:
    sent = body(ModelRequest((user("Hi"),), tools=(ADDER, ToolSpec("clock")), tool_choice=choice))

    assert [tool["function"]["name"] for tool in sent.get("tools", ())] == (offered or [])


def test_a_message_is_encoded_once_in_its_life() -> None:
    message = user("Hi")
    first = encode_request(ModelRequest((message,)), "m")
    kept = message.encoded["ollama"]

    assert encode_request(ModelRequest((message,)), "m") == first
    assert message.encoded["ollama"] is kept


def test_arguments_that_were_no_json_are_sent_in_it() -> None:
    (sent,) = messages(Message("assistant", (ToolCall("add", {}, "c", "{a:"),)))

    assert sent["tool_calls"] == [{"id": "c", "function": {"name": "add", "arguments": {"malformed": "{a:"}}}]


def test_what_only_this_api_knows_is_sent_along() -> None:
    sent = body(EXAMPLES["what only this API knows"])

    assert (sent["format"], sent["truncate"], sent["messages"][0]["note"]) == ("json", False, "x")
