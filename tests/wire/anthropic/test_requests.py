"""Requests and answers of the Messages API."""

import json
from dataclasses import replace
from typing import Any, cast

import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from ai_battle.core.exchange import ModelRequest, ToolSpec
from ai_battle.core.messages import Document, Image, Message, Text, Thinking, ToolCall, ToolResult, assistant, user
from ai_battle.wire import anthropic

PNG = b"\x89PNG\r\n\x1a\n\xff\xfe"
ADD = ToolSpec("add", "Adds two numbers.", {"type": "object", "properties": {"a": {"type": "integer"}}})
CALL = ToolCall("add", {"a": 1, "b": [2]}, "toolu_01A")


def sent_body(request: ModelRequest, model: str = "claude-sonnet-4-6", **options: Any) -> dict[str, Any]:
    return cast(dict[str, Any], json.loads(anthropic.encode_request(request, model, **options)))


def there_and_back(request: ModelRequest, model: str = "claude-sonnet-4-6", **options: Any) -> ModelRequest:
    return anthropic.decode_request(sent_body(request, model, **options))


def test_a_request_in_full_is_what_the_api_documents() -> None:
    request = ModelRequest(
        (
            Message("user", (Image("image/png", PNG), Text("What is this?")), speaker="ada"),
            Message("assistant", (Thinking("A sum?", "sig"), Text("Let me see."), CALL)),
            Message("tool", (ToolResult(CALL, (Text("3"), Image("image/png", PNG))),)),
            user("And now?"),
        ),
        "Be brief.",
        (ADD,),
        "required",
        options={"max_tokens": 100, "stop": ["END"]},
    )

    assert sent_body(request, stream=True) == {
        "model": "claude-sonnet-4-6",
        "max_tokens": 100,
        "stop_sequences": ["END"],
        "tool_choice": {"type": "any"},
        "system": "Be brief.",
        "tools": [{"name": "add", "description": "Adds two numbers.", "input_schema": ADD.schema}],
        "stream": True,
        "messages": [
            {
                "role": "user",
                "content": [
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgr//g=="},
                    },
                    {"type": "text", "text": "What is this?"},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "A sum?", "signature": "sig"},
                    {"type": "text", "text": "Let me see."},
                    {"type": "tool_use", "id": "toolu_01A", "name": "add", "input": {"a": 1, "b": [2]}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_01A",
                        "content": [
                            {"type": "text", "text": "3"},
                            {
                                "type": "image",
                                "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgr//g=="},
                            },
                        ],
                    },
                    {"type": "text", "text": "And now?"},
                ],
            },
        ],
    }


EXAMPLES = [
    ModelRequest((user("Hi"),), options={"max_tokens": 7}),
    ModelRequest((user("Hi"), assistant("Ho"), user("Hm")), "Be brief.", options={"max_tokens": 7, "stop": ["a", "b"]}),
    ModelRequest(
        (
            user("Add"),
            Message("assistant", (CALL,)),
            Message("tool", (ToolResult(CALL, (Text("no"),), is_error=True),)),
        ),
        tools=(ADD,),
        tool_choice="add",
        options={"max_tokens": 7, "parallel_tool_calls": False},
    ),
    ModelRequest(
        (Message("user", (Image("image/png", url="https://example.org/a.png"), Text("?"))),), options={"max_tokens": 7}
    ),
    ModelRequest(
        (
            Message(
                "user",
                (
                    Document("application/pdf", b"%PDF-1", name="paper.pdf"),
                    Document("text/plain", "Zürich".encode()),
                    Document("application/pdf", url="https://example.org/a.pdf"),
                    Text("Read."),
                ),
            ),
        ),
        options={"max_tokens": 7},
    ),
    ModelRequest((user("Hi"),), output_schema={"type": "string"}, options={"max_tokens": 9000, "reasoning": "high"}),
    ModelRequest((user("Hi"),), options={"max_tokens": 9000, "reasoning": "none"}),
    ModelRequest(
        (Message("user", (Text("Hi", extra={"anthropic": {"cache_control": {"type": "ephemeral"}}}),)),),
        options={"max_tokens": 7},
        extra={"anthropic": {"metadata": {"user_id": "u"}, "service_tier": "auto"}},
    ),
]


