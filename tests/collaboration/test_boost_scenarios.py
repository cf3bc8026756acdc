"""The scenarios of the specification of the boost model, each under its number.

S1.1 to S1.3 speak of the proxy's start; what they ask of the settings is in test_boost_settings.py, under the same
numbers, and here is what they ask of a request. The server puts the same loop around its models.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from ai_battle.collaboration import Helping
from ai_battle.collaboration.boost import BoostLoop
from ai_battle.core.events import Event, ToolCallDelta
from ai_battle.core.helping import BoostStep, HelpFailed
from ai_battle.testing import FakeProviders, call, fault, reply

from .acting import HelpLog
from .boosting import GUIDANCE, OTHER, READ, SUMMARY, WRITE, File, Stage, model_request, text_of

READ_SALES = call("read_file", path="/data/sales_2024.csv")
DEBUG = (
    "ANALYSIS:\nUser wants to debug a failing API endpoint. Logs should be checked first as they provide immediate "
    "error context. The approach is sequential: logs → code review → database check."
)


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with FakeProviders() as fakes:
        yield Stage(fakes)


async def test_s1_1_a_boost_model_with_an_address_a_key_and_a_name_of_its_own_is_asked(stage: Stage) -> None:
    """S1.1, at the level of the loop: both models are at their own addresses, under their own names."""
    stage.says([GUIDANCE], [reply(calls=[READ_SALES])])
    await stage.ask(model_request("Analyze the sales.", READ))

    assert stage.calls == (1, 1)
    assert stage.boost.questions[0].headers["Authorization"] == "Bearer test-key"
    assert stage.boost.questions[0].body["model"] == "gpt-4o"
    assert stage.auxiliary_body()["model"] == "claude-haiku-4-5"


@pytest.mark.parametrize("number", ["S1.2", "S1.3"])
async def test_s1_2_and_s1_3_without_boost_the_request_goes_the_direct_way(stage: Stage, number: str) -> None:
    """S1.2 and S1.3, at the level of the loop: who is given no loop asks the auxiliary model, and nobody plans."""
    stage.says([], [reply(calls=[READ_SALES])])
    _, auxiliary = stage.clients()
    response = await auxiliary.complete(model_request("Analyze the sales.", READ))
    await auxiliary.aclose()

    assert response.tool_calls[0].name == "read_file"
    assert stage.calls == (0, 1)


async def test_s2_1_the_boost_model_gets_formats_tools_and_request_in_its_message(stage: Stage) -> None:
    stage.says([SUMMARY])
    await stage.ask(model_request("Please analyze market trends from data files.", READ, WRITE))
    sent = stage.boost_text()

    assert "analyze market trends from data files" in sent
    assert all(heading in sent for heading in ("SUMMARY:", "ANALYSIS:", "GUIDANCE:"))
    assert "read_file: Reads a file and returns its text." in sent
    assert '"required": ["path", "content"]' in sent
    assert "Current ReAct Loop: 0" in sent


async def test_s2_2_without_tools_the_section_of_the_tools_is_empty(stage: Stage) -> None:
    """An answer of the auxiliary model is final then, as there is no tool that it could have called."""
    stage.says(["ANALYSIS:\nIt is known.\nGUIDANCE:\nSay that it is Paris."], ["It is Paris."])
    told = await stage.ask(model_request("What is the capital of France?"))

    assert stage.boost_text().rstrip().split("Available Tools:")[1].split("\n")[0].strip() == ""
    assert (told.text, stage.calls, told.outcomes) == ("It is Paris.", (1, 1), ["guidance"])


async def test_s2_3_the_boost_model_gets_no_tools_parameter(stage: Stage) -> None:
    stage.says([SUMMARY])
    await stage.ask(model_request("What is it?", READ))

    body = stage.boost.questions[0].body
    assert not {"tools", "tool_choice", "functions", "parallel_tool_calls"} & body.keys()
    assert "read_file" in text_of(body["messages"])


async def test_s3_1_each_section_is_extracted(stage: Stage) -> None:
    """S3.1; the specification's own reply stands with many others in data/boost_replies.yaml."""
    stage.says([GUIDANCE], [reply(calls=[call("read_file", path="a")])])
    await stage.ask(model_request("Analyze the sales.", READ))

    plan = "ANALYSIS:\nThe file has to be read.\n\nGUIDANCE:\n1. Call read_file with path: '/data/sales_2024.csv'"
    assert plan in text_of(stage.auxiliary.questions[0].body)


async def test_s3_2_a_missing_analysis_is_no_obstacle(stage: Stage) -> None:
    guidance = "Call search_web with query: 'latest Node.js performance optimizations' then call write_file"
    stage.says([f"GUIDANCE:\n{guidance}"], [reply(calls=[call("write_file", path="a", content="b")])])
    told = await stage.ask(model_request("Take notes.", WRITE))

    assert told.outcomes == ["guidance"]
    assert guidance in text_of(stage.auxiliary_body())
    assert "ANALYSIS" not in text_of(stage.auxiliary_body())


