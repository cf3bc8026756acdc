"""Requests and answers of Google's generateContent."""

import json
from dataclasses import replace
from typing import Any, cast

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.core.errors import ConfigError
from ai_battle.core.exchange import ModelRequest, ToolSpec
from ai_battle.core.messages import Document, Image, Message, Text, Thinking, ToolCall, ToolResult, assistant, user
from ai_battle.wire import gemini

PNG = b"\x89PNG\r\n\x1a\n\xff\xfe"
PNG_TEXT = "iVBORw0KGgr//g=="
SIGNED = {"gemini": {"thoughtSignature": "c2ln"}}
ADD = ToolSpec("add", "Adds two numbers.", {"type": "object", "properties": {"a_b": {"type": "integer"}}})
CALL = ToolCall("add", {"a_b": 1}, "call_1", extra=SIGNED)


def sent(request: ModelRequest, model: str = "gemini-3.8-flash") -> dict[str, Any]:
    return cast(dict[str, Any], json.loads(gemini.encode_request(request, model)))


def there_and_back(request: ModelRequest, model: str = "gemini-3.8-flash") -> ModelRequest:
    return gemini.decode_request(sent(request, model))


FULL = ModelRequest(
    (
        Message("user", (Image("image/png", PNG), Text("What is this?")), speaker="ada"),
        Message("assistant", (Thinking("A sum?"), Text("Let me see."), CALL)),
        Message("tool", (ToolResult(CALL, (Text("3"), Image("image/png", PNG))),)),
        user("And now?"),
    ),
    "Be brief.",
    (ADD,),
    "required",
    {"type": "object"},
    {"max_tokens": 100, "stop": ["END"], "temperature": 0.5, "top_p": 0.9, "top_k": 5, "seed": 7, "reasoning": "high"},
)


def test_a_request_in_full_is_what_the_api_documents() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": PNG_TEXT}}
    answered = {"name": "add", "response": {"output": "3"}, "id": "call_1", "parts": [picture]}

    assert sent(FULL) == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "add", "description": "Adds two numbers.", "parametersJsonSchema": ADD.schema}
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "generationConfig": {
            "maxOutputTokens": 100,
            "stopSequences": ["END"],
            "temperature": 0.5,
            "topP": 0.9,
            "topK": 5,
            "seed": 7,
            "thinkingConfig": {"thinkingLevel": "HIGH", "includeThoughts": True},
            "responseMimeType": "application/json",
            "responseJsonSchema": {"type": "object"},
        },
        "contents": [
            {"role": "user", "parts": [picture, {"text": "What is this?"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "A sum?", "thought": True},
                    {"text": "Let me see."},
                    {
                        "functionCall": {"name": "add", "args": {"a_b": 1}, "id": "call_1"},
                        "thoughtSignature": "c2ln",
                    },
                ],
            },
            {"role": "user", "parts": [{"functionResponse": answered}, {"text": "And now?"}]},
        ],
    }


@pytest.mark.parametrize("model", ["gemini-3.8-flash", "gemini-2.5-flash", "gemini-2.0-flash"])
def test_the_official_client_knows_every_field_of_a_request(model: str) -> None:
    body = sent(FULL, model)

    assert [types.Content.model_validate(content).role for content in body["contents"]] == ["user", "model", "user"]
    assert types.GenerationConfig.model_validate(body["generationConfig"]).max_output_tokens == 100
    assert types.Tool.model_validate(body["tools"][0]).function_declarations
    assert types.ToolConfig.model_validate(body["toolConfig"]).function_calling_config


EXAMPLES = [
    replace(FULL, messages=(user("Hi"), *FULL.messages[1:])),
    ModelRequest((user("Hi"), assistant("Ho"), user("Hm"))),
    ModelRequest((user("Hi"),), tools=(ADD,), tool_choice="add", options={"reasoning": "none"}),
    ModelRequest((user("Hi"),), tools=(ADD,), tool_choice="none", options={"reasoning": "low"}),
    ModelRequest(
        (
            user("Hi"),
            Message("assistant", (CALL,)),
            Message("tool", (ToolResult(CALL, (Text("no"),), is_error=True), ToolResult(CALL))),
        )
    ),
    ModelRequest(
        (
            Message(
                "user",
                (
                    Document("application/pdf", b"%PDF-1"),
                    Image("image/png", url="https://example.org/a.png"),
                    Document("video/mp4", url="https://example.org/a", extra={"gemini": {"videoMetadata": {"fps": 1}}}),
                    Text("Look."),
                ),
            ),
        ),
    ),
    ModelRequest((user("Hi"),), extra={"gemini": {"safetySettings": [], "generationConfig": {"candidateCount": 1}}}),
    ModelRequest((user("Hi"),), extra={"gemini": {"tools": [{"googleSearch": {}}]}}),
]


@pytest.mark.parametrize("request_", EXAMPLES, ids=range(len(EXAMPLES)))
def test_a_request_survives_the_wire(request_: ModelRequest) -> None:
    back = there_and_back(request_)

    assert back == request_
    assert sent(back) == sent(request_)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
