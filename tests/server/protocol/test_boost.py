"""Points H: a tier for which another model plans, whose own model is behind each API upstream."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ai_battle.core.exchange import Usage
from ai_battle.testing import FakeProvider, FakeProviders, call, fault, reply

from ..serving import serving, until
from .conftest import MODELS, Stage
from .oddities import FOREVER, Odd, finish_chunk
from .speaking import AnsweredQuestion, Message, message_of, speaking
from .test_messages_answers import HELLO, TOOL
from .test_messages_requests import assistant, result, use, user

SUMMARY = "SUMMARY:\nIt is 42."
GUIDANCE = "ANALYSIS:\nThis is a sum.\n\nGUIDANCE:\n1. Call add with a: 1"
OTHER = "I would rather talk about the weather."
ADD = call("add", a=1)
ASKED: dict[str, Any] = {**HELLO, "messages": [user("What is the sum?")], "tools": [TOOL]}


@pytest.fixture
def planner(wire: str, fakes: FakeProviders) -> FakeProvider:
    """Speaks OpenAI's API on a port of its own, so that it is told from the model that it plans for."""
    return fakes.elsewhere


@pytest.fixture
async def stage(wire: str, fakes: FakeProviders, planner: FakeProvider) -> AsyncIterator[Stage]:
    variables = {
        "BIG_MODEL": MODELS[wire],
        "BOOST_BASE_URL": f"{planner.url}/v1",
        "BOOST_API_KEY": "key-of-boost",
        "BOOST_MODEL": "planner",
        "ENABLE_BOOST_SUPPORT": "BIG_MODEL",
    }
    async with serving(fakes, **variables) as address, speaking(address) as client:
        yield Stage(client, getattr(fakes, wire), wire)


async def ask(stage: Stage, **body: Any) -> AnsweredQuestion:
    answered = await stage.client.post("messages", {**ASKED, **body})
    assert answered.status == 200, answered.body
    return answered


async def listen(stage: Stage) -> Message:
    return message_of(await stage.client.stream("messages", ASKED))


def calls_in(answered: AnsweredQuestion) -> list[tuple[str, Any]]:
    return [(block["name"], block["input"]) for block in answered.body["content"] if block["type"] == "tool_use"]


async def test_h_summary(stage: Stage, planner: FakeProvider) -> None:
    planner.says(SUMMARY)
    answered = await ask(stage)

    assert answered.body["content"] == [{"type": "text", "text": "It is 42."}]
    assert (len(planner.questions), len(stage.upstream.questions)) == (1, 0)
    assert "tools" not in planner.questions[0].body
    assert "add: Adds." in planner.questions[0].raw.decode()


async def test_h_guidance(stage: Stage, planner: FakeProvider) -> None:
    planner.says(GUIDANCE)
    stage.says(ADD)
    answered = await ask(stage)
    told = stage.upstream_request()

    assert calls_in(answered) == [("add", {"a": 1})]
    assert answered.body["stop_reason"] == "tool_use"
    assert [name for name, _, _ in told.tools] == ["add"]
    assert all(words in told.text for words in ("This is a sum.", "1. Call add with a: 1", "What is the sum?"))


async def test_h_other_retry(stage: Stage, planner: FakeProvider) -> None:
    planner.says(OTHER, SUMMARY)
    answered = await ask(stage)
    second = planner.questions[1].raw.decode()

    assert answered.body["content"][0]["text"] == "It is 42."
    assert OTHER in second
    assert "Current ReAct Loop: 1" in second


async def test_h_no_tool_retry(stage: Stage, planner: FakeProvider) -> None:
    planner.says(GUIDANCE, GUIDANCE)
    stage.says("It may be 3.", ADD)
    answered = await ask(stage)

    assert calls_in(answered) == [("add", {"a": 1})]
    assert (len(planner.questions), len(stage.upstream.questions)) == (2, 2)


async def test_h_limit(stage: Stage, planner: FakeProvider) -> None:
    planner.always(OTHER)
    stage.says("It is 3.")
    answered = await ask(stage)

    assert answered.body["content"] == [{"type": "text", "text": "It is 3."}]
    assert len(planner.questions) == 3


async def test_h_limit_text(stage: Stage, planner: FakeProvider) -> None:
    planner.always(GUIDANCE)
    stage.says("It is 3.", "It is 3.", "It is 3.", "It is 4.")
    answered = await ask(stage)

    assert answered.body["content"] == [{"type": "text", "text": "It is 3."}]
    assert len(stage.upstream.questions) == 3


