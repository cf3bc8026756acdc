"""Points A: answers of the Messages API that come in one piece, over each API upstream."""

from typing import Any

from ai_battle.core.exchange import Usage
from ai_battle.testing import call, fault, reply

from .conftest import Stage
from .oddities import Odd, call_deltas, whole

HELLO: dict[str, Any] = {"max_tokens": 64, "messages": [{"role": "user", "content": "Hello?"}]}
TOOL = {
    "name": "add",
    "description": "Adds.",
    "input_schema": {"type": "object", "properties": {"a": {"type": "integer"}}},
}
WITH_TOOL = {**HELLO, "tools": [TOOL]}


async def answer(stage: Stage, *says: Any, **body: Any) -> dict[str, Any]:
    stage.says(*says)
    answered = await stage.client.post("messages", {**HELLO, **body})
    assert answered.status == 200, answered.body
    message: dict[str, Any] = answered.body
    return message


async def test_a_basic(stage: Stage) -> None:
    """A message of the assistant has one block with the whole text."""
    message = await answer(stage, "Good morning, all of you.")

    assert (message["type"], message["role"]) == ("message", "assistant")
    assert message["id"]
    assert message["content"] == [{"type": "text", "text": "Good morning, all of you."}]


async def test_a_model_echo(stage: Stage) -> None:
    assert (await answer(stage, "Hi."))["model"] == "claude-opus-4"


async def test_a_ids_unique(stage: Stage) -> None:
    """The fakes give every answer the same id."""
    ids = [(await answer(stage, "Hi."))["id"] for _ in range(2)]

    assert ids[0] != ids[1]
    assert all(each.startswith("msg_") for each in ids)


async def test_a_stop_keys(stage: Stage) -> None:
    message = await answer(stage, "Hi.")

    assert message["stop_reason"] == "end_turn"
    assert message["stop_sequence"] is None


async def test_a_usage(stage: Stage) -> None:
    usage = (await answer(stage, reply("Hi.", usage=Usage(40, 7))))["usage"]

    assert usage["input_tokens"] + (usage.get("cache_read_input_tokens") or 0) == 40
    assert usage["output_tokens"] == 7


async def test_a_usage_cache(stage: Stage) -> None:
    usage = (await answer(stage, reply("Hi.", usage=Usage(40, 7, cache_read_tokens=30))))["usage"]

    assert (usage["input_tokens"], usage["cache_read_input_tokens"]) == (10, 30)


async def test_a_max_tokens(stage: Stage) -> None:
    assert (await answer(stage, reply("It is", stop="length")))["stop_reason"] == "max_tokens"


async def test_a_refusal(stage: Stage) -> None:
    message = await answer(stage, reply("It is", stop="content_filter"))

    assert message["stop_reason"] == "refusal"


async def test_a_tool(stage: Stage) -> None:
    message = await answer(stage, call("add", a=1), tools=[TOOL])
    [block] = message["content"]

    assert message["stop_reason"] == "tool_use"
    assert (block["type"], block["name"], block["input"]) == ("tool_use", "add", {"a": 1})
    assert block["id"]


async def test_a_tool_stop(odd: Odd) -> None:
    """Some servers say that a call is an ordinary end."""
    odd.whole = whole({"tool_calls": call_deltas(("c1", "add", '{"a": 1}'))}, "stop")
    answered = await odd.client.post("messages", WITH_TOOL)

    assert answered.body["stop_reason"] == "tool_use"


async def test_a_tool_parallel(stage: Stage) -> None:
    message = await answer(stage, reply(calls=[call("add", a=1), call("add", a=2)]), tools=[TOOL])
    blocks = message["content"]

    assert [block["input"] for block in blocks] == [{"a": 1}, {"a": 2}]
    assert len({block["id"] for block in blocks}) == 2


async def test_a_tool_noid(stage: Stage) -> None:
    message = await answer(stage, fault("missing_tool_ids"), tools=[TOOL])
    ids = [block["id"] for block in message["content"] if block["type"] == "tool_use"]

    assert len(ids) == len(set(ids)) == 2
    assert all(ids)


async def test_a_tool_noargs(odd: Odd) -> None:
    odd.whole = whole({"tool_calls": call_deltas(("c1", "now", ""))}, "tool_calls")
    answered = await odd.client.post("messages", WITH_TOOL)

    assert answered.body["content"][0]["input"] == {}


async def test_a_tool_trunc(odd: Odd) -> None:
    """Arguments that the limit of tokens has cut off."""
    odd.whole = whole({"tool_calls": call_deltas(("c1", "write", '{"path": "/tmp/a", "text": "Once up'))}, "length")
    answered = await odd.client.post("messages", WITH_TOOL)

    assert (answered.status, answered.body["stop_reason"]) == (200, "max_tokens")
    assert isinstance(answered.body["content"][0]["input"], dict)


async def test_a_thinking(stage: Stage) -> None:
    message = await answer(stage, reply("It is 4.", thinking="Two and two."))
    thinking, text = message["content"]

    assert (thinking["type"], thinking["thinking"]) == ("thinking", "Two and two.")
    assert text == {"type": "text", "text": "It is 4."}


async def test_a_empty(odd: Odd) -> None:
    odd.whole = whole({"content": ""})
    answered = await odd.client.post("messages", HELLO)

    assert answered.status == 200
    assert isinstance(answered.body["content"], list)


async def test_a_unicode(stage: Stage) -> None:
    text = "Grüße, 世界 — 👋🏽 \u2028 \x85 ok"

    assert (await answer(stage, text))["content"][0]["text"] == text
