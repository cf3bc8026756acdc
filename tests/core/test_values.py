"""Messages, requests and usage are plain values."""

from dataclasses import FrozenInstanceError, replace

import pytest

from ai_battle.core.events import AttemptFailed, DraftDelta, EventLog, TextDelta, drafting
from ai_battle.core.exchange import NOTHING_USED, ModelResponse, Usage, estimate_message, estimate_text
from ai_battle.core.messages import Image, Message, Text, Thinking, ToolCall, ToolResult, assistant, user


def test_a_message_is_asked_for_its_text_its_thinking_and_its_calls() -> None:
    call = ToolCall("clock", {"zone": "UTC"}, "c1")
    message = Message(
        "assistant", (Thinking("hm"), Text("It is "), call, Text("noon"), ToolResult(call, (Text("12"),)))
    )

    assert (message.text, message.thinking, message.tool_calls) == ("It is noon", "hm", (call,))
    assert message.tool_results[0].text == "12"


def test_values_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        user("hello").role = "assistant"  # type: ignore[misc]


def test_bytes_kept_by_a_wire_neither_count_as_content_nor_survive_a_change() -> None:
    message = user("hello", "Ann")
    message.encoded["openai"] = b"{}"

    assert message == user("hello", "Ann")
    assert replace(message, speaker="Bob").encoded == {}


def test_messages_with_mappings_inside_can_be_keys() -> None:
    assert len({assistant("a"), assistant("a"), Message("assistant", (ToolCall("f", {"x": [1]}),))}) == 2


def test_sums_of_dollars_have_no_noise_of_binary_fractions() -> None:
    assert sum([Usage(cost_usd=0.1)] * 3, NOTHING_USED).cost_usd == 0.3
    assert (Usage(cost_usd=0.3) - Usage(cost_usd=0.1)).cost_usd == 0.2


def test_usage_adds_up_and_an_unknown_cost_stays_unknown() -> None:
    known = Usage(input_tokens=3, output_tokens=2, cost_usd=0.5)

    assert (NOTHING_USED + known + known) == Usage(input_tokens=6, output_tokens=4, cost_usd=1.0)
    assert (known + Usage(output_tokens=1)).cost_usd is None
    assert known.total_tokens == 5


def test_tools_that_were_used_on_the_way_are_seen_in_the_response() -> None:
    answer = assistant("noon")
    assert not ModelResponse(answer).used_tools
    assert ModelResponse(answer, steps=(Message("assistant", (ToolCall("clock"),)),)).used_tools


async def test_what_a_failed_attempt_said_is_forgotten() -> None:
    heard = EventLog()
    for event in (TextDelta("wro"), AttemptFailed("m", 1, "cut", 0.1), TextDelta("ri"), TextDelta("ght")):
        await heard(event)
    assert heard.text == "right"


async def test_a_draft_is_heard_as_a_draft() -> None:
    heard = EventLog()
    await drafting(heard)(TextDelta("maybe"))
    assert heard.events == [DraftDelta("maybe")]


def test_tokens_are_estimated_by_length_script_and_pictures() -> None:
    assert estimate_text("") == 0
    assert 20 <= estimate_text("The quick brown fox jumps over the lazy dog, and then it rests for a while.") <= 30
    assert estimate_text("漢字仮名") >= 4
    assert estimate_message(Message("user", (Image("image/png", b"x"),))) > 1_000
