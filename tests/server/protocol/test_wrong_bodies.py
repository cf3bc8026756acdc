"""Bodies that are wrong somewhere: each is answered, or refused in the API's own shape, and never breaks the server."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ai_battle.testing import FakeProviders

from ..serving import serving
from .speaking import PATHS, AnsweredQuestion, Speaker, speaking
from .test_messages_answers import TOOL
from .test_messages_requests import IMAGE, assistant, result, use, user

FUNCTION = {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": TOOL["input_schema"]}}
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
VALID: dict[str, dict[str, Any]] = {
    "messages": {
        "max_tokens": 64,
        "system": [{"type": "text", "text": "Be short.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            user("Hello?", IMAGE),
            assistant({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, use("toolu_1", "add", a=1)),
            user(result("toolu_1", [{"type": "text", "text": "one"}], is_error=False), "Go on."),
        ],
        "tools": [TOOL, {"type": "web_search_20250305", "name": "web_search"}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "output_config": {"effort": "low"},
        "metadata": {"user_id": "me"},
        "stop_sequences": ["END"],
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 5,
        "stream": False,
    },
    "chat": {
        "messages": [
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": [{"type": "text", "text": "Hello?"}], "name": "ann"},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "one"},
        ],
        "tools": [FUNCTION],
        "tool_choice": {"type": "function", "function": {"name": "add"}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}},
        "stream_options": {"include_usage": True},
        "max_tokens": 64,
        "temperature": 0.5,
        "stop": ["END"],
        "seed": 7,
        "logit_bias": {"42": 1},
        "parallel_tool_calls": False,
        "reasoning_effort": "low",
        "n": 1,
        "user": "me",
        "stream": False,
    },
    "responses": {
        "instructions": "Be short.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Hello?"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]},
            {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a": 1}'},
            {"type": "function_call_output", "call_id": "c1", "output": "one"},
        ],
        "tools": [{"type": "function", "name": "add", "description": "Adds.", "parameters": TOOL["input_schema"]}],
        "tool_choice": "auto",
        "text": {"format": {"type": "text"}},
        "reasoning": {"effort": "low", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 64,
        "temperature": 0.5,
        "metadata": {"a": "b"},
        "store": False,
        "stream": False,
    },
}
WRONG: list[Any] = [
    None,
    True,
    0,
    -1,
    7.5,
    10**30,
    10**400,
    "",
    "text",
    "\x00",
    "\ud800",
    [],
    [[]],
    [None],
    {},
    {"type": 7},
    {"type": "x"},
]
HOSTILE = [
    b'{"model": "claude-opus-4", "messages": ' + b"[" * 100_000,
    b'{"model": "claude-opus-4", "messages": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    b'{"model": "claude-opus-4", "input": ' + b'{"a":' * 5_000 + b"1" + b"}" * 5_000 + b"}",
    b'{"model": "claude-opus-4", "max_tokens": ' + b"9" * 100_000 + b"}",
    b'{"model": "claude-opus-4", "max_tokens": 1e999, "messages": [{"role": "user", "content": "?"}], "input": "?"}',
    b'{"model": "claude-opus-4", "max_tokens": NaN, "messages": [{"role": "user", "content": "?"}], "top_p": NaN}',
    b'{"model": "\\ud800", "max_tokens": 9, "messages": [{"role": "user", "content": "?"}], "input": "?"}',
    b'{"model": "' + b"m" * 1_000_000 + b'", "max_tokens": 9, "messages": [{"role": "user", "content": "?"}]}',
    b"\xff\xfe{}",
    b"\xef\xbb\xbf{}",
    b"[" * 1_000_000,
]

Path = tuple[str | int, ...]


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """The path of every value within."""
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*path, key))


def with_value(value: Any, path: Path, new: Any) -> Any:
    """A copy with another value at the end of the path, or without one where `new` is `...`."""
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    head, *rest = path
    if rest:
        copy[head] = with_value(copy[head], tuple(rest), new)
    elif new is ...:
        del copy[head]
    else:
        copy[head] = new
    return copy


def check(api: str, answered: AnsweredQuestion) -> None:
    """An answer, or an error that a client of this API can show; never a mistake of the server's."""
    if answered.status == 200:
        return
    assert 400 <= answered.status < 500, answered.body
    assert answered.body["error"]["message"]
    assert answered.body["error"]["type"]
    assert (answered.body.get("type") == "error") == (api == "messages")


@pytest.fixture
async def client(fakes: FakeProviders) -> AsyncIterator[Speaker]:
    async with serving(fakes, BIG_MODEL="openai/gpt-4o") as address, speaking(address) as client:
        yield client


