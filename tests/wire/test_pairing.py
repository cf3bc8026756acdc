"""Calls of tools and their results, as clients mix them up, and as every upstream wants them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import Image, Message, Text, ToolCall, ToolResult, assistant, user
from ai_battle.wire import anthropic
from ai_battle.wire.openai import served as openai
from ai_battle.wire.requests import NO_CALL, NO_RESULT, paired_messages, with_pairs

from .values import messages

ADD, NOW = ToolCall("add", {"a": 1}, "call_1"), ToolCall("now", {}, "call_2")
ASKED = user("What is it?")
CALLED = Message("assistant", (Text("Let me see."), ADD, NOW))


def result(call: ToolCall, text: str = "done") -> ToolResult:
    return ToolResult(call, (Text(text),))


def results_message(*results: ToolResult) -> Message:
    return Message("tool", results)


RIGHT = (ASKED, CALLED, results_message(result(ADD), result(NOW)), user("And?"))


@pytest.mark.parametrize("right", [RIGHT, (ASKED, assistant("Hi")), ()], ids=["with calls", "without", "nothing"])
def test_what_is_right_stays_as_it_is(right: tuple[Message, ...]) -> None:
    assert paired_messages(right) == right
    assert with_pairs(ModelRequest(right)).messages == right


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    repaired = paired_messages((ASKED, CALLED, results_message(result(ADD)), user("Stop.")))

    assert repaired[2].tool_results == (result(ADD), ToolResult(NOW, (Text(NO_RESULT),), is_error=True))
    assert repaired[3] == user("Stop.")


def test_a_turn_that_was_interrupted_altogether_gets_results_too() -> None:
    repaired = paired_messages((ASKED, CALLED, user("Stop.")))

    assert [message.role for message in repaired] == ["user", "assistant", "tool", "user"]
    assert all(answer.is_error for answer in repaired[2].tool_results)


def test_a_result_without_a_call_becomes_words_of_the_user() -> None:
    seen = Image("image/png", b"x")
    repaired = paired_messages((ASKED, results_message(ToolResult(ToolCall("", {}, "gone"), (Text("42"), seen)))))

    assert repaired == (ASKED, Message("user", (Text(NO_CALL), Text("42"), seen)))


def test_results_that_come_late_move_up_to_their_calls() -> None:
    """Text before a result, in the same turn of a client's."""
    said = (ASKED, CALLED, user("Here:"), results_message(result(NOW)), user("and"), results_message(result(ADD)))
    repaired = paired_messages(said)

    assert repaired == (ASKED, CALLED, results_message(result(NOW), result(ADD)), user("Here:"), user("and"))


def test_a_second_result_of_the_same_call_becomes_words() -> None:
    repaired = paired_messages((CALLED, results_message(result(ADD), result(NOW), result(ADD, "again"))))

    assert repaired[1] == results_message(result(ADD), result(NOW))
    assert repaired[2].text == f"{NO_CALL}again"


def test_ids_that_come_again_in_a_later_turn_belong_to_it() -> None:
    again = (ASKED, Message("assistant", (ADD,)), results_message(result(ADD, "1")))
    twice = (*again, Message("assistant", (ADD,)), results_message(result(ADD, "2")))

    assert paired_messages(twice) == twice


@given(st.lists(messages, max_size=5))
def test_whatever_comes_in_every_call_is_answered_once_and_at_once(said: list[Message]) -> None:
    repaired = paired_messages(tuple(said))
    for place, message in enumerate(repaired):
        if message.role == "assistant" and message.tool_calls:
            answered = [answer.call.id for answer in repaired[place + 1].tool_results]
            assert set(answered) == {call.id for call in message.tool_calls}
    assert paired_messages(repaired) == repaired


ORPHAN = {"type": "tool_result", "tool_use_id": "toolu_gone", "content": "42"}
USED = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}}


@pytest.mark.parametrize(
    "turns",
    [
        [{"role": "user", "content": [ORPHAN]}],
        [{"role": "user", "content": "?"}, {"role": "assistant", "content": [USED]}, {"role": "user", "content": "!"}],
    ],
    ids=["a result without a call", "a call without a result"],
)
def test_an_openai_upstream_gets_a_conversation_that_it_takes(turns: list[Any]) -> None:
    request = with_pairs(anthropic.decode_request({"model": "m", "max_tokens": 9, "messages": turns}))
    sent = json.loads(openai.encode_request(request, "m"))["messages"]
    calls = [call["id"] for message in sent for call in message.get("tool_calls", ())]

    assert [message["tool_call_id"] for message in sent if message["role"] == "tool"] == calls
