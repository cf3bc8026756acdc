"""A client of Chat Completions in front of other upstreams: what reaches them."""

import json
from typing import Any

import pytest

from ai_battle.wire import anthropic
from ai_battle.wire.openai import served as openai
from ai_battle.wire.requests import with_pairs

TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}, "strict": True}}
SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}}
ASKED = {"role": "user", "content": "Hi"}


def upstream_body(*messages: Any, to: Any = openai, **fields: Any) -> dict[str, Any]:
    """The body for the upstream."""
    request = with_pairs(openai.decode_request({"model": "small", "messages": list(messages or (ASKED,)), **fields}))
    body: dict[str, Any] = json.loads(to.encode_request(request, "upstream"))
    return body


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
    body = upstream_body(**field)

    assert {name: body[name] for name in field} == field
    assert body.keys() == {"model", "messages", *field}


def test_what_only_openai_knows_does_not_reach_an_anthropic_upstream() -> None:
    body = upstream_body(to=anthropic, logit_bias={"1": 2}, service_tier="flex", max_tokens=9)
    assert body.keys() == {"model", "messages", "max_tokens"}


def test_one_call_at_a_time_is_asked_of_an_anthropic_upstream_in_its_own_words() -> None:
    body = upstream_body(to=anthropic, tools=[TOOL], parallel_tool_calls=False)
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
