"""Bodies of clients with a wrong value at some place: the error names the place, whatever the value."""

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.core.errors import ConfigError
from ai_battle.wire import anthropic, responses
from ai_battle.wire.openai import served as openai
from ai_battle.wire.requests import decode_body

from .mutants import mutants
from .values import json_values

SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}}
MESSAGES: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "temperature": 0.5,
    "stop_sequences": ["END"],
    "stream": True,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "system": [{"type": "text", "text": "Be brief."}],
    "tools": [{"name": "f", "description": "F.", "input_schema": SCHEMA}],
    "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": True},
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Hi"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eHg="}},
                {"type": "document", "source": {"type": "url", "url": "https://x.test"}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
                {"type": "tool_use", "id": "a", "name": "f", "input": {"x": "y"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "a",
                    "is_error": True,
                    "content": [{"type": "text", "text": "no"}],
                }
            ],
        },
    ],
}
CHAT: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "temperature": 0.5,
    "top_k": 40,
    "min_p": 0.1,
    "seed": 7,
    "stop": ["END"],
    "n": 1,
    "stream": True,
    "stream_options": {"include_usage": True},
    "parallel_tool_calls": False,
    "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}},
    "tools": [{"type": "function", "function": {"name": "f", "description": "F.", "parameters": SCHEMA}}],
    "tool_choice": {"type": "function", "function": {"name": "f"}},
    "messages": [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Hi"},
                {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "a", "content": "no"},
    ],
}
RESPONSES: dict[str, Any] = {
    "model": "m",
    "instructions": "Be brief.",
    "max_output_tokens": 9,
    "temperature": 0.5,
    "stream": True,
    "parallel_tool_calls": False,
    "reasoning": {"effort": "low"},
    "text": {"format": {"type": "json_schema", "name": "a", "schema": SCHEMA}},
    "tools": [
        {"type": "function", "name": "f", "description": "F.", "parameters": SCHEMA},
        {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "g"}]},
    ],
    "tool_choice": {"type": "function", "name": "f"},
    "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "x"},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "no"},
    ],
}
APIS: dict[str, tuple[Any, dict[str, Any]]] = {
    "messages": (anthropic, MESSAGES),
    "chat": (openai, CHAT),
    "responses": (responses, RESPONSES),
}
FREE = re.compile(r"schema\.|parameters\.|\.input\.|json_schema\.name|text\.format\.name")


def places(value: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The path of each value inside, what contains it, and its key there."""
    inside: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        place = f"{path}[{key}]" if isinstance(value, list) else f"{path}.{key}".removeprefix(".")
        yield place, value, key
        yield from places(inner, place)


class Wrong:
    """No type that JSON has."""


@pytest.mark.parametrize("api", APIS)
def test_a_wrong_type_is_told_by_its_place(api: str) -> None:
    """At every place of a body but inside of schemas and arguments, which are passed on as they came."""
    wire, right = APIS[api]
    wire.decode_request(right)
    for place, _, _ in list(places(right)):
        if FREE.search(place):
            continue
        body = copy.deepcopy(right)
        container, key = next((container, key) for path, container, key in places(body) if path == place)
        container[key] = Wrong()
        with pytest.raises(ConfigError) as caught:
            wire.decode_request(body)
        assert str(caught.value).startswith(f"{place} must be ")


@pytest.mark.parametrize(
    ("api", "path", "value", "says"),
    [
        ("messages", "messages[0].content[0].text", 5, "messages[0].content[0].text must be text."),
        ("messages", "messages[0].role", "narrator", "messages[0].role must be one of user, assistant, system"),
        ("messages", "messages", [], "messages must not be empty."),
        ("messages", "messages", None, "messages is missing."),
        ("messages", "messages[0].content", None, "messages[0].content is missing."),
        ("messages", "tools[0].input_schema", None, "tools[0].input_schema is missing."),
        ("messages", "tools[0].input_schema", "none", "tools[0].input_schema must be an object."),
        ("messages", "max_tokens", 0, "max_tokens must be a whole number above 0."),
        ("messages", "max_tokens", True, "max_tokens must be a whole number above 0."),
        ("messages", "temperature", float("nan"), "temperature must be a number."),
        ("messages", "messages[0].content[1].source.data", "ä", "messages[0].content[1].source.data must be base64."),
        ("messages", "messages[0].content[1].source.data", "abc", "source.data must be base64."),
        ("messages", "messages[2].content[0].tool_use_id", None, "content[0].tool_use_id is missing."),
        ("chat", "messages[2].tool_calls[0].function.name", 5, "messages[2].tool_calls[0].function.name must be text."),
        ("chat", "messages[0].content", None, "messages[0].content is missing."),
        ("chat", "tool_choice", "sometimes", "tool_choice must be one of auto, none, required, not 'sometimes'."),
        ("chat", "messages[1].content[1].image_url.url", "data:image/png;base64,abc", "image_url.url must be base64."),
        ("chat", "n", 2, "n must be 1: this server gives one answer."),
        ("responses", "input", [], "input must not be empty."),
        ("responses", "input[3].output", None, "input[3].output is missing."),
        ("responses", "tools[1].tools[0].name", 5, "tools[1].tools[0].name must be text."),
    ],
)
def test_what_is_wrong_is_told_in_words(api: str, path: str, value: Any, says: str) -> None:
    wire, right = APIS[api]
    body = copy.deepcopy(right)
    container, key = next((container, key) for place, container, key in places(body) if place == path)
    container[key] = value

    with pytest.raises(ConfigError, match=re.escape(says)):
        wire.decode_request(body)


@pytest.mark.parametrize("api", APIS)
@given(st.data())
def test_whatever_comes_is_a_request_or_an_error_of_ours(api: str, data: st.DataObject) -> None:
    wire, right = APIS[api]
    body = data.draw(mutants([right]) | json_values)
    try:
        request = wire.decode_request(body)
    except ConfigError:
        return
    openai.encode_request(request, "m")
    anthropic.encode_request(request, "m")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not JSON"),
        (b'{"model": ', "not JSON"),
        (b"[]", "must be a JSON object"),
        (b'{"model": "\xff"}', "not UTF-8: byte 11 is 0xff"),
        (b'{"a":' * 10_000, "recursion limit"),
        (b'{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}", "recursion limit"),
    ],
    ids=["empty", "cut off", "a list", "not UTF-8", "deep", "deep and whole"],
)
def test_bytes_that_are_no_body(body: bytes, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        decode_body(body)


def test_half_a_surrogate_pair_in_a_body_is_mended() -> None:
    assert decode_body(b'{"a": "x\\ud83d"}') == {"a": "x\ufffd"}
