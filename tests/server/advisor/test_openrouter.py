"""Points 90 to 102: `openrouter:advisor` in the three APIs, asked for as OpenRouter's pages have it."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from ai_battle.testing import FakeProvider, FakeProviders, call, fault

from ..protocol.conftest import MODELS
from ..protocol.sent import Sent, read_sent
from ..protocol.speaking import (
    PATHS,
    AnsweredQuestion,
    Speaker,
    Streamed,
    completion_of,
    message_of,
    response_of,
    speaking,
)
from ..serving import serving
from .conftest import ADVISORS, OTHERS, Write

FOUND = "It is line 3."
LOOK = "Look at the loop."
SAID = "Build a concurrent worker pool with graceful shutdown."
READ = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOLS: dict[str, dict[str, Any]] = {
    "chat": {"type": "function", "function": {"name": "read_file", "parameters": READ}},
    "responses": {"type": "function", "name": "read_file", "parameters": READ},
    "messages": {"name": "read_file", "input_schema": READ},
}


def advisor(**parameters: Any) -> dict[str, Any]:
    return {"type": "openrouter:advisor", "parameters": parameters}


DEFAULT = advisor(model="wise")


@dataclass
class ClientAnswer:
    """What a client of any of the APIs has in the end."""

    text: str
    calls: list[str]
    body: Any


@dataclass
class Router:
    """A server whose clients ask as those of OpenRouter do."""

    client: Speaker
    worker: FakeProvider
    advisor: FakeProvider
    wire: str
    api: str = "chat"
    is_streamed: bool = False

    async def ask(self, *tools: dict[str, Any], **body: Any) -> ClientAnswer:
        asked = self.body(*tools, **body)
        if self.is_streamed:
            streamed = await self.client.stream(self.api, asked)
            return STREAMED[self.api](streamed)
        answered = await self.client.post(self.api, asked)
        assert answered.status == 200, answered.body
        return WHOLE[self.api](answered.body)

    async def refusal(self, *tools: dict[str, Any], **body: Any) -> str:
        answered: AnsweredQuestion = await self.client.post(self.api, self.body(*tools, **body))
        assert answered.status == 400, answered.body
        assert not self.worker.questions
        return str(answered.body["error"]["message"])

    def body(self, *tools: dict[str, Any], **body: Any) -> dict[str, Any]:
        said: dict[str, Any] = {"messages": [{"role": "user", "content": SAID}]}
        said = {"input": SAID} if self.api == "responses" else said
        longest = {"max_tokens": 4096} if self.api == "messages" else {}
        return {**longest, **said, "tools": [TOOLS[self.api], *tools], **body}

    def advisor_request(self, number: int = -1) -> Sent:
        return read_sent(self.advisor.name, self.advisor.questions[number].body)

    def worker_request(self, number: int = -1) -> Sent:
        return read_sent(self.wire, self.worker.questions[number].body)


def _whole_message(body: Any) -> ClientAnswer:
    text = "".join(block["text"] for block in body["content"] if block["type"] == "text")
    return ClientAnswer(text, [block["name"] for block in body["content"] if block["type"] == "tool_use"], body)


def _whole_completion(body: Any) -> ClientAnswer:
    message = body["choices"][0]["message"]
    return ClientAnswer(
        message["content"] or "", [each["function"]["name"] for each in message.get("tool_calls") or ()], body
    )


def _whole_response(body: Any) -> ClientAnswer:
    parts = [part["text"] for item in body["output"] if item["type"] == "message" for part in item["content"]]
    return ClientAnswer(
        "".join(parts), [item["name"] for item in body["output"] if item["type"] == "function_call"], body
    )


def _streamed_message(streamed: Streamed) -> ClientAnswer:
    told = message_of(streamed)
    return ClientAnswer(told.text, [name for name, _ in told.calls], {"content": told.content, "usage": told.usage})


def _streamed_completion(streamed: Streamed) -> ClientAnswer:
    told = completion_of(streamed)
    return ClientAnswer(told.text, [name for _, name, _ in told.calls], {"choices": [{"finish_reason": told.finish}]})


def _streamed_response(streamed: Streamed) -> ClientAnswer:
    return _whole_response(response_of(streamed))


WHOLE = {"messages": _whole_message, "chat": _whole_completion, "responses": _whole_response}
STREAMED = {
    "messages": _streamed_message,
    "chat": _streamed_completion,
    "responses": _streamed_response,
}


async def _route(fakes: FakeProviders, write: Write, wire: str, **more: Any) -> AsyncIterator[Router]:
    other = OTHERS[wire]
    file = write(f"server: {{routes: {{worker: {MODELS[wire]}, wise: {ADVISORS[other]}}}}}")
    async with serving(fakes, file) as address, speaking(address, "worker") as client:
        yield Router(client, getattr(fakes, wire), getattr(fakes, other), wire, **more)


@pytest.fixture(params=[*PATHS])
async def each(
    request: pytest.FixtureRequest, fakes: FakeProviders, write: Write, wire: str, is_streamed: bool
) -> AsyncIterator[Router]:
    """Each API before each upstream, streamed and not."""
    async for router in _route(fakes, write, wire, api=request.param, is_streamed=is_streamed):
        yield router


@pytest.fixture(params=[*PATHS])
async def router(request: pytest.FixtureRequest, fakes: FakeProviders, write: Write) -> AsyncIterator[Router]:
    """Each API before one upstream."""
    async for router in _route(fakes, write, "openai", api=request.param):
        yield router


async def test_90_the_client_gets_the_answer_and_no_call_that_it_would_have_to_run(each: Router) -> None:
    each.worker.says(call("advisor", question="Which pattern?"), FOUND)
    each.advisor.says(LOOK)
    heard = await each.ask(DEFAULT)

    assert (heard.text, heard.calls) == (FOUND, [])
    assert LOOK in each.worker_request().of("result")[0]


async def test_91_calls_of_the_clients_own_tools_go_to_it(each: Router) -> None:
    each.worker.says(call("advisor", question="Which pattern?"), call("read_file", path="a.py"))
    each.advisor.says(LOOK)

    assert (await each.ask(DEFAULT)).calls == ["read_file"]


async def test_92_the_advisor_reads_the_prompt_of_the_worker(each: Router) -> None:
    each.worker.says(call("advisor", question="Channels or a mutex?"), FOUND)
    each.advisor.says(LOOK)
    await each.ask(DEFAULT)

    assert "Channels or a mutex?" in each.advisor_request().text
    assert each.advisor_request().tools == []


async def test_93_responses_have_an_item_for_each_consultation(
    fakes: FakeProviders, write: Write, wire: str, is_streamed: bool
) -> None:
    async for router in _route(fakes, write, wire, api="responses", is_streamed=is_streamed):
        router.worker.says(call("advisor", question="Channels or a mutex?"), FOUND)
        router.advisor.says(LOOK)
        heard = await router.ask(DEFAULT)

        item, message = heard.body["output"]
        assert (item["type"], item["status"], item["advice"]) == ("openrouter:advisor", "completed", LOOK)
        assert (item["prompt"], message["type"]) == ("Channels or a mutex?", "message")
        assert item["id"]
        assert item["model"]


async def test_94_an_item_says_why_there_is_no_advice(fakes: FakeProviders, write: Write, is_streamed: bool) -> None:
    async for router in _route(fakes, write, "openai", api="responses", is_streamed=is_streamed):
        router.worker.says(call("advisor", question="Channels or a mutex?"), FOUND)
        router.advisor.always(fault("http_500"))
        heard = await router.ask(DEFAULT)

        [item] = [each for each in heard.body["output"] if each["type"] == "openrouter:advisor"]
        assert item["status"] in ("failed", "completed")
        assert item["error"]
        assert not item.get("advice")
        assert heard.text == FOUND


async def test_95_messages_have_the_blocks_of_its_own_protocol(
    fakes: FakeProviders, write: Write, wire: str, is_streamed: bool
) -> None:
    async for router in _route(fakes, write, wire, api="messages", is_streamed=is_streamed):
        router.worker.says(call("advisor", question="Channels or a mutex?"), FOUND)
        router.advisor.says(LOOK)
        heard = await router.ask(DEFAULT)

        kinds = [block["type"] for block in heard.body["content"]]
        assert kinds == ["server_tool_use", "advisor_tool_result", "text"]


async def test_96_items_of_earlier_responses_are_taken_back(
    fakes: FakeProviders, write: Write, is_streamed: bool
) -> None:
    async for router in _route(fakes, write, "openai", api="responses", is_streamed=is_streamed):
        router.worker.says(call("advisor", question="Channels or a mutex?"), FOUND, "b.py is fine.")
        router.advisor.says(LOOK)
        first = await router.ask(DEFAULT)
        said = {"role": "user", "content": SAID}
        after = {"role": "user", "content": "And in b.py?"}
        second = await router.ask(DEFAULT, input=[said, *first.body["output"], after])

        assert second.text == "b.py is fine."
        assert LOOK in router.worker_request().text


async def test_97_instructions_are_what_the_advisor_is_told_first(router: Router) -> None:
    router.worker.says(call("advisor", question="Channels or a mutex?"), FOUND)
    router.advisor.says(LOOK)
    await router.ask(advisor(model="wise", instructions="You review for races only."))

    assert "You review for races only." in router.advisor_request().text


async def test_98_the_transcript_goes_to_the_advisor_as_the_client_says(router: Router) -> None:
    """Where it does not, the worker's question is all that the advisor gets, and some have none."""
    for forward, question in ((True, {"question": "Why?"}), (False, {"question": "Why?"}), (False, {})):
        router.worker.says(call("advisor", **question), FOUND)
        router.advisor.says(LOOK)
        await router.ask(advisor(model="wise", forward_transcript=forward))

    texts = [router.advisor_request(number).text for number in range(3)]
    assert [SAID in text for text in texts] == [True, False, False]
    assert ["Why?" in text for text in texts] == [True, True, False]
    assert texts[2]


