"""Two calls that ask for the same have the same canonical text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.core.messages import ToolCall
from ai_battle.wire.dialects.schemas import call_key, canonical, with_defaults

SCHEMA = {
    "type": "object",
    "properties": {
        "command": {"type": "string"},
        "limit": {"type": "integer", "default": 10},
        "options": {"type": "object", "properties": {"deep": {"type": "boolean", "default": False}}},
    },
}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"b": 1, "a": {"d": 2, "c": 3}}, {"a": {"c": 3, "d": 2}, "b": 1}),
        ({"n": 1}, {"n": 1.0}),
        ({"n": [0, -0.0]}, {"n": [-0.0, 0]}),
        (json.loads('{ "a" :\n [1,2] }'), json.loads('{"a":[1.0,2]}')),
        ((1, 2), [1, 2]),
    ],
    ids=str,
)
def test_what_means_the_same_reads_the_same(one: Any, other: Any) -> None:
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [({"n": 1}, {"n": True}), ({"n": 1}, {"n": "1"}), ([1, 2], [2, 1]), ({"a": None}, {}), ("a ", "a"), (0.5, 0.50001)],
    ids=str,
)
def test_what_differs_reads_differently(one: Any, other: Any) -> None:
    assert canonical(one) != canonical(other)


def test_a_default_that_is_written_and_one_that_is_left_out_are_the_same_call() -> None:
    short = ToolCall("exec", {"command": "ls", "options": {}})
    long = ToolCall("exec", {"options": {"deep": False}, "limit": 10.0, "command": "ls"}, id="call_2")
    assert call_key(short, SCHEMA) == call_key(long, SCHEMA)
    assert call_key(short, SCHEMA) != call_key(ToolCall("run", short.arguments), SCHEMA)


def test_defaults_are_copies() -> None:
    schema = {"type": "object", "properties": {"list": {"default": []}}}
    with_defaults({}, schema)["list"].append(1)
    assert with_defaults({}, schema) == {"list": []}


def test_calls_whose_arguments_could_not_be_read_are_told_apart_by_their_text() -> None:
    assert call_key(ToolCall("exec", malformed="{ls")) == call_key(ToolCall("exec", malformed=" {ls\n"))
    assert call_key(ToolCall("exec", malformed="{ls")) != call_key(ToolCall("exec", malformed="{cat"))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_any_json_has_a_canonical_text_that_says_the_same(value: Any) -> None:
    assert json.loads(canonical(value)) == value


def test_nesting_without_end_is_no_crash() -> None:
    value: Any = 1
    for _ in range(50_000):
        value = [value]
    assert canonical(value)
