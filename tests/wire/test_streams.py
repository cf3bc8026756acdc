"""Streams of every API: whatever the network or the server does to them, the answer is the same, or it is none."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.core.errors import BadReply, ProviderError
from ai_battle.core.events import Event, TextDelta
from ai_battle.wire import anthropic, gemini, ollama, openai

from .anthropic.test_stream import WITH_TOOLS
from .anthropic.test_stream import body as messages_body
from .chunks import cut_places, slices
from .gemini.test_answers import STREAM
from .gemini.test_answers import body as gemini_body
from .ollama.bodies import lines
from .ollama.test_answers import EVERYTHING as OLLAMA_LINES
from .openai.bodies import events as chat_events
from .openai.test_stream import EVERYTHING as CHUNKS

EVERYTHING: dict[Any, list[bytes]] = {
    openai: [*(chat_events(each, done=False) for each in CHUNKS), b"data: [DONE]\n\n"],
    anthropic: [messages_body(each) for each in WITH_TOOLS],
    ollama: [lines(each) for each in OLLAMA_LINES],
    gemini: [gemini_body(each, newline="\n") for each in STREAM],
}
"""The events of an answer with all that an API has; the one that makes it whole is the last, but for Chat."""
STARTED = b"""event: message_start
data: {"type": "message_start", "message": {"content": []}}

event: content_block_start
data: {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}

event: content_block_delta
data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Once"}}

"""
WORDS: dict[Any, bytes] = {
    openai: b'data: {"choices": [{"index": 0, "delta": {"content": "Once"}}]}\n\n',
    anthropic: STARTED,
    ollama: b'{"message": {"role": "assistant", "content": "Once"}, "done": false}\n',
    gemini: b'data: {"candidates": [{"content": {"parts": [{"text": "Once"}]}}]}\n\n',
}
FAULTS = {"error": b'{"error": {"message": "boom"}}', "garbage": b"{no JSON"}
ENDS: dict[Any, bytes] = {
    openai: b'data: {"choices": [{"index": 0, "delta": {"content": "."}, "finish_reason": "stop"}]}',
    anthropic: b'event: message_stop\ndata: {"type": "message_stop"}',
    ollama: b'{"message": {"role": "assistant", "content": "."}, "done": true}',
    gemini: b'data: {"candidates": [{"content": {"parts": [{"text": "."}]}, "finishReason": "STOP"}]}',
}
each_api = pytest.mark.parametrize("wire", EVERYTHING, ids=lambda wire: wire.__name__.rpartition(".")[2])


def read(wire: Any, *chunks: bytes) -> tuple[str, str]:
    """Returns what was heard and what came of it, with each id that the reader made by a name of its own."""
    reader = wire.StreamReader()
    heard = [event for chunk in chunks for event in reader.feed(chunk)]
    response = reader.finish()
    shown = repr((heard, response))
    for number, call in enumerate(response.tool_calls):
        shown = shown.replace(call.id, f"ID {number}")
    return shown, response.text


def frame(wire: Any, payload: bytes) -> bytes:
    return payload + b"\n" if wire is ollama else b"data: " + payload + b"\n\n"


@each_api
@given(cut_places)
def test_the_chunks_of_a_stream_do_not_matter(wire: Any, cuts: list[int]) -> None:
    stream = b"".join(EVERYTHING[wire])

    assert read(wire, *slices(stream, cuts)) == read(wire, stream)


@each_api
def test_one_byte_at_a_time_is_a_stream_too(wire: Any) -> None:
    stream = b"".join(EVERYTHING[wire])

    assert read(wire, *(bytes([byte]) for byte in stream)) == read(wire, stream)


@each_api
@given(st.integers(0, 1_000_000))
def test_a_cut_answer_is_never_taken_for_a_whole_one(wire: Any, cut: int) -> None:
    stream = b"".join(EVERYTHING[wire][:-2] if wire is openai else EVERYTHING[wire])
    start = stream[: cut % len(stream.rstrip(b"\n"))]
    reader = wire.StreamReader()
    reader.feed(start)

    assert not reader.whole
    with pytest.raises(BadReply) as caught:
        reader.finish()
    assert caught.value.partial == reader.text
    is_between = start.endswith(b"\n" if wire is ollama else b"\n\n")
    assert caught.value.again == ("always" if is_between else "once")


NO_EVENT = (b'{"choices": [', b'{"message": ', b"oops", b"17", b'["a"]')
BROKEN: list[tuple[Any, bytes]] = [
    *((wire, payload) for wire in EVERYTHING for payload in NO_EVENT),
    (ollama, b'{"done": true}'),
    (gemini, b'{"candidates": 1}'),
    (anthropic, b'{"type": "content_block_delta", "index": 0}'),
    (anthropic, b'{"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "no block"}}'),
]


@pytest.mark.parametrize(("wire", "broken"), BROKEN)
def test_a_broken_event_is_asked_for_once_more(wire: Any, broken: bytes) -> None:
    reader = wire.StreamReader()
    reader.feed(WORDS[wire])
    with pytest.raises(BadReply) as caught:
        reader.feed(frame(wire, broken))

    assert (caught.value.again, caught.value.partial, caught.value.raw) == ("once", "Once", broken.decode())


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "empty body"),
        (b"<html>\n\n<h1>Log in</h1>\n\n</html>\n", "web page"),
        (b'{"error": {"message": "no such host"}}', "no such host"),
        (b'{"id": "x", "mess', "truncated JSON"),
        (b'{"id": "x", "things": []}\n', "no answer of this API"),
    ],
)
@each_api
def test_a_body_that_is_no_stream_is_shown(wire: Any, body: bytes, says: str) -> None:
    with pytest.raises(ProviderError, match=says) as caught:
        read(wire, body)
    assert caught.value.again == "once"


@each_api
def test_broken_characters_become_the_replacement_character(wire: Any) -> None:
    said = (WORDS[wire] + ENDS[wire] + b"\n\n").replace(b"Once", b"a\xff\xe2\x82b")

    assert read(wire, said)[1].startswith("a\ufffd\ufffdb")


@pytest.mark.parametrize("fault", FAULTS)
@each_api
def test_words_before_a_fault_are_heard(wire: Any, fault: str) -> None:
    body = FAULTS[fault] + b"\n" if wire is ollama else b"event: error\ndata: " + FAULTS[fault] + b"\n\n"
    events: list[Event] = []
    with pytest.raises(ProviderError) as raised:
        wire.StreamReader().feed(WORDS[wire] + body, events)

    assert events == [TextDelta("Once")]
    assert raised.value.partial == "Once"


@pytest.mark.parametrize("missing", [b"", b"\n", b"\r\n"])
@each_api
def test_a_last_event_counts_though_its_end_is_missing(wire: Any, missing: bytes) -> None:
    reader = wire.StreamReader()

    heard = reader.feed(WORDS[wire] + ENDS[wire] + missing) + reader.close()

    response = reader.finish()
    assert response.stop == "end"
    assert "".join(event.text for event in heard) == response.text


@each_api
def test_a_last_event_that_is_cut_does_not_count(wire: Any) -> None:
    for cut in range(1, len(ENDS[wire])):
        reader = wire.StreamReader()
        reader.feed(WORDS[wire] + ENDS[wire][:cut])

        assert reader.close() == []
        with pytest.raises(BadReply, match="cut after 4 characters"):
            reader.finish()
