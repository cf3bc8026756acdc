"""Points 70 to 77: which advisors clients get, and how much of them, is for the operator of the server to say."""

import json
from typing import Any

import pytest

from ai_battle.testing import FakeProviders, call, reply

from ..protocol.speaking import AnsweredQuestion, Message, speaking
from ..serving import serving
from .conftest import ASKED, BETA, TOOL, Write, answer_of, codes_in, results_in, words_of

FOUND = "It is line 3."


async def ask(address: str, is_streamed: bool, **body: Any) -> Message:
    async with speaking(address, "worker") as client:
        return await answer_of(client, is_streamed, body)


async def test_70_an_advisor_may_be_named_as_any_model_of_the_server(
    fakes: FakeProviders, write: Write, is_streamed: bool
) -> None:
    """A route, a tier, or a name that says its provider."""
    file = write("server: {routes: {worker: openai/gpt-4o, wise: gemini/gemini-2.5-pro}, tiers: {big: ollama/qwen3}}")
    names = {"wise": fakes.gemini, "claude-opus-4-8": fakes.ollama, "ollama/llama3.2": fakes.ollama}
    async with serving(fakes, file) as address:
        for name, fake in names.items():
            fakes.openai.says(call("advisor"), FOUND)
            fake.says(f"{name} says so.")
            message = await ask(address, is_streamed, tools=[{**TOOL, "model": name}])
            assert [content["text"] for content in results_in(message)] == [f"{name} says so."]

    assert fakes.ollama.questions[-1].body["model"] == "llama3.2"


async def test_71_a_pattern_puts_another_in_the_place_of_an_advisor(
    fakes: FakeProviders, write: Write, is_streamed: bool
) -> None:
    """A model, or a route. It goes before what the name would be otherwise; the first that fits counts."""
    file = write(
        "server: {routes: {worker: openai/gpt-4o, wise: gemini/gemini-2.5-pro}, tiers: {big: openai/gpt-4o-large}, "
        "advisors: {claude-opus-4-8: ollama/qwen3, 'claude-*': wise}}"
    )
    fakes.openai.always(FOUND)
    fakes.openai.says(call("advisor"), FOUND, call("advisor"))
    fakes.ollama.says("One.")
    fakes.gemini.says("Two.")
    async with serving(fakes, file) as address:
        first = await ask(address, is_streamed)
        second = await ask(address, is_streamed, tools=[{**TOOL, "model": "claude-fable-5"}])

    assert [content["text"] for content in (*results_in(first), *results_in(second))] == ["One.", "Two."]


async def refusal(address: str, body: dict[str, Any]) -> AnsweredQuestion:
    async with speaking(address, "worker") as client:
        return await client.post("messages", {**ASKED, **body}, BETA)


async def test_72_a_route_of_the_server_may_be_an_advisor_with_a_helper_of_its_own(
    fakes: FakeProviders, write: Write, is_streamed: bool
) -> None:
    """Any strategy advises, also a vote of several."""
    pair = "{model: ollama/qwen3, secondary: gemini/gemini-2.5-pro, strategy: takeover, threshold: 1}"
    file = write(f"server: {{routes: {{worker: openai/gpt-4o, council: {pair}}}}}")
    fakes.openai.says(call("advisor"), FOUND)
    fakes.ollama.always("I do not know.")
    fakes.gemini.always("Look at the loop.")
    async with serving(fakes, file) as address:
        message = await ask(address, is_streamed, tools=[{**TOOL, "model": "council"}])

    assert codes_in(message) == [None]
    assert message.text == FOUND


@pytest.mark.parametrize("name", ["worker", "openai/gpt-4o"])
async def test_73_an_advisor_that_is_the_worker_itself_is_an_error(
    fakes: FakeProviders, write: Write, name: str
) -> None:
    file = write("server: {routes: {worker: openai/gpt-4o}}")
    async with serving(fakes, file) as address:
        answered = await refusal(address, {"tools": [{**TOOL, "model": name}]})

    assert answered.status == 400, answered.body
    assert "tools[0]" in words_of(answered)
    assert "advise itself" in words_of(answered)
    assert not fakes.openai.questions


async def test_74_an_advisor_of_the_route_serves_clients_that_bring_none(
    fakes: FakeProviders, write: Write, is_streamed: bool
) -> None:
    """They get answers and calls of their own tools, and hear nothing of the advice."""
    route = "{model: openai/gpt-4o, secondary: ollama/qwen3, strategy: advisor}"
    file = write(f"server: {{routes: {{worker: {route}}}}}")
    fakes.openai.says(call("advisor"), FOUND)
    fakes.ollama.says("Look at the loop.")
    async with serving(fakes, file) as address:
        message = await ask(address, is_streamed, tools=ASKED["tools"][:1])

    assert message.kinds == ["text"]
    assert "Look at the loop." in json.dumps(fakes.openai.questions[1].body)


@pytest.mark.parametrize("entry", ["refuse", "{refuse: true}"])
async def test_75_an_advisor_that_the_operator_refuses_is_an_error_with_its_name(
    fakes: FakeProviders, write: Write, entry: str
) -> None:
    """Others are served as before; whether one is refused is told before any model is asked."""
    file = write(
        f"server: {{routes: {{worker: openai/gpt-4o, wise: ollama/qwen3}}, advisors: {{'claude-*': {entry}}}}}"
    )
    fakes.openai.says(call("advisor"), FOUND)
    async with serving(fakes, file) as address:
        answered = await refusal(address, {})
        asked = len(fakes.openai.questions)
        message = await ask(address, False, tools=[{**TOOL, "model": "wise"}])

    assert (answered.status, asked) == (403, 0)
    assert "claude-opus-4-8" in words_of(answered)
    assert codes_in(message) == [None]


async def test_76_the_operator_bounds_the_questions_of_a_request(
    fakes: FakeProviders, write: Write, is_streamed: bool
) -> None:
    """Whoever of client and operator says less."""
    advisors = "{'claude-*': {model: ollama/qwen3, max_uses: 1}}"
    file = write(f"server: {{routes: {{worker: openai/gpt-4o}}, advisors: {advisors}}}")
    fakes.ollama.always("Look at the loop.")
    codes = []
    async with serving(fakes, file) as address:
        for most in (9, 1):
            fakes.openai.says(*(reply(f"Try {n}.", calls=[call("advisor")]) for n in range(2)), FOUND)
            message = await ask(address, is_streamed, tools=[{**TOOL, "max_uses": most}])
            codes.append(codes_in(message))

    assert codes == [[None, "max_uses_exceeded"]] * 2


async def test_77_the_operator_bounds_the_length_of_advice(
    fakes: FakeProviders, write: Write, is_streamed: bool
) -> None:
    advisors = "{'claude-*': {model: ollama/qwen3, max_tokens: 1500}}"
    file = write(f"server: {{routes: {{worker: openai/gpt-4o}}, advisors: {advisors}}}")
    async with serving(fakes, file) as address:
        for tool in (TOOL, {**TOOL, "max_tokens": 9000}, {**TOOL, "max_tokens": 1100}):
            fakes.openai.says(call("advisor"), FOUND)
            await ask(address, is_streamed, tools=[tool])

    lengths = [question.body["options"]["num_predict"] for question in fakes.ollama.questions]
    assert lengths == [1500, 1500, 1100]
