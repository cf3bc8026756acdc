"""Answers of the Responses API as we write them, whole and streamed."""

import json
from typing import Any

import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from ai_battle.core.errors import ContextTooLong, ProviderError, RateLimited
from ai_battle.core.events import Event, TextDelta, ToolCallDelta
from ai_battle.core.exchange import ModelRequest, Usage
from ai_battle.core.messages import Part, Text, Thinking, ToolCall
from ai_battle.server.errors import client_failure
from ai_battle.wire.responses import StreamWriter, decode_request

from ..telling import answer, answer_deltas, write_stream

WEATHER = ToolCall("weather", {"city": "Köln"}, "call_1")
EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
OFFERED = {
    "model": "m",
    "input": "Hi",
    "temperature": 0.5,
    "tools": [
        {"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": False},
        {"type": "custom", "name": "patch", "description": "Changes files."},
        {"type": "namespace", "name": "docs", "description": "", "tools": [{"type": "function", "name": "find"}]},
    ],
}


def events(stream: bytes) -> list[dict[str, Any]]:
    """Names are the types, numbers rise by one, and the SDK's types know each of them."""
    read = []
    for number, event in enumerate(stream.decode().removesuffix("\n\n").split("\n\n")):
        name, data = event.split("\n")
        body = json.loads(data.removeprefix("data: "))
        assert name == f"event: {body['type']}"
        assert body["sequence_number"] == number
        EVENT.validate_python(body)
        read.append(body)
    return read


def stream(
    *parts: Part, request: ModelRequest | None = None, deltas: Any = None, **fields: Any
) -> list[dict[str, Any]]:
    writer = StreamWriter("asked-for", request=request)
    return events(
        write_stream(writer, answer_deltas(*parts, size=99) if deltas is None else deltas, answer(*parts, **fields))
    )


def types(read: list[dict[str, Any]]) -> list[str]:
    return [event["type"].removeprefix("response.") for event in read]


def whole(*parts: Part, request: ModelRequest | None = None, **fields: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(StreamWriter("asked-for", request=request).whole(answer(*parts, **fields)))
    Response.model_validate(body)
    return body


def without_ids(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in item.items() if name != "id"} for item in items]


def test_r_basic() -> None:
    body = whole(Text("Hello"), usage=Usage(20, 8, 5, 0, 3))
    (item,) = body["output"]

    assert (body["object"], body["status"], body["model"]) == ("response", "completed", "asked-for")
    assert body["id"].startswith("resp_")
    assert item["id"].startswith("msg_")
    assert item["content"] == [{"type": "output_text", "text": "Hello", "annotations": [], "logprobs": []}]
    assert body["usage"]["input_tokens_details"]["cached_tokens"] == 5
    assert body["usage"]["output_tokens_details"] == {"reasoning_tokens": 3}
    assert body["usage"]["total_tokens"] == 28


def test_r_stream() -> None:
    read = stream(Text("Hello"))

    assert types(read) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    assert {event["item_id"] for event in read[3:7]} == {read[2]["item"]["id"]} == {read[7]["item"]["id"]}
    assert read[2]["item"]["content"] == []
    assert read[5]["text"] == "Hello"
    assert read[8]["response"]["output"] == [read[7]["item"]]
    assert len({event["response"]["id"] for event in read if "response" in event}) == 1


def test_r_tool_stream() -> None:
    read = stream(WEATHER, stop="tool_calls")
    item = read[2]["item"]

    assert types(read)[2:-1] == [
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
    ]
    assert (item["call_id"], item["name"], item["arguments"], item["status"]) == (
        "call_1",
        "weather",
        "",
        "in_progress",
    )
    assert read[3]["item_id"] == read[4]["item_id"] == item["id"]
    assert read[4]["arguments"] == '{"city": "K\\u00f6ln"}'
    assert read[5]["item"] == {**item, "arguments": read[4]["arguments"], "status": "completed"}


def test_reasoning_is_a_summary_with_its_signature_in_place_of_encrypted_content() -> None:
    read = stream(Thinking("Hm.", "sig"), Text("Yes."))

    assert types(read)[2:8] == [
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
    ]
    assert read[7]["item"]["encrypted_content"] == "signed:sig"
    assert [event["output_index"] for event in read if event["type"].endswith("output_item.done")] == [0, 1]


def test_a_signature_alone_is_a_reasoning_item_without_a_summary() -> None:
    read = stream(Thinking("", "sig"), Text("Yes."))

    assert types(read)[2:4] == ["output_item.added", "output_item.done"]
    assert read[3]["item"]["summary"] == []


