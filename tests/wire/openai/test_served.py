"""A client of Chat Completions in front of other upstreams: what reaches them, and what comes back."""

import json
from typing import Any

import pytest

from ai_battle.core.exchange import Usage
from ai_battle.core.messages import Part, Text, Thinking, ToolCall
from ai_battle.wire import anthropic, openai
from ai_battle.wire.pairing import with_pairs

from ..telling import answer

TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}, "strict": True}}
SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}}
ASKED = {"role": "user", "content": "Hi"}


def sent(*messages: Any, to: Any = openai, **fields: Any) -> dict[str, Any]:
    """The body for the upstream."""
    request = with_pairs(openai.decode_request({"model": "small", "messages": list(messages or (ASKED,)), **fields}))
    body: dict[str, Any] = json.loads(to.encode_request(request, "upstream"))
    return body


def answered(*parts: Part, **fields: Any) -> dict[str, Any]:
    """The body for the client."""
    body: dict[str, Any] = json.loads(openai.encode_response(answer(*parts, **fields), "small"))
    return body


def test_f_basic() -> None:
    body = answered(Text("Grüße"), usage=Usage(20, 8, 5, 0, 3))
    (choice,) = body["choices"]

    assert (body["object"], body["model"]) == ("chat.completion", "small")
    assert (choice["index"], choice["finish_reason"]) == (0, "stop")
    assert choice["message"] == {"role": "assistant", "content": "Grüße", "refusal": None}
    assert body["usage"]["total_tokens"] == 28
    assert body["usage"]["prompt_tokens_details"] == {"cached_tokens": 5}


def test_f_tool() -> None:
    """Also where the upstream says `stop`."""
    (choice,) = answered(ToolCall("weather", {"city": "Köln"}, "call_1"), stop="end")["choices"]
    (call,) = choice["message"]["tool_calls"]

    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    assert (call["id"], call["type"], json.loads(call["function"]["arguments"])) == (
        "call_1",
        "function",
        {"city": "Köln"},
    )


def test_f_reasoning() -> None:
    assert answered(Thinking("Hm."), Text("Yes."))["choices"][0]["message"]["reasoning_content"] == "Hm."


@pytest.mark.parametrize(
    "field",
    [
        {"seed": 7},
        {"logit_bias": {"50256": -100}},
        {"response_format": {"type": "json_object"}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "mine", "schema": SCHEMA, "strict": True}}},
        {"service_tier": "flex"},
        {"logprobs": True, "top_logprobs": 2},
        {"a_field_of_tomorrow": {"x": [1]}},
        {"tools": [TOOL], "parallel_tool_calls": False},
        {"tools": [TOOL], "tool_choice": "required"},
    ],
    ids=lambda field: next(iter(field)),
)
def test_f_params(field: dict[str, Any]) -> None:
    """As the client put them, and nothing beside them."""
    body = sent(**field)

    assert {name: body[name] for name in field} == field
    assert body.keys() == {"model", "messages", *field}


def test_what_only_openai_knows_does_not_reach_an_anthropic_upstream() -> None:
    body = sent(to=anthropic, logit_bias={"1": 2}, service_tier="flex", max_tokens=9)
    assert body.keys() == {"model", "messages", "max_tokens"}


def test_one_call_at_a_time_is_asked_of_an_anthropic_upstream_in_its_own_words() -> None:
    body = sent(to=anthropic, tools=[TOOL], parallel_tool_calls=False)
    assert body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}


def test_a_schema_that_somebody_on_the_way_has_changed_is_sent_as_changed() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "mine", "schema": SCHEMA, "strict": True}}
    request = openai.decode_request({"messages": [ASKED], "response_format": form})
    other = {"type": "object"}
    changed = json.loads(openai.encode_request(_with_schema(request, other), "m"))["response_format"]

    assert changed["json_schema"]["schema"] == other
    assert json.loads(openai.encode_request(_with_schema(request, None), "m"))["response_format"] == {"type": "text"}


def _with_schema(request: Any, schema: Any) -> Any:
    return type(request)(request.messages, output_schema=schema, extra=request.extra)
