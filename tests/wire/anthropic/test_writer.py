"""Streams of the Messages API as we write them: the cases in which other servers break their grammar."""

from typing import Any

import pytest

from ai_battle.core.errors import AIBattleError, BudgetExceeded, ContextTooLong, ProviderError, Unreachable
from ai_battle.core.events import DraftDelta, Event, TextDelta, ThinkingDelta, ToolCallDelta
from ai_battle.core.exchange import Stop, Usage
from ai_battle.core.messages import Part, Text, Thinking, ToolCall
from ai_battle.server.errors import client_failure
from ai_battle.wire.anthropic import StreamReader, StreamWriter
from ai_battle.wire.openai import StreamWriter as ChatWriter

from ..telling import answer, told, written
from .grammar import Read, events, read

WEATHER = ToolCall("weather", {"city": "Köln"}, "toolu_1")
TIME = ToolCall("time", {"zone": "CET"}, "toolu_2")


def stream(*parts: Part, deltas: list[Event] | None = None, **fields: Any) -> Read:
    """What is written for an answer that was told as a whole, unless `deltas` tell it otherwise."""
    return read(written(StreamWriter("claude-x"), told(*parts) if deltas is None else deltas, answer(*parts, **fields)))


def kinds(of: Read) -> list[str]:
    return [block["type"] for block in of.blocks]


def use(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}


def fragments(call: ToolCall, index: int, *pieces: str, id_: str = "", name: str = "") -> list[Event]:
    first = ToolCallDelta(index, call.id, call.name, pieces[0])
    return [first, *(ToolCallDelta(index, id_, name, piece) for piece in pieces[1:])]


def test_c_text() -> None:
    said = stream(Text("Hello, you."))

    assert said.blocks == [{"type": "text", "text": "Hello, you."}]
    assert said.delta["delta"] == {"stop_reason": "end_turn", "stop_sequence": None}


def test_c_length() -> None:
    assert stream(Text("Hel"), stop="length").delta["delta"]["stop_reason"] == "max_tokens"


def test_c_empty() -> None:
    said = stream()

    assert said.blocks == []
    assert said.delta["delta"]["stop_reason"] == "end_turn"


def test_c_unicode() -> None:
    text = 'Grüße, 世界 👋 \u2028 \u0085 "quoted" \\ \n end'
    assert stream(Text(text)).blocks == [{"type": "text", "text": text}]


def test_half_a_surrogate_pair_is_mended() -> None:
    assert stream(deltas=[TextDelta("a\ud83d")]).blocks == [{"type": "text", "text": "a\ufffd"}]


def test_c_tool() -> None:
    said = stream(WEATHER)

    assert said.blocks == [use(WEATHER)]
    assert said.delta["delta"]["stop_reason"] == "tool_use"


def test_c_text_tool() -> None:
    said = stream(Text("Let me look."), WEATHER)

    assert said.blocks == [{"type": "text", "text": "Let me look."}, use(WEATHER)]


def test_c_tool2() -> None:
    assert stream(WEATHER, TIME).blocks == [use(WEATHER), use(TIME)]


def test_c_tool2mix() -> None:
    """Fragments of two calls in turn: the second comes as a whole after the first."""
    mixed: list[Event] = [
        ToolCallDelta(0, "toolu_1", "weather", '{"city"'),
        ToolCallDelta(1, "toolu_2", "time", '{"zo'),
        ToolCallDelta(0, arguments=': "Köln"}'),
        ToolCallDelta(1, arguments='ne": "CET"}'),
    ]
    assert stream(WEATHER, TIME, deltas=mixed).blocks == [use(WEATHER), use(TIME)]


def test_what_is_said_between_fragments_of_a_call_follows_after_it() -> None:
    mixed: list[Event] = [ToolCallDelta(0, "toolu_1", "weather", '{"city"'), TextDelta("Looking.")]
    mixed.append(ToolCallDelta(0, arguments=': "Köln"}'))

    assert stream(WEATHER, Text("Looking."), deltas=mixed).blocks == [
        use(WEATHER),
        {"type": "text", "text": "Looking."},
    ]


