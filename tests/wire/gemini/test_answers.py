"""Answers, streams and errors of Google's generateContent."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from google.genai import types

from ai_battle.core.errors import BadReply, ContextTooLong, ProviderError, RateLimited, Refused
from ai_battle.core.events import Event, TextDelta, ThinkingDelta, ToolCallDelta
from ai_battle.core.exchange import ModelRequest, ModelResponse, Stop, Usage
from ai_battle.core.messages import Text, Thinking, user
from ai_battle.wire import gemini
from ai_battle.wire.errors import http_error


def answers(*parts: dict[str, Any], reason: str | None = None, **rest: Any) -> dict[str, Any]:
    candidate = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    if reason:
        candidate["finishReason"] = reason
    return {"candidates": [candidate], "modelVersion": "gemini-3.8-flash", "responseId": "r1", **rest}


USAGE = {
    "promptTokenCount": 12,
    "candidatesTokenCount": 6,
    "totalTokenCount": 27,
    "cachedContentTokenCount": 4,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 12}],
    "thoughtsTokenCount": 9,
}
SIGNED = {"thoughtSignature": "c2ln"}
CALL = {"functionCall": {"name": "get_weather", "args": {"city": "Bern"}}, **SIGNED}
ANSWER = answers({"text": "Hm.", "thought": True}, {"text": "Hello!"}, CALL, reason="STOP", usageMetadata=USAGE)


def test_an_answer_of_the_api_is_read() -> None:
    response = gemini.decode_response(ANSWER)

    assert types.GenerateContentResponse.model_validate(ANSWER).text == response.text == "Hello!"
    assert response.message.thinking == "Hm."
    assert response.tool_calls[0].arguments == {"city": "Bern"}
    assert response.tool_calls[0].id
    assert (response.stop, response.model) == ("tool_calls", "gemini-3.8-flash")
    assert response.usage == Usage(12, 15, cache_read_tokens=4, reasoning_tokens=9)


def test_what_the_model_said_goes_back_with_its_signatures() -> None:
    signed = answers({"text": "Hello", **SIGNED}, {"executableCode": {"code": "1"}}, CALL, reason="STOP")
    request = ModelRequest((user("Hi"), gemini.decode_response(signed).message))
    parts = json.loads(gemini.encode_request(request, "gemini-3.8-flash"))["contents"][1]["parts"]

    assert parts[:2] == [{"text": "Hello", **SIGNED}, {"executableCode": {"code": "1"}}]
    assert parts[2]["thoughtSignature"] == "c2ln"


def test_a_text_in_several_parts_is_one_and_a_signed_one_stays_apart() -> None:
    thoughts, words = (
        ({"text": "H", "thought": True}, {"text": "m.", "thought": True}),
        ({"text": "He"}, {"text": "llo"}),
    )
    response = gemini.decode_response(answers(*thoughts, *words, {"text": "!", **SIGNED}, CALL, {"text": "Bye"}))

    thinking, text, signed, call, last = response.message.parts
    assert (thinking, text, last) == (Thinking("Hm."), Text("Hello"), Text("Bye"))
    assert isinstance(signed, Text)
    assert signed.extra
    assert call == response.tool_calls[0]


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("STOP", "end"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("SPII", "content_filter"),
        ("CONTINUATION", "pause"),
        ("OTHER", "end"),
    ],
)
def test_every_finish_reason_is_known(reason: str, stop: Stop) -> None:
    assert gemini.decode_response(answers({"text": "Hi"}, reason=reason)).stop == stop


@pytest.mark.parametrize(
    ("body", "error", "again", "says"),
    [
        (answers(reason="STOP"), BadReply, "once", "empty"),
        (answers({"text": " "}, reason="OTHER"), BadReply, "once", "empty"),
        (answers({"text": "hm", "thought": True}, reason="STOP"), BadReply, "once", "empty"),
        ({"usageMetadata": USAGE, "modelVersion": "m"}, BadReply, "once", "empty"),
        ({"candidates": [{"finishReason": "SAFETY", "index": 0}]}, Refused, "never", "SAFETY"),
        ({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, Refused, "never", "PROHIBITED_CONTENT"),
        (answers(reason="MALFORMED_FUNCTION_CALL"), BadReply, "once", "MALFORMED_FUNCTION_CALL"),
        ({}, BadReply, "once", "no answer of this API"),
        ({"candidates": [{"content": {"parts": [{"functionCall": {}}]}}]}, BadReply, "once", "no answer of this API"),
        ({"error": {"code": 503, "message": "Sorry", "status": "UNAVAILABLE"}}, ProviderError, "once", "Sorry"),
    ],
)
def test_what_is_no_answer_is_never_taken_for_one(
    body: dict[str, Any], error: type[ProviderError], again: str, says: str
) -> None:
    with pytest.raises(error, match=says) as caught:
        gemini.decode_response(body)

    assert caught.value.again == again


@pytest.mark.parametrize(
    ("status", "kind", "message", "error", "again"),
    [
        (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", ProviderError, "never"),
        (400, "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum number", ContextTooLong, "never"),
        (403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers", ProviderError, "never"),
        (404, "NOT_FOUND", "models/gemini-0 is not found for API version v1beta", ProviderError, "never"),
        (429, "RESOURCE_EXHAUSTED", "Quota exceeded for metric", RateLimited, "always"),
        (500, "INTERNAL", "An internal error has occurred", ProviderError, "always"),
        (503, "UNAVAILABLE", "The model is overloaded.", ProviderError, "always"),
    ],
)
def test_errors_of_the_api_are_of_our_tree(
    status: int, kind: str, message: str, error: type[ProviderError], again: str
) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "36s"}] if status == 429 else []
    body = json.dumps({"error": {"code": status, "message": message, "status": kind, "details": details}}).encode()
    said = http_error(status, body, {})

    assert type(said) is error
    told = 401 if "API key not valid" in message else status
    assert (said.again, said.status, said.retry_after) == (again, told, 36.0 if status == 429 else None)
    assert message in str(said)


STREAM = (
    answers({"text": "Let me ", "thought": True}, usageMetadata={"promptTokenCount": 12}),
    answers({"text": "think.", "thought": True}),
    answers({"text": "Hello"}),
    answers({"text": " wörld\u2028"}, {"text": "!"}),
    answers({"text": "", **SIGNED}),
    answers(CALL),
    answers({"functionCall": {"name": "now"}}),
    answers({"text": ""}, reason="STOP", usageMetadata=USAGE),
)


def body(*events: dict[str, Any], newline: str = "\r\n") -> bytes:
    return "".join(f"data: {json.dumps(event)}{newline}{newline}" for event in events).encode()


def read(chunks: Iterable[bytes]) -> tuple[list[Event], ModelResponse]:
    reader = gemini.StreamReader()
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    return events, reader.finish()


def test_a_stream_of_everything_is_put_together() -> None:
    events, response = read([body(*STREAM)])
    first, second = response.tool_calls

    assert events == [
        ThinkingDelta("Let me "),
        ThinkingDelta("think."),
        TextDelta("Hello"),
        TextDelta(" wörld\u2028"),
        TextDelta("!"),
        ToolCallDelta(0, first.id, "get_weather", '{"city":"Bern"}'),
        ToolCallDelta(1, second.id, "now", "{}"),
    ]
    assert response.message.parts[:3] == (
        Thinking("Let me think."),
        Text("Hello wörld\u2028!"),
        Text("", extra={"gemini": SIGNED}),
    )
    assert first.extra == {"gemini": SIGNED}
    assert (first.arguments, second.arguments) == ({"city": "Bern"}, {})
    assert first.id != second.id
    assert response.stop == "tool_calls"
    assert response.usage == Usage(12, 15, cache_read_tokens=4, reasoning_tokens=9)


@pytest.mark.parametrize("event", STREAM, ids=range(len(STREAM)))
def test_this_stream_is_one_to_the_official_client(event: dict[str, Any]) -> None:
    assert types.GenerateContentResponse.model_validate(event).model_version == "gemini-3.8-flash"


def test_a_finish_reason_in_each_piece_ends_nothing() -> None:
    """Some models say STOP with every few words; and the counts may come after the last one."""
    pieces = [answers({"text": word}, reason="STOP") for word in ("One", " two")]
    reader = gemini.StreamReader()
    reader.feed(body(pieces[0]))

    assert (reader.whole, reader.is_done) == (True, False)
    reader.feed(body(pieces[1], {"usageMetadata": USAGE}))
    assert (reader.finish().text, reader.finish().usage.input_tokens) == ("One two", 12)


def test_a_blocked_prompt_ends_a_stream() -> None:
    with pytest.raises(Refused, match="The prompt was blocked: SAFETY"):
        read([body({"promptFeedback": {"blockReason": "SAFETY"}, "modelVersion": "m"})])


def test_a_filtered_answer_keeps_its_text_and_is_marked() -> None:
    _, response = read([body(answers({"text": "Well"}), {"candidates": [{"finishReason": "SAFETY", "index": 0}]})])

    assert (response.text, response.stop) == ("Well", "content_filter")


def test_an_error_in_mid_stream_is_an_error_that_keeps_what_was_said() -> None:
    reader = gemini.StreamReader()
    reader.feed(body(*STREAM[:3]))
    with pytest.raises(ProviderError, match="overloaded") as caught:
        reader.feed(body({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}))

    assert (caught.value.again, caught.value.partial, caught.value.status) == ("always", "Hello", 503)