@pytest.mark.parametrize("request_", EXAMPLES, ids=range(len(EXAMPLES)))
def test_a_request_survives_the_wire(request_: ModelRequest) -> None:
    assert there_and_back(request_) == request_


@pytest.mark.parametrize("model", ["claude-opus-5", "claude-sonnet-4-5"])
@pytest.mark.parametrize("request_", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_official_client_knows_every_field_of_a_request(request_: ModelRequest, model: str) -> None:
    official: TypeAdapter[Any] = TypeAdapter(MessageCreateParamsNonStreaming)
    body = official.validate_python(sent_body(request_, model))

    assert body.keys() == sent_body(request_, model).keys()
    assert [[dict(block) for block in message["content"]] for message in body["messages"]]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
JSON = st.recursive(st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(), st.lists, max_leaves=5)
IDS = st.text("abcXYZ019_-", min_size=1)
CALLS = st.builds(ToolCall, TEXTS, st.dictionaries(st.text(), JSON, max_size=3), IDS)
USER_PARTS = (
    st.builds(Text, TEXTS)
    | st.builds(Image, st.just("image/png"), st.binary(min_size=1))
    | st.builds(Document, st.just("application/pdf"), st.binary(min_size=1), name=st.text(max_size=3))
)
ASSISTANT_PARTS = st.builds(Text, TEXTS) | st.builds(Thinking, st.text(), IDS) | CALLS
TURNS = st.lists(
    st.tuples(
        st.lists(USER_PARTS, min_size=1, max_size=3).map(tuple),
        st.lists(ASSISTANT_PARTS, min_size=1, max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=4,
)


@given(
    TURNS, st.text(), st.fixed_dictionaries({"max_tokens": st.integers(1)}, optional={"temperature": st.floats(0, 1)})
)
def test_any_alternating_conversation_survives_the_wire(
    turns: list[tuple[Any, Any]], system: str, options: dict[str, Any]
) -> None:
    messages = [m for asked, said in turns for m in (Message("user", asked), Message("assistant", said))]
    request = ModelRequest(tuple(messages), system, options=options)

    assert there_and_back(request, version=anthropic.CLASSIC) == request


def test_messages_in_the_same_role_become_one_turn() -> None:
    body = sent_body(ModelRequest((user("a"), user("b"), assistant("c"), assistant("d"), user("e"))))

    assert [[m["role"], len(m["content"])] for m in body["messages"]] == [["user", 2], ["assistant", 2], ["user", 1]]


def test_a_message_is_encoded_once() -> None:
    message = user("Hi")
    first = anthropic.encode_request(ModelRequest((message,)), "claude-opus-5")
    message.encoded[next(iter(message.encoded))] = b'{"type":"text","text":"kept"}'

    assert b"Hi" in first
    assert b"kept" in anthropic.encode_request(ModelRequest((message,)), "claude-opus-5")


def test_what_the_api_refuses_to_see_is_left_out() -> None:
    """Blank text, thinking that it has not signed, and the messages that consist of these alone."""
    request = ModelRequest((user("a"), Message("assistant", (Text(" \n"), Thinking("hm"))), user("b")))

    assert sent_body(request)["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    ]


def test_a_document_that_the_assistant_said_goes_to_the_older_version_alone() -> None:
    request = ModelRequest((user("a"), Message("assistant", (Document("application/pdf", b"x", name="x.pdf"),))))

    assert sent_body(request)["messages"][1]["content"] == [{"type": "text", "text": "[x.pdf]"}]
    assert sent_body(request, version=anthropic.CLASSIC)["messages"][1]["content"][0]["type"] == "document"


def test_ids_of_other_providers_are_made_to_fit() -> None:
    call = ToolCall("add", {}, "functions.add:0")
    request = ModelRequest((user("a"), Message("assistant", (call,)), Message("tool", (ToolResult(call),))))

    _, said, answered = sent_body(request)["messages"]
    assert said["content"][0]["id"] == answered["content"][0]["tool_use_id"] == "functions_add_0"


def test_sampling_options_go_to_the_older_version_alone() -> None:
    options = {"temperature": 0.5, "top_p": 0.9, "top_k": 5, "seed": 7, "max_tokens": 5}
    request = ModelRequest((user("a"),), options=options)

    assert anthropic.unsupported_options(options) == ("temperature", "top_p", "top_k", "seed")
    assert anthropic.unsupported_options(options, anthropic.CLASSIC) == ("seed",)
    assert not {"temperature", "top_p", "top_k", "seed"} & sent_body(request).keys()
    assert (
        sent_body(request, version=anthropic.CLASSIC).items() >= {"temperature": 0.5, "top_p": 0.9, "top_k": 5}.items()
    )


def test_the_older_version_takes_no_sampling_options_beside_thinking() -> None:
    options = {"temperature": 0.5, "reasoning": "low"}

    assert anthropic.unsupported_options(options, anthropic.CLASSIC, "claude-sonnet-4-5") == ("temperature",)
    assert anthropic.unsupported_options(options, anthropic.CLASSIC, "claude-3-5-haiku") == ("reasoning",)


def test_an_option_that_is_not_set_is_left_to_the_provider() -> None:
    body = sent_body(ModelRequest((user("a"),), options={"temperature": None, "stop": [], "max_tokens": None}))

    assert body.keys() == {"model", "max_tokens", "messages"}
    assert body["max_tokens"] == 4096


@pytest.mark.parametrize(
    ("model", "level", "expected"),
    [
        ("claude-opus-5-5", "high", {"type": "adaptive", "display": "summarized"}),
        ("claude-mythos-preview", "low", {"type": "adaptive", "display": "summarized"}),
        ("us.anthropic.claude-sonnet-4-6", "max", {"type": "adaptive", "display": "summarized"}),
        ("claude-sonnet-4-5-20250929", "high", {"type": "enabled", "budget_tokens": 16384}),
        ("claude-opus-4-20250514", "minimal", {"type": "enabled", "budget_tokens": 1024}),
        ("claude-3-7-sonnet-latest", "medium", {"type": "enabled", "budget_tokens": 8192}),
        ("tiny.gguf", "medium", {"type": "enabled", "budget_tokens": 8192}),
        ("claude-opus-5", "none", {"type": "disabled"}),
        ("claude-3-5-haiku-20241022", "none", None),
        ("claude-3-haiku-20240307", "high", None),
    ],
)
def test_reasoning_is_asked_for_as_the_model_takes_it(model: str, level: str, expected: dict[str, Any] | None) -> None:
    body = sent_body(ModelRequest((user("a"),), options={"reasoning": level}), model)

    assert body.get("thinking") == expected
    assert body.get("output_config") == ({"effort": level} if expected and expected["type"] == "adaptive" else None)


@pytest.mark.parametrize("max_tokens", [1, 1024, 2000, 5000, 64000])
def test_a_budget_always_leaves_room_for_an_answer(max_tokens: int) -> None:
    request = ModelRequest((user("a"),), options={"reasoning": "high", "max_tokens": max_tokens})
    body = sent_body(request, "claude-sonnet-4-5")

    assert 1024 <= body["thinking"]["budget_tokens"] <= body["max_tokens"] // 2


def test_a_choice_of_tools_is_not_sent_without_tools() -> None:
    assert "tool_choice" not in sent_body(ModelRequest((user("a"),), tool_choice="none"))
    assert sent_body(ModelRequest((user("a"),), tools=(ADD,), tool_choice="none"))["tool_choice"] == {"type": "none"}


def test_caching_marks_the_system_prompt_and_the_end_and_keeps_the_prefix() -> None:
    first = ModelRequest((user("a"), assistant("b"), user("c")), "Be brief.", options={"cache": True})
    later = replace(first, messages=(*first.messages, assistant("d"), user("e")))

    body = sent_body(first)
    marked = {"cache_control": {"type": "ephemeral"}}
    assert body["system"] == [{"type": "text", "text": "Be brief.", **marked}]
    assert [m["content"] for m in body["messages"]] == [
        [{"type": "text", "text": "a"}],
        [{"type": "text", "text": "b"}],
        [{"type": "text", "text": "c", **marked}],
    ]
    assert sent_body(later)["messages"][:2] == body["messages"][:2]
    assert sent_body(later)["messages"][2] == {"role": "user", "content": [{"type": "text", "text": "c"}]}
