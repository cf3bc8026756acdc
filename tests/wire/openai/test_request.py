"""Requests to Chat Completions say what the API documents, and come back as they were."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import TypeAdapter
from pydantic_core import from_json, to_json

from ai_battle.core.errors import ConfigError
from ai_battle.core.exchange import ModelRequest, ToolSpec
from ai_battle.core.messages import (
    Document,
    Image,
    Message,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    assistant,
    user,
)
from ai_battle.wire.bodies import ANY_OBJECT
from ai_battle.wire.openai import Quirks, encode_request
from ai_battle.wire.openai.served import decode_request

from ..values import images, names, objects, words

ADD = ToolCall("add", {"a": 1, "b": 2}, "call_1")
CLOCK = ToolCall("clock", {}, "call_2")
ADDER = ToolSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
BROKEN = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAAA"}}
STRICT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


def body(request: ModelRequest, **options: Any) -> dict[str, Any]:
    encoded: dict[str, Any] = from_json(encode_request(request, "gpt-4o", **options))
    return encoded


def messages(*said: Message, **options: Any) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = body(ModelRequest(said), **options)["messages"]
    return sent


def again(request: ModelRequest) -> ModelRequest:
    return decode_request(body(request))


EXAMPLES = {
    "one question": ModelRequest((user("Hi"),)),
    "a discussion": ModelRequest((user("Hi", "Ann"), assistant("Ho", "Bob"), user("Hm", "Ann")), "Be brief."),
    "calls and results": ModelRequest(
        (
            user("What is 1 + 2, and what time is it?"),
            Message("assistant", (Text("One moment."), ADD, CLOCK)),
            Message("tool", (ToolResult(ADD, (Text("3"),)), ToolResult(CLOCK, (Text("noon"),)))),
            assistant("It is 3, at noon."),
        ),
        tools=(ADDER, ToolSpec("clock")),
    ),
    "a call that was malformed": ModelRequest((Message("assistant", (ToolCall("add", {}, "c", "{a:"),)),)),
    "an empty result": ModelRequest((Message("tool", (ToolResult(ToolCall("", id="gone")),)),)),
    "pictures and files": ModelRequest(
        (
            Message(
                "user",
                (
                    Text("Compare"),
                    Image("image/jpeg", b"\xff\xd8"),
                    Image("image/png", url="https://example.org/a.png", extra={"openai": {"detail": "high"}}),
                    Document("application/pdf", b"%PDF", name="a.pdf"),
                ),
            ),
        )
    ),
    "a system message in the middle": ModelRequest((user("Hi"), Message("system", (Text("Stop."),)))),
    "options": ModelRequest(
        (user("Hi"),),
        tools=(ADDER,),
        tool_choice="add",
        output_schema={"type": "object"},
        options={"temperature": 0.5, "max_tokens": 9, "top_p": 0.9, "seed": 7, "stop": ["x"], "reasoning": "low"},
    ),
    "tools are forbidden": ModelRequest((user("Hi"),), tools=(ADDER,), tool_choice="none"),
    "what only this API knows": ModelRequest(
        (
            Message("user", (Text("Hi", extra={"openai": {"cache_control": {"type": "ephemeral"}}}),)),
            Message("user", (Text("", extra={"openai": {"type": "video_url", "video_url": {"url": "x"}}}),)),
            Message("assistant", (Text("No.", extra={"openai": {"type": "refusal", "refusal": "No."}}),)),
            Message(
                "assistant",
                (ToolCall("f", {}, "c", extra={"openai": {"extra_content": {"google": {"thought_signature": "s"}}}}),),
                extra={"openai": {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}},
            ),
        ),
        tools=(ToolSpec("f", extra={"openai": {"strict": True}}),),
        options={"parallel_tool_calls": False},
        extra={
            "openai": {"logit_bias": {"50256": -100}, "user": "u1", "tools": [{"type": "web_search", "size": "low"}]}
        },
    ),
}


@pytest.mark.parametrize("request_", EXAMPLES.values(), ids=EXAMPLES)
def test_a_request_survives_the_wire(request_: ModelRequest) -> None:
    assert again(request_) == request_


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - {"what only this API knows"}))
def test_the_official_sdk_knows_every_body(name: str) -> None:
    TypeAdapter(CompletionCreateParamsNonStreaming).validate_python(body(EXAMPLES[name]))


texts = st.builds(Text, words.filter(bool))
speakers = st.just("") | names
calls = st.builds(ToolCall, names, objects.filter(lambda arguments: set(arguments) != {"malformed"}), names)
documents = st.builds(Document, st.just("application/pdf"), st.binary(), name=words.filter(bool))
seen = st.lists(
    st.one_of(texts, images.map(lambda image: Image("image/png", image.data or b"x")), documents), max_size=3
)


def user_message(parts: list[Part], speaker: str) -> Message:
    """Neighbouring texts would come back as one where nothing but texts is said."""
    texts_only = all(isinstance(part, Text) for part in parts)
    return Message("user", tuple(parts[:1] if texts_only else parts), speaker)


def answer_messages(text: Text, calls: list[ToolCall], speaker: str) -> list[Message]:
    calls = list({call.id: call for call in calls}.values())
    results = tuple(ToolResult(call, (text,)) for call in calls)
    return [Message("assistant", (text, *calls), speaker), *([Message("tool", results)] if results else [])]


rounds = st.builds(user_message, seen, speakers).map(lambda message: [message]) | st.builds(
    answer_messages, texts, st.lists(calls, max_size=2), speakers
)


@given(st.lists(rounds, min_size=1, max_size=4), words)
def test_any_conversation_survives_the_wire(said: list[list[Message]], system: str) -> None:
    request = ModelRequest(tuple(message for group in said for message in group), system)

    assert again(request) == request


def test_the_system_prompt_comes_first() -> None:
    request = ModelRequest((user("Hi"),), "Be brief.")

    assert body(request)["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
    ]
    assert body(ModelRequest((), "Alone."))["messages"] == [{"role": "system", "content": "Alone."}]


def test_text_is_a_plain_string_that_every_server_takes() -> None:
    assert messages(Message("user", (Text("a"),))) == [{"role": "user", "content": "a"}]


@pytest.mark.parametrize(
    ("role", "said", "whole"),
    [
        ("user", ("one", "two"), "one\ntwo"),
        ("user", ("one\n", "two", " three", ""), "one\ntwo three"),
        ("assistant", ("on", "e"), "one"),  # one text, which marks of citations had cut
    ],
)
def test_parts_of_a_users_text_do_not_run_into_one_another(role: Role, said: tuple[str, ...], whole: str) -> None:
    assert messages(Message(role, tuple(map(Text, said)))) == [{"role": role, "content": whole}]


def test_a_file_of_text_is_sent_as_text() -> None:
    """Of files the API takes only PDFs."""
    (sent,) = messages(Message("user", (Text("See"), Document("text/plain", b"some words", name="a.txt"))))

    assert sent["content"][1] == {"type": "text", "text": "a.txt:\nsome words\n\n"}


@pytest.mark.parametrize(
    ("said", "told"), [("boom", "Error: boom"), ("", "Error"), ('{"error": "boom"}', '{"error": "boom"}')]
)
def test_a_failed_call_is_told_in_words(said: str, told: str) -> None:
    failed = ToolResult(CLOCK, (Text(said),), is_error=True)

    assert messages(Message("tool", (failed,)))[0]["content"] == told


def test_a_message_without_parts_is_still_sent() -> None:
    assert messages(Message("user", ()), Message("assistant", ())) == [
        {"role": "user", "content": ""},
        {"role": "assistant", "content": ""},
    ]


def test_pictures_and_files_are_sent_as_data() -> None:
    (sent,) = messages(Message("user", (Text("See"), Image("image/png", b"abc"), Document("application/pdf", b"x"))))

    assert sent["content"] == [
        {"type": "text", "text": "See"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,YWJj"}},
        {"type": "file", "file": {"filename": "document.pdf", "file_data": "data:application/pdf;base64,eA=="}},
    ]


@pytest.mark.parametrize(
    ("speaker", "name"),
    [("Ann", "Ann"), ("Ann Lee", "Ann_Lee"), ("a</b>|c\\d", "a_b_c_d"), ("木村", "木村"), ("x" * 99, "x" * 64)],
)
def test_a_speaker_is_named_as_the_api_allows(speaker: str, name: str) -> None:
    assert messages(user("Hi", speaker))[0]["name"] == name


def test_a_server_that_refuses_names_gets_none() -> None:
    assert messages(user("Hi", "Ann"), quirks=Quirks(names=False)) == [{"role": "user", "content": "Hi"}]


def test_calls_and_results_have_the_same_ids_and_order() -> None:
    sent = messages(
        Message("assistant", (ADD, CLOCK)),
        Message("tool", (ToolResult(ADD, (Text("3"),)), ToolResult(CLOCK, (Text("noon"),), is_error=True))),
    )

    assert sent == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a":1,"b":2}'}},
                {"id": "call_2", "type": "function", "function": {"name": "clock", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "3"},
        {"role": "tool", "tool_call_id": "call_2", "content": "Error: noon"},
    ]


def test_a_call_that_never_got_an_id_has_one_on_the_wire() -> None:
    call = ToolCall("add", {"a": 1})
    sent = messages(Message("assistant", (call,)), Message("tool", (ToolResult(call, (Text("1"),)),)))

    assert sent[0]["tool_calls"][0]["id"] == sent[1]["tool_call_id"] != ""


def test_a_picture_in_a_result_is_shown_after_the_last_result() -> None:
    sent = messages(
        Message("assistant", (ADD, CLOCK)),
        Message("tool", (ToolResult(ADD, (Text("drawn"), Image("image/png", b"abc"))),)),
        Message("tool", (ToolResult(CLOCK, (Text("noon"),)),)),
        user("Go on."),
    )

    assert [message["role"] for message in sent] == ["assistant", "tool", "tool", "user", "user"]
    assert sent[3]["content"][1]["image_url"]["url"] == "data:image/png;base64,YWJj"
    assert "add" in sent[3]["content"][0]["text"]


def test_a_file_in_a_result_is_read() -> None:
    file = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}}
    said = {"role": "tool", "tool_call_id": "call_1", "content": [file]}
    (result,) = (
        decode_request({"messages": [*messages(user("Hi"), Message("assistant", (ADD,))), said]}).messages[-1].parts
    )

    assert result == ToolResult(ADD, (Document("application/pdf", b"%PDF", name="a.pdf"),))


def test_what_the_user_says_beside_a_result_comes_after_it() -> None:
    sent = messages(Message("user", (Text("Look:"), ToolResult(ADD, (Text("3"),)))))

    assert sent == [
        {"role": "tool", "tool_call_id": "call_1", "content": "3"},
        {"role": "user", "content": "Look:"},
    ]


def test_a_picture_that_an_assistant_drew_is_shown_by_the_user() -> None:
    sent = messages(Message("assistant", (Text("Here."), Image("image/png", b"abc")), "Ann"))

    assert sent[0] == {"role": "assistant", "content": "Here.", "name": "Ann"}
    assert sent[1]["role"] == "user"
    assert sent[1]["content"][0]["type"] == "image_url"


def test_earlier_reasoning_goes_back_only_where_the_server_wants_it() -> None:
    thought = Message("assistant", (Thinking("Hm."), Text("Yes.")))

    assert messages(thought) == [{"role": "assistant", "content": "Yes."}]
    assert messages(thought, quirks=Quirks(reasoning="reasoning_content")) == [
        {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}
    ]


def test_a_malformed_call_goes_back_as_json_that_servers_can_parse() -> None:
    (sent,) = messages(Message("assistant", (ToolCall("add", {}, "c", '{"a": '),)))

    assert from_json(sent["tool_calls"][0]["function"]["arguments"]) == {"malformed": '{"a": '}


def test_what_another_api_knows_is_not_sent() -> None:
    other = {"anthropic": {"cache_control": {"type": "ephemeral"}}}
    part, call = Text("Hi", extra=other), ToolCall("f", {}, "c", extra=other)
    request = ModelRequest(
        (Message("assistant", (part, call), extra=other), Message("tool", (ToolResult(call, (part,), extra=other),))),
        tools=(ToolSpec("f", extra=other),),
        extra=other,
    )

    assert b"cache_control" not in encode_request(request, "m")


def test_a_message_is_encoded_once_in_its_life() -> None:
    message = user("Hi")
    first = encode_request(ModelRequest((message,)), "m")
    (key,) = message.encoded
    kept = message.encoded[key]

    assert encode_request(ModelRequest((message,)), "m") == first
    assert message.encoded[key] is kept


def test_servers_with_different_quirks_get_different_bytes_of_one_message() -> None:
    message = user("Hi", "Ann")

    assert messages(message)[0]["name"] == "Ann"
    assert "name" not in messages(message, quirks=Quirks(names=False))[0]
    assert messages(message)[0]["name"] == "Ann"


def test_options_have_the_names_of_the_api() -> None:
    options = {"max_tokens": 9, "reasoning": "high", "temperature": 0, "top_k": 40, "num_ctx": 4096, "keep_alive": "5m"}
    sent = body(ModelRequest((user("Hi"),), options=options))
    newer = body(ModelRequest((user("Hi"),), options=options), quirks=Quirks(max_tokens="max_completion_tokens"))

    assert sent.keys() == {"model", "messages", "max_tokens", "reasoning_effort", "temperature", "top_k"}
    assert (newer["max_completion_tokens"], "max_tokens" in newer) == (9, False)
    assert decode_request(newer).options == decode_request(sent).options


def test_options_that_are_not_set_are_left_to_the_provider() -> None:
    sent = body(ModelRequest((user("Hi"),), options={"stop": [], "seed": None, "temperature": 0, "logprobs": False}))

    assert sent == {"model": "gpt-4o", "temperature": 0, "logprobs": False, "messages": sent["messages"]}


@pytest.mark.parametrize(
    ("reasoning", "effort"), [("low", "low"), ("max", "max"), ("none", "none"), (False, "none"), (True, "medium")]
)
def test_reasoning_is_asked_for_in_the_words_of_the_api(reasoning: Any, effort: str) -> None:
    assert body(ModelRequest((user("Hi"),), options={"reasoning": reasoning}))["reasoning_effort"] == effort


def test_nothing_is_sent_that_nobody_asked_for() -> None:
    assert body(ModelRequest((user("Hi"),), tool_choice="required")).keys() == {"model", "messages"}


def test_a_stream_is_asked_for_its_usage() -> None:
    request = ModelRequest((user("Hi"),))

    assert body(request, stream=True)["stream_options"] == {"include_usage": True}
    assert "stream_options" not in body(request, stream=True, quirks=Quirks(usage=False))


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", None),
        ("none", "none"),
        ("required", "required"),
        ("add", {"type": "function", "function": {"name": "add"}}),
    ],
)
def test_a_tool_choice_is_said_in_the_words_of_the_api(choice: str, sent: object) -> None:
    assert body(ModelRequest((user("Hi"),), tools=(ADDER,), tool_choice=choice)).get("tool_choice") == sent


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (STRICT, True),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": False}, False),
        ({"type": "object"}, False),
        (STRICT | {"properties": {"a": {"type": "array", "items": {"type": "object"}}}}, False),
        (STRICT | {"properties": {"a": {"anyOf": [STRICT, {"type": "null"}]}}}, True),
    ],
    ids=str,
)
def test_a_schema_is_enforced_where_openai_can(schema: dict[str, Any], strict: bool) -> None:
    form = body(ModelRequest((user("Hi"),), output_schema=schema))["response_format"]

    assert form == {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": strict}}


def test_what_clients_send_in_other_spellings_is_understood() -> None:
    """Content as parts, a developer message, a picture as a bare string, arguments as an object, null everywhere."""
    request = decode_request(
        {
            "model": "gpt-4o",
            "temperature": None,
            "tools": None,
            "response_format": {"type": "json_object"},
            "messages": [
                {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
                {"role": "user", "content": [{"type": "image_url", "image_url": "https://example.org/x.jpg"}]},
                {
                    "role": "assistant",
                    "content": None,
                    "refusal": None,
                    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}],
                },
                {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "1"}]},
            ],
        }
    )
    call = ToolCall("f", {"a": 1}, "c")

    assert request == ModelRequest(
        (
            Message("user", (Image("image/jpeg", url="https://example.org/x.jpg"),)),
            Message("assistant", (call,)),
            Message("tool", (ToolResult(call, (Text("1"),)),)),
        ),
        "Be brief.",
        output_schema=ANY_OBJECT,
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "^messages is missing"),
        ({"messages": 5}, "^messages must be a list"),
        ({"messages": []}, "^messages must not be empty"),
        ({"messages": ["Hi"]}, r"^messages\[0\] must be an object"),
        ({"messages": [{"role": "narrator", "content": "Hi"}]}, r"^messages\[0\].role must be .*, not 'narrator'"),
        ({"messages": [{"role": "user", "content": 5}]}, r"^messages\[0\].content must be text or a list of parts"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"id": "c"}]}]}, r"tool_calls\[0\].function is missing"),
        ({"messages": [{"role": "user", "content": [BROKEN]}]}, "base64|characters"),
    ],
)
def test_a_body_that_is_no_request_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        decode_request(wrong)


@pytest.mark.parametrize("role", ["system", "user", "assistant"])
def test_half_a_surrogate_pair_does_not_stop_a_request(role: Role) -> None:
    assert messages(Message(role, (Text("a\ud83d"),)))[0]["content"] == "a\ufffd"


def test_the_body_is_what_one_json_encoder_would_write() -> None:
    encoded = encode_request(EXAMPLES["a discussion"], "m", stream=True)

    assert to_json(from_json(encoded)) == encoded


def test_a_client_may_name_the_tools_that_are_to_be_chosen_from() -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in ("add", "now", "find")]
    allowed = {"mode": "required", "tools": [tools[2], tools[0]]}
    choice = {"type": "allowed_tools", "allowed_tools": allowed}
    request = decode_request({"messages": [{"role": "user", "content": "?"}], "tools": tools, "tool_choice": choice})

    assert [tool.name for tool in request.tools] == ["add", "find"]
    assert request.tool_choice == "required"


@pytest.mark.parametrize(
    "body",
    [
        {"tools": [{"type": "custom", "custom": {"name": "patch"}}], "messages": [{"role": "user", "content": "?"}]},
        {
            "messages": [
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "p", "input": ""}}],
                }
            ]
        },
    ],
    ids=["offered", "called"],
)
def test_tools_that_take_no_json_are_refused(body: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="offer a function that takes a text"):
        decode_request(body)


@pytest.mark.parametrize("former", [{"functions": [{"name": "add"}]}, {"function_call": {"name": "add"}}], ids=str)
def test_functions_of_the_former_api_are_refused_and_not_lost(former: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="use tools"):
        decode_request({"messages": [{"role": "user", "content": "?"}], **former})
