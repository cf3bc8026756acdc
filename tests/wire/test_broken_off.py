"""What came in the same piece as a fault is not lost with it."""

from typing import Any

import pytest

from ai_battle.core.errors import ProviderError
from ai_battle.core.events import TextDelta
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
    with pytest.raises(ProviderError) as raised:
        wire.StreamReader().feed(WORDS[wire] + body)

    assert raised.value.heard == (TextDelta("Once"),)
    assert raised.value.partial == "Once"
