"""The scenarios of the specification of the boost model, each under its number, as clients of a server see them.

What each model is sent is also tested at the level of the loop, in tests/collaboration/test_boost_scenarios.py.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from ai_battle.core.exchange import ToolSpec
from ai_battle.server.config import ConfigSource
from ai_battle.server.running import startup_lines
from ai_battle.testing import FakeProviders, call, fault, reply

from ..collaboration.boosting import GUIDANCE, OTHER, READ, SUMMARY, WRITE, TwoModels, text_of
from .protocol.speaking import Speaker, speaking
from .serving import serving_to
from .ways import WAYS, Asked, ClientAnswer, Way

SAID = "The answer to your question is 42. No tools needed for this query."
READ_SALES = call("read_file", path="/data/sales_2024.csv")
CALLED = [("read_file", {"path": "/data/sales_2024.csv"})]
EVENTS_OF_CALLS = {"messages": "input_json_delta", "chat": "tool_calls", "responses": "function_call_arguments.delta"}


@dataclass
class Stage(TwoModels):
    """A server that plans for some of its tiers."""

    way: Way
    environment: dict[str, str] = field(default_factory=dict)
    model: str = "claude-opus-4"
    log: list[bytes] = field(default_factory=list)
    _running: AsyncExitStack = field(default_factory=AsyncExitStack)
    _client: Speaker | None = None

    def __post_init__(self) -> None:
        self.environment = {
            "BIG_MODEL": "anthropic/claude-sonnet-4-5",
            "MIDDLE_MODEL": "anthropic/claude-haiku-4-5",
            "BOOST_BASE_URL": f"{self.fakes.openai.url}/v1",
            "BOOST_API_KEY": "key-of-boost",
            "BOOST_MODEL": "planner",
            "ENABLE_BOOST_SUPPORT": "BIG_MODEL",
        }

    async def client(self) -> Speaker:
        if self._client is None:
            running = serving_to(self.fakes, self.log.append, **self.environment)
            _, address = await self._running.enter_async_context(running)
            self._client = await self._running.enter_async_context(speaking(address, self.model))
        return self._client

    async def ask(self, text: str, *tools: ToolSpec, **details: Any) -> ClientAnswer:
        return await self.go_on([text], *tools, **details)

    async def go_on(self, turns: Sequence[Any], *tools: ToolSpec, **details: Any) -> ClientAnswer:
        return await self.way.ask(await self.client(), Asked(turns, tools, **details))

    async def aclose(self) -> None:
        await self._running.aclose()


USUAL = [way if way.api == "messages" else pytest.param(way, marks=pytest.mark.slow) for way in WAYS]


@pytest.fixture(params=USUAL, ids=str)
async def stage(request: pytest.FixtureRequest, fakes: FakeProviders) -> AsyncIterator[Stage]:
    stage = Stage(fakes, request.param)
    yield stage
    await stage.aclose()


def log_entry(stage: Stage) -> tuple[str, str, str]:
    """Of the last request: how loud, what the rounds of the loop came to, and how the boost model failed."""
    line = json.loads(stage.log[-1])
    return line["level"], line["boost"], line.get("help_failed", "")


def calls_of(heard: ClientAnswer) -> list[tuple[str, Any]]:
    return [(name, arguments) for _, name, arguments in heard.calls]


async def test_s1_1_a_configured_boost_model_is_asked_with_its_own_address_key_and_name(stage: Stage) -> None:
    stage.says([GUIDANCE], [READ_SALES])
    heard = await stage.ask("Analyze the sales.", READ)
    told = "\n".join(
        startup_lines(ConfigSource("", {**stage.fakes.environment, **stage.environment}).load(), "http://x")
    )

    assert calls_of(heard) == CALLED
    assert stage.boost.questions[0].headers["Authorization"] == "Bearer key-of-boost"
    assert stage.boost.questions[0].body["model"] == "planner"
    assert stage.auxiliary_body()["model"] == "claude-sonnet-4-5"
    assert "boost model planner at " in told
    assert "key-of-boost" not in told


async def test_s1_2_without_a_configuration_it_is_said_and_the_request_goes_the_direct_way(stage: Stage) -> None:
    for name in ("BOOST_BASE_URL", "BOOST_API_KEY", "BOOST_MODEL", "ENABLE_BOOST_SUPPORT"):
        del stage.environment[name]
    stage.says([], [READ_SALES])
    heard = await stage.ask("Analyze the sales.", READ)
    told = "\n".join(
        startup_lines(ConfigSource("", {**stage.fakes.environment, **stage.environment}).load(), "http://x")
    )

    assert calls_of(heard) == CALLED
    assert stage.calls == (0, 1)
    assert "boost is not configured" in told


@pytest.mark.parametrize("missing", ["BOOST_BASE_URL", "BOOST_API_KEY", "BOOST_MODEL"])
def test_s1_2_half_of_a_configuration_is_none_and_what_is_missing_is_named(missing: str) -> None:
    whole = {"BOOST_BASE_URL": "http://127.0.0.1:9/v1", "BOOST_API_KEY": "k", "BOOST_MODEL": "planner"}
    said = {name: value for name, value in whole.items() if name != missing}
    plan = ConfigSource("", {"BIG_MODEL": "ollama/phi4", "ENABLE_BOOST_SUPPORT": "BIG_MODEL", **said}).load()
    told = startup_lines(plan, "http://x")

    assert [route.strategy for route in plan.deployment.routes] == [""] * 3
    assert any("boost is not configured" in line and missing in line for line in told)


async def test_s1_3_a_tier_for_which_nobody_plans_goes_the_direct_way(stage: Stage) -> None:
    """The request is what it would be without any boost model: no plan, no note, nothing added."""
    stage.model = "claude-3-5-sonnet"
    stage.says([], [READ_SALES])
    heard = await stage.ask("Analyze the sales.", READ)

    assert calls_of(heard) == CALLED
    assert stage.calls == (0, 1)
    assert stage.auxiliary_body()["model"] == "claude-haiku-4-5"
    assert [text_of(m["content"]).split("\n")[-1] for m in stage.auxiliary_body()["messages"]] == ["Analyze the sales."]


@pytest.mark.parametrize("tier", ["claude-opus-4", "claude-3-5-sonnet"])
async def test_s1_3_several_tiers_are_planned_for_at_once(stage: Stage, tier: str) -> None:
    stage.environment["ENABLE_BOOST_SUPPORT"] = "BIG_MODEL,MIDDLE_MODEL"
    stage.model = tier
    stage.says([GUIDANCE], [READ_SALES])

    assert calls_of(await stage.ask("Analyze the sales.", READ)) == CALLED
    assert stage.calls == (1, 1)


async def test_s2_1_the_boost_model_gets_formats_tools_and_request_in_its_message(stage: Stage) -> None:
    stage.says([SUMMARY])
    await stage.ask("Please analyze market trends from data files.", READ, WRITE)
    sent = stage.boost_text()

    assert "analyze market trends from data files" in sent
    assert all(heading in sent for heading in ("SUMMARY:", "ANALYSIS:", "GUIDANCE:"))
    assert "read_file: Reads a file and returns its text." in sent
    assert '"required": ["path", "content"]' in sent
    assert "Current ReAct Loop: 0" in sent


async def test_s2_2_without_tools_the_section_of_the_tools_is_empty(stage: Stage) -> None:
    stage.says(["ANALYSIS:\nIt is known.\nGUIDANCE:\nSay that it is Paris."], ["It is Paris."])
    heard = await stage.ask("What is the capital of France?")

    assert stage.boost_text().rstrip().split("Available Tools:")[1].split("\n")[0].strip() == ""
    assert (heard.text, stage.calls) == ("It is Paris.", (1, 1))


async def test_s2_3_the_boost_model_gets_no_tools_parameter(stage: Stage) -> None:
    stage.says([SUMMARY])
    await stage.ask("What is it?", READ)
    body = stage.boost.questions[0].body

    assert not {"tools", "tool_choice", "functions", "parallel_tool_calls"} & body.keys()
    assert "read_file" in text_of(body["messages"])


async def test_s3_1_analysis_and_guidance_are_extracted(stage: Stage) -> None:
    stage.says([GUIDANCE], [READ_SALES])
    await stage.ask("Analyze the sales.", READ)
    sent = text_of(stage.auxiliary_body()["messages"])

    assert "ANALYSIS:\nThe file has to be read." in sent
    assert "GUIDANCE:\n1. Call read_file with path: '/data/sales_2024.csv'" in sent


async def test_s3_2_a_missing_analysis_is_no_obstacle(stage: Stage) -> None:
    guidance = "Call search_web with query: 'latest Node.js performance optimizations' then call write_file"
    stage.says([f"GUIDANCE:\n{guidance}"], [call("write_file", path="a", content="b")])
    heard = await stage.ask("Take notes.", WRITE)

    assert calls_of(heard) == [("write_file", {"path": "a", "content": "b"})]
    assert guidance in text_of(stage.auxiliary_body())
    assert "ANALYSIS" not in text_of(stage.auxiliary_body())


async def test_s3_3_an_analysis_alone_is_asked_for_its_guidance(stage: Stage) -> None:
    analysis = "ANALYSIS:\nThe approach is sequential: logs → code review → database check."
    stage.says([analysis, f"{analysis}\n\nGUIDANCE:\nCall read_file."], [READ_SALES])
    heard = await stage.ask("Why does the endpoint fail?", READ)

    assert (calls_of(heard), stage.calls) == (CALLED, (2, 1))
    assert "logs → code review → database check" in stage.boost_text(1)
    assert "logs → code review → database check" in text_of(stage.auxiliary_body())


async def test_s3_4_other_words_for_guidance_are_found(stage: Stage) -> None:
    stage.says(["**Instructions:**\nCall read_file."], [READ_SALES])

    assert calls_of(await stage.ask("Read it.", READ)) == CALLED
    assert stage.calls == (1, 1)


async def test_s3_5_a_summary_is_the_answer_and_nobody_else_is_called(stage: Stage) -> None:
    """Without its heading."""
    stage.says([SUMMARY])
    heard = await stage.ask("What is the answer?", READ)

    assert (heard.text, heard.calls, stage.calls) == (SAID, [], (1, 0))


async def test_s3_6_of_three_sections_the_summary_counts(stage: Stage) -> None:
    stage.says([f"{GUIDANCE}\n\n{SUMMARY}"])

    assert (await stage.ask("What is the answer?", READ)).text == SAID
    assert stage.calls == (1, 0)


async def test_s4_1_the_auxiliary_model_gets_request_analysis_guidance_and_tools(stage: Stage) -> None:
    stage.says([GUIDANCE], [READ_SALES])
    await stage.ask("Analyze the sales.", READ, WRITE, system="You are an analyst.")
    body = stage.auxiliary_body()

    assert "Analyze the sales." in text_of(body["messages"])
    assert "ANALYSIS:\nThe file has to be read." in text_of(body["messages"])
    assert [tool["name"] for tool in body["tools"]] == ["read_file", "write_file"]
    assert "You are an analyst." in text_of(body["system"])


async def test_s4_2_guidance_alone_goes_along_word_for_word(stage: Stage) -> None:
    steps = "Execute these steps: 1) Call bash with command: 'git commit -m \"Auto commit\"'"
    stage.says([f"GUIDANCE:\n{steps}"], [READ_SALES])
    await stage.ask("Commit it.", READ)

    assert steps in text_of(stage.auxiliary_body())


async def test_s4_3_with_a_summary_no_request_is_assembled(stage: Stage) -> None:
    stage.says([SUMMARY])
    await stage.ask("What is the answer?", READ)

    assert stage.auxiliary.questions == []


async def test_s5_1_the_same_tools_come_as_text_and_as_parameter(stage: Stage) -> None:
    stage.says([GUIDANCE], [READ_SALES])
    await stage.ask("Analyze the sales.", READ, WRITE)

    for tool, sent in zip((READ, WRITE), stage.auxiliary_body()["tools"], strict=True):
        assert (sent["name"], sent["description"], sent["input_schema"]) == (tool.name, tool.description, tool.schema)
        assert f"{tool.name}: {tool.description}" in stage.boost_text()


async def test_s5_2_the_client_runs_its_tools_and_the_boost_model_only_reads_of_them(stage: Stage) -> None:
    """Two turns of an agent: the call comes natively, and its result is planned for as text."""
    stage.says([GUIDANCE, "GUIDANCE:\nSay it."], [READ_SALES, "Sales rose sharply."])
    first = await stage.ask("Analyze the sales.", READ)
    results = [(id_, "month;sales") for id_, _, _ in first.calls]
    second = await stage.go_on(["Analyze the sales.", first.calls, results], READ)

    assert (second.text, stage.calls) == ("Sales rose sharply.", (2, 2))
    assert "Analyze the sales." in stage.boost_text()
    assert "month;sales" in stage.boost_text()
    assert all("tools" not in question.body for question in stage.boost.questions)


async def test_s6_1_an_error_of_the_boost_model_leads_to_direct_execution(stage: Stage) -> None:
    stage.says([fault(500)], [READ_SALES])
    heard = await stage.ask("Analyze the sales.", READ)

    assert (heard.status, calls_of(heard), stage.calls) == (200, CALLED, (1, 1))
    assert "plan" not in text_of(stage.auxiliary_body()["messages"])
    assert log_entry(stage) == ("warning", "fallback", "http_500")


async def test_s6_2_replies_without_sections_lead_to_direct_execution(stage: Stage) -> None:
    stage.says([OTHER, OTHER, OTHER], ["I looked at it directly."])
    heard = await stage.ask("Analyze the sales.", READ)

    assert (heard.text, stage.calls) == ("I looked at it directly.", (3, 1))
    assert OTHER not in text_of(stage.auxiliary_body())
    assert log_entry(stage) == ("warning", "other, other, other", "nothing_usable")


async def test_s6_3_a_boost_model_that_takes_too_long_is_left(stage: Stage) -> None:
    stage.environment["BOOST_TIMEOUT"] = "0.2"
    stage.says([fault("stall_before_headers")], [READ_SALES])
    heard = await stage.ask("Analyze the sales.", READ)

    assert calls_of(heard) == CALLED
    assert stage.boost.questions[0].disconnected
    assert log_entry(stage) == ("warning", "fallback", "timeout")


async def test_s7_1_a_reply_without_a_format_is_asked_for_again_and_goes_along(stage: Stage) -> None:
    stage.says([OTHER, SUMMARY])
    heard = await stage.ask("What is the answer?", READ)

    assert (heard.text, stage.calls) == (SAID, (2, 0))
    assert OTHER in stage.boost_text(1)
    assert "Current ReAct Loop: 1" in stage.boost_text(1)


async def test_s7_2_guidance_to_which_no_tool_is_called_is_planned_again(stage: Stage) -> None:
    """What the auxiliary model said instead is no part of the answer."""
    stage.says([GUIDANCE, GUIDANCE], ["I don't need the file.", READ_SALES])
    heard = await stage.ask("Analyze the sales.", READ)

    assert (heard.text, calls_of(heard), stage.calls) == ("", CALLED, (2, 2))
    assert "I don't need the file." in stage.boost_text(1)


async def test_s7_3_after_three_loops_the_best_answer_there_is_is_given(stage: Stage) -> None:
    """Here the second: the third was cut off, and the first tells of a tool that was never called."""
    answers = ["I searched the web: 12.", "I can't see the file.", reply("It may be", stop="length")]
    stage.says([GUIDANCE] * 4, answers)
    heard = await stage.ask("Analyze the sales.", READ)

    assert (heard.text, stage.calls) == ("I can't see the file.", (3, 3))


async def test_s7_4_each_loop_is_told_its_number_and_all_earlier_replies(stage: Stage) -> None:
    stage.says([OTHER, "Or of the sea.", SUMMARY])
    await stage.ask("What is the answer?", READ)

    for number in range(3):
        assert f"Current ReAct Loop: {number}" in stage.boost_text(number)
    assert "Previous Attempts: none" in stage.boost_text(0)
    assert OTHER in stage.boost_text(2)
    assert "Or of the sea." in stage.boost_text(2)


async def test_s8_1_a_direct_answer_in_place_of_a_call_is_detected(stage: Stage) -> None:
    stage.says([GUIDANCE, SUMMARY], ["Sales are probably fine."])
    heard = await stage.ask("Analyze the sales.", READ)

    assert (heard.text, stage.calls) == (SAID, (2, 1))


async def test_s8_2_several_calls_come_at_once_and_no_loop_is_spent(stage: Stage) -> None:
    stage.says([GUIDANCE], [reply(calls=[call("read_file", path="a"), call("read_file", path="b")])])
    heard = await stage.ask("Analyze the sales.", READ)

    assert calls_of(heard) == [("read_file", {"path": "a"}), ("read_file", {"path": "b"})]
    assert len({id_ for id_, _, _ in heard.calls}) == 2
    assert stage.calls == (1, 1)


async def test_s8_3_a_call_is_detected_while_it_streams(stage: Stage) -> None:
    """From the first piece of a call on, all is passed on as it comes: the end is still far."""
    written = call("write_file", path="/tmp/a", content="A very long text. " * 12)
    stage.says([GUIDANCE], [reply("Let me write it.", calls=[written], pace=0.02)])
    heard = await stage.ask("Write it.", WRITE)

    assert (heard.text, calls_of(heard)) == ("Let me write it.", [("write_file", dict(written.arguments))])
    if heard.streamed:
        mark = EVENTS_OF_CALLS[stage.way.api]
        times = [event.seconds for event in heard.streamed.events if mark in str(event.data)]
        assert times[0] < heard.streamed.events[-1].seconds - 0.1


async def test_a_client_hears_something_while_a_slow_model_plans(stage: Stage) -> None:
    stage.says([reply(GUIDANCE, delay=1.5)], [READ_SALES])
    heard = await stage.ask("Analyze the sales.", READ)

    assert calls_of(heard) == CALLED
    if heard.streamed:
        assert heard.streamed.events[0].seconds < heard.streamed.events[-1].seconds - 0.4


async def test_a_client_that_leaves_ends_the_planning(stage: Stage) -> None:
    stage.says([fault("stall_before_headers")])
    asking = asyncio.create_task(stage.ask("Analyze the sales.", READ))
    async with asyncio.timeout(30):
        while not stage.boost.questions:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.wait((asking,))
        while not stage.boost.questions[0].disconnected:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    assert stage.calls == (1, 0)


async def test_an_error_of_the_auxiliary_model_is_the_answer(stage: Stage) -> None:
    stage.says([GUIDANCE], [fault(529)])
    heard = await stage.ask("Analyze the sales.", READ)

    assert heard.status == 529
    assert heard.body["error"]["message"]


async def test_a_demanded_call_is_never_answered_with_a_summary(stage: Stage) -> None:
    stage.says([SUMMARY, GUIDANCE], [READ_SALES])
    heard = await stage.ask("Analyze the sales.", READ, choice="required")

    assert calls_of(heard) == CALLED
