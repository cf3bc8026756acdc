"""Streams of the Messages API as we write them: the cases in which other servers break their grammar."""

import json
from typing import Any, NamedTuple

import pytest

from ai_battle.core.events import DraftDelta, Event, TextDelta, ThinkingDelta, ToolCallDelta
from ai_battle.core.exchange import Stop, Usage
from ai_battle.core.messages import Part, Text, Thinking, ToolCall
from ai_battle.wire.anthropic import StreamReader, StreamWriter
from ai_battle.wire.openai.served import ChatWriter
from tests.growing import IN_PROPORTION, growth
from tests.server.protocol.speaking import blocks_of

from ..telling import answer, answer_deltas, write_stream

WEATHER = ToolCall("weather", {"city": "Köln"}, "toolu_1")
TIME = ToolCall("time", {"zone": "CET"}, "toolu_2")


class Read(NamedTuple):
    """`blocks` are as their events put them together."""

    start: dict[str, Any]
    blocks: list[dict[str, Any]]
    delta: dict[str, Any]


def events(stream: bytes) -> list[dict[str, Any]]:
    """Each has an `event:` line that says its type; without, clients drop it."""
    read = []
    for event in stream.decode().removesuffix("\n\n").split("\n\n"):
        name, data = event.split("\n")
        read.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {read[-1]['type']}"
    return read


def read(stream: bytes) -> Read:
    start, *inner, delta, stop = [event for event in events(stream) if event["type"] != "ping"]
    assert [start["type"], delta["type"], stop] == ["message_start", "message_delta", {"type": "message_stop"}]
    return Read(start["message"], blocks_of(inner)[0], delta)


def stream(*parts: Part, deltas: list[Event] | None = None, **fields: Any) -> Read:
    """Returns what is written for an answer that was told as a whole, unless `deltas` tell it otherwise."""
    return read(
        write_stream(
            StreamWriter("claude-x"), answer_deltas(*parts) if deltas is None else deltas, answer(*parts, **fields)
        )
    )


def kinds(of: Read) -> list[str]:
    return [block["type"] for block in of.blocks]


def use(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}


def test_half_a_surrogate_pair_is_mended() -> None:
    assert stream(deltas=[TextDelta("a\ud83d")]).blocks == [{"type": "text", "text": "a\ufffd"}]


def test_what_is_said_between_fragments_of_a_call_follows_after_it() -> None:
    mixed: list[Event] = [ToolCallDelta(0, "toolu_1", "weather", '{"city"'), TextDelta("Looking.")]
    mixed.append(ToolCallDelta(0, arguments=': "Köln"}'))

    assert stream(WEATHER, Text("Looking."), deltas=mixed).blocks == [
        use(WEATHER),
        {"type": "text", "text": "Looking."},
    ]


def test_two_calls_without_ids_get_two() -> None:
    deltas: list[Event] = [ToolCallDelta(0, name="a", arguments="{}"), ToolCallDelta(1, name="b", arguments="{}")]
    first, second = stream(ToolCall("a"), ToolCall("b"), deltas=deltas).blocks

    assert first["id"] != second["id"]


def test_a_signature_ends_its_block_so_that_two_thoughts_stay_two() -> None:
    thoughts = (Thinking("One.", "sig 1"), Thinking("Two.", "sig 2"))
    assert [block["signature"] for block in stream(*thoughts, Text("So.")).blocks[:2]] == ["sig 1", "sig 2"]


def test_a_signature_that_only_the_answer_has_is_told_while_its_block_is_open() -> None:
    said = stream(Thinking("Hm.", "late"), Text("Yes."), deltas=[ThinkingDelta("Hm.")])
    assert said.blocks[0] == {"type": "thinking", "thinking": "Hm.", "signature": "late"}


def test_a_signature_without_a_thought_has_a_block_of_its_own() -> None:
    said = stream(Thinking("", "sealed"), Text("Yes."))
    assert said.blocks[0] == {"type": "thinking", "thinking": "", "signature": "sealed"}


def test_c_usage_input() -> None:
    """An estimate until the usage is known, and after it where the upstream tells none."""
    writer = StreamWriter("m", input_tokens=123)
    said = read(write_stream(writer, answer_deltas(Text("Hi")), answer(Text("Hi"), usage=Usage())))

    assert said.start["usage"]["input_tokens"] == 123
    assert said.delta["usage"] == {"output_tokens": 0}


def test_a_second_call_is_streamed_too_once_the_first_is_complete() -> None:
    writer = StreamWriter("m")
    assert all(map(writer.feed, answer_deltas(WEATHER, TIME)))


def test_c_ping() -> None:
    assert events(StreamWriter("m").ping()) == [{"type": "ping"}]


@pytest.mark.parametrize("event", [DraftDelta("a draft"), TextDelta(""), ThinkingDelta("")], ids=str)
def test_nothing_is_written_for_what_is_no_part_of_the_answer(event: Event) -> None:
    assert StreamWriter("m").feed(event) == b""


