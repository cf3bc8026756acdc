"""What came before a fault or before an early end of the body is not lost."""

from typing import Any

import pytest

from ai_battle.core.errors import BadReply, ProviderError
from ai_battle.core.events import Event, TextDelta
from ai_battle.wire import anthropic, gemini, ollama, openai

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


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("wire", WORDS, ids=lambda wire: wire.__name__.rpartition(".")[2])
def test_words_before_a_fault_are_heard(wire: Any, fault: str) -> None:
    body = FAULTS[fault] + b"\n" if wire is ollama else b"event: error\ndata: " + FAULTS[fault] + b"\n\n"
    events: list[Event] = []
    with pytest.raises(ProviderError) as raised:
        wire.StreamReader().feed(WORDS[wire] + body, events)

    assert events == [TextDelta("Once")]
    assert raised.value.partial == "Once"


ENDS: dict[Any, bytes] = {
    openai: b'data: {"choices": [{"index": 0, "delta": {"content": "."}, "finish_reason": "stop"}]}',
    anthropic: b'event: message_stop\ndata: {"type": "message_stop"}',
    ollama: b'{"message": {"role": "assistant", "content": "."}, "done": true}',
    gemini: b'data: {"candidates": [{"content": {"parts": [{"text": "."}]}, "finishReason": "STOP"}]}',
}


@pytest.mark.parametrize("missing", [b"", b"\n", b"\r\n"])
@pytest.mark.parametrize("wire", ENDS, ids=lambda wire: wire.__name__.rpartition(".")[2])
def test_a_last_event_counts_though_its_end_is_missing(wire: Any, missing: bytes) -> None:
    reader = wire.StreamReader()

    heard = reader.feed(WORDS[wire] + ENDS[wire] + missing) + reader.close()

    response = reader.finish()
    assert response.stop == "end"
    assert "".join(event.text for event in heard) == response.text


@pytest.mark.parametrize("wire", ENDS, ids=lambda wire: wire.__name__.rpartition(".")[2])
def test_a_last_event_that_is_cut_does_not_count(wire: Any) -> None:
    for cut in range(1, len(ENDS[wire])):
        reader = wire.StreamReader()
        reader.feed(WORDS[wire] + ENDS[wire][:cut])

        assert reader.close() == []
        with pytest.raises(BadReply, match="cut after 4 characters"):
            reader.finish()
