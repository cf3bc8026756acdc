"""Server-sent events and lines come out whole, however the network cuts them, and nothing inside of JSON cuts them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.core.errors import BadReply
from ai_battle.wire.streams import MAX_EVENT, EventTokenizer, LineTokenizer
from tests.growing import IN_PROPORTION, growth

from .chunks import cut_places, pairs, slices

MIXED = (
    "\ufeffdata: first\n\n"
    ": a comment\n\n"
    "event: ping\ndata: {}\n\n"
    "data: line one\ndata: line two\n\n"
    'data: {"text": "a\u2028b\u0085c 😀"}\r\n\r\n'
    "id: 7\rretry: 10\rdata:no space\r\r"
    "data\n\n"
    "data: [DONE]\n\n"
    "data: never ended"
).encode()
EVENTS = [
    ("", b"first"),
    ("ping", b"{}"),
    ("", b"line one\nline two"),
    ("", '{"text": "a\u2028b\u0085c 😀"}'.encode()),
    ("", b"no space"),
    ("", b"[DONE]"),
]


def read(*chunks: bytes) -> list[tuple[str, bytes]]:
    tokens = EventTokenizer()
    events = (tokens.event(piece) for chunk in chunks for piece in tokens.feed(chunk))
    return [(name, data) for name, data in events if data]


def test_all_that_the_standard_knows_is_read() -> None:
    assert read(MIXED) == EVENTS


def test_a_cut_at_any_byte_changes_nothing() -> None:
    for start, end in pairs(MIXED):
        assert read(start, end) == EVENTS, start


def test_single_bytes_make_the_same_events() -> None:
    assert read(*(bytes([byte]) for byte in MIXED)) == EVENTS


@given(st.lists(st.text().filter(lambda text: "\n" not in text and "\r" not in text)), cut_places)
def test_whatever_is_sent_is_received(texts: list[str], cuts: list[int]) -> None:
    data = b"".join(b"data: " + text.encode() + b"\n\n" for text in texts)

    assert read(*slices(data, cuts)) == [("", text.encode()) for text in texts if text]


def test_a_line_named_error_is_an_event_of_that_name() -> None:
    assert read(b'error: {"code": 500}\n\n') == [("error", b'{"code": 500}')]


def test_an_event_comes_with_the_chunk_that_ends_it() -> None:
    tokens = EventTokenizer()

    assert tokens.feed(b"data: a\n") == []
    assert tokens.feed(b"\ndata: b") == [b"data: a"]
    assert tokens.unread == b"data: b"


def test_the_head_of_the_body_is_remembered() -> None:
    tokens = EventTokenizer()
    tokens.feed(b"<html>")
    tokens.feed(b"x" * 1000)

    assert tokens.head == b"<html>" + b"x" * 494


def test_an_event_without_end_is_refused_before_it_fills_the_memory() -> None:
    tokens = EventTokenizer()
    tokens.feed(b"data: " + b"x" * (MAX_EVENT - 6))
    with pytest.raises(BadReply, match="larger than 16 MiB") as caught:
        tokens.feed(b"x")

    assert caught.value.again == "never"


def test_a_large_event_in_small_chunks_takes_linear_time() -> None:
    assert growth(lambda chunks: read(b"data: ", *[b"x" * 32] * chunks, b"\n\n"), 2_500) < IN_PROPORTION


LINES = '{"a": 1}\r\n\n{"b": "x\u2028y"}\n  \n{"c": 3}'.encode()


def read_lines(*chunks: bytes) -> list[bytes]:
    tokens = LineTokenizer()
    return [line for chunk in chunks for line in tokens.feed(chunk)]


def test_a_cut_of_lines_at_any_byte_changes_nothing() -> None:
    for start, end in pairs(LINES):
        assert [line.strip() for line in read_lines(start, end)] == [b'{"a": 1}', '{"b": "x\u2028y"}'.encode()], start


@given(st.lists(st.text(min_size=1).filter(lambda text: "\n" not in text and text.strip())), cut_places)
def test_whatever_lines_are_sent_are_received(texts: list[str], cuts: list[int]) -> None:
    data = b"".join(text.encode() + b"\n" for text in texts)

    assert read_lines(*slices(data, cuts)) == [text.encode() for text in texts]


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