@pytest.mark.parametrize("deltas", [None, []], ids=["streamed", "told at the end"])
def test_a_stream_ends_with_what_the_whole_answer_says(deltas: list[Event] | None) -> None:
    parts = (Thinking("Hm.", "sig"), Text("Yes."), WEATHER, ToolCall("now", {}, "call_2"))
    ended = stream(*parts, deltas=deltas, stop="tool_calls")[-1]["response"]
    body = whole(*parts, stop="tool_calls")
    arguments = json.loads(ended["output"][2].pop("arguments"))

    assert arguments == json.loads(body["output"][2].pop("arguments"))
    assert without_ids(ended["output"]) == without_ids(body["output"])
    assert ended["usage"] == body["usage"]


def test_a_tool_in_a_namespace_is_called_by_both_of_its_names() -> None:
    call = ToolCall("docs__find", {"q": 1}, "call_1")
    (item,) = whole(call, request=decode_request(OFFERED))["output"]

    assert (item["namespace"], item["name"], item["type"]) == ("docs", "find", "function_call")
    assert stream(call, request=decode_request(OFFERED))[2]["item"]["namespace"] == "docs"


def test_a_custom_tool_is_called_with_its_text() -> None:
    read = stream(ToolCall("patch", {"input": "*** Begin"}, "call_1"), request=decode_request(OFFERED))

    assert types(read)[2:-1] == [
        "output_item.added",
        "custom_tool_call_input.delta",
        "custom_tool_call_input.done",
        "output_item.done",
    ]
    assert read[4]["input"] == "*** Begin"
    assert read[5]["item"]["type"] == "custom_tool_call"
    assert read[5]["item"]["input"] == "*** Begin"


def test_the_response_repeats_what_was_asked() -> None:
    request = decode_request(OFFERED)
    for body in (whole(Text("Hi"), request=request), stream(Text("Hi"), request=request)[0]["response"]):
        assert body["tools"] == OFFERED["tools"]
        assert body["temperature"] == 0.5
        assert body["store"] is OFFERED.get("store", True)


@pytest.mark.parametrize(
    ("stop", "status", "reason"),
    [
        ("length", "incomplete", {"reason": "max_output_tokens"}),
        ("content_filter", "incomplete", {"reason": "content_filter"}),
        ("stop_sequence", "completed", None),
    ],
)
def test_why_an_answer_stopped(stop: Any, status: str, reason: Any) -> None:
    last = stream(Text("Hel"), stop=stop)[-1]

    assert last["type"] == f"response.{status}"
    assert last["response"]["incomplete_details"] == reason
    assert last["response"]["output"][0]["status"] == status
    assert whole(Text("Hel"), stop=stop)["status"] == status


def test_a_call_that_was_cut_off_is_incomplete() -> None:
    cut = [ToolCallDelta(0, "call_1", "weather", '{"ci')]
    read = stream(ToolCall("weather", {}, "call_1", '{"ci'), deltas=cut, stop="length")
    assert read[-1]["response"]["output"][0]["status"] == "incomplete"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ProviderError("gone", status=500), "server_error"),
        (ProviderError("busy", status=529), "server_is_overloaded"),
        (RateLimited("slow", again="always"), "rate_limit_exceeded"),
        (ContextTooLong("8192 tokens at most"), "context_length_exceeded"),
        (ProviderError("no such tool", status=400), "invalid_prompt"),
    ],
    ids=str,
)
def test_r_errors(error: ProviderError, code: str) -> None:
    """What had not come to its end is not handed out as done: a client would act on it."""
    writer = StreamWriter("m")
    begun = writer.begin() + writer.feed(TextDelta("Hel"))
    body = begun + writer.fail(client_failure(error))
    last = json.loads(body.removesuffix(b"\n\n").rpartition(b"\ndata: ")[2])

    assert last["type"] == "response.failed"
    assert last["response"]["status"] == "failed"
    assert last["response"]["error"]["code"] == code
    assert str(error) in last["response"]["error"]["message"]
    assert last["response"]["output"] == []


def test_a_refusal_that_was_not_streamed_is_a_part_of_its_own() -> None:
    refused = Text("No.", extra={"openai": {"type": "refusal", "refusal": "No."}})
    assert whole(refused, stop="refusal")["output"][0]["content"] == [{"type": "refusal", "refusal": "No."}]
    assert "refusal.delta" in types(stream(refused, deltas=[], stop="refusal"))


def test_an_empty_answer_is_complete_and_says_nothing() -> None:
    assert types(stream()) == ["created", "in_progress", "completed"]


def test_reasoning_that_is_sealed_for_another_api_is_no_empty_item() -> None:
    sealed = Thinking("", extra={"anthropic": {"block": {"type": "redacted_thinking", "data": "abc"}}})

    assert [item["type"] for item in whole(sealed, Text("Hi."))["output"]] == ["message"]
