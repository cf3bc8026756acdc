"""Points 1 to 14: the tool in a request, and what of it reaches whom."""

from typing import Any

import pytest

from ai_battle.testing import FakeProviders, call, fault

from ..protocol.speaking import speaking
from ..serving import serving
from .conftest import ASKED, BETA, READ, TOOL, USER, Stage, Write, results_in, user

FOUND = "It is line 3."
WITHOUT = {name: value for name, value in TOOL.items() if name != "model"}


async def test_01_a_worker_is_offered_a_function_beside_the_tools_of_its_client(stage: Stage) -> None:
    await stage.answer()
    told = stage.worker_request()

    assert [name for name, _, _ in told.tools] == ["read_file", "advisor"]
    assert "advisor_20260301" not in stage.worker.questions[0].raw.decode()


async def test_02_an_advisor_that_is_not_asked_costs_nothing_and_leaves_no_trace(stage: Stage) -> None:
    stage.worker.says(FOUND)
    message = await stage.answer()

    assert message.content == [{"type": "text", "text": FOUND}]
    assert (len(stage.worker.questions), len(stage.advisor.questions)) == (1, 0)


async def test_03_an_advisor_may_be_the_only_tool(stage: Stage) -> None:
    stage.worker.says(call("advisor"), FOUND)
    stage.advisor.says("Look at the loop.")
    message = await stage.answer(tools=[TOOL])

    assert message.kinds == ["server_tool_use", "advisor_tool_result", "text"]