def test_c_tool_idx0() -> None:
    """Gemini and Ollama give every call the index 0 and say `stop`."""
    deltas = [ToolCallDelta(0, "toolu_1", "weather", '{"city": "Köln"}')]
    deltas.append(ToolCallDelta(0, "toolu_2", "time", '{"zone": "CET"}'))
    said = stream(WEATHER, TIME, deltas=list(deltas), stop="end")

    assert said.blocks == [use(WEATHER), use(TIME)]
    assert said.delta["delta"]["stop_reason"] == "tool_use"


def test_c_tool_noid() -> None:
    deltas: list[Event] = [ToolCallDelta(0, name="weather", arguments='{"city": "Köln"}')]
    (block,) = stream(ToolCall("weather", {"city": "Köln"}, "call_of_the_answer"), deltas=deltas).blocks

    assert block["id"]
    assert block["input"] == {"city": "Köln"}


def test_two_calls_without_ids_get_two() -> None:
    deltas: list[Event] = [ToolCallDelta(0, name="a", arguments="{}"), ToolCallDelta(1, name="b", arguments="{}")]
    first, second = stream(ToolCall("a"), ToolCall("b"), deltas=deltas).blocks

    assert first["id"] != second["id"]


@pytest.mark.parametrize("arguments", ["", "{}"])
def test_c_tool_noargs(arguments: str) -> None:
    deltas: list[Event] = [ToolCallDelta(0, "toolu_1", "now", arguments)]
    assert stream(ToolCall("now", {}, "toolu_1"), deltas=deltas).blocks == [use(ToolCall("now", {}, "toolu_1"))]


def test_c_tool_rep() -> None:
    """Servers that repeat id and name with each fragment."""
    deltas = fragments(WEATHER, 0, '{"city"', ': "Köln"', "}", id_="toolu_1", name="weather")
    assert stream(WEATHER, deltas=deltas).blocks == [use(WEATHER)]


def test_c_tool_text_after() -> None:
    said = stream(WEATHER, Text("I am looking."))

    assert kinds(said) == ["tool_use", "text"]
    assert said.delta["delta"]["stop_reason"] == "tool_use"


def test_c_think() -> None:
    said = stream(Thinking("Hm.", "sig"), Text("Yes."))

    assert said.blocks == [
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
        {"type": "text", "text": "Yes."},
    ]


def test_c_think_tool() -> None:
    assert kinds(stream(Thinking("Hm."), WEATHER)) == ["thinking", "tool_use"]


def test_a_signature_ends_its_block_so_that_two_thoughts_stay_two() -> None:
    thoughts = (Thinking("One.", "sig 1"), Thinking("Two.", "sig 2"))
    assert [block["signature"] for block in stream(*thoughts, Text("So.")).blocks[:2]] == ["sig 1", "sig 2"]


def test_a_signature_that_only_the_answer_has_is_told_while_its_block_is_open() -> None:
    said = stream(Thinking("Hm.", "late"), Text("Yes."), deltas=[ThinkingDelta("Hm.")])
    assert said.blocks[0] == {"type": "thinking", "thinking": "Hm.", "signature": "late"}


def test_a_signature_without_a_thought_has_a_block_of_its_own() -> None:
    said = stream(Thinking("", "sealed"), Text("Yes."))
    assert said.blocks[0] == {"type": "thinking", "thinking": "", "signature": "sealed"}


def test_c_model_echo() -> None:
    assert stream(Text("Hi"), model="gpt-4o-2024").start["model"] == "claude-x"


def test_c_usage() -> None:
    """Input does not count what came from the cache."""
    said = stream(Text("Hi"), usage=Usage(100, 7, cache_read_tokens=60, cache_write_tokens=10))
    usage = said.delta["usage"]

    assert (usage["input_tokens"], usage["output_tokens"]) == (30, 7)
    assert (usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]) == (60, 10)