async def test_s3_3_a_sequential_analysis_alone_is_asked_for_its_guidance(stage: Stage) -> None:
    """An analysis alone is not a plan: it is told so, and what it said goes along."""
    stage.says([DEBUG, f"{DEBUG}\n\nGUIDANCE:\nCall read_file with path: '/var/log/api.log'"])
    stage.auxiliary.says(reply(calls=[call("read_file", path="/var/log/api.log")]))
    told = await stage.ask(model_request("Why does the endpoint fail?", READ))

    assert told.outcomes == ["other", "guidance"]
    assert "logs → code review → database check" in stage.boost_text(1)
    assert "logs → code review → database check" in text_of(stage.auxiliary_body())


async def test_s3_4_other_words_for_guidance_are_found(stage: Stage) -> None:
    stage.says(["**Instructions:**\nCall read_file with path: 'a'"], [reply(calls=[call("read_file", path="a")])])
    told = await stage.ask(model_request("Read it.", READ))

    assert (told.outcomes, stage.calls) == (["guidance"], (1, 1))


async def test_s3_5_a_summary_is_the_answer_and_nobody_else_is_called(stage: Stage) -> None:
    stage.says([SUMMARY])
    told = await stage.ask(model_request("What is the answer?", READ))

    assert told.text == "The answer to your question is 42. No tools needed for this query."
    assert (stage.calls, told.outcomes) == ((1, 0), ["summary"])


async def test_s3_6_of_three_sections_the_summary_counts(stage: Stage) -> None:
    stage.says([f"{GUIDANCE}\n\n{SUMMARY}"])
    told = await stage.ask(model_request("What is the answer?", READ))

    assert told.text == "The answer to your question is 42. No tools needed for this query."
    assert stage.calls == (1, 0)


async def test_s4_1_the_auxiliary_model_gets_request_analysis_guidance_and_tools(stage: Stage) -> None:
    stage.says([GUIDANCE], [reply(calls=[READ_SALES])])
    await stage.ask(model_request("Analyze the sales.", READ, WRITE, system="You are an analyst."))
    body = stage.auxiliary_body()

    assert "Analyze the sales." in text_of(body["messages"])
    assert "ANALYSIS:\nThe file has to be read." in text_of(body["messages"])
    assert "GUIDANCE:\n1. Call read_file with path: '/data/sales_2024.csv'" in text_of(body["messages"])
    assert [tool["name"] for tool in body["tools"]] == ["read_file", "write_file"]
    assert "You are an analyst." in text_of(body["system"])


async def test_s4_2_guidance_alone_goes_along_word_for_word(stage: Stage) -> None:
    steps = "Execute these steps: 1) Call bash with command: 'git commit -m \"Auto commit\"'"
    stage.says([f"GUIDANCE:\n{steps}"], [reply(calls=[READ_SALES])])
    await stage.ask(model_request("Commit it.", READ))

    assert steps in text_of(stage.auxiliary_body())


async def test_s4_3_with_a_summary_no_request_is_assembled(stage: Stage) -> None:
    stage.says([SUMMARY])
    await stage.ask(model_request("What is the answer?", READ))

    assert stage.auxiliary.questions == []


async def test_s5_1_the_same_tools_come_as_text_and_as_parameter(stage: Stage) -> None:
    stage.says([GUIDANCE], [reply(calls=[READ_SALES])])
    await stage.ask(model_request("Analyze the sales.", READ, WRITE))

    for tool, sent in zip((READ, WRITE), stage.auxiliary_body()["tools"], strict=True):
        assert (sent["name"], sent["description"], sent["input_schema"]) == (tool.name, tool.description, tool.schema)
        assert f"{tool.name}: {tool.description}" in stage.boost_text()


async def test_s5_2_the_auxiliary_model_can_run_tools_and_the_boost_model_only_reads_of_them(stage: Stage) -> None:
    file = File()
    stage.says([GUIDANCE], [reply(calls=[READ_SALES]), "Sales rose sharply."])
    told = await stage.ask(model_request("Analyze the sales."), file)

    assert (told.text, file.read) == ("Sales rose sharply.", ["/data/sales_2024.csv"])
    assert "read_file: Reads a file" in stage.boost_text()
    assert "tools" not in stage.boost.questions[0].body


async def test_s6_1_an_error_of_the_boost_model_leads_to_direct_execution(stage: Stage) -> None:
    stage.says([fault(500)], [reply(calls=[READ_SALES])])
    told = await stage.ask(model_request("Analyze the sales.", READ))

    assert (stage.calls, told.outcomes) == ((1, 1), ["fallback"])
    assert [called.name for called in told.called] == ["read_file"]
    assert "500" in told.heard.of(HelpFailed)[0].reason
    assert "plan" not in text_of(stage.auxiliary_body()["messages"])