JSON = st.recursive(st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(), st.lists, max_leaves=5)
CALLS = st.builds(ToolCall, TEXTS, st.dictionaries(st.text(), JSON, max_size=3), st.text(), extra=st.just(SIGNED))
USER_PARTS = (
    st.builds(Text, TEXTS)
    | st.builds(Image, st.just("image/png"), st.binary(min_size=1))
    | st.builds(Document, st.just("application/pdf"), st.binary(min_size=1))
)
ASSISTANT_PARTS = st.builds(Text, TEXTS) | st.builds(Thinking, st.text()) | CALLS
TURNS = st.lists(
    st.tuples(
        st.lists(USER_PARTS, min_size=1, max_size=3).map(tuple),
        st.lists(ASSISTANT_PARTS, min_size=1, max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=4,
)


@given(TURNS, st.text(), st.fixed_dictionaries({}, optional={"temperature": st.floats(0, 2), "seed": st.integers()}))
def test_any_alternating_conversation_survives_the_wire(
    turns: list[tuple[Any, Any]], system: str, options: dict[str, Any]
) -> None:
    messages = [m for asked, said in turns for m in (Message("user", asked), Message("assistant", said))]
    request = ModelRequest(tuple(messages), system, options=options)

    assert there_and_back(request) == request


def test_snake_case_and_the_alphabet_of_addresses_are_understood() -> None:
    """Field names only: what stands in arguments and schemas is the user's."""
    request = gemini.decode_request(
        {
            "system_instruction": {"parts": [{"text": "Be brief."}]},
            "generation_config": {"max_output_tokens": 5, "thinking_config": {"thinking_budget": 1024}},
            "tools": [{"function_declarations": [{"name": "add", "parameters": {"the_type": "OBJECT"}}]}],
            "contents": [
                {"parts": [{"inline_data": {"mime_type": "image/png", "data": "iVBORw0KGgr__g"}}]},
                {"role": "model", "parts": [{"function_call": {"name": "add", "args": {"a_b": {"c_d": 1}}}}]},
                {"role": "user", "parts": [{"function_response": {"name": "add", "response": {"the_sum": 3}}}]},
            ],
        }
    )

    assert request.system == "Be brief."
    assert request.options == {"max_tokens": 5, "reasoning": "low"}
    assert request.tools[0].schema == {"the_type": "OBJECT"}
    assert request.messages[0].parts == (Image("image/png", PNG),)
    assert request.messages[1].tool_calls[0].arguments == {"a_b": {"c_d": 1}}
    assert request.messages[2].tool_results[0].call.arguments == {"a_b": {"c_d": 1}}
    assert request.messages[2].tool_results[0].text == '{"the_sum":3}'


def test_a_body_in_another_shape_is_refused_with_a_reason() -> None:
    with pytest.raises(ConfigError, match="no generateContent request"):
        gemini.decode_request({"messages": []})


def test_messages_in_the_same_role_become_one_content_and_empty_ones_none() -> None:
    body = sent(ModelRequest((user("a"), assistant(""), user("b"), assistant("c"))))

    assert [[c["role"], len(c["parts"])] for c in body["contents"]] == [["user", 2], ["model", 1]]


def test_calls_that_another_model_made_are_marked_for_gemini_3() -> None:
    """It refuses unsigned calls; only the first of parallel ones has a signature."""
    calls = (ToolCall("add", {}, "a"), ToolCall("add", {}, "b"))
    request = ModelRequest((user("Hi"), Message("assistant", calls)))

    marks = [part.get("thoughtSignature") for part in sent(request)["contents"][1]["parts"]]
    assert marks == ["skip_thought_signature_validator", None]
    assert "thoughtSignature" not in str(sent(request, "gemini-2.5-pro"))
    assert there_and_back(request) == request


def test_older_models_get_the_pictures_of_a_result_beside_it() -> None:
    parts = sent(FULL, "gemini-2.5-flash")["contents"][2]["parts"]

    assert [next(iter(part)) for part in parts] == ["functionResponse", "inlineData", "text"]


@pytest.mark.parametrize(
    ("model", "level", "expected"),
    [
        ("gemini-3.1-pro-preview", "low", {"thinkingLevel": "LOW", "includeThoughts": True}),
        ("gemini-3.1-pro-preview", "none", {"thinkingLevel": "LOW"}),
        ("gemini-flash-latest", "none", {"thinkingLevel": "MINIMAL"}),
        ("gemini-4-argon", "medium", {"thinkingLevel": "MEDIUM", "includeThoughts": True}),
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0}),
        ("gemini-2.5-pro", "none", {"thinkingBudget": 128}),
        ("gemini-2.5-pro", "high", {"thinkingBudget": 24576, "includeThoughts": True}),
        ("gemini-2.0-flash", "none", None),
        ("gemini-2.0-flash", "high", None),
    ],
)
def test_reasoning_is_asked_for_as_the_model_takes_it(model: str, level: str, expected: dict[str, Any] | None) -> None:
    body = sent(ModelRequest((user("a"),), options={"reasoning": level}), model)

    assert body.get("generationConfig", {}).get("thinkingConfig") == expected


def test_options_without_a_counterpart_are_told() -> None:
    options = {"num_ctx": 4096, "temperature": 1, "reasoning": "high", "cache": True, "top_p": None}

    assert gemini.unsupported(options, "gemini-2.0-flash") == ("num_ctx", "reasoning")
    assert gemini.unsupported(options) == ("num_ctx",)
    assert sent(ModelRequest((user("a"),), options=options))["generationConfig"].keys() == {
        "temperature",
        "thinkingConfig",
    }
