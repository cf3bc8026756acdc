"""Bodies as they come over HTTP: what came before is read once, and what differs in anything is something else."""

import json
from typing import Any

import pytest

from ai_battle.core.errors import ConfigError
from ai_battle.core.exchange import ModelRequest
from ai_battle.wire import anthropic
from ai_battle.wire.bodies import MAX_PIECE_BYTES, DecodeCache, PatternSearch
from ai_battle.wire.openai import served as openai
from ai_battle.wire.requests import decode_body, paired_messages

WIRES: dict[str, Any] = {"chat": openai, "messages": anthropic}
both = pytest.mark.parametrize("api", WIRES)
CHAT_CALLS: list[dict[str, Any]] = [
    {"role": "user", "content": "Add."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": id_, "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}} for id_ in "ab"
        ],
    },
    {"role": "tool", "tool_call_id": "a", "content": "one"},
    {"role": "tool", "tool_call_id": "b", "content": "two"},
]
MESSAGES_CALLS: list[dict[str, Any]] = [
    {"role": "user", "content": "Add."},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "add", "input": {"a": 1}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "one"}]},
]
CALLS: dict[str, list[dict[str, Any]]] = {"chat": CHAT_CALLS, "messages": MESSAGES_CALLS}


def body(*messages: Any, **fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages) or [{"role": "user", "content": "Hi"}], **fields}


def tool(api: str, name: Any = "f", schema: Any = None) -> dict[str, Any]:
    schema = schema or {"type": "object"}
    if api == "messages":
        return {"name": name, "input_schema": schema}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


def read(api: str, asked: Any) -> ModelRequest:
    request: ModelRequest = WIRES[api].decode_request(decode_body(json.dumps(asked).encode()))
    return request


def with_default(value: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": {"default": value}}}


@both
def test_a_body_of_bytes_is_the_same_request_as_its_object(api: str) -> None:
    asked = body(*CALLS[api], tools=[tool(api)], max_tokens=5)
    assert read(api, asked) == WIRES[api].decode_request(asked)


@both
def test_tools_that_come_again_and_again_are_the_very_same(api: str) -> None:
    _, once, again, other = (read(api, body(tools=[tool(api, schema=with_default(value))])) for value in "aaab")
    assert again.tools is once.tools
    assert other.tools[0].schema == with_default("b")


@both
def test_messages_that_come_again_and_again_are_the_very_same_and_are_sent_as_before(api: str) -> None:
    _, first, second = (read(api, body(*CALLS[api])) for _ in range(3))
    parts = ([part for message in request.messages for part in message.parts] for request in (first, second))
    assert all(one is other for one, other in zip(*parts, strict=True))
    for wire in (openai, anthropic):
        assert wire.encode_request(first, "m") == wire.encode_request(second, "m")


@both
def test_a_result_that_comes_again_belongs_to_the_call_of_its_own_conversation(api: str) -> None:
    other = json.loads(json.dumps(CALLS[api]).replace("add", "subtract"))
    for asked, name in ((CALLS[api], "add"), (other, "subtract"), (CALLS[api], "add")):
        *_, last = read(api, body(*asked)).messages
        assert {result.call.name for result in last.tool_results} == {name}
    *_, orphan = read(api, body(*[m for m in CALLS[api] if m["role"] != "assistant"])).messages
    assert orphan.tool_results[0].call.name == ""


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (0, False), ({"a": 1, "b": 2}, {"b": 2, "a": 1})])
def test_what_python_takes_for_equal_is_sent_as_it_came(one: Any, other: Any) -> None:
    for value in (one, other, one):
        (found,) = read("chat", body(tools=[tool("chat", schema=with_default(value))])).tools
        assert repr(found.schema) == repr(with_default(value))


@both
def test_the_rest_of_a_body_with_known_tools_is_checked(api: str) -> None:
    read(api, body(tools=[tool(api)]))
    with pytest.raises(ConfigError, match=r"messages\[1\]"):
        read(api, body({"role": "user", "content": "Hi"}, 7, tools=[tool(api)]))
    choice = {"type": "tool", "name": "g"} if api == "messages" else {"type": "function", "function": {"name": "g"}}
    with pytest.raises(ConfigError, match="not one of the tools"):
        read(api, body(tools=[tool(api)], tool_choice=choice))


@both
def test_what_is_wrong_stays_wrong(api: str) -> None:
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"tools\[0\]"):
            read(api, body(tools=[tool(api, name=7)]))
        with pytest.raises(ConfigError, match=r"messages\[0\]\.role"):
            read(api, body({"role": 7, "content": "Hi"}))


