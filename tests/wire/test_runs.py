"""Texts that follow one another in one read of a stream are read in one pass, and say what they would one by one."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.core.errors import ProviderError
from ai_battle.core.events import Event, TextDelta
from ai_battle.wire import anthropic, openai
from tests.growing import IN_PROPORTION, growth

OPENING = b"""data: {"type": "message_start", "message": {"content": []}}

data: {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}

"""
START = {openai: b"", anthropic: OPENING}
FORMS: dict[Any, tuple[bytes, bytes]] = {
    openai: (b'data: {"choices":[{"index":0,"delta":{"content":', b"}}]}\n\n"),
    anthropic: (
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
        b'"delta":{"type":"text_delta","text":',
        b"}}\n\n",
    ),
}
both = pytest.mark.parametrize("wire", FORMS, ids=("chat", "messages"))
spelled = st.text().map(json.dumps) | st.text().map(lambda text: json.dumps(text, ensure_ascii=False))
odd = st.sampled_from(
    ['"\\\\"', '"\\""', '"a\\",\\"b"', '"],["', '"\\ud83d"', '"\\ude00"', '""', '"","x":""', "7", '"a']
)


def events(wire: Any, texts: list[str]) -> list[bytes]:
    before, after = FORMS[wire]
    return [before + text.encode("utf-8", "replace") + after for text in texts]


def read(wire: Any, chunks: list[bytes]) -> tuple[str, str]:
    """Returns what was said until the end or the first fault, and the fault."""
    reader = wire.StreamReader()
    heard: list[Event] = reader.feed(START[wire])
    fault = ""
    try:
        for chunk in chunks:
            reader.feed(chunk, heard)
    except ProviderError as error:
        fault = str(error)
    return "".join(event.text for event in heard if isinstance(event, TextDelta)), fault


@both
@given(st.lists(spelled | odd, max_size=12))
def test_it_makes_no_difference_whether_events_come_together(wire: Any, texts: list[str]) -> None:
    pieces = events(wire, texts)
    assert read(wire, [b"".join(pieces)]) == read(wire, pieces)


@both
def test_texts_of_one_read_are_one_event(wire: Any) -> None:
    reader = wire.StreamReader()
    reader.feed(START[wire])
    first, *rest = events(wire, ['"Once"', '" upon"', '" a"', '" time"'])

    assert reader.feed(first) == [TextDelta("Once")]
    assert reader.feed(b"".join(rest)) == [TextDelta(" upon a time")]


@pytest.mark.slow
@both
def test_many_events_in_one_read_take_linear_time(wire: Any) -> None:
    def read_mixed(pairs: int) -> None:
        read(wire, [b"".join((*events(wire, ['"a"']), b'data: {"type": "ping"}\n\n')) * pairs])

    assert growth(read_mixed, 2_500) < IN_PROPORTION