async def test_99_the_longest_advice_is_the_clients_to_say(router: Router) -> None:
    router.worker.says(call("advisor", question="Channels or a mutex?"), FOUND)
    router.advisor.says(LOOK)
    await router.ask(advisor(model="wise", max_completion_tokens=300))

    assert router.advisor_request().options["max_tokens"] == 300


async def test_100_several_advisors_are_told_apart_by_their_names(fakes: FakeProviders, write: Write) -> None:
    file = write("server: {routes: {worker: openai/gpt-4o, wise: ollama/qwen3, keen: gemini/gemini-2.5-pro}}")
    fakes.openai.says(FOUND)
    async with serving(fakes, file) as address, speaking(address, "worker") as client:
        router = Router(client, fakes.openai, fakes.gemini, "openai")
        await router.ask(advisor(model="wise", name="architect"), advisor(model="keen", name="reviewer"))
        offered = json.dumps(fakes.openai.questions[0].body["tools"])
        [own, *asked] = fakes.openai.questions[0].body["tools"]

    assert ("architect" in offered, "reviewer" in offered) == (True, True)
    assert own["function"]["name"] == "read_file"
    assert asked


async def test_101_a_forced_choice_asks_once(router: Router) -> None:
    """`required` forces a call, of which the advisor is one; the worker is free after it."""
    router.worker.says(call("advisor", question="Channels or a mutex?"), FOUND)
    router.advisor.says(LOOK)
    choice: Any = {"type": "any"} if router.api == "messages" else "required"
    heard = await router.ask(DEFAULT, tools=[DEFAULT], tool_choice=choice)

    assert heard.text == FOUND
    assert [router.worker_request(0).choice, router.worker_request(1).choice] == ["required", "auto"]