@both
def test_bytes_in_a_message_that_are_no_json_are_told_as_such(api: str) -> None:
    with pytest.raises(ConfigError, match="not JSON"):
        WIRES[api].decode_request(decode_body(b'{"model": "m", "messages": [{"role": "user", "content": nan}]}'))


def test_only_so_many_bytes_are_remembered() -> None:
    cache: DecodeCache[int] = DecodeCache(most=3)
    for number, raw in enumerate((b"a", b"b", b"c", b"d", b"x" * (MAX_PIECE_BYTES + 1))):
        for _ in range(2):
            cache.remember(raw, number, len(raw))
        cache.get(b"b")

    assert [cache.get(raw) for raw in (b"a", b"b", b"c", b"d", b"x" * (MAX_PIECE_BYTES + 1))] == [None, 1, 2, 3, None]
    for _ in range(2):
        cache.remember(b"e", 4, 1)
    assert cache.get(b"b") is None


def test_what_comes_once_is_not_remembered() -> None:
    cache: DecodeCache[int] = DecodeCache()
    assert (cache.remember(b"a", 1, 1), cache.get(b"a")) == (1, None)
    assert (cache.remember(b"a", 1, 1), cache.get(b"a")) == (1, 1)


LONG = "A file of many words. " * 100


def long_talk(api: str, rounds: int, name: str = "read") -> list[dict[str, Any]]:
    """So many calls with their results, each behind what is said to it."""
    calls = json.loads(json.dumps(CALLS[api]).replace('"add"', f'"{name}"'))
    said = [json.loads(json.dumps(calls).replace('"a"', f'"a{number}"')) for number in range(rounds)]
    return [message for each in said for message in (*each, {"role": "assistant", "content": LONG})]


@both
def test_a_talk_that_goes_on_is_read_as_one_that_was_never_met(api: str) -> None:
    whole = long_talk(api, 8)
    for end in range(1, len(whole) + 1):
        assert read(api, body(*whole[:end])) == WIRES[api].decode_request(body(*whole[:end]))


@both
def test_of_a_talk_that_goes_on_what_came_before_is_the_very_same(api: str) -> None:
    whole = long_talk(api, 8)
    for _ in range(3):
        before = read(api, body(*whole[:-2])).messages
    after = read(api, body(*whole)).messages
    assert all(one is other for one, other in zip(before[:-1], after, strict=False))


@both
def test_talks_that_begin_alike_and_go_on_otherwise_are_kept_apart(api: str) -> None:
    one, other = long_talk(api, 8), [*long_talk(api, 6), *long_talk(api, 2, "write")]
    for said in (one, other, one[:-1], other[:-1], [*one[:20], *other[20:]]):
        assert read(api, body(*said)) == WIRES[api].decode_request(body(*said))


@both
def test_the_place_of_a_mistake_behind_a_known_talk_is_counted_from_its_beginning(api: str) -> None:
    whole = long_talk(api, 8)
    for _ in range(2):
        read(api, body(*whole))
    with pytest.raises(ConfigError, match=rf"messages\[{len(whole)}\]"):
        read(api, body(*whole, {"role": 7, "content": "Hi"}))


@both
def test_results_that_fit_no_call_are_put_right_also_behind_a_known_talk(api: str) -> None:
    whole = long_talk(api, 8)
    broken = [message for place, message in enumerate(whole) if place != 1]  # a call is missing
    for said in (whole, broken, broken[:-2], broken):
        head, fields = WIRES[api].decode_head(body(*said)), decode_body(json.dumps(body(*said)).encode())
        repaired = paired_messages(WIRES[api].decode_request(body(*said)).messages)
        assert WIRES[api].add_messages(head, fields, paired=True).messages == repaired


@both
def test_bodies_that_differ_in_one_field_are_not_taken_for_each_other(api: str) -> None:
    for fields in (
        {"temperature": 0.5},
        {"temperature": 1.0},
        {"temperature": 0.5, "top_p": 0.5},
        {"temperature": 0.5},
    ):
        for _ in range(3):
            assert read(api, body(**fields)).options == fields


def test_what_a_pattern_finds_is_found_wherever_it_stands_behind_a_known_beginning() -> None:
    search = PatternSearch(rb'"developer', 10)
    talk = json.dumps(long_talk("chat", 12)).encode()
    for _ in range(2):
        assert not search.finds(talk)
    for place in range(0, len(talk), 997):
        assert search.finds(talk[:place] + b'"developer' + talk[place:])
    assert not search.finds(talk + talk)
