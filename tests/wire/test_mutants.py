"""Bodies that are almost right never raise anything but errors of ours, and what they come out as is sound."""

import json
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.core.errors import ConfigError, ProviderError
from ai_battle.core.events import TextDelta
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import Message
from ai_battle.wire import anthropic, gemini, ollama, openai
from ai_battle.wire.openai import served as chat

from .anthropic.test_answers import ANSWER as CLAUDE_ANSWER
from .anthropic.test_answers import CODING_ASSISTANT
from .anthropic.test_stream import HELLO, WITH_TOOLS
from .gemini.test_answers import ANSWER as GEMINI_ANSWER
from .gemini.test_answers import STREAM
from .mutants import mutants
from .ollama import bodies as ollama_bodies
from .ollama.test_answers import EVERYTHING as LINES
from .openai import bodies as chat_bodies
from .openai.test_request import EXAMPLES
from .openai.test_stream import EVERYTHING as CHUNKS
from .values import messages

CHAT_ANSWER = chat_bodies.answer(content="Hm.", reasoning_content="Hm.", tool_calls=[chat_bodies.CALL])
OLLAMA_ANSWER = ollama_bodies.answer(tool_calls=[ollama_bodies.CALL], thinking="Hm.", content="Hi")
ANSWERS: dict[Any, list[Any]] = {
    anthropic: [CLAUDE_ANSWER],
    gemini: [GEMINI_ANSWER],
    ollama: [ollama_bodies.PLAIN, OLLAMA_ANSWER],
    openai: [chat_bodies.PLAIN, CHAT_ANSWER],
}
STREAMS: dict[Any, list[Any]] = {
    anthropic: [list(HELLO), list(WITH_TOOLS)],
    gemini: [list(STREAM)],
    ollama: [list(LINES)],
    openai: [list(CHUNKS)],
}
REQUESTS: dict[Any, list[Any]] = {
    anthropic: [CODING_ASSISTANT],
    chat: [json.loads(openai.encode_request(request, "m")) for request in EXAMPLES.values()],
}


def name(wire: Any) -> str:
    return str(wire.__name__.rpartition(".")[2])


@pytest.mark.parametrize("wire", ANSWERS, ids=name)
@given(st.data())
def test_an_answer_that_is_almost_right(wire: Any, data: st.DataObject) -> None:
    body = data.draw(mutants(ANSWERS[wire]))
    try:
        response = wire.decode_response(body)
    except ProviderError:
        return
    assert all(call.id for call in response.tool_calls)
    with suppress(ConfigError):  # Ollama takes no pictures by address
        wire.encode_request(ModelRequest((response.message,)), "m")
    for served in (anthropic, chat):
        served.encode_response(response, "m")


@pytest.mark.parametrize("wire", STREAMS, ids=name)
@given(st.data())
def test_a_stream_that_is_almost_right(wire: Any, data: st.DataObject) -> None:
    events = data.draw(mutants(STREAMS[wire]).filter(lambda body: isinstance(body, list)))
    frame = "{}\n" if wire is ollama else "data: {}\n\n"
    reader = wire.StreamReader()
    try:
        heard = reader.feed("".join(frame.format(json.dumps(event)) for event in events).encode())
        response = reader.finish()
    except ProviderError:
        return
    assert "".join(event.text for event in heard if isinstance(event, TextDelta)) == response.text
    assert len({call.id for call in response.tool_calls}) == len(response.tool_calls)


@pytest.mark.parametrize("wire", REQUESTS, ids=name)
@given(st.data())
def test_a_request_that_is_almost_right(wire: Any, data: st.DataObject) -> None:
    with suppress(ConfigError):
        wire.encode_request(wire.decode_request(data.draw(mutants(REQUESTS[wire]))), "m")


@pytest.mark.parametrize("wire", [anthropic, gemini], ids=name)
@given(st.lists(messages, max_size=4))
def test_any_message_of_ours_can_be_sent(wire: Any, said: list[Message]) -> None:
    body = json.loads(wire.encode_request(ModelRequest(tuple(said), options={"cache": True}), "m"))

    turns = body.get("messages", body.get("contents"))
    assert all(turn.get("content") or turn.get("parts") for turn in turns)
    assert all(first["role"] != second["role"] for first, second in pairwise(turns))


@pytest.mark.slow
@pytest.mark.parametrize("quirks", [openai.Quirks(), openai.Quirks(reasoning="reasoning", names=False)], ids=str)
@given(st.lists(messages, max_size=4))
def test_any_message_of_ours_can_be_sent_as_chat(quirks: openai.Quirks, said: list[Message]) -> None:
    body = json.loads(openai.encode_request(ModelRequest(tuple(said)), "m", quirks=quirks))

    assert len(body["messages"]) >= len(said)
    assert all("content" in message for message in body["messages"])


@given(st.lists(messages, max_size=4))
def test_any_message_of_ours_can_be_sent_to_ollama_or_is_refused_clearly(said: list[Message]) -> None:
    with suppress(ConfigError):
        assert len(json.loads(ollama.encode_request(ModelRequest(tuple(said)), "m"))["messages"]) >= len(said)
