"""Points 49 to 59: blocks of earlier turns come back as they went out, and models read them rightly."""

from typing import Any

import pytest

from ai_battle.testing import call, reply

from .conftest import READ, USER, Stage, advice, assistant, result, text, use, user

FOUND = "It is line 3."
AND = user(text("And in b.py?"))


def conversation_with(*blocks: Any) -> list[dict[str, Any]]:
    """A conversation whose first answer has these blocks, and whose user goes on asking."""
    return [USER, assistant(*blocks), AND]


async def test_49_what_came_is_taken_back_as_it_came(stage: Stage) -> None:
    """The next question of the same talk finds the advice as a result of the call before it."""
    stage.worker.says(reply("Let me ask.", calls=[call("advisor")]), FOUND, "b.py is fine.")
    stage.advisor.says("Look at the loop.")
    first = await stage.answer()
    second = await stage.answer(messages=conversation_with(*first.content))
    sent = stage.worker_request()

    assert second.text == "b.py is fine."
    assert [name for name, _ in sent.of("call")] == ["advisor"]
    assert ["Look at the loop." in words for words in sent.of("result")] == [True]
    assert sent.links == sent.calls
    assert [words for words in ("Let me ask.", FOUND, "And in b.py?") if words not in sent.text] == []


async def test_50_an_upstream_that_knows_no_advisor_hears_of_no_block_of_it(stage: Stage) -> None:
    await stage.answer(messages=conversation_with(use(), result(advice("Look at the loop.")), text(FOUND)))

    raw = stage.worker.questions[0].raw.decode()
    assert [word for word in ("server_tool_use", "advisor_tool_result", "advisor_result") if word in raw] == []


async def test_51_a_turn_may_end_with_a_call_of_the_clients_own(stage: Stage) -> None:
    """Question, advice and call stand in one message of the client, and the result in the next."""
    call_ = {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a.py"}}
    steps = [
        USER,
        assistant(text("Let me ask."), use(), result(advice("Look at the loop.")), call_),
        user({"type": "tool_result", "tool_use_id": "t1", "content": "while True: pass"}),
    ]
    stage.worker.always(FOUND)
    message = await stage.answer(messages=steps)
    sent = stage.worker_request(0)

    assert message.text.endswith(FOUND)
    assert [name for name, _ in sent.of("call")] == ["advisor", "read_file"]
    assert [words in given for words, given in zip(("Look at", "while True"), sent.of("result"), strict=True)] == [
        True
    ] * 2
    assert sent.links == sent.calls


async def test_52_a_failure_of_an_earlier_turn_is_taken_back(stage: Stage) -> None:
    error = {"type": "advisor_tool_result_error", "error_code": "overloaded"}
    stage.worker.says("b.py is fine.")
    message = await stage.answer(messages=conversation_with(use(), result(error), text(FOUND)))

    assert message.text == "b.py is fine."
    assert stage.worker_request().links == stage.worker_request().calls
    assert "no advice" in stage.worker_request().of("result")[0]


async def test_53_marks_and_stop_reasons_on_the_blocks_are_taken_back(one: Stage) -> None:
    cached = {"cache_control": {"type": "ephemeral"}}
    blocks = (
        {**use(), **cached, "caller": {"type": "direct"}},
        {**result({**advice("Look at the loop."), "stop_reason": "max_tokens"}), **cached},
    )
    one.worker.says("b.py is fine.")

    assert (await one.answer(messages=conversation_with(*blocks, text(FOUND)))).text == "b.py is fine."


async def test_54_an_advisor_reads_what_it_said_before(stage: Stage) -> None:
    stage.worker.says(call("advisor"), "b.py is fine.")
    stage.advisor.says("Look there too.")
    await stage.answer(messages=conversation_with(use(), result(advice("Look at the loop.")), text(FOUND)))

    assert "Look at the loop." in stage.advisor_request().text


@pytest.mark.parametrize("wire", ["openai", "ollama", "gemini"])
async def test_55_blocks_stay_though_the_tool_has_gone(stage: Stage) -> None:
    """A client that has asked often enough takes the tool away, and may leave the blocks where they are.

    An upstream of Anthropic gets them as they are, and says what it says of them.
    """
    stage.worker.says("b.py is fine.")
    blocks = (use(), result(advice("Look at the loop.")), text(FOUND))
    message = await stage.answer(messages=conversation_with(*blocks), tools=[READ])

    assert message.text == "b.py is fine."
    assert "Look at the loop." in stage.worker_request().text
    assert [name for name, _, _ in stage.worker_request().tools] == ["read_file"]


async def test_56_a_redacted_result_of_another_server_is_an_error_that_says_where_it_is(stage: Stage) -> None:
    """Nobody here can read it; the way out is to send the conversation without it."""
    hidden = {"type": "advisor_redacted_result", "encrypted_content": "b3BhcXVl"}
    words = await stage.refusal(messages=conversation_with(use(), result(hidden), text(FOUND)))

    assert "srvtoolu_1" in words
    assert "redacted" in words
    assert "b3BhcXVl" not in words


@pytest.mark.parametrize("blocks", [(), (use("srvtoolu_2"),)], ids=["none", "another"])
async def test_57_advice_without_its_question_stays_in_words(stage: Stage, blocks: Any) -> None:
    """No upstream takes a result without its call, and nothing of it is lost."""
    stage.worker.says("b.py is fine.")
    message = await stage.answer(messages=conversation_with(*blocks, result(advice("Look at the loop.")), text(FOUND)))

    assert message.text == "b.py is fine."
    assert "Look at the loop." in stage.worker_request().text
    assert stage.worker_request().links == stage.worker_request().calls


@pytest.mark.parametrize(
    "content",
    [
        None,
        "Look.",
        [],
        {},
        {"type": "advice", "text": "Look."},
        {"type": "advisor_result"},
        {"type": "advisor_result", "text": 7},
    ],
    ids=str,
)
async def test_58_a_result_of_another_shape_is_an_error_that_says_where_it_is(one: Stage, content: Any) -> None:
    words = await one.refusal(messages=conversation_with(use(), result(content), text(FOUND)))

    assert "srvtoolu_1" in words or "messages[1].content[1]" in words


@pytest.mark.parametrize("goes_on", [(), (AND,)], ids=["resumed", "asked on"])
async def test_59_a_question_without_a_result_keeps_nobody_from_going_on(stage: Stage, goes_on: Any) -> None:
    """A turn that paused, or a stream that was lost, ends with one; no upstream takes a call without its result."""
    stage.worker.says(FOUND)
    message = await stage.answer(messages=[USER, assistant(text("Let me ask."), use()), *goes_on])
    raw = stage.worker.questions[0].raw.decode()

    assert message.text == FOUND
    assert ("Let me ask." in raw, "srvtoolu_1" in raw) == (True, False)
