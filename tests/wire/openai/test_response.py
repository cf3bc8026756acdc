"""Answers of Chat Completions are understood from every server; a body that is not an answer is not taken for one."""

from typing import Any

import pytest
from openai.types.chat import ChatCompletion
from pydantic_core import from_json

from ai_battle.core.errors import BadReply, ContextTooLong, ProviderError, RateLimited
from ai_battle.core.exchange import UNKNOWN_USAGE, ModelResponse, Stop, Usage
from ai_battle.core.messages import Message, Part, Text, Thinking, ToolCall
from ai_battle.wire.errors import http_error
from ai_battle.wire.openai import decode_response
from ai_battle.wire.openai.served import encode_response

from .bodies import CALL, PLAIN, answer

ADD = ToolCall("add", {"a": 1}, "call_a")
REFUSAL = Text("I can't.", extra={"openai": {"type": "refusal", "refusal": "I can't."}})


def assistant_message(*parts: Part) -> Message:
    return Message("assistant", parts)


def test_an_answer_of_openai_is_read_whole() -> None:
    response = decode_response(PLAIN)

    assert response == ModelResponse(
        assistant_message(Text("Hello!")),
        stop="end",
        usage=Usage(19, 10, cache_read_tokens=4, reasoning_tokens=3),
        model="gpt-4.1-2025-04-14",
        extra={
            "openai": {"id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT", "created": 1741569952, "service_tier": "default"}
        },
    )


@pytest.mark.parametrize(
    ("body", "message", "stop"),
    [
        (answer(content="Hi", finish_reason="length"), assistant_message(Text("Hi")), "length"),
        (answer(content="Hi", finish_reason="content_filter"), assistant_message(Text("Hi")), "content_filter"),
        (answer(content="Hi", finish_reason="eos"), assistant_message(Text("Hi")), "end"),
        (answer(content="Hi", finish_reason=None), assistant_message(Text("Hi")), "end"),
        (answer(content="Hi", finish_reason="tool_calls"), assistant_message(Text("Hi")), "end"),
        (answer(tool_calls=[CALL], finish_reason="tool_calls"), assistant_message(ADD), "tool_calls"),
        (answer(tool_calls=[CALL], finish_reason="stop"), assistant_message(ADD), "tool_calls"),
        (answer(refusal="I can't."), assistant_message(REFUSAL), "refusal"),
        (answer(content="Yes.", reasoning_content="Hm."), assistant_message(Thinking("Hm."), Text("Yes.")), "end"),
        (answer(content="Yes.", reasoning="Hm."), assistant_message(Thinking("Hm."), Text("Yes.")), "end"),
        (
            answer(content="Yes.", reasoning="Hm.", reasoning_content="Hm."),
            assistant_message(Thinking("Hm."), Text("Yes.")),
            "end",
        ),
        (answer(content=[{"type": "text", "text": "Hi"}]), assistant_message(Text("Hi")), "end"),
        (
            answer(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, "Yes."]),
            assistant_message(Thinking("Hm."), Text("Yes.")),
            "end",
        ),
    ],
    ids=str,
)
def test_servers_say_it_in_many_ways(body: dict[str, Any], message: Message, stop: Stop) -> None:
    response = decode_response(body)

    assert (response.message, response.stop) == (message, stop)


@pytest.mark.parametrize(
    ("function", "call"),
    [
        ({"name": "f", "arguments": ""}, ToolCall("f", {}, "c")),
        ({"name": "f"}, ToolCall("f", {}, "c")),
        ({"name": "f", "arguments": None}, ToolCall("f", {}, "c")),
        ({"name": "f", "arguments": {"a": 1}}, ToolCall("f", {"a": 1}, "c")),
        ({"name": "f", "arguments": '{"a": '}, ToolCall("f", {}, "c", malformed='{"a": ')),
        ({"name": "f", "arguments": "[1]"}, ToolCall("f", {}, "c", malformed="[1]")),
    ],
    ids=str,
)
def test_arguments_are_read_or_kept_as_malformed(function: dict[str, Any], call: ToolCall) -> None:
    assert decode_response(answer(tool_calls=[{"id": "c", "function": function}])).tool_calls == (call,)


@pytest.mark.parametrize("given", [None, "", "same"])
def test_every_call_has_an_id_of_its_own(given: str | None) -> None:
    calls = decode_response(answer(tool_calls=[CALL | {"id": given}, CALL | {"id": given}])).tool_calls

    assert len({call.id for call in calls}) == 2
    assert all(call.id for call in calls)


def test_what_only_this_api_knows_is_kept() -> None:
    body = answer(content="Hi", reasoning_details=[{"type": "reasoning.encrypted", "data": "x"}], audio=None)
    body["choices"][0]["logprobs"] = {"content": [{"token": "Hi", "logprob": -0.1}]}
    response = decode_response(body | {"provider": "Azure"})

    assert response.message.extra == {"openai": {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}}
    assert response.extra["openai"]["provider"] == "Azure"
    assert response.extra["openai"]["choice"] == {"logprobs": {"content": [{"token": "Hi", "logprob": -0.1}]}}


