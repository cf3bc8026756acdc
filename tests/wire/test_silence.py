"""An answer without a text and without a call is an error, and the same one on every wire."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from ai_battle.core.errors import BadReply, ProviderError, Refused
from ai_battle.core.exchange import ModelResponse
from ai_battle.wire import anthropic, gemini, ollama, openai

Body = dict[str, Any]
Make = Callable[[str, str, str], list[Body]]


@dataclass(frozen=True)
class Wire:
    """`whole` and `events` make a body and a stream from thinking, text and reason; `reasons` are the API's words."""

    module: Any
    whole: Callable[[str, str, str], Body]
    events: Make
    reasons: Mapping[str, str]
    lines: bool = False

    def __str__(self) -> str:
        return str(self.module.__name__.rpartition(".")[2])

    def read(self, thinking: str, text: str, stop: str, streamed: bool) -> ModelResponse:
        said = (thinking, text, self.reasons[stop])
        if not streamed:
            whole: ModelResponse = self.module.decode_response(self.whole(*said))
            return whole
        reader = self.module.StreamReader()
        for event in self.events(*said):
            line = json.dumps(event)
            reader.feed((f"{line}\n" if self.lines else f"data: {line}\n\n").encode())
        response: ModelResponse = reader.finish()
        return response


def of_openai(thinking: str, text: str, reason: str) -> Body:
    message = {"role": "assistant", "content": text or None, "reasoning_content": thinking or None}
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}]}


def from_openai(thinking: str, text: str, reason: str) -> list[Body]:
    deltas = [{"role": "assistant", "content": ""}, {"reasoning_content": thinking}, {"content": text}, {}]
    reasons = [None, None, None, reason]
    choices = zip(deltas, reasons, strict=True)
    return [{"choices": [{"index": 0, "delta": delta, "finish_reason": why}]} for delta, why in choices]


def _blocks(thinking: str, text: str) -> list[Body]:
    thought = [{"type": "thinking", "thinking": thinking, "signature": "s"}] if thinking else []
    return thought + ([{"type": "text", "text": text}] if text else [])


def of_anthropic(thinking: str, text: str, reason: str) -> Body:
    return {"type": "message", "role": "assistant", "content": _blocks(thinking, text), "stop_reason": reason}


def from_anthropic(thinking: str, text: str, reason: str) -> list[Body]:
    return [
        {"type": "message_start", "message": {"type": "message", "role": "assistant", "content": []}},
        *(
            {"type": "content_block_start", "index": index, "content_block": block}
            for index, block in enumerate(_blocks(thinking, text))
        ),
        {"type": "message_delta", "delta": {"stop_reason": reason}},
        {"type": "message_stop"},
    ]


def of_ollama(thinking: str, text: str, reason: str) -> Body:
    message = {"role": "assistant", "content": text, "thinking": thinking}
    return {"model": "m", "message": message, "done": True, "done_reason": reason}


def of_gemini(thinking: str, text: str, reason: str) -> Body:
    thought = [{"text": thinking, "thought": True}] if thinking else []
    parts = thought + ([{"text": text}] if text else [])
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": reason}]}