@pytest.mark.parametrize("api", PATHS)
async def test_what_is_valid_is_answered(client: Speaker, api: str) -> None:
    answered = await client.post(api, VALID[api])

    assert answered.status == 200, answered.body


@pytest.mark.parametrize("new", [*WRONG, ...], ids=lambda new: repr(new)[:40])
@pytest.mark.parametrize("api", PATHS)
async def test_a_value_of_another_type_at_any_place(client: Speaker, api: str, new: Any) -> None:
    for path in places(VALID[api]):
        if (path, new) == (("stream",), True):
            continue  # which is not wrong
        body = with_value(VALID[api], path, new)
        answered = await client.post(api, json.dumps({"model": client.model, **body}).encode())
        try:
            check(api, answered)
        except AssertionError as error:
            raise AssertionError(f"{path} = {new!r}: {error}") from error


@pytest.mark.parametrize("body", HOSTILE, ids=lambda body: repr(body[:50]))
@pytest.mark.parametrize("api", PATHS)
async def test_hostile_json(client: Speaker, api: str, body: bytes) -> None:
    answered = await client.post(api, body)

    check(api, answered)


NOTHING = "There is nothing to answer: all messages are empty."
USE = {"type": "tool_use", "id": "a", "name": "add", "input": {}}
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("messages", {"messages": [user("Hello?")], "max_tokens": None}, "max_tokens is missing."),
    ("messages", {"messages": [user("Hello?")], "model": None}, "model must be the name of a model."),
    ("messages", {"messages": [{"role": "user", "content": " "}]}, NOTHING),
    ("messages", {"messages": [user()]}, NOTHING),
    ("chat", {"messages": [{"role": "user", "content": ""}]}, NOTHING),
    ("chat", {"messages": [{"role": "user", "content": []}]}, NOTHING),
    ("responses", {"input": ""}, NOTHING),
    ("responses", {"input": [{"type": "reasoning", "summary": []}]}, NOTHING),
    ("responses", {"input": [{"type": "whatever"}]}, NOTHING),
    *(
        ("responses", {"input": [{"role": "user", "content": [{"type": f"input_{kind}", "file_id": "f1"}]}]}, words)
        for kind, words in (("image", "its data, as image_url:"), ("file", "its data, as file_data or file_url:"))
    ),
    ("messages", {"messages": [user(USE)]}, "messages[0].content[0] is a tool call, which only the assistant"),
    ("messages", {"messages": [user("?")], "tools": [TOOL], "tool_choice": {"type": "tool"}}, "name is missing"),
    *(
        (api, {**asked, "tool_choice": choice}, "'absent' is not one of the tools.")
        for api, asked, choice in (
            ("messages", {"messages": [user("?")], "tools": [TOOL]}, {"type": "tool", "name": "absent"}),
            (
                "chat",
                {"messages": [{"role": "user", "content": "?"}], "tools": [FUNCTION]},
                {"type": "function", "function": {"name": "absent"}},
            ),
            (
                "responses",
                {"input": "?", "tools": [{"type": "function", "name": "add"}]},
                {"type": "function", "name": "absent"},
            ),
        )
    ),
]


@pytest.mark.parametrize(("api", "body", "words"), REFUSED, ids=[f"{api}-{words}" for api, _, words in REFUSED])
async def test_what_can_not_be_answered_is_told(client: Speaker, api: str, body: dict[str, Any], words: str) -> None:
    asked = {"model": client.model, "max_tokens": 9, **body}
    answered = await client.post(api, json.dumps(asked).encode())

    assert answered.status == 400
    assert words in answered.body["error"]["message"]


@st.composite
def mutants(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A valid body with up to four of its values replaced, removed, or taken from elsewhere in it."""
    api = draw(st.sampled_from(sorted(PATHS)))
    body = VALID[api]
    for _ in range(draw(st.integers(1, 4))):
        all_places = sorted(places(body), key=repr)
        if not all_places:
            break
        path, other = draw(st.sampled_from(all_places)), draw(st.sampled_from(all_places))
        transplant: Any = body
        for step in other:
            transplant = transplant[step]
        body = with_value(body, path, draw(st.sampled_from([*WRONG, ..., transplant])))
    return api, body


@settings(suppress_health_check=list(HealthCheck))
@given(st.lists(mutants(), min_size=10, max_size=10))
def test_bodies_with_several_mistakes(bodies: list[tuple[str, dict[str, Any]]]) -> None:
    async def ask_all() -> None:
        async with (
            FakeProviders() as fakes,
            serving(fakes, BIG_MODEL="openai/gpt-4o") as address,
            speaking(address) as client,
        ):
            for api, body in bodies:
                if body.get("stream") is not True:
                    check(api, await client.post(api, json.dumps({"model": client.model, **body}).encode()))

    asyncio.run(ask_all())