@pytest.mark.parametrize(
    ("given", "usage"),
    [
        (None, UNKNOWN_USAGE),
        ({"prompt_tokens": 5, "completion_tokens": 6}, Usage(5, 6)),
        ({"prompt_tokens": 5, "completion_tokens": None, "prompt_tokens_details": None}, Usage(5)),
        ({"prompt_tokens": 5, "completion_tokens": 6, "prompt_cache_hit_tokens": 4}, Usage(5, 6, 4)),
        ({"prompt_tokens": 5, "completion_tokens": 6, "cost": 0.25}, Usage(5, 6, cost_usd=0.25)),
    ],
    ids=str,
)
def test_usage_is_read_in_every_known_spelling(given: dict[str, Any] | None, usage: Usage) -> None:
    assert decode_response(answer(content="Hi", usage=given)).usage == usage


@pytest.mark.parametrize(
    "message", [{"content": ""}, {"content": " \n"}, {"content": None}, {"content": []}, {}], ids=str
)
def test_an_empty_answer_is_asked_for_once_more(message: dict[str, Any]) -> None:
    with pytest.raises(BadReply, match="empty") as caught:
        decode_response(answer(**message))

    assert caught.value.again == "once"


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        "hello",
        {"status": "ok"},
        {"choices": []},
        {"choices": "none"},
        {"choices": [{"text": "a completion of the old API"}]},
        {"choices": [None]},
        answer(content=5),
        answer(tool_calls=[{"id": "c"}]),
    ],
    ids=str,
)
def test_what_is_no_answer_is_never_taken_for_one(body: Any) -> None:
    with pytest.raises(BadReply, match="no answer of this API; is base_url right") as caught:
        decode_response(body)

    assert caught.value.again == "once"
    assert caught.value.raw


@pytest.mark.parametrize(
    ("body", "kind", "again"),
    [
        ({"error": {"message": "Provider returned error", "code": 502}}, ProviderError, "once"),
        ({"error": {"message": "slow", "code": 429}}, RateLimited, "once"),
        ({"error": {"message": "maximum context length is 9", "code": 400}}, ContextTooLong, "never"),
        (answer(finish_reason="error", content="") | {"error": {"message": "broke"}}, ProviderError, "once"),
        (answer(finish_reason="error", content=""), ProviderError, "once"),
    ],
    ids=str,
)
def test_an_error_with_200_is_an_error(body: Any, kind: type[ProviderError], again: str) -> None:
    with pytest.raises(ProviderError) as caught:
        decode_response(body)

    assert (type(caught.value), caught.value.again) == (kind, again)


RESPONSES = {
    "text": ModelResponse(assistant_message(Text("Hello")), usage=Usage(3, 4, 1, 0, 2), model="m"),
    "reasoning": ModelResponse(assistant_message(Thinking("Hm."), Text("Yes.")), model="m"),
    "calls": ModelResponse(assistant_message(Text("Wait."), ADD, ToolCall("f", {}, "b")), stop="tool_calls", model="m"),
    "a malformed call": ModelResponse(assistant_message(ToolCall("f", {}, "b", '{"a')), stop="tool_calls", model="m"),
    "cut": ModelResponse(assistant_message(Text("Hel")), stop="length", model="m"),
    "filtered": ModelResponse(assistant_message(Text("Hel")), stop="content_filter", model="m"),
    "refused": ModelResponse(assistant_message(REFUSAL), stop="refusal", model="m"),
    "cached": ModelResponse(assistant_message(Text("Hi")), usage=Usage(9, 8, 7, 6, 5), model="m"),
    "extra": ModelResponse(
        assistant_message(Text("Hi")),
        model="m",
        extra={"openai": {"id": "chatcmpl-1", "created": 5, "choice": {"logprobs": {"content": []}}}},
    ),
}


@pytest.mark.parametrize("response", RESPONSES.values(), ids=RESPONSES)
def test_a_response_survives_the_wire(response: ModelResponse) -> None:
    again = decode_response(from_json(encode_response(response, "m")))

    assert (again.message, again.stop, again.model) == (response.message, response.stop, response.model)
    assert again.usage == response.usage


@pytest.mark.parametrize("response", RESPONSES.values(), ids=RESPONSES)
def test_the_official_sdk_reads_what_is_written(response: ModelResponse) -> None:
    read = ChatCompletion.model_validate(from_json(encode_response(response, "asked-for")), strict=True)
    (choice,) = read.choices

    assert read.model == "asked-for"
    assert (choice.message.content or choice.message.refusal or "") == response.text
    assert len(choice.message.tool_calls or ()) == len(response.tool_calls)
    assert read.usage is not None
    assert read.usage.total_tokens == response.usage.total_tokens


def test_two_answers_have_different_ids() -> None:
    first, second = (from_json(encode_response(RESPONSES["text"], "m"))["id"] for _ in range(2))

    assert first.startswith("chatcmpl-")
    assert first != second


def test_an_answer_has_an_id_of_its_own_also_where_its_upstream_repeats_one() -> None:
    assert RESPONSES["extra"].extra["openai"]["id"] == "chatcmpl-1"
    assert from_json(encode_response(RESPONSES["extra"], "m"))["id"] != "chatcmpl-1"


def test_an_http_error_is_classified() -> None:
    error = http_error(429, b'{"error": {"message": "Rate limit reached"}}', {"Retry-After": "3"})

    assert isinstance(error, RateLimited)
    assert error.retry_after == 3
