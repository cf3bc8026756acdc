"""The journal's form of messages loses nothing and reads like the GenAI schema."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json, to_json

from ai_battle.core.exchange import NOTHING_USED, Usage
from ai_battle.core.messages import Image, Message, Text, Thinking, ToolCall, ToolResult
from ai_battle.wire.genai import message_from_json, message_to_json, usage_from_json, usage_to_json

from .values import messages


@given(messages)
def test_a_message_comes_back_as_it_was(message: Message) -> None:
    assert message_from_json(from_json(to_json(message_to_json(message)))) == message


@given(messages)
def test_what_only_one_api_knows_comes_back_too(message: Message) -> None:
    again = message_from_json(from_json(to_json(message_to_json(message))))

    assert again.extra == message.extra
    assert [part.extra for part in again.parts] == [part.extra for part in message.parts]
    assert [result.call.extra for result in again.tool_results] == [r.call.extra for r in message.tool_results]


def test_an_answer_with_a_call_is_written_in_the_schema_of_open_telemetry() -> None:
    call = ToolCall("add", {"a": 1}, "call_1")
    message = Message("assistant", (Thinking("Let me add.", "sig"), Text("One moment."), call), "Ann")

    assert message_to_json(message) == {
        "role": "assistant",
        "name": "Ann",
        "parts": [
            {"type": "reasoning", "content": "Let me add.", "signature": "sig"},
            {"type": "text", "content": "One moment."},
            {"type": "tool_call", "id": "call_1", "name": "add", "arguments": {"a": 1}},
        ],
    }


def test_a_result_and_pictures_are_written_in_the_schema_of_open_telemetry() -> None:
    result = ToolResult(ToolCall("add", {"a": 1}, "call_1"), (Text("2"),), is_error=True)
    picture, linked = Image("image/png", b"abc"), Image("image/png", url="https://example.org/a.png")

    assert message_to_json(Message("tool", (result, picture, linked)))["parts"] == [
        {
            "type": "tool_call_response",
            "id": "call_1",
            "name": "add",
            "arguments": {"a": 1},
            "response": "2",
            "is_error": True,
        },
        {"type": "blob", "mime_type": "image/png", "modality": "image", "content": "YWJj"},
        {"type": "uri", "mime_type": "image/png", "modality": "image", "uri": "https://example.org/a.png"},
    ]


def test_a_part_of_an_unknown_type_is_named() -> None:
    with pytest.raises(ValueError, match="unknown type 'hologram'"):
        message_from_json({"role": "user", "parts": [{"type": "hologram"}]})


@pytest.mark.parametrize("usage", [Usage(), NOTHING_USED, Usage(9, 8, 7, 6, 5, 0.25, cache_hour_tokens=4)], ids=str)
def test_usage_comes_back_as_it_was(usage: Usage) -> None:
    assert usage_from_json(from_json(to_json(usage_to_json(usage)))) == usage


@given(st.builds(Usage, st.integers(0), st.integers(0)))
def test_usage_is_written_with_every_field(usage: Usage) -> None:
    assert usage_to_json(replace(usage, estimated=True, cache_hour_tokens=1)).keys() == set(Usage.__dataclass_fields__)