async def test_s6_2_replies_without_sections_lead_to_direct_execution(stage: Stage) -> None:
    """Each is asked for once more, as S7.1 wants it; then the auxiliary model answers alone, and that is told."""
    stage.says([OTHER, OTHER, OTHER], ["I looked at it directly."])
    told = await stage.ask(model_request("Analyze the sales.", READ))

    assert (told.text, stage.calls) == ("I looked at it directly.", (3, 1))
    assert told.outcomes == ["other", "other", "other"]
    assert "none of the formats" in told.heard.of(HelpFailed)[0].reason
    assert text_of(stage.auxiliary_body()["messages"]).strip() == "user\ntext\nAnalyze the sales."


async def test_s6_3_a_boost_model_that_takes_too_long_is_left(stage: Stage) -> None:
    stage.helping = Helping(timeout=0.2)
    stage.says([fault("stall_before_headers")], [reply(calls=[READ_SALES])])
    told = await stage.ask(model_request("Analyze the sales.", READ))

    assert told.outcomes == ["fallback"]
    assert told.heard.of(BoostStep)[0].text == "no answer within 0.2 s"
    assert [called.name for called in told.called] == ["read_file"]


async def test_s7_1_a_reply_without_a_format_is_asked_for_again_and_goes_along(stage: Stage) -> None:
    stage.says([OTHER, SUMMARY])
    told = await stage.ask(model_request("What is the answer?", READ))

    assert told.outcomes == ["other", "summary"]
    assert [step.loop for step in told.heard.of(BoostStep)] == [0, 1]
    assert OTHER in stage.boost_text(1)
    assert "neither a SUMMARY nor a GUIDANCE" in stage.boost_text(1)


async def test_s7_2_guidance_to_which_no_tool_is_called_is_planned_again(stage: Stage) -> None:
    stage.says([GUIDANCE, GUIDANCE], ["I don't need the file.", reply(calls=[READ_SALES])])
    told = await stage.ask(model_request("Analyze the sales.", READ))

    assert (stage.calls, told.outcomes) == ((2, 2), ["guidance", "guidance"])
    assert "called no tool" in stage.boost_text(1)
    assert "I don't need the file." in stage.boost_text(1)
    assert [called.name for called in told.called] == ["read_file"]


async def test_s7_3_after_three_loops_the_best_answer_there_is_is_given(stage: Stage) -> None:
    """Here the second: the third was cut off, and the first tells of a tool that was never called."""
    answers = ["I searched the web: 12.", "I can't see the file.", reply("It may be", stop="length")]
    stage.says([GUIDANCE] * 4, answers)
    told = await stage.ask(model_request("Analyze the sales.", READ))

    assert (told.text, stage.calls) == ("I can't see the file.", (3, 3))
    assert told.outcomes == ["guidance"] * 3


async def test_s7_4_each_loop_is_told_its_number_and_all_earlier_replies(stage: Stage) -> None:
    stage.says([OTHER, "Or of the sea.", SUMMARY])
    await stage.ask(model_request("What is the answer?", READ))

    for number in range(3):
        assert f"Current ReAct Loop: {number}" in stage.boost_text(number)
    assert "Previous Attempts: none" in stage.boost_text(0)
    assert OTHER in stage.boost_text(1)
    assert OTHER in stage.boost_text(2)
    assert "Or of the sea." in stage.boost_text(2)


async def test_s8_1_a_direct_answer_in_place_of_a_call_is_detected(stage: Stage) -> None:
    file = File()
    stage.says([GUIDANCE, SUMMARY], ["Sales are probably fine."])
    told = await stage.ask(model_request("Analyze the sales."), file)

    assert (file.read, told.outcomes) == ([], ["guidance", "summary"])


async def test_s8_2_several_calls_are_run_and_no_loop_is_spent(stage: Stage) -> None:
    file = File()
    both: list[Any] = [reply(calls=[call("read_file", path="a"), call("read_file", path="b")]), "Both rose."]
    stage.says([GUIDANCE], both)
    told = await stage.ask(model_request("Analyze the sales."), file)

    assert (told.text, sorted(file.read), stage.calls) == ("Both rose.", ["a", "b"], (1, 2))


async def test_s8_3_a_call_is_detected_while_it_streams(stage: Stage) -> None:
    """From the first piece of a call on, all is passed on as it comes: the answer is not there yet by far."""
    stage.says([GUIDANCE], [reply("Let me read it.", calls=[READ_SALES], pace=0.03)])
    boost, auxiliary = stage.clients()
    heard = HelpLog()
    open_then: list[int] = []

    async def listen(event: Event) -> None:
        await heard(event)
        if isinstance(event, ToolCallDelta) and not open_then:
            open_then.append(stage.auxiliary.open_requests)

    loop = BoostLoop(boost, auxiliary)
    response = await loop.complete(model_request("Analyze the sales.", READ), listen)
    await loop.aclose()

    assert open_then == [1], "the call was heard while the auxiliary model was still answering"
    assert heard.text == response.text == "Let me read it."