WIRES = {
    "openai": Wire(
        openai, of_openai, from_openai,
        {"end": "stop", "length": "length", "content_filter": "content_filter", "refusal": "refusal"},
    ),
    "anthropic": Wire(
        anthropic, of_anthropic, from_anthropic,
        {"end": "end_turn", "length": "max_tokens", "refusal": "refusal"},
    ),
    "ollama": Wire(
        ollama, of_ollama, lambda *said: [of_ollama(*said)], {"end": "stop", "length": "length"}, lines=True
    ),
    "gemini": Wire(
        gemini, of_gemini, lambda *said: [of_gemini(*said)],
        {"end": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"},
    ),
}  # fmt: skip

streamed_or_not = pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
on_every_wire = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
declined = pytest.mark.parametrize(
    ("wire", "stop"),
    [(wire, stop) for wire in WIRES.values() for stop in ("refusal", "content_filter") if stop in wire.reasons],
    ids=str,
)


@streamed_or_not
@pytest.mark.parametrize("text", ["", " \n"])
@on_every_wire
def test_an_answer_without_a_word_may_be_asked_for_once_more(wire: Wire, text: str, streamed: bool) -> None:
    with pytest.raises(BadReply, match="The answer is empty: no text, no tool call") as told:
        wire.read("", text, "end", streamed)
    assert told.value.again == "once"


@streamed_or_not
@on_every_wire
def test_thinking_alone_is_an_empty_answer(wire: Wire, streamed: bool) -> None:
    with pytest.raises(BadReply, match="The answer is empty: the model thought, and then said nothing") as told:
        wire.read("Hm.", "", "end", streamed)
    assert told.value.again == "once"


@streamed_or_not
@on_every_wire
def test_thinking_that_used_up_the_limit_is_told_and_not_tried_again(wire: Wire, streamed: bool) -> None:
    with pytest.raises(BadReply, match="thinking used up the token limit") as told:
        wire.read("Hm.", "", "length", streamed)
    assert told.value.again == "never"


@streamed_or_not
@on_every_wire
def test_a_limit_that_leaves_no_room_for_a_word_is_told(wire: Wire, streamed: bool) -> None:
    with pytest.raises(BadReply, match="the token limit was reached before the first word") as told:
        wire.read("", "", "length", streamed)
    assert told.value.again == "never"


@streamed_or_not
@declined
def test_a_silent_refusal_is_one(wire: Wire, stop: str, streamed: bool) -> None:
    with pytest.raises(Refused) as told:
        wire.read("Hm.", "", stop, streamed)
    assert told.value.again == "never"


@streamed_or_not
@declined
def test_a_refusal_in_words_is_an_answer_that_is_marked(wire: Wire, stop: str, streamed: bool) -> None:
    response = wire.read("", "I can't", stop, streamed)

    assert (response.text, response.stop) == ("I can't", stop)


@streamed_or_not
@on_every_wire
def test_an_answer_that_was_cut_by_the_limit_is_marked(wire: Wire, streamed: bool) -> None:
    response = wire.read("Hm.", "Half of", "length", streamed)

    assert (response.text, response.stop) == ("Half of", "length")


@pytest.mark.parametrize(
    ("module", "body"),
    [
        (openai, {"choices": [{"message": {"audio": {"id": "a", "data": "aGk="}}, "finish_reason": "stop"}]}),
        (openai, {"choices": [{"message": {"images": [{"type": "image_url"}]}, "finish_reason": "stop"}]}),
        (
            anthropic,
            {
                "content": [{"type": "server_tool_use", "id": "s", "name": "f", "input": {}}],
                "stop_reason": "pause_turn",
            },
        ),
        (gemini, {"candidates": [{"content": {"parts": [{"executableCode": {"code": "1"}}]}, "finishReason": "STOP"}]}),
        (gemini, {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f"}}]}, "finishReason": "STOP"}]}),
    ],
)
def test_content_of_another_kind_is_an_answer(module: Any, body: Body) -> None:
    assert module.decode_response(body).text == ""


def test_what_openrouter_adds_to_thinking_is_no_answer() -> None:
    message = {"content": "", "reasoning": "Hm.", "reasoning_details": [{"type": "reasoning.text", "text": "Hm."}]}
    with pytest.raises(ProviderError, match="thought, and then said nothing"):
        openai.decode_response({"choices": [{"message": message, "finish_reason": "stop"}]})


def test_the_limit_that_was_used_up_is_named() -> None:
    body = {**of_openai("", "", "length"), "usage": {
        "prompt_tokens": 9, "completion_tokens": 512, "completion_tokens_details": {"reasoning_tokens": 512},
    }}  # fmt: skip
    with pytest.raises(BadReply, match="thinking used up the limit of 512 tokens"):
        openai.decode_response(body)