async def test_h_fallback(stage: Stage, planner: FakeProvider) -> None:
    planner.says(fault(500))
    stage.says(ADD)

    assert calls_in(await ask(stage)) == [("add", {"a": 1})]
    assert len(planner.questions) == 1


async def test_h_stream_summary(stage: Stage, planner: FakeProvider) -> None:
    planner.says(SUMMARY)
    message = await listen(stage)

    assert (message.kinds, message.text, message.stop_reason) == (["text"], "It is 42.", "end_turn")


async def test_h_stream_guidance(stage: Stage, planner: FakeProvider) -> None:
    planner.says(GUIDANCE)
    stage.says(ADD)
    message = await listen(stage)

    assert (message.kinds, message.stop_reason, message.calls) == (["tool_use"], "tool_use", [("add", {"a": 1})])


async def test_h_stream_retry(stage: Stage, planner: FakeProvider) -> None:
    planner.says(GUIDANCE, GUIDANCE)
    stage.says("It may be 3.", ADD)
    message = await listen(stage)

    assert (message.text, message.calls) == ("", [("add", {"a": 1})])


async def test_h_history(stage: Stage, planner: FakeProvider) -> None:
    """The second turn of an agent."""
    planner.says(GUIDANCE)
    stage.says("The sum is 3.")
    turns = [user("What is the sum?"), assistant(use("toolu_1", "add", a=1)), user(result("toolu_1", "one and two"))]
    answered = await ask(stage, messages=turns)
    planned = planner.questions[0].raw.decode()

    assert "What is the sum?" in planned
    assert "one and two" in planned
    assert answered.body["content"][0]["text"] == "The sum is 3."


async def test_h_usage(stage: Stage, planner: FakeProvider) -> None:
    planner.says(reply(GUIDANCE, usage=Usage(100, 50)))
    stage.says(reply(calls=[ADD], usage=Usage(40, 7)))

    assert (await ask(stage)).body["usage"]["output_tokens"] == 57


async def test_h_alive(stage: Stage, planner: FakeProvider) -> None:
    planner.says(reply(SUMMARY, delay=1.5))
    streamed = await stage.client.stream("messages", ASKED)

    assert streamed.events[0].name == "message_start"
    assert streamed.events[0].seconds < streamed.events[-1].seconds - 0.4
    assert message_of(streamed).text == "It is 42."


async def test_h_cancel(stage: Stage, planner: FakeProvider) -> None:
    planner.says(fault("stall_before_headers"))
    asking = asyncio.create_task(stage.client.stream("messages", ASKED))
    await until(lambda: bool(planner.questions))
    asking.cancel()
    await asyncio.wait((asking,))

    await until(lambda: planner.questions[0].disconnected)
    assert stage.upstream.questions == []


async def test_g_survives(odd: Odd) -> None:
    """After all that can go wrong it still answers."""
    for said in ([None], [{"content": "Once "}, None], [{"error": {"message": "no"}}], [{"choices": 7}]):
        odd.said = said
        await odd.client.stream("messages", HELLO)
    odd.said = [FOREVER]
    asking = asyncio.create_task(odd.client.stream("messages", HELLO))
    await odd.until_asked(5)
    asking.cancel()
    await odd.until_left()
    odd.said = [{"content": "Here I am."}, finish_chunk("stop")]

    assert message_of(await odd.client.stream("messages", HELLO)).text == "Here I am."
    assert odd.open == 0


@pytest.mark.parametrize("strategy", ["rescue", "boost"])
async def test_r_boost(fakes: FakeProviders, tmp_path: Any, strategy: str) -> None:
    """A route with a strategy streams over the Responses API too."""
    file = tmp_path / "served.yaml"
    file.write_text(
        f"server: {{routes: {{pair: {{model: ollama/phi4, secondary: openai/gpt-4o, strategy: {strategy}}}}}}}"
    )
    fakes.openai.always(SUMMARY)
    fakes.ollama.always("It is 42.")
    async with serving(fakes, str(file)) as address, speaking(address, "pair") as client:
        streamed = await client.stream("responses", {"input": "What is the sum?"})

    assert streamed.events[-1].name == "response.completed"
    assert streamed.events[-1].data["response"]["output"][0]["content"][0]["text"] == "It is 42."
