"""Lines come out whole, however the network cuts them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.core.errors import BadReply
from ai_battle.wire.streams import MAX_EVENT, LineTokenizer

from .chunks import cut_places, pairs, sliced

LINES = '{"a": 1}\r\n\n{"b": "x\u2028y"}\n  \n{"c": 3}'.encode()


def read(*chunks: bytes) -> list[bytes]:
    tokens = LineTokenizer()
    return [line for chunk in chunks for line in tokens.feed(chunk)]


def test_a_cut_at_any_byte_changes_nothing() -> None:
    for start, end in pairs(LINES):
        assert [line.strip() for line in read(start, end)] == [b'{"a": 1}', '{"b": "x\u2028y"}'.encode()], start


@given(st.lists(st.text(min_size=1).filter(lambda text: "\n" not in text and text.strip())), cut_places)
def test_whatever_is_sent_is_received(texts: list[str], cuts: list[int]) -> None:
    data = b"".join(text.encode() + b"\n" for text in texts)

    assert read(*sliced(data, cuts)) == [text.encode() for text in texts]


def test_the_line_that_no_newline_ends_stays_unread() -> None:
    tokens = LineTokenizer()
    tokens.feed(b'{"a": 1}\n{"b"')

    assert tokens.unread == b'{"b"'
    assert tokens.head == b'{"a": 1}\n{"b"'


def test_a_line_without_end_is_refused_before_it_fills_the_memory() -> None:
    tokens = LineTokenizer()
    tokens.feed(b"x" * MAX_EVENT)
    with pytest.raises(BadReply, match="larger than 16 MiB") as caught:
        tokens.feed(b"x")

    assert caught.value.again == "never"