@pytest.mark.parametrize(
    ("tool", "named"),
    [
        (WITHOUT, "model"),
        ({**TOOL, "model": ""}, "model"),
        ({**TOOL, "model": 7}, "model"),
        ({**TOOL, "name": "oracle"}, "name"),
        ({**TOOL, "max_uses": 0}, "max_uses"),
        ({**TOOL, "max_uses": "two"}, "max_uses"),
        ({**TOOL, "max_tokens": 1023}, "max_tokens"),
        ({**TOOL, "max_tokens": "long"}, "max_tokens"),
        ({**TOOL, "caching": {"type": "ephemeral", "ttl": "2h"}}, "caching"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_04_a_field_that_can_not_be_so_is_named_with_its_place(
    one: Stage, tool: dict[str, Any], named: str
) -> None:
    words = await one.refusal(tools=[READ, tool])

    assert "tools[1]" in words or "tools.1" in words
    assert named in words


async def test_05_the_length_of_advice_is_that_of_the_tool_and_not_of_the_request(stage: Stage) -> None:
    stage.worker.says(call("advisor"), FOUND)
    await stage.answer(max_tokens=200, tools=[{**TOOL, "max_tokens": 2048}])

    assert stage.worker_request().options["max_tokens"] == 200
    assert stage.advisor_request().options["max_tokens"] == 2048


async def test_06_caching_marks_what_an_advisor_of_anthropic_reads(
    fakes: FakeProviders, write: Write, is_streamed: bool
) -> None:
    fakes.openai.says(call("advisor"), FOUND)
    file = write("server: {routes: {worker: openai/gpt-4o}, advisors: {'claude-*': anthropic/claude-opus-4-8}}")
    caching = {"type": "ephemeral", "ttl": "1h"}
    async with serving(fakes, file) as address, speaking(address, "worker") as client:
        body = {**ASKED, "stream": is_streamed, "tools": [{**TOOL, "caching": caching}]}
        async with client.session.post(f"{address}/v1/messages", json={"model": "worker", **body}, headers=BETA) as got:
            await got.read()
            assert got.status == 200

    assert '"ttl":"1h"' in fakes.anthropic.questions[0].raw.decode().replace(" ", "")


async def test_07_caching_is_left_out_where_the_advisor_knows_none(stage: Stage) -> None:
    stage.worker.says(call("advisor"), FOUND)
    stage.advisor.says("Look at the loop.")
    message = await stage.answer(tools=[{**TOOL, "caching": {"type": "ephemeral", "ttl": "5m"}}])

    assert message.text == FOUND
    assert "ephemeral" not in stage.advisor.questions[0].raw.decode()


@pytest.mark.parametrize(
    "field",
    [
        {"allowed_callers": ["direct"]},
        {"allowed_callers": ["direct", "code_execution_20260120"]},
        {"defer_loading": True},
        {"strict": True},
        {"cache_control": {"type": "ephemeral"}},
        {"max_uses": None},
        {"max_tokens": None},
        {"caching": None},
        {"a_field_of_next_year": {"deep": [1]}},
    ],
    ids=str,
)
async def test_08_fields_that_change_nothing_here_are_taken(one: Stage, field: dict[str, Any]) -> None:
    one.worker.says(call("advisor"), FOUND)
    one.advisor.says("Look at the loop.")
    message = await one.answer(tools=[READ, {**TOOL, **field}])

    assert [content["text"] for content in results_in(message)] == ["Look at the loop."]
    assert "a_field_of_next_year" not in one.worker.questions[0].raw.decode()


async def test_09_an_advisor_that_only_code_may_call_is_not_offered_to_the_worker(one: Stage) -> None:
    one.worker.says(FOUND)
    await one.answer(tools=[READ, {**TOOL, "allowed_callers": ["code_execution_20260120"]}])

    assert [name for name, _, _ in one.worker_request().tools] == ["read_file"]


async def test_10_the_advisor_reads_the_whole_conversation_and_has_no_tools(stage: Stage) -> None:
    """What the system was told, the tools as text, and the calls and results so far."""
    steps = [
        USER,
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a.py"}}],
        },
        user({"type": "tool_result", "tool_use_id": "t1", "content": "while True: pass"}),
    ]
    stage.worker.says(call("advisor"), FOUND)
    stage.advisor.says("Look at the loop.")
    await stage.answer(system="You mend Python.", messages=steps)
    told = stage.advisor_request()

    assert told.tools == []
    expected = ("You mend Python.", "Find the fault in a.py.", "read_file", "Reads a file of", "while True: pass")
    assert [words for words in expected if words not in told.text] == []


async def test_11_the_worker_reads_the_advice_as_the_result_of_its_call(stage: Stage) -> None:
    stage.worker.says(call("advisor"), FOUND)
    stage.advisor.says("Look at the loop.")
    await stage.answer()
    told = stage.worker_request()

    assert "Look at the loop." in told.of("result")[0]
    assert [name for name, _ in told.of("call")] == ["advisor"]
    assert told.links == told.calls


async def test_12_a_choice_of_tools_holds_for_the_advisor_too(one: Stage) -> None:
    """`none` leaves it alone; naming it forces one question, after which the worker is free."""
    one.worker.says(FOUND)
    await one.answer(tool_choice={"type": "none"})
    free = one.worker_request()
    one.worker.says(call("advisor"), FOUND)
    one.advisor.says("Look at the loop.")
    message = await one.answer(tool_choice={"type": "tool", "name": "advisor"})

    assert free.choice == "none"
    assert message.kinds == ["server_tool_use", "advisor_tool_result", "text"]
    assert [one.worker_request(1).choice, one.worker_request(2).choice] == ["advisor", "auto"]


async def test_13_tokens_are_counted_with_the_tool_in_the_request(one: Stage) -> None:
    counted = {"messages": [USER], "tools": [READ, TOOL]}
    answered = await one.client.post("messages", counted, BETA, path="/v1/messages/count_tokens")

    assert answered.status == 200
    assert answered.body["input_tokens"] > 0
    assert not one.advisor.questions


async def test_14_an_advisor_that_nobody_knows_is_asked_of_the_workers_own_provider(one: Stage) -> None:
    """Nobody else gets the conversation; what that provider says of the name is the code of the result."""
    one.worker.says(call("advisor"), FOUND)
    one.worker.says(fault(404, times=9), model="nobody-knows-me")
    message = await one.answer(tools=[{**TOOL, "model": "nobody-knows-me"}])

    assert results_in(message) == [{"type": "advisor_tool_result_error", "error_code": "model_not_found"}]
    assert message.text == FOUND
    assert not one.advisor.questions
