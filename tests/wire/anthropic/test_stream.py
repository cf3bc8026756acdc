"""Streams of the Messages API: whatever the chunks are, the answer is the same, and a cut one is none."""

import json
from collections.abc import Iterable
from typing import Any

import anthropic as sdk
import pytest
from pydantic import TypeAdapter

from ai_battle.core.errors import ProviderError, RateLimited
from ai_battle.core.events import Event, TextDelta, ThinkingDelta, ToolCallDelta
from ai_battle.core.exchange import ModelResponse, Usage
from ai_battle.core.messages import Text, Thinking, ToolCall
from ai_battle.wire import anthropic

START: dict[str, Any] = {
    "type": "message_start",
    "message": {
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "claude-opus-5",
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 20,
            "cache_read_input_tokens": 7,
            "cache_creation_input_tokens": 3,
            "output_tokens": 1,
        },
    },
}
CITATION = {
    "type": "char_location",
    "cited_text": "Okay",
    "document_index": 0,
    "document_title": None,
    "start_char_index": 0,
    "end_char_index": 4,
}
STOP: dict[str, Any] = {"type": "message_stop"}


def opens(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def grows(index: int, kind: str, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **delta}}


def closes(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def ends(reason: str, **usage: Any) -> dict[str, Any]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 15, **usage}}


def body(*events: dict[str, Any], newline: str = "\n") -> bytes:
    lines = (f"event: {event['type']}{newline}data: {json.dumps(event)}{newline}{newline}" for event in events)
    return "".join(lines).encode()


HELLO = (
    START,
    opens(0, type="text", text=""),
    {"type": "ping"},
    grows(0, "text_delta", text="Hello"),
    grows(0, "text_delta", text=" wörld\u2028!"),
    closes(0),
    ends("end_turn"),
    STOP,
)
WITH_TOOLS = (
    START,
    opens(0, type="thinking", thinking="", signature=""),
    grows(0, "thinking_delta", thinking="Let me "),
    grows(0, "thinking_delta", thinking="think."),
    grows(0, "signature_delta", signature="EqQBCgIYAhIM1gbcDa9GJwZA2b3h"),
    closes(0),
    opens(1, type="redacted_thinking", data="xyz"),
    closes(1),
    opens(2, type="text", text=""),
    grows(2, "text_delta", text="Okay."),
    grows(2, "citations_delta", citation=CITATION),
    closes(2),
    opens(3, type="server_tool_use", id="srvtoolu_1", name="web_search", input={}),
    grows(3, "input_json_delta", partial_json='{"query": "x"}'),
    closes(3),
    opens(4, type="tool_use", id="toolu_1", name="get_weather", input={}),
    grows(4, "input_json_delta", partial_json=""),
    grows(4, "input_json_delta", partial_json='{"location": "San'),
    grows(4, "input_json_delta", partial_json=' Francisco, CA"}'),
    closes(4),
    opens(5, type="tool_use", id="toolu_2", name="now", input={}),
    closes(5),
    ends("tool_use", output_tokens=89, input_tokens=25, output_tokens_details={"thinking_tokens": 9}),
    STOP,
)


def read(chunks: Iterable[bytes]) -> tuple[list[Event], ModelResponse]:
    reader = anthropic.StreamReader()
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    return events, reader.finish()


def test_a_stream_of_text_is_the_text() -> None:
    events, response = read([body(*HELLO)])

    assert events == [TextDelta("Hello"), TextDelta(" wörld\u2028!")]
    assert response.message.parts == (Text("Hello wörld\u2028!"),)
    assert (response.stop, response.model) == ("end", "claude-opus-5")
    assert response.usage == Usage(30, 15, 7, 3)


def test_sources_that_come_before_their_text_are_told_after_it() -> None:
    """As those of a web search do; a client could not tell yet what they belong to."""
    cited = (START, opens(0, type="text", text="", citations=[]), grows(0, "citations_delta", citation=CITATION))
    events, response = read([body(*cited, grows(0, "text_delta", text="Rain."), closes(0), ends("end_turn"), STOP)])
    told = anthropic.StreamWriter("claude-x")
    written = b"".join([told.begin(), *map(told.feed, events), told.finish(response)])

    assert events == [TextDelta("Rain."), ThinkingDelta("", extra={"anthropic": {"citations": [CITATION]}})]
    assert written.index(b"text_delta") < written.index(b"citations_delta") < written.index(b"content_block_stop")
    assert read([written])[1].message == response.message


