"""Answers of Ollama, whole and streamed, are understood, and a cut one is never taken for a whole one."""

from dataclasses import replace
from typing import Any

import pytest

from ai_battle.core.errors import BadReply, ProviderError
from ai_battle.core.events import Event, TextDelta, ThinkingDelta, ToolCallDelta
from ai_battle.core.exchange import ModelResponse, Stop, Usage
from ai_battle.core.messages import Message, Part, Text, Thinking, ToolCall
from ai_battle.wire.errors import http_error
from ai_battle.wire.ollama import StreamReader, decode_response

from .bodies import CALL, LAST, PLAIN, answer, chunk, lines

EVERYTHING = (
    chunk(thinking="Hm"),
    chunk(thinking="m."),
    chunk(content="Let 😀"),
    chunk(content="me\u2028add\u0085."),
    chunk(tool_calls=[{"id": "call_a", **CALL}]),
    chunk(tool_calls=[{"id": "call_b", "function": {"index": 0, "name": "clock", "arguments": {}}}]),
    LAST,
)


def read(*chunks: bytes) -> tuple[list[Event], ModelResponse]:
    reader = StreamReader()
    heard = [event for chunk in chunks for event in reader.feed(chunk)]
    return heard, reader.finish()


def failure(*chunks: bytes) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        read(*chunks)
    return caught.value


def assistant_message(*parts: Part) -> Message:
    return Message("assistant", parts)


class TestWhole:
    def test_an_answer_is_read_whole(self) -> None:
        response = decode_response(PLAIN)

        assert replace(response, extra={}) == ModelResponse(
            assistant_message(Text("Hello!")), usage=Usage(26, 282), model="llama3.2"
        )
        assert response.extra["ollama"]["load_duration"] == 1334875

    @pytest.mark.parametrize(
        ("body", "message", "stop"),
        [
            (answer("length", content="Hi"), assistant_message(Text("Hi")), "length"),
            (answer("stop", content="Hi", thinking="Hm."), assistant_message(Thinking("Hm."), Text("Hi")), "end"),
            (
                answer("stop", tool_calls=[{"id": "c", **CALL}]),
                assistant_message(ToolCall("add", {"a": 1}, "c")),
                "tool_calls",
            ),
            (
                answer("stop", tool_calls=[{"id": "c", "function": {"name": "f", "arguments": None}}]),
                assistant_message(ToolCall("f", {}, "c")),
                "tool_calls",
            ),
            (
                answer("stop", tool_calls=[{"id": "c", "function": {"name": "f", "arguments": "{a"}}]),
                assistant_message(ToolCall("f", {}, "c", malformed="{a")),
                "tool_calls",
            ),
        ],
        ids=str,
    )
    def test_its_parts_and_its_end_are_told(self, body: dict[str, Any], message: Message, stop: Stop) -> None:
        response = decode_response(body)

        assert (response.message, response.stop) == (message, stop)

    def test_calls_without_ids_get_their_own(self) -> None:
        calls = decode_response(answer(tool_calls=[CALL, CALL])).tool_calls

        assert len({call.id for call in calls} - {""}) == 2

    @pytest.mark.parametrize("body", [{}, [], "hello", {"choices": []}, {"message": 5, "done": True}], ids=str)
    def test_what_is_no_answer_is_never_taken_for_one(self, body: Any) -> None:
        with pytest.raises(BadReply, match="no answer of this API"):
            decode_response(body)

    def test_an_answer_that_is_not_done_is_a_cut_one(self) -> None:
        with pytest.raises(BadReply, match="cut after 2 characters"):
            decode_response(chunk(content="Hi"))

    def test_an_error_with_200_is_an_error(self) -> None:
        with pytest.raises(ProviderError, match="model runner has unexpectedly stopped") as caught:
            decode_response({"error": "model runner has unexpectedly stopped"})

        assert caught.value.again == "once"

    def test_an_http_error_is_classified(self) -> None:
        error = http_error(404, b'{"error":"model \'phi9\' not found"}', {})

        assert (str(error), error.again) == ("HTTP 404: model 'phi9' not found", "never")


class TestStreamed:
    def test_everything_that_a_stream_brings_is_heard_and_kept(self) -> None:
        heard, response = read(lines(*EVERYTHING))

        assert heard == [
            ThinkingDelta("Hm"),
            ThinkingDelta("m."),
            TextDelta("Let 😀"),
            TextDelta("me\u2028add\u0085."),
            ToolCallDelta(0, "call_a", "add", '{"a":1}'),
            ToolCallDelta(1, "call_b", "clock", "{}"),
        ]
        text = Text("Let 😀me\u2028add\u0085.")
        calls = (ToolCall("add", {"a": 1}, "call_a"), ToolCall("clock", {}, "call_b"))
        assert replace(response, extra={}) == ModelResponse(
            assistant_message(Thinking("Hmm."), text, *calls), stop="tool_calls", usage=Usage(26, 282), model="llama3.2"
        )

    def test_the_reader_says_when_the_rest_may_be_left_unread(self) -> None:
        reader = StreamReader()
        reader.feed(lines(chunk(content="Hi")))
        assert (reader.is_done, reader.text) == (False, "Hi")

        reader.feed(lines(LAST))
        assert reader.is_done

    def test_arguments_that_come_as_text_are_read(self) -> None:
        """Relays of other APIs send them so."""
        call = {"function": {"name": "add", "arguments": '{"a": 1}'}}
        _, response = read(lines(chunk(tool_calls=[call]), LAST))

        assert [call.arguments for call in response.tool_calls] == [{"a": 1}]

    def test_an_error_inside_of_a_stream_is_an_error(self) -> None:
        error = failure(lines(chunk(content="Hel"), {"error": "an error was encountered while running the model"}))

        assert (error.again, error.partial) == ("always", "Hel")
        assert "while running the model" in str(error)

    def test_ids_are_made_where_they_are_missing_or_the_same(self) -> None:
        twice = [{"id": "a", **CALL}, {"id": "a", **CALL}, CALL]
        heard, response = read(lines(chunk(tool_calls=twice), LAST))
        ids = [call.id for call in response.tool_calls]

        assert ids[0] == "a"
        assert len(set(ids) - {""}) == 3
        assert [event.id for event in heard if isinstance(event, ToolCallDelta)] == ids
