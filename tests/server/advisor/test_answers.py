"""Points 15 to 30: the blocks of an answer in which an advisor was asked, whole and as they stream."""

from collections.abc import Callable
from typing import Any

import pytest

from ai_battle.core.exchange import Usage
from ai_battle.testing import call, fault, reply

from ..protocol.speaking import PATHS, Event, Streamed, events_of, message_of
from .conftest import ADVISOR, ASKED, BETA, TOOL, Stage, results_in

LOOK = "Look at the loop."
FOUND = "It is line 3."


def script(stage: Stage, *worker: Any) -> None:
    stage.worker.says(*worker)
    stage.advisor.says(LOOK)


async def test_15_the_question_and_the_advice_stand_between_what_the_worker_says(stage: Stage) -> None:
    script(stage, reply("Let me ask.", calls=[call("advisor")]), FOUND)
    message = await stage.answer()
    [question, answer] = message.content[1:3]

    assert message.kinds == ["text", "server_tool_use", "advisor_tool_result", "text"]
    assert [block["text"] for block in message.content if block["type"] == "text"] == ["Let me ask.", FOUND]
    assert question == {"type": "server_tool_use", "id": question["id"], "name": "advisor", "input": {}}
    assert answer.keys() == {"type", "tool_use_id", "content"}
    assert (message.stop_reason, message.model) == ("end_turn", "worker")


async def test_16_a_result_names_its_question(stage: Stage) -> None:
    script(stage, call("advisor"), FOUND)
    question, answer, _ = (await stage.answer()).content

    assert question["id"].startswith("srvtoolu_")
    assert answer["tool_use_id"] == question["id"]


async def test_17_ids_are_the_same_in_no_two_answers(one: Stage) -> None:
    """Fakes give the same id to each first call."""
    seen = []
    for _ in range(2):
        script(one, call("advisor"), FOUND)
        seen.append((await one.answer()).content[0]["id"])

    assert seen[0] != seen[1]


async def test_18_advice_is_what_the_advisor_said_without_a_word_of_ours(stage: Stage) -> None:
    script(stage, call("advisor"), FOUND)
    [content] = results_in(await stage.answer())

    assert (content["type"], content["text"]) == ("advisor_result", LOOK)
    assert content.get("stop_reason") in (None, "end_turn")
    assert content.keys() <= {"type", "text", "stop_reason"}


async def test_19_advice_that_was_cut_says_so(stage: Stage) -> None:
    stage.worker.says(call("advisor"), FOUND)
    stage.advisor.says(reply("Look at the", stop="length"))
    [content] = results_in(await stage.answer())

    assert (content["text"], content["stop_reason"]) == ("Look at the", "max_tokens")


async def test_20_after_the_advice_the_worker_calls_a_tool_of_its_client(stage: Stage) -> None:
    script(stage, call("advisor"), call("read_file", path="a.py"))
    message = await stage.answer()

    assert message.kinds == ["server_tool_use", "advisor_tool_result", "tool_use"]
    assert message.calls == [("read_file", {"path": "a.py"})]
    assert message.stop_reason == "tool_use"


async def test_21_two_questions_are_two_pairs_in_their_order(stage: Stage) -> None:
    stage.worker.says(reply("First.", calls=[call("advisor")]), reply("Second.", calls=[call("advisor")]), FOUND)
    stage.advisor.always(LOOK)
    message = await stage.answer()
    uses = [block["id"] for block in message.content if block["type"] == "server_tool_use"]
    links = [block["tool_use_id"] for block in message.content if block["type"] == "advisor_tool_result"]

    pair = ["text", "server_tool_use", "advisor_tool_result"]
    assert message.kinds == [*pair, *pair, "text"]
    assert uses == links
    assert len({*uses}) == 2


async def test_21b_a_question_to_which_nothing_has_come_since_is_answered_in_words_of_ours(one: Stage) -> None:
    """Asking is free to the worker and not to who pays for it."""
    one.worker.says(call("advisor"), call("advisor"), FOUND)
    one.advisor.always(LOOK)
    first, second = results_in(await one.answer())

    assert (first["text"], len(one.advisor.questions)) == (LOOK, 1)
    assert "Decide yourself" in second["text"]


async def test_22_the_advisor_is_never_heard_as_the_worker(stage: Stage) -> None:
    script(stage, call("advisor"), FOUND)
    message = await stage.answer()

    assert message.text == FOUND
    assert LOOK not in message.text


async def test_23_the_thoughts_of_an_advisor_stay_with_it(one: Stage) -> None:
    one.worker.says(call("advisor"), FOUND)
    one.advisor.says(reply(LOOK, thinking="A loop without an end, hm."))
    message = await one.answer()

    assert "A loop without an end" not in str(message.content)
    assert "A loop without an end" not in one.worker_request().text