def whole(**block: Any) -> ThinkingDelta:
    return ThinkingDelta("", extra={"anthropic": {"block": block}})


def test_a_stream_of_everything_is_put_together() -> None:
    events, response = read([body(*WITH_TOOLS)])

    assert events == [
        ThinkingDelta("Let me "),
        ThinkingDelta("think."),
        ThinkingDelta("", "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"),
        whole(type="redacted_thinking", data="xyz"),
        TextDelta("Okay."),
        ThinkingDelta("", extra={"anthropic": {"citations": [CITATION]}}),
        whole(type="server_tool_use", id="srvtoolu_1", name="web_search", input={"query": "x"}),
        ToolCallDelta(0, "toolu_1", "get_weather"),
        ToolCallDelta(0, arguments='{"location": "San'),
        ToolCallDelta(0, arguments=' Francisco, CA"}'),
        ToolCallDelta(1, "toolu_2", "now"),
    ]
    assert response.message.parts[0] == Thinking("Let me think.", "EqQBCgIYAhIM1gbcDa9GJwZA2b3h")
    assert response.tool_calls == (
        ToolCall("get_weather", {"location": "San Francisco, CA"}, "toolu_1"),
        ToolCall("now", {}, "toolu_2"),
    )
    assert response.stop == "tool_calls"
    assert response.usage == Usage(35, 89, 7, 3, 9)


@pytest.mark.parametrize(
    "event", [event for event in (*HELLO, *WITH_TOOLS) if event["type"] != "ping"], ids=lambda event: event["type"]
)
def test_these_streams_are_streams_to_the_official_client(event: dict[str, Any]) -> None:
    official: TypeAdapter[Any] = TypeAdapter(sdk.types.RawMessageStreamEvent)

    assert official.validate_python(event).type == event["type"]


def test_what_comes_after_the_end_is_not_said() -> None:
    reader = anthropic.StreamReader()
    reader.feed(body(*HELLO))

    assert reader.is_done
    assert list(reader.feed(body(*HELLO))) == []
    assert reader.finish().text == "Hello wörld\u2028!"


@pytest.mark.parametrize(
    ("kind", "error", "again"),
    [
        ("overloaded_error", ProviderError, "always"),
        ("api_error", ProviderError, "always"),
        ("rate_limit_error", RateLimited, "always"),
        ("invalid_request_error", ProviderError, "never"),
    ],
)
def test_an_error_in_mid_stream_is_an_error_that_keeps_what_was_said(
    kind: str, error: type[ProviderError], again: str
) -> None:
    reader = anthropic.StreamReader()
    reader.feed(body(*HELLO[:4]))
    with pytest.raises(error, match="Sorry") as caught:
        reader.feed(body({"type": "error", "error": {"type": kind, "message": "Sorry"}}))

    assert (caught.value.again, caught.value.partial) == (again, "Hello")


def test_calls_of_other_servers_are_complete() -> None:
    """Arguments in the opening event, ids that are missing or given twice, arguments that are cut."""
    _, response = read([
        body(
            START,
            opens(0, type="tool_use", name="add", input={"a": 1}),
            opens(1, type="tool_use", id="x", name="add", input={}),
            opens(2, type="tool_use", id="x", name="add", input={}),
            grows(2, "input_json_delta", partial_json='{"a": '),
            ends("end_turn"),
            STOP,
        )
    ])  # fmt: skip
    first, second, third = response.tool_calls

    assert (first.arguments, second.id, third.malformed) == ({"a": 1}, "x", '{"a": ')
    assert len({first.id, second.id, third.id}) == 3
    assert response.stop == "tool_calls"


def test_usage_of_other_servers_may_come_late_or_not_at_all() -> None:
    silent = {"type": "message_start", "message": {**START["message"], "usage": None}}
    late = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 5}}

    assert read([body(silent, *HELLO[1:6], late, STOP)])[1].usage == Usage(5, 0)
    assert read([body(silent, *HELLO[1:6], {**late, "usage": None}, STOP)])[1].usage == Usage()
