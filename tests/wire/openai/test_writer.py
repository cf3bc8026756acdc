"""Streams of Chat Completions as we write them."""

import json
from typing import Any

import pytest

from ai_battle.core.events import DraftDelta, Event, TextDelta, ThinkingDelta, ToolCallDelta
from ai_battle.core.exchange import ModelResponse, Stop
from ai_battle.core.messages import Message, Part, Text, ToolCall
from ai_battle.wire.openai.served import StreamWriter

from ..telling import answer, answer_deltas, write_stream

WEATHER = ToolCall("weather", {"city": "Köln"}, "call_1")
TIME = ToolCall("time", {"zone": "CET"}, "call_2")


def chunks(stream: bytes) -> list[dict[str, Any]]:
    """All but the mark of the end, which is the last."""
    *events, done = stream.removesuffix(b"\n\n").split(b"\n\n")
    assert done == b"data: [DONE]"
    return [json.loads(event.removeprefix(b"data: ")) for event in events]


def stream(*parts: Part, deltas: list[Event] | None = None, usage: bool = False, **fields: Any) -> list[dict[str, Any]]:
    writer = StreamWriter("asked-for", usage=usage)
    return chunks(write_stream(writer, answer_deltas(*parts) if deltas is None else deltas, answer(*parts, **fields)))


def deltas_of(read: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [chunk["choices"][0]["delta"] for chunk in read]


def calls_of(read: list[dict[str, Any]]) -> dict[int, tuple[str, str, str]]:
    """Id, name and arguments by index, put together as clients do."""
    calls: dict[int, tuple[str, str, str]] = {}
    for delta in deltas_of(read):
        for call in delta.get("tool_calls", ()):
            id_, name, arguments = calls.get(call["index"], ("", "", ""))
            said = call["function"]
            calls[call["index"]] = (
                id_ + call.get("id", ""),
                name + said.get("name", ""),
                arguments + said["arguments"],
            )
    return calls


def test_f_stream() -> None:
    """The role first, the reason once and last; every chunk of one object, one id and one model."""
    read = stream(Text("Hello, you."))

    assert deltas_of(read)[0] == {"role": "assistant", "content": ""}
    assert "".join(delta.get("content", "") for delta in deltas_of(read)) == "Hello, you."
    assert [chunk["choices"][0]["finish_reason"] for chunk in read] == [None] * (len(read) - 1) + ["stop"]
    assert {chunk["object"] for chunk in read} == {"chat.completion.chunk"}
    assert len({(chunk["id"], chunk["created"]) for chunk in read}) == 1
    assert read[0]["id"].startswith("chatcmpl-")


def test_f_tool_stream() -> None:
    """Fragments of two calls in turn keep their indices and come at once."""
    mixed: list[Event] = [
        ToolCallDelta(0, "call_1", "weather", '{"city"'),
        ToolCallDelta(1, "call_2", "time", '{"zo'),
        ToolCallDelta(0, arguments=': "Köln"}'),
        ToolCallDelta(1, arguments='ne": "CET"}'),
    ]
    writer = StreamWriter("m")
    assert all(map(writer.feed, mixed))

    read = stream(WEATHER, TIME, deltas=mixed, stop="tool_calls")
    assert calls_of(read) == {
        0: ("call_1", "weather", '{"city": "Köln"}'),
        1: ("call_2", "time", '{"zone": "CET"}'),
    }
    assert read[-1]["choices"][0]["finish_reason"] == "tool_calls"


def test_ids_and_names_that_are_repeated_are_told_once() -> None:
    repeated: list[Event] = [ToolCallDelta(0, "call_1", "a", piece) for piece in ('{"x"', ": 1", "}")]
    assert calls_of(stream(ToolCall("a", {"x": 1}, "call_1"), deltas=repeated)) == {0: ("call_1", "a", '{"x": 1}')}


def test_a_call_without_id_and_arguments_gets_both() -> None:
    """Clients parse the arguments: an empty text is not JSON."""
    ((id_, name, arguments),) = calls_of(stream(ToolCall("now"), deltas=[ToolCallDelta(0, name="now")])).values()

    assert id_
    assert (name, arguments) == ("now", "{}")


def test_a_name_that_comes_late_is_told_with_its_call() -> None:
    late: list[Event] = [ToolCallDelta(0, "call_1"), ToolCallDelta(0, "call_1", "a", "{}")]
    assert calls_of(stream(ToolCall("a", {}, "call_1"), deltas=late)) == {0: ("call_1", "a", "{}")}


def test_an_empty_answer_has_a_role_and_an_end() -> None:
    assert deltas_of(stream()) == [{"role": "assistant", "content": ""}, {}]


@pytest.mark.parametrize(
    ("stop", "reason"),
    [("end", "stop"), ("length", "length"), ("stop_sequence", "stop"), ("content_filter", "content_filter")],
)
def test_why_an_answer_stopped(stop: Stop, reason: str) -> None:
    assert stream(Text("Hi"), stop=stop)[-1]["choices"][0]["finish_reason"] == reason


def test_a_refusal_that_was_not_streamed_is_told_as_one() -> None:
    refused = Text("No.", extra={"openai": {"type": "refusal", "refusal": "No."}})
    assert {"refusal": "No."} in deltas_of(stream(refused, deltas=[], stop="refusal"))


def test_what_only_this_api_tells_comes_with_the_last_chunk() -> None:
    message = Message("assistant", (Text("Hi"),), extra={"openai": {"annotations": [{"type": "url_citation"}]}})
    extra = {"openai": {"id": "upstream", "system_fingerprint": "fp", "choice": {"logprobs": {"content": []}}}}
    last = chunks(write_stream(StreamWriter("m", usage=False), [], ModelResponse(message, extra=extra)))[-1]

    assert last["system_fingerprint"] == "fp"
    assert last["id"] != "upstream"
    assert last["choices"][0]["logprobs"] == {"content": []}
    assert last["choices"][0]["delta"] == {"annotations": [{"type": "url_citation"}]}


def test_a_ping_is_an_event_that_says_nothing() -> None:
    (ping,) = chunks(StreamWriter("m").ping() + b"data: [DONE]\n\n")
    assert ping["choices"] == [{"index": 0, "delta": {}, "finish_reason": None}]


@pytest.mark.parametrize("event", [DraftDelta("a draft"), TextDelta(""), ThinkingDelta("", "sig")], ids=str)
def test_nothing_is_written_for_what_this_api_has_no_words_for(event: Event) -> None:
    assert StreamWriter("m").feed(event) == b""