def test_c_usage_input() -> None:
    """An estimate until the usage is known, and after it where the upstream tells none."""
    writer = StreamWriter("m", input_tokens=123)
    said = read(written(writer, told(Text("Hi")), answer(Text("Hi"), usage=Usage())))

    assert said.start["usage"]["input_tokens"] == 123
    assert said.delta["usage"] == {"output_tokens": 0}


def test_c_incremental() -> None:
    """Every delta is written when it comes, with the begin of its block before the first."""
    writer = StreamWriter("m")
    sent = [events(writer.feed(TextDelta(text)))[-1]["delta"]["text"] for text in ("Hel", "lo", "!")]

    assert sent == ["Hel", "lo", "!"]


def test_c_tool_incremental() -> None:
    long = ToolCall("write", {"text": "x" * 300}, "toolu_1")
    writer = StreamWriter("m")
    sent = [writer.feed(delta) for delta in told(long, size=10)]

    assert sum(b"input_json_delta" in piece for piece in sent) > 20
    assert all(sent)


def test_a_second_call_is_streamed_too_once_the_first_is_complete() -> None:
    writer = StreamWriter("m")
    assert all(map(writer.feed, told(WEATHER, TIME)))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ProviderError("gone", status=500), "api_error"),
        (ProviderError("busy", status=529), "overloaded_error"),
        (ProviderError("slow", status=429), "rate_limit_error"),
        (BudgetExceeded("spent"), "rate_limit_error"),
        (Unreachable("reset"), "api_error"),
        (ContextTooLong("8192 tokens at most"), "invalid_request_error"),
    ],
    ids=str,
)
def test_c_miderr(error: AIBattleError, kind: str) -> None:
    writer = StreamWriter("m")
    *_, last = events(writer.begin() + writer.feed(TextDelta("Hel")) + writer.fail(client_failure(error)))

    assert last["type"] == "error"
    assert last["error"]["type"] == kind
    assert str(error) in last["error"]["message"]


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
    reader.feed(written(StreamWriter("m"), [], response))

    assert reader.finish() == response


def test_ids_are_unique_and_one_stream_has_one() -> None:
    first, second = (events(StreamWriter("m").begin())[0]["message"]["id"] for _ in range(2))

    assert first.startswith("msg_")
    assert first != second


def test_the_work_for_mixed_calls_is_linear() -> None:
    """A call that stays incomplete is looked at once, not with every fragment of the others."""
    deltas: list[Event] = [ToolCallDelta(0, "a", "f", '{"x": "' + "y" * 100_000)]
    deltas += [ToolCallDelta(1 + number, f"b{number}", "g", "{}") for number in range(20_000)]
    deltas.append(ToolCallDelta(0, arguments='"}'))
    said = stream(*(ToolCall("g", {}, f"b{number}") for number in range(20_000)), deltas=deltas)

    assert len(said.blocks) == 20_001


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
    whole = written(StreamWriter("m"), [], response)
    reader = StreamReader()
    again = read(written(StreamWriter("m"), reader.feed(whole), reader.finish()))

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
    raw = written(StreamWriter("claude-x"), deltas, answer(Text("It rains. Much.")))
    told_ = [event["delta"] for event in events(raw) if event["type"] == "content_block_delta"]

    assert [delta["type"] for delta in told_] == ["text_delta", "citations_delta", "text_delta"]
    assert told_[1]["citation"] == citation
    assert b"citation" not in written(ChatWriter("m"), deltas, answer(Text("It rains. Much.")))


def test_a_source_of_nothing_that_is_said_is_left_out() -> None:
    source = ThinkingDelta("", extra={"anthropic": {"citations": [{"type": "char_location"}]}})

    assert b"citation" not in written(StreamWriter("claude-x"), [source], answer(Text("Hi.")))
