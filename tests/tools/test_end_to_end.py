"""Tools over each real wire: what is sent, what comes back, and what is learned."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from ai_battle import create_client
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import ToolError
from ai_battle.core.events import EventLog
from ai_battle.core.exchange import ModelRequest, ModelResponse
from ai_battle.core.messages import ToolCall, user
from ai_battle.core.tooling import FabricationSuspected
from ai_battle.providers._capabilities import RefusalMemory
from ai_battle.testing import FakeProvider, FakeProviders, call, fault, reply
from ai_battle.tools.base import Tool
from ai_battle.tools.calls import RunnerLimits
from ai_battle.tools.client import ToolCapableClient
from ai_battle.tools.decorator import tool
from ai_battle.tools.formats.auto import AutoTools, Calling

TYPES = {
    "openai": "openai/gpt-4o",
    "anthropic": "anthropic/claude-sonnet-4-5",
    "ollama": "ollama/qwen3",
    "gemini": "gemini/gemini-2.5-pro",
}
QUICK = RunnerLimits(max_rounds=10, backoff_seconds=0)
FENCED = '```tool\n{"tool": "add", "parameters": {"a": 1, "b": 2}}\n```'


class Adding:
    """A tool that adds, and remembers what."""

    def __init__(self) -> None:
        self.sums: list[tuple[int, int]] = []

        @tool
        async def add(a: int, b: int) -> int:
            """Adds."""
            self.sums.append((a, b))
            if a < 0:
                raise ToolError("only what is above 0 is added")
            return a + b

        self.tool: Tool = add


@pytest.fixture(params=TYPES)
def fake(request: pytest.FixtureRequest, fakes: FakeProviders) -> FakeProvider:
    found: FakeProvider = getattr(fakes, request.param)
    return found


@pytest.fixture
def adding() -> Adding:
    return Adding()


async def ask_with_tools(
    fake: FakeProvider, *tools: Tool, calling: Calling = "auto", memory: RefusalMemory | None = None
) -> ModelResponse:
    client = create_client(TYPES[fake.name])
    way = AutoTools(client, calling, memory=memory, refusal_key=(fake.url, TYPES[fake.name]))
    return await ask(ToolCapableClient(way, tools, QUICK))


async def ask(client: ModelClient) -> ModelResponse:
    try:
        response = await client.complete(ModelRequest((user("What is it?"),), "Be brief."), log := EventLog())
    finally:
        await client.aclose()
    assert log.text == response.text
    return response


def tool_names(body: Mapping[str, Any]) -> list[str]:
    """The names of the tools in the body of any wire."""
    tools = body.get("tools") or ()
    declared = [one for entry in tools for one in entry.get("functionDeclarations", [entry.get("function", entry)])]
    return [one["name"] for one in declared]


def tool_results(response: ModelResponse) -> list[Any]:
    return [json.loads(result.text) for step in response.steps for result in step.tool_results]


async def test_one_call(fake: FakeProvider, adding: Adding) -> None:
    fake.says(call("add", a=1, b=2), "It is 3.")
    response = await ask_with_tools(fake, adding.tool)

    assert (response.text, adding.sums, tool_results(response)) == ("It is 3.", [(1, 2)], [{"result": 3}])
    first, second = fake.questions
    assert tool_names(first.body) == tool_names(second.body) == ["add"]
    assert '{\\"result\\": 3}' in second.raw.decode() or '"result": 3' in second.raw.decode().replace('":', '": ')


async def test_eight_parallel_calls(fake: FakeProvider, adding: Adding) -> None:
    fake.says(reply("", calls=[call("add", a=n, b=1) for n in range(8)]), "Done.")
    response = await ask_with_tools(fake, adding.tool)
    assert [result["result"] for result in tool_results(response)] == [n + 1 for n in range(8)]
    ids = [one.id for one in response.steps[0].tool_calls]
    assert len(set(ids)) == 8


async def test_a_chain_of_calls_and_results(fake: FakeProvider, adding: Adding) -> None:
    fake.says(call("add", a=1, b=2), call("add", a=3, b=3), call("add", a=6, b=4), "It is 10.")
    response = await ask_with_tools(fake, adding.tool)
    assert adding.sums == [(1, 2), (3, 3), (6, 4)]
    assert (response.text, len(response.steps), len(fake.questions)) == ("It is 10.", 6, 4)


async def test_a_call_that_the_tool_refuses(fake: FakeProvider, adding: Adding) -> None:
    fake.says(call("add", a=-1, b=2), "That can't be added.")
    response = await ask_with_tools(fake, adding.tool)
    assert tool_results(response) == [{"error": "only what is above 0 is added"}]
    assert response.text == "That can't be added."


@pytest.mark.parametrize("fake", [name for name in TYPES if name != "gemini"], indirect=True)
async def test_arguments_that_are_cut_off_or_nearly_json(fake: FakeProvider, adding: Adding) -> None:
    """Gemini's are an object in any case: an answer with other ones is none, and asked for again."""
    written = ('{"a": 1, "b": ', "{'a': 1, 'b': 2,}", '"{\\"a\\": 3, \\"b\\": 4}"')
    fake.says(*(ToolCall("add", {}, malformed=each) for each in written), "It is 7.")
    response = await ask_with_tools(fake, adding.tool)
    assert "they are cut off" in tool_results(response)[0]["error"]
    assert (adding.sums, response.text) == ([(1, 2), (3, 4)], "It is 7.")


