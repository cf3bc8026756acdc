"""Bodies that are almost right never raise anything but errors of ours, and what they come out as is sound."""

import json
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.core.errors import ConfigError, ProviderError
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import Message
from ai_battle.wire import anthropic, gemini

from .anthropic.test_answers import ANSWER as CLAUDE_ANSWER
from .anthropic.test_answers import CODING_ASSISTANT
from .anthropic.test_stream import HELLO, WITH_TOOLS
from .gemini.test_answers import ANSWER as GEMINI_ANSWER
from .gemini.test_answers import STREAM
from .mutants import mutants
from .values import messages

WIRES = ["anthropic", "gemini"]


def is_list(body: Any) -> bool:
    return isinstance(body, list)


def stream_of(events: list[Any]) -> bytes:
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()


def assert_it_reads(reader: Any, events: list[Any]) -> None:
    try:
        heard = reader.feed(stream_of(events))
        response = reader.finish()
    except ProviderError:
        return
    assert "".join(event.text for event in heard if type(event).__name__ == "TextDelta") == response.text
    assert len({call.id for call in response.tool_calls}) == len(response.tool_calls)


@pytest.mark.parametrize(("wire", "answer"), [(anthropic, CLAUDE_ANSWER), (gemini, GEMINI_ANSWER)], ids=WIRES)
@given(st.data())
def test_an_answer_that_is_almost_right(wire: Any, answer: Any, data: st.DataObject) -> None:
    body = data.draw(mutants([answer]))
    try:
        response = wire.decode_response(body)
    except ProviderError:
        return
    assert all(call.id for call in response.tool_calls)
    wire.encode_request(ModelRequest((response.message,)), "m")


@given(mutants([list(HELLO), list(WITH_TOOLS)]).filter(is_list))
def test_a_stream_of_messages_that_is_almost_right(events: list[Any]) -> None:
    assert_it_reads(anthropic.StreamReader(), events)


@given(mutants([list(STREAM)]).filter(is_list))
def test_a_stream_of_generated_content_that_is_almost_right(events: list[Any]) -> None:
    assert_it_reads(gemini.StreamReader(), events)


@given(mutants([CODING_ASSISTANT]))
def test_a_request_that_is_almost_right(body: Any) -> None:
    with suppress(ConfigError):
        anthropic.encode_request(anthropic.decode_request(body), "m")


@pytest.mark.parametrize("wire", [anthropic, gemini], ids=WIRES)
@given(st.lists(messages, max_size=4))
def test_any_message_of_ours_can_be_sent(wire: Any, said: list[Message]) -> None:
    body = json.loads(wire.encode_request(ModelRequest(tuple(said), options={"cache": True}), "m"))

    turns = body.get("messages", body.get("contents"))
    assert all(turn.get("content") or turn.get("parts") for turn in turns)
    assert all(first["role"] != second["role"] for first, second in pairwise(turns))
