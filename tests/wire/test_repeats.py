"""Tools that come again are read once; what differs in anything is something else."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from ai_battle.core.errors import ConfigError
from ai_battle.wire import anthropic, openai
from ai_battle.wire._repeats import LONGEST, MOST, Repeats


def chat(*tools: Any) -> dict[str, Any]:
    functions = [{"type": "function", "function": tool} for tool in tools]
    return {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": functions}


def messages(*tools: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": [*tools]}


def schema(value: Any, name: str = "x") -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"default": value}}}


@pytest.mark.parametrize("read", [
    lambda schema: openai.decode_request(chat({"name": "f", "parameters": schema})),
    lambda schema: anthropic.decode_request(messages({"name": "f", "input_schema": schema})),
], ids=("chat", "messages"))  # fmt: skip
def test_tools_that_come_again_are_the_very_same(read: Any) -> None:
    once, again, other = read(schema("a")), read(schema("a")), read(schema("b"))
    assert again.tools is once.tools
    assert other.tools[0].schema == schema("b")


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (0, False), ({"a": 1, "b": 2}, {"b": 2, "a": 1})])
def test_what_python_takes_for_equal_is_sent_as_it_came(one: Any, other: Any) -> None:
    for value in (one, other, one):
        (tool,) = openai.decode_request(chat({"name": "f", "parameters": schema(value)})).tools
        assert repr(tool.schema) == repr(schema(value))


def test_a_tool_is_sent_as_before_when_it_is_sent_again() -> None:
    for wire, body in ((openai, chat({"name": "f", "parameters": schema("a")})),
                       (anthropic, messages({"name": "f", "input_schema": schema("a")}))):  # fmt: skip
        first, second = (wire.encode_request(wire.decode_request(body), "m") for _ in range(2))
        assert first == second
        assert b'"default":"a"' in second


def test_the_rest_of_a_body_with_known_tools_is_checked() -> None:
    body = chat({"name": "f"})
    openai.decode_request(body)
    with pytest.raises(ConfigError, match=r"messages\[0\]"):
        openai.decode_request({**body, "messages": [7]})
    with pytest.raises(ConfigError, match="none of the tools"):
        openai.decode_request({**body, "tool_choice": {"type": "function", "function": {"name": "g"}}})


def test_tools_that_are_wrong_stay_wrong() -> None:
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"tools\[0\]"):
            openai.decode_request(chat({"name": 7}))


def test_only_so_much_is_remembered() -> None:
    def read(repeats: Repeats[int], body: Any, make: Callable[[], int]) -> int:
        _, made_by = repeats.seen(body)
        return made_by(make)

    repeats: Repeats[int] = Repeats()
    for number in range(MOST + 1):
        read(repeats, {"tools": "x" * (number + 1)}, partial(int, number))
    read(repeats, {"tools": "x" * LONGEST}, lambda: -1)

    assert read(repeats, {"tools": "x" * (MOST + 1)}, lambda: -2) == MOST
    assert read(repeats, {"tools": "x"}, lambda: -2) == -2
    assert read(repeats, {"tools": "x" * LONGEST}, lambda: -2) == -2


@pytest.mark.parametrize(("wire", "body"), [(openai, chat), (anthropic, messages)], ids=("chat", "messages"))
def test_a_message_that_comes_again_is_the_very_same_and_is_sent_as_before(wire: Any, body: Any) -> None:
    first, second = wire.decode_request(body()), wire.decode_request(body())
    assert first.messages[0] is second.messages[0]
    assert wire.encode_request(first, "m") == wire.encode_request(second, "m")
