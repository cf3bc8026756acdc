"""Bodies that are almost right never raise anything but errors of ours, and what they come out as is sound."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from ai_battle.core.errors import ConfigError, ProviderError
from ai_battle.core.events import TextDelta
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import Message
from ai_battle.wire.openai import (
    Quirks,
    StreamReader,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)

from ..mutants import mutants
from ..values import messages
from .bodies import CALL, PLAIN, USAGE, answer, chunk, events, fragment
from .test_request import EXAMPLES

CALLED = answer(content="Wait.", reasoning_content="Hm.", tool_calls=[CALL], finish_reason="tool_calls")
STREAM = [
    chunk({"role": "assistant", "content": "", "reasoning": "Hm."}),
    chunk({"content": "Hi"}),
    fragment(0, "call_a", "add", '{"a": 1}'),
    fragment(1, "call_b", "add", "{}"),
    chunk(finish_reason="tool_calls"),
    USAGE,
]
REQUESTS = [from_json(encode_request(request, "m")) for request in EXAMPLES.values()]


@given(mutants([PLAIN, CALLED]))
def test_an_answer_that_is_almost_right(body: Any) -> None:
    try:
        response = decode_response(body)
    except ProviderError:
        return
    assert all(call.id for call in response.tool_calls)
    encode_request(ModelRequest((response.message,)), "m")
    encode_response(response, "m")


@given(mutants([list(STREAM)]).filter(lambda body: isinstance(body, list)))
def test_a_stream_that_is_almost_right(body: list[Any]) -> None:
    reader = StreamReader()
    try:
        heard = reader.feed(events(*body))
        response = reader.finish()
    except ProviderError:
        return
    assert "".join(event.text for event in heard if isinstance(event, TextDelta)) == response.text
    assert len({call.id for call in response.tool_calls}) == len(response.tool_calls)
    encode_response(response, "m")


@given(mutants(REQUESTS))
def test_a_request_that_is_almost_right(body: Any) -> None:
    try:
        request = decode_request(body)
    except ConfigError:
        return
    encode_request(request, "m")


@pytest.mark.parametrize("quirks", [Quirks(), Quirks(reasoning="reasoning", names=False)], ids=str)
@given(st.lists(messages, max_size=4))
def test_any_message_of_ours_can_be_sent(quirks: Quirks, said: list[Message]) -> None:
    body = json.loads(encode_request(ModelRequest(tuple(said)), "m", quirks=quirks))

    assert len(body["messages"]) >= len(said)
    assert all("content" in message for message in body["messages"])