def test_blocks_that_only_this_api_has_come_as_they_are() -> None:
    redacted = {"type": "redacted_thinking", "data": "abc"}
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    said = stream(
        Thinking("", extra={"anthropic": {"block": redacted}}),
        Text("", extra={"anthropic": {"block": search}}),
        Text("Found."),
        deltas=[],
    )

    assert said.blocks == [redacted, search, {"type": "text", "text": "Found."}]


@pytest.mark.parametrize(
    ("stop", "extra", "told"),
    [
        ("stop_sequence", {"anthropic": {"stop_sequence": "END"}}, ("stop_sequence", "END")),
        ("end", {"openai": {"choice": {"stop_reason": "END"}}}, ("stop_sequence", "END")),
        ("end", {"openai": {"choice": {"stop_reason": 128001}}}, ("end_turn", None)),
        ("refusal", {}, ("refusal", None)),
        ("content_filter", {}, ("refusal", None)),
        ("pause", {}, ("pause_turn", None)),
    ],
)
def test_why_an_answer_stopped(stop: Stop, extra: dict[str, Any], told: tuple[str, str | None]) -> None:
    delta = stream(Text("Hi"), stop=stop, extra=extra).delta["delta"]
    assert (delta["stop_reason"], delta["stop_sequence"]) == told


def test_an_answer_from_the_same_api_comes_out_as_it_went_in() -> None:
    """Ids, signatures, blocks of its own and the usage, through our reader and our writer."""
    response = answer(
        Thinking("Hm.", "sig"), Text("Yes."), WEATHER, stop="tool_calls", usage=Usage(10, 5, 3, 2), model="m"
    )
    reader = StreamReader()
    reader.feed(write_stream(StreamWriter("m"), [], response))

    assert reader.finish() == response


def test_ids_are_unique_and_one_stream_has_one() -> None:
    first, second = (events(StreamWriter("m").begin())[0]["message"]["id"] for _ in range(2))

    assert first.startswith("msg_")
    assert first != second


def test_the_work_for_mixed_calls_is_linear() -> None:
    """A call that stays incomplete is looked at once, not with every fragment of the others."""

    def write(count: int) -> None:
        deltas: list[Event] = [ToolCallDelta(0, "a", "f", '{"x": "' + "y" * 1_000 * count)]
        deltas += [ToolCallDelta(1 + number, f"b{number}", "g", "{}") for number in range(count)]
        deltas.append(ToolCallDelta(0, arguments='"}'))
        said = stream(*(ToolCall("g", {}, f"b{number}") for number in range(count)), deltas=deltas)
        assert len(said.blocks) == count + 1

    assert growth(write, 125) < IN_PROPORTION


def test_such_blocks_keep_their_place_between_what_is_streamed() -> None:
    """Anthropic refuses a turn that does not begin with the sealed thought that it began with."""
    sealed = {"type": "redacted_thinking", "data": "abc"}
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    response = answer(
        Thinking("", extra={"anthropic": {"block": sealed}}),
        Text("Let me look."),
        Text("", extra={"anthropic": {"block": search}}),
        Text("Found."),
        WEATHER,
        stop="tool_calls",
    )
    whole = write_stream(StreamWriter("m"), [], response)
    reader = StreamReader()
    again = read(write_stream(StreamWriter("m"), reader.feed(whole), reader.finish()))

    assert again.blocks == read(whole).blocks
    assert again.blocks[0] == sealed
    assert again.blocks[2] == search


def test_thoughts_of_a_helper_are_not_taken_for_the_beginning_of_the_answers_own() -> None:
    said = stream(Thinking("Mine is longer."), Text("Yes."), deltas=[ThinkingDelta("A helper's.")])
    assert [block["thinking"] for block in said.blocks if block["type"] == "thinking"] == [
        "A helper's.",
        "Mine is longer.",
    ]
    both: list[Event] = [ThinkingDelta("A helper's."), ThinkingDelta("Mine.")]
    assert kinds(stream(Thinking("Mine."), Text("Yes."), deltas=both)) == ["thinking", "text"]


def test_sources_come_with_the_text_that_they_belong_to() -> None:
    """What an upstream of this API tells in mid-text; other APIs have no words for it."""
    citation = {"type": "char_location", "cited_text": "Rain.", "document_index": 0}
    source = ThinkingDelta("", extra={"anthropic": {"citations": [citation]}})
    deltas: list[Event] = [TextDelta("It rains."), source, TextDelta(" Much.")]
    raw = write_stream(StreamWriter("claude-x"), deltas, answer(Text("It rains. Much.")))
    told_ = [event["delta"] for event in events(raw) if event["type"] == "content_block_delta"]

    assert [delta["type"] for delta in told_] == ["text_delta", "citations_delta", "text_delta"]
    assert told_[1]["citation"] == citation
    assert b"citation" not in write_stream(ChatWriter("m"), deltas, answer(Text("It rains. Much.")))


def test_a_source_of_nothing_that_is_said_is_left_out() -> None:
    source = ThinkingDelta("", extra={"anthropic": {"citations": [{"type": "char_location"}]}})

    assert b"citation" not in write_stream(StreamWriter("claude-x"), [source], answer(Text("Hi.")))
