"""Requests and answers of Google's generateContent."""

import json
from typing import Any, cast

import pytest
from google.genai import types

from ai_battle.core.exchange import ModelRequest, ToolSpec
from ai_battle.core.messages import Document, Image, Message, Text, Thinking, ToolCall, ToolResult, assistant, user
from ai_battle.wire import gemini

PNG = b"\x89PNG\r\n\x1a\n\xff\xfe"
PNG_TEXT = "iVBORw0KGgr//g=="
SIGNED = {"gemini": {"thoughtSignature": "c2ln"}}
ADD = ToolSpec("add", "Adds two numbers.", {"type": "object", "properties": {"a_b": {"type": "integer"}}})
CALL = ToolCall("add", {"a_b": 1}, "call_1", extra=SIGNED)


def sent_body(request: ModelRequest, model: str = "gemini-3.8-flash") -> dict[str, Any]:
    return cast(dict[str, Any], json.loads(gemini.encode_request(request, model)))


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

    assert sent_body(FULL) == {
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
    body = sent_body(FULL, model)

    assert [types.Content.model_validate(content).role for content in body["contents"]] == ["user", "model", "user"]
    assert types.GenerationConfig.model_validate(body["generationConfig"]).max_output_tokens == 100
    assert types.Tool.model_validate(body["tools"][0]).function_declarations
    assert types.ToolConfig.model_validate(body["toolConfig"]).function_calling_config


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", None),
        ("required", {"mode": "ANY"}),
        ("none", {"mode": "NONE"}),
        ("add", {"mode": "ANY", "allowedFunctionNames": ["add"]}),
    ],
)
def test_what_is_to_be_called_is_said_in_the_words_of_the_api(choice: str, expected: dict[str, Any] | None) -> None:
    body = sent_body(ModelRequest((user("Hi"),), tools=(ADD,), tool_choice=choice))

    assert body.get("toolConfig") == (expected and {"functionCallingConfig": expected})
    assert "toolConfig" not in sent_body(ModelRequest((user("Hi"),), tool_choice=choice))


def test_files_are_sent_as_data_or_by_address() -> None:
    film = Document("video/mp4", url="https://example.org/a", extra={"gemini": {"videoMetadata": {"fps": 1}}})
    files = (Document("application/pdf", b"%PDF-1"), Image("image/png", url="https://example.org/a.png"), film)

    assert sent_body(ModelRequest((Message("user", files),)))["contents"][0]["parts"] == [
        {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0x"}},
        {"fileData": {"mimeType": "image/png", "fileUri": "https://example.org/a.png"}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "https://example.org/a"}, "videoMetadata": {"fps": 1}},
    ]


def test_results_of_tools_say_whether_they_are_errors() -> None:
    results = (ToolResult(CALL, (Text("no"),), is_error=True), ToolResult(CALL))
    request = ModelRequest((user("Hi"), Message("assistant", (CALL,)), Message("tool", results)))

    assert [part["functionResponse"]["response"] for part in sent_body(request)["contents"][2]["parts"]] == [
        {"error": "no"},
        {"output": ""},
    ]


def test_what_only_this_api_knows_is_sent_along() -> None:
    request = ModelRequest((user("Hi"),), extra={"gemini": {"safetySettings": [1]}, "openai": {"n": 1}})

    assert sent_body(request) == {"safetySettings": [1], "contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}


def test_messages_in_the_same_role_become_one_content_and_empty_ones_none() -> None:
    body = sent_body(ModelRequest((user("a"), assistant(""), user("b"), assistant("c"))))

    assert [[c["role"], len(c["parts"])] for c in body["contents"]] == [["user", 2], ["model", 1]]


def test_calls_that_another_model_made_are_marked_for_gemini_3() -> None:
    """It refuses unsigned calls; only the first of parallel ones has a signature."""
    calls = (ToolCall("add", {}, "a"), ToolCall("add", {}, "b"))
    request = ModelRequest((user("Hi"), Message("assistant", calls)))

    marks = [part.get("thoughtSignature") for part in sent_body(request)["contents"][1]["parts"]]
    assert marks == ["skip_thought_signature_validator", None]
    assert "thoughtSignature" not in str(sent_body(request, "gemini-2.5-pro"))


def test_older_models_get_the_pictures_of_a_result_beside_it() -> None:
    parts = sent_body(FULL, "gemini-2.5-flash")["contents"][2]["parts"]

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
    body = sent_body(ModelRequest((user("a"),), options={"reasoning": level}), model)

    assert body.get("generationConfig", {}).get("thinkingConfig") == expected


@pytest.mark.parametrize(
    ("model", "level", "max_tokens", "budget"),
    [
        ("gemini-2.5-flash", "high", 900, 450),
        ("gemini-2.5-flash", "low", 64_000, 1_024),
        ("gemini-2.5-pro", "medium", 2_000, 1_000),
        ("gemini-2.5-pro", "medium", 200, 128),
        ("gemini-2.5-flash-lite", "low", 2_000, 1_000),
        ("gemini-2.5-flash-lite", "low", 900, 0),
    ],
)
def test_thinking_leaves_half_of_the_tokens_of_an_answer_as_far_as_the_model_allows(
    model: str, level: str, max_tokens: int, budget: int
) -> None:
    options = {"reasoning": level, "max_tokens": max_tokens}
    thinking = sent_body(ModelRequest((user("a"),), options=options), model)["generationConfig"]["thinkingConfig"]

    assert thinking == ({"thinkingBudget": budget, "includeThoughts": True} if budget else {"thinkingBudget": 0})


def test_options_without_a_counterpart_are_told() -> None:
    options = {"num_ctx": 4096, "temperature": 1, "reasoning": "high", "cache": True, "top_p": None}

    assert gemini.unsupported_options(options, "gemini-2.0-flash") == ("num_ctx", "reasoning")
    assert gemini.unsupported_options(options) == ("num_ctx",)
    assert sent_body(ModelRequest((user("a"),), options=options))["generationConfig"].keys() == {
        "temperature",
        "thinkingConfig",
    }