async def test_102_without_a_model_the_request_is_refused_with_the_way_out(router: Router) -> None:
    answered = await router.client.post(router.api, router.body({"type": "openrouter:advisor"}))

    assert answered.status == 400
    assert "the model of the advisor is missing; name one of this server's models" in answered.body["error"]["message"]
    assert not router.worker.questions


async def test_103_parameters_that_change_nothing_here_are_taken(router: Router) -> None:
    router.worker.says(call("advisor", question="Channels or a mutex?"), FOUND)
    router.advisor.says(LOOK)
    heard = await router.ask(
        advisor(
            model="wise", stream=True, temperature=0.1, reasoning={"effort": "low"}, max_tool_calls=5, of_next_year=[1]
        )
    )

    assert heard.text == FOUND
    assert "of_next_year" not in router.worker.questions[0].raw.decode()


@pytest.mark.parametrize(
    ("tool", "named"),
    [
        (advisor(model=7), "model"),
        (advisor(model="wise", max_completion_tokens=0), "max_completion_tokens"),
        ({"type": "openrouter:advisor", "parameters": "wise"}, "parameters"),
    ],
    ids=["model", "length", "parameters"],
)
async def test_104_what_can_not_be_is_named_with_its_place(router: Router, tool: dict[str, Any], named: str) -> None:
    words = await router.refusal(tool)

    assert "tools[1]" in words or "tools.1" in words
    assert named in words
