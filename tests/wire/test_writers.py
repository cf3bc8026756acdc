"""What the writers of streams write, read back by our own readers and by the official SDKs."""

import json
from collections.abc import Callable
from typing import Any

import anthropic as anthropic_sdk
import openai as openai_sdk
import pytest
from hypothesis import given, settings

from ai_battle.core.errors import ProviderError, RateLimited
from ai_battle.core.events import Event
from ai_battle.core.exchange import ModelResponse
from ai_battle.core.messages import Text
from ai_battle.server.errors import client_failure
from ai_battle.wire import anthropic, openai, responses
from ai_battle.wire.openai import served as chat

from .chunks import cut_places, slices
from .played import Player, playing
from .telling import Said, answer, answer_deltas, content_of, tellings, write_stream

Telling = tuple[list[Event], ModelResponse]
WIRES: list[Any] = [anthropic, chat]
READERS = {anthropic: anthropic.StreamReader, chat: openai.StreamReader}
SDKS = {anthropic: "anthropic", chat: "openai", responses: "responses"}
NAMES = ["anthropic", "openai"]


@pytest.mark.parametrize("wire", WIRES, ids=NAMES)
@given(tellings(), cut_places)
def test_our_reader_reads_the_answer_that_was_written(wire: Any, telling: Telling, cuts: list[int]) -> None:
    deltas, response = telling
    reader = READERS[wire]()
    for chunk in slices(write_stream(wire.StreamWriter("asked-for"), deltas, response), cuts):
        reader.feed(chunk)
    read = reader.finish()

    assert content_of(read.message) == content_of(response.message)
    assert (read.stop, read.model, read.usage) == (response.stop, "asked-for", response.usage)


@pytest.mark.parametrize("wire", [*WIRES, responses], ids=[*NAMES, "responses"])
@given(tellings())
def test_every_event_has_a_name_where_the_api_names_them_and_is_one_line_of_json(wire: Any, telling: Telling) -> None:
    for event in write_stream(wire.StreamWriter("m"), *telling).removesuffix(b"\n\n").split(b"\n\n"):
        *name, data = event.split(b"\n")
        if data != b"data: [DONE]":
            body = json.loads(data.removeprefix(b"data: "))
            assert name == ([] if wire is chat else [b"event: " + body["type"].encode()])


class Reads:
    """How each SDK puts an answer together from a stream."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self._claude = anthropic_sdk.Anthropic(base_url=player.url, api_key="k", max_retries=0)
        self._gpt = openai_sdk.OpenAI(base_url=player.url, api_key="k", max_retries=0)

    def close(self) -> None:
        self._claude.close()
        self._gpt.close()

    def anthropic(self, stream: bytes) -> Said:
        self._player.stream = stream
        asked: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "?"}]}
        with self._claude.messages.stream(**asked) as events:
            blocks = events.get_final_message().content
        return Said(
            "".join(block.text for block in blocks if block.type == "text"),
            "".join(block.thinking for block in blocks if block.type == "thinking"),
            [(block.id, block.name, block.input) for block in blocks if block.type == "tool_use"],
        )

    def openai(self, stream: bytes) -> Said:
        self._player.stream = stream
        asked: Any = {"model": "m", "messages": [{"role": "user", "content": "?"}]}
        with self._gpt.chat.completions.stream(**asked) as events:
            message: Any = events.get_final_completion().choices[0].message
        calls = [
            (call.id, call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()
        ]
        return Said(message.content or "", getattr(message, "reasoning_content", ""), calls)

    def responses(self, stream: bytes) -> Said:
        self._player.stream = stream
        with self._gpt.responses.stream(model="m", input="?") as events:
            items: Any = events.get_final_response().output
        return Said(
            "".join(part.text for item in items if item.type == "message" for part in item.content),
            "".join(part.text for item in items if item.type == "reasoning" for part in item.summary),
            [(item.call_id, item.name, json.loads(item.arguments)) for item in items if item.type == "function_call"],
        )


@pytest.fixture(scope="module")
def reads() -> Any:
    with playing() as player:
        reads = Reads(player)
        yield reads
        reads.close()


@pytest.mark.parametrize("wire", [*WIRES, responses], ids=[*NAMES, "responses"])
@settings(max_examples=15, deadline=None)
@given(tellings())
def test_the_official_sdk_reads_the_answer_that_was_written(wire: Any, reads: Reads, telling: Telling) -> None:
    deltas, response = telling
    read: Callable[[bytes], Said] = getattr(reads, SDKS[wire])

    assert read(write_stream(wire.StreamWriter("asked-for"), deltas, response)) == content_of(response.message)


@pytest.mark.parametrize("wire", WIRES, ids=NAMES)
def test_an_error_in_mid_stream_is_no_end_of_the_answer(wire: Any) -> None:
    writer = wire.StreamWriter("m")
    reader = READERS[wire]()
    begun = writer.begin() + b"".join(map(writer.feed, answer_deltas(Text("Hel"))))

    with pytest.raises(RateLimited, match="slow down") as caught:
        reader.feed(begun + writer.fail(client_failure(ProviderError("slow down", status=429))))
    assert caught.value.partial == "Hel"


@pytest.mark.parametrize(
    ("wire", "error"),
    [(anthropic, anthropic_sdk.APIStatusError), (chat, openai_sdk.APIError), (responses, RuntimeError)],
    ids=[*NAMES, "responses"],
)
def test_the_official_sdk_raises_on_an_error_in_mid_stream(wire: Any, error: type[Exception], reads: Reads) -> None:
    writer = wire.StreamWriter("m")
    begun = writer.begin() + b"".join(map(writer.feed, answer_deltas(Text("Hel"))))
    read = getattr(reads, SDKS[wire])

    with pytest.raises(error):
        read(begun + writer.fail(client_failure(ProviderError("the model is gone", status=503))))


@pytest.mark.parametrize("wire", [*WIRES, responses], ids=[*NAMES, "responses"])
def test_pings_change_nothing(wire: Any, reads: Reads) -> None:
    writer = wire.StreamWriter("m")
    pieces = [writer.begin(), writer.ping()]
    for delta in answer_deltas(Text("Hello")):
        pieces += [writer.feed(delta), writer.ping()]
    pieces.append(writer.finish(answer(Text("Hello"))))

    read = getattr(reads, SDKS[wire])
    assert read(b"".join(pieces)).text == "Hello"