async def test_malformed_arguments(fake: FakeProvider, adding: Adding) -> None:
    fake.says(call("add", a="one", b=[]), call("add", a="1", b=2), "It is 3.")
    response = await ask_with_tools(fake, adding.tool)
    assert "expected integer" in tool_results(response)[0]["error"]
    assert (adding.sums, response.text) == ([(1, 2)], "It is 3.")


async def test_an_unknown_tool(fake: FakeProvider, adding: Adding) -> None:
    fake.says(call("subtract", a=1, b=2), call("add", a=1, b=2), "It is 3.")
    response = await ask_with_tools(fake, adding.tool)
    assert tool_results(response) == [{"error": "Tool not found: subtract; the tools are: add"}, {"result": 3}]


@pytest.mark.parametrize("name", ["duplicate_tool_ids", "missing_tool_ids"])
async def test_duplicate_and_missing_ids(fake: FakeProvider, name: str) -> None:
    @tool
    async def get_weather(city: str = "") -> str:
        """Tells the weather."""
        return f"fine in {city}"

    fake.says(fault(name), "Fine.")
    response = await ask_with_tools(fake, get_weather)
    calls = [one for step in response.steps for one in step.tool_calls]
    assert response.text == "Fine."
    assert len({one.id for one in calls}) == len(calls) == 2


async def test_tools_that_are_not_supported_are_told_in_the_text_and_that_is_remembered(
    fake: FakeProvider, adding: Adding
) -> None:
    fake.says(fault("tools_unsupported"), FENCED, "It is 3.", "Hello.")
    response = await ask_with_tools(fake, adding.tool, memory=RefusalMemory.load())
    again = await ask_with_tools(fake, adding.tool, memory=RefusalMemory.load())

    assert (response.text, adding.sums, again.text) == ("It is 3.", [(1, 2)], "Hello.")
    assert [bool(tool_names(question.body)) for question in fake.questions] == [True, False, False, False]
    assert "tools" in RefusalMemory.load().refuses(fake.url, TYPES[fake.name])


@pytest.mark.parametrize("calling", ["native", "json", "text"])
async def test_every_way_of_calling_comes_to_the_same(fake: FakeProvider, adding: Adding, calling: Calling) -> None:
    said = {
        "native": (call("add", a=1, b=2), "It is 3."),
        "json": tuple(
            json.dumps({"toolCalls": calls, "content": words, "needsMoreWork": bool(calls)})
            for calls, words in ([[{"name": "add", "arguments": {"a": 1, "b": 2}}], ""], [[], "It is 3."])
        ),
        "text": (FENCED, "It is 3."),
    }
    fake.says(*said[calling])
    response = await ask_with_tools(fake, adding.tool, calling=calling)
    assert (response.text, adding.sums) == ("It is 3.", [(1, 2)])
    assert bool(tool_names(fake.questions[0].body)) == (calling == "native")


@pytest.mark.parametrize("calling", ["native", "text"])
async def test_a_result_is_suspected_where_no_call_stands_behind_it(
    fake: FakeProvider, adding: Adding, calling: Calling
) -> None:
    sums = ("Order 5512 adds up to 3.", "Order 5512 adds up to 4.17.")
    fake.says(call("add", a=1, b=2) if calling == "native" else FENCED, *sums)
    client = ToolCapableClient(AutoTools(create_client(TYPES[fake.name]), calling), [adding.tool], QUICK)
    for suspected in ([], [FabricationSuspected(sums[1])]):
        await client.complete(ModelRequest((user("What does order 5512 add up to?"),)), log := EventLog())
        assert [event for event in log.events if isinstance(event, FabricationSuspected)] == suspected
    await client.aclose()


async def test_names_that_a_provider_does_not_take_are_changed_on_the_wire_alone(fake: FakeProvider) -> None:
    @tool(name="files:read")
    async def read(path: str) -> str:
        """Reads."""
        return f"text of {path}"

    fake.says(call("files_read", path="a.txt"), "Read.")
    response = await ask_with_tools(fake, read)
    assert tool_names(fake.questions[0].body) == ["files_read"]
    assert response.steps[0].tool_calls[0].name == "files:read"
    assert tool_results(response) == [{"result": "text of a.txt"}]


async def test_the_same_call_fifteen_times_is_one_execution(fake: FakeProvider, adding: Adding) -> None:
    fake.says(*(ToolCall("add", dict(sorted({"a": 1, "b": 2}.items(), reverse=n % 2 == 1))) for n in range(15)))
    response = await ask_with_tools(fake, adding.tool)
    assert adding.sums == [(1, 2)]
    assert len(fake.questions) == 3
    assert response.text


@pytest.mark.parametrize("calling", ["native", "text"])
async def test_models_that_loop_end(fake: FakeProvider, adding: Adding, calling: Calling) -> None:
    fake.always(lambda body: call("add", a=len(fake.questions), b=1) if tool_names(body) else FENCED)
    await ask_with_tools(fake, adding.tool, calling=calling)
    assert len(fake.questions) <= QUICK.max_rounds + 1