async def test_24_one_answer_is_one_stream(stage: Stage) -> None:
    """From one message_start to one message_stop, though the worker was asked twice; blocks are numbered through."""
    script(stage, reply("Let me ask.", calls=[call("advisor")]), FOUND)
    streamed = await stage.client.stream("messages", ASKED, BETA)

    assert [event.name for event in streamed.events].count("message_start") == 1
    assert [event.name for event in streamed.events].count("message_stop") == 1
    assert message_of(streamed).kinds == ["text", "server_tool_use", "advisor_tool_result", "text"]


async def test_25_advice_comes_in_one_piece(stage: Stage) -> None:
    """In the event that starts its block, without deltas."""
    script(stage, call("advisor"), FOUND)
    streamed = await stage.client.stream("messages", ASKED, BETA)
    [start] = [event for event in starts_in(streamed) if event.data["content_block"]["type"] == "advisor_tool_result"]
    index = start.data["index"]

    assert start.data["content_block"]["content"]["text"] == LOOK
    assert not [event for event in streamed.of("content_block_delta") if event["index"] == index]


async def test_26_that_the_worker_asks_is_heard_before_the_advisor_answers(stage: Stage) -> None:
    """With what it said before, up to the end of the block: this advisor never answers."""
    stage.worker.says(reply("Let me ask.", calls=[call("advisor")]))
    stage.advisor.always(fault("stall_before_headers"))
    heard = await events_until(stage, lambda event: event.name == "content_block_stop" and event.data["index"] == 1)
    starts = [event.data["content_block"]["type"] for event in heard if event.name == "content_block_start"]

    assert starts == ["text", "server_tool_use"]
    assert "".join(words_in(heard)) == "Let me ask."


async def test_26b_the_worker_is_heard_while_it_speaks_before_and_after(stage: Stage) -> None:
    """Nobody else may answer in its place: in the midst of its text these answers end for ever."""
    stalled = fault("stall_mid_stream", reply=reply("It is line 3, where a loop begins that has no end."))
    stage.worker.says(stalled)
    before = await events_until(stage, lambda event: event.name == "content_block_delta")
    stage.worker.says(reply("Let me ask.", calls=[call("advisor")]), stalled)
    stage.advisor.says(LOOK)
    after = await events_until(stage, lambda event: event.name == "content_block_delta" and event.data["index"] == 3)

    assert words_in(before)[0].startswith("It")
    assert words_in(after)[-1].startswith("It")


@pytest.mark.slow
async def test_27_a_long_thought_of_the_advisor_is_filled_with_pings(one: Stage) -> None:
    """Between the end of the question and the advice; clients count them as signs of life."""
    one.worker.says(call("advisor"), FOUND)
    one.advisor.says(reply(LOOK, delay=17.0))
    streamed = await one.client.stream("messages", ASKED, BETA)
    names = [event.name for event in streamed.events]

    assert names.count("ping") >= 1
    assert (
        names.index("content_block_stop") < names.index("ping") < len(names) - names[::-1].index("content_block_start")
    )
    assert message_of(streamed).text == FOUND


async def test_28_a_stream_tells_why_it_ended_and_what_it_cost_in_its_last_delta(stage: Stage) -> None:
    stage.worker.says(call("advisor"), reply(FOUND, usage=Usage(50, 4)))
    streamed = await stage.client.stream("messages", ASKED, BETA)
    [delta] = streamed.of("message_delta")

    assert delta["delta"]["stop_reason"] == "end_turn"
    assert [each["type"] for each in delta["usage"]["iterations"]] == ["message", "advisor_message", "message"]


async def test_29_a_worker_that_is_cut_off_after_the_advice_says_so(stage: Stage) -> None:
    script(stage, call("advisor"), reply("It is", stop="length"))
    message = await stage.answer(tools=[{**TOOL, "max_uses": 1}])

    assert (message.kinds[-1], message.stop_reason) == ("text", "max_tokens")


async def test_30_the_advisors_own_name_comes_back_in_the_usage_alone(one: Stage) -> None:
    """Clients show which model advises; the message is the worker's."""
    script(one, call("advisor"), FOUND)
    message = await one.answer()
    [row] = [each for each in message.usage["iterations"] if each["type"] == "advisor_message"]

    assert message.model == "worker"
    assert row["model"] in (ADVISOR, "qwen3:32b", "ollama/qwen3:32b")


def starts_in(streamed: Streamed) -> list[Event]:
    return [event for event in streamed.events if event.name == "content_block_start"]


def words_in(heard: list[Event]) -> list[str]:
    return [event.data["delta"]["text"] for event in heard if event.name == "content_block_delta"]


async def events_until(stage: Stage, is_last: Callable[[Event], bool]) -> list[Event]:
    """The events up to that one, after which the client leaves. Raises `TimeoutError` where it does not come."""
    heard: list[Event] = []
    body = {"model": "worker", "stream": True, **ASKED}
    async with stage.client.session.post(stage.client.address + PATHS["messages"], json=body, headers=BETA) as answer:
        async for event in events_of(answer.content.iter_any(), 0.0):
            heard.append(event)
            if is_last(event):
                return heard
    raise AssertionError(f"it never came: {heard}")
