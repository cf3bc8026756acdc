"""JSON is read and written whatever its characters are."""

import json
from types import MappingProxyType

import pytest
from hypothesis import given

from ai_battle.wire.bodies import dumps, loads, read_arguments

from .values import json_values


@given(json_values)
def test_a_value_comes_back_as_it_was(value: object) -> None:
    assert loads(dumps(value)) == value


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b'"a\xffb"', "a\ufffdb"),
        (b'"\xe2\x82"', "\ufffd"),
        (rb'"\ud83d!"', "\ufffd!"),
        (rb'"\ud83d\ude00 \ud83d"', "😀 \ufffd"),
        (rb'"\\ud83d \ude00"', "\\ud83d \ufffd"),
    ],
)
def test_broken_characters_become_the_replacement_character(raw: bytes, text: str) -> None:
    assert loads(raw) == text


def test_half_a_pair_in_a_text_is_written_as_the_replacement_character() -> None:
    assert json.loads(dumps({"a": "\ud83d!", "b": "\ud83d\ude00"})) == {"a": "\ufffd!", "b": "😀"}


def test_what_is_no_number_in_json_is_written_as_null() -> None:
    assert dumps([float("nan"), float("inf"), 1.5]) == b"[null,null,1.5]"


def test_any_mapping_is_written_as_an_object() -> None:
    assert dumps(MappingProxyType({"a": 1})) == b'{"a":1}'


def test_truncated_json_is_an_error() -> None:
    with pytest.raises(ValueError, match="EOF"):
        loads(b'{"a": ')


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("", ({}, "")),
        ("  ", ({}, "")),
        ("null", ({}, "")),
        ("{}", ({}, "")),
        ('{"a": {"b": [1]}}', ({"a": {"b": [1]}}, "")),
        ('{"a": 1', ({}, '{"a": 1')),
        ('{"a": NaN}', ({}, '{"a": NaN}')),
        ("[1]", ({}, "[1]")),
        ("add 1 and 2", ({}, "add 1 and 2")),
    ],
)
def test_arguments_are_an_object_or_the_text_that_was_none(text: str, read: tuple[object, str]) -> None:
    assert read_arguments(text) == read
