"""Clients that bring an advisor with their request: `advisor_20260301` and `openrouter:advisor`."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ai_battle.server.running import listening
from ai_battle.server.streaming import StreamTiming
from ai_battle.testing import FakeProviders, call, fault, reply

from .protocol.speaking import Speaker, completion_of, message_of, response_of, speaking
from .serving import ask_server, server_config, serving

FILE = "server: {routes: {worker: ollama/qwen3, clever: openai/gpt-4o}%s}"
MESSAGES, CHAT, RESPONSES = "/v1/messages", "/v1/chat/completions", "/v1/responses"
READ = {"name": "read_file", "description": "Reads.", "input_schema": {"type": "object"}}


def anthropic_tool(model: str = "clever", **more: Any) -> dict[str, Any]:
    return {"type": "advisor_20260301", "name": "advisor", "model": model, **more}


def openrouter_tool(model: str = "clever", **more: Any) -> dict[str, Any]:
    return {"type": "openrouter:advisor", "parameters": {"model": model, **more}}


def body(*tools: dict[str, Any], said: Any = "Find the fault.", **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": said}] if isinstance(said, str) else said
    return {"model": "worker", "max_tokens": 100, "tools": [*tools], "messages": messages, **more}


class Asking:
    """A server whose `worker` is a model of Ollama's, and `clever` one of OpenAI's."""

    def __init__(self, fakes: FakeProviders, folder: Path) -> None:
        self.fakes = fakes
        self.folder = folder

    async def post(self, path: str, sent: dict[str, Any], section: str = "") -> tuple[int, Any]:
        file = self.folder / "server.yaml"
        file.write_text(FILE % (f", {section}" if section else ""))
        async with serving(self.fakes, str(file)) as address:
            return await ask_server(address, path, sent)

    def asks_once(self, advice: Any = "Look into b.py.") -> None:
        self.fakes.ollama.says(reply("Let me ask.", calls=[call("advisor", question="Where?")]), "It is b.py.")
        self.fakes.openai.says(advice)

    @property
    def told(self) -> str:
        """What the worker has read last."""
        return json.dumps(self.fakes.ollama.questions[-1].body)


@pytest.fixture
def asking(fakes: FakeProviders, tmp_path: Path) -> Asking:
    return Asking(fakes, tmp_path)


def kinds(answer: Any) -> list[str]:
    return [block["type"] for block in answer["content"]]


async def test_question_and_advice_stand_between_what_is_said_before_and_after(asking: Asking) -> None:
    asking.asks_once()
    status, answer = await asking.post(MESSAGES, body(anthropic_tool()))

    said, question, advice, end = answer["content"]
    assert status == 200
    assert (said["text"], end["text"]) == ("Let me ask.", "It is b.py.")
    assert question == {"type": "server_tool_use", "id": question["id"], "name": "advisor", "input": {}}
    assert advice["tool_use_id"] == question["id"]
    assert advice["content"] == {"type": "advisor_result", "text": "Look into b.py.", "stop_reason": "end_turn"}
    assert "Look into b.py." in asking.told


async def test_a_stream_has_the_same_blocks_in_the_same_order(asking: Asking) -> None:
    asking.asks_once()
    (asking.folder / "server.yaml").write_text(FILE % "")
    async with serving(asking.fakes, str(asking.folder / "server.yaml")) as address, speaking(address) as client:
        message = message_of(await client.stream("messages", body(anthropic_tool())))

    assert message.kinds == ["text", "server_tool_use", "advisor_tool_result", "text"]
    assert [each["type"] for each in message.usage["iterations"]] == ["message", "advisor_message", "message"]


async def test_usage_is_the_workers_and_that_of_each_call_stands_beside_it(asking: Asking) -> None:
    asking.asks_once()
    _, answer = await asking.post(MESSAGES, body(anthropic_tool()))

    first, advice, last = answer["usage"]["iterations"]
    assert advice["model"] == "clever"
    assert answer["usage"]["output_tokens"] == first["output_tokens"] + last["output_tokens"]
    assert answer["usage"]["input_tokens"] == first["input_tokens"]  # which the last one reads again


@pytest.mark.parametrize("path", [MESSAGES, CHAT, RESPONSES])
async def test_an_advisor_of_openrouters_shape_is_served_in_each_api(asking: Asking, path: str) -> None:
    asking.asks_once()
    sent = body(openrouter_tool())
    if path == RESPONSES:
        sent = {"model": "worker", "tools": sent["tools"], "input": "Find the fault."}
    status, answer = await asking.post(path, sent)

    told = json.dumps(answer)
    assert status == 200
    assert "It is b.py." in told
    assert ("Look into b.py." in told) == (path != CHAT)
    assert "openrouter:advisor" not in asking.told


async def test_an_item_of_the_responses_api_comes_back_as_advice(asking: Asking) -> None:
    asking.asks_once()
    sent = {"model": "worker", "tools": [openrouter_tool()], "input": "Find the fault."}
    _, answer = await asking.post(RESPONSES, sent)
    said = [{"role": "user", "content": "Find the fault."}, *answer["output"], {"role": "user", "content": "And now?"}]
    asking.fakes.ollama.says("Mend it.")
    await asking.post(RESPONSES, {**sent, "input": said})

    results = [each for each in asking.fakes.ollama.questions[-1].body["messages"] if each["role"] == "tool"]
    assert [each["tool_name"] for each in results] == ["advisor"]
    assert "Look into b.py." in results[0]["content"]


async def test_blocks_of_earlier_turns_are_calls_and_results_to_the_worker(asking: Asking) -> None:
    asking.asks_once()
    _, answer = await asking.post(MESSAGES, body(anthropic_tool()))
    said = [{"role": "user", "content": "Find the fault."}, {"role": "assistant", "content": answer["content"]}]
    asking.fakes.ollama.says("Mend it.")
    status, _ = await asking.post(MESSAGES, body(anthropic_tool(), said=[*said, {"role": "user", "content": "Now?"}]))

    messages = asking.fakes.ollama.questions[-1].body["messages"]
    assert status == 200
    assert [each["role"] for each in messages] == ["user", "assistant", "tool", "assistant", "user"]
    assert messages[1]["tool_calls"][0]["function"]["name"] == "advisor"
    assert "Look into b.py." in messages[2]["content"]


async def test_advice_stays_in_words_where_a_later_request_brings_no_advisor(asking: Asking) -> None:
    asking.asks_once()
    _, answer = await asking.post(MESSAGES, body(anthropic_tool()))
    said = [{"role": "user", "content": "Find it."}, {"role": "assistant", "content": answer["content"]}]
    asking.fakes.ollama.says("Mend it.")
    await asking.post(MESSAGES, body(said=[*said, {"role": "user", "content": "Now?"}]))

    assert "Look into b.py." in asking.told


@pytest.mark.parametrize("tools", [(), (anthropic_tool(),)])
async def test_encrypted_advice_of_another_server_is_refused_by_its_id(asking: Asking, tools: Any) -> None:
    result = {"type": "advisor_redacted_result", "encrypted_content": "x"}
    blocks = [
        {"type": "server_tool_use", "id": "srvtoolu_7", "name": "advisor", "input": {}},
        {"type": "advisor_tool_result", "tool_use_id": "srvtoolu_7", "content": result},
    ]
    said = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": blocks}]
    status, answer = await asking.post(MESSAGES, body(*tools, said=[*said, {"role": "user", "content": "Go on."}]))

    assert status == 400
    assert "srvtoolu_7" in answer["error"]["message"]
    assert "encrypted" in answer["error"]["message"]


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        ("rate_limited", "too_many_requests"),
        ("http_529", "overloaded"),
        ("http_404", "model_not_found"),
        ("context_length", "prompt_too_long"),
        ("http_500", "unavailable"),
        ("close_before_headers", "unavailable"),
    ],
)
async def test_each_reason_why_there_is_no_advice_has_its_code(asking: Asking, problem: str, code: str) -> None:
    """The worker goes on without it."""
    asking.asks_once(fault(problem))
    status, answer = await asking.post(MESSAGES, body(anthropic_tool()))

    assert status == 200
    assert answer["content"][2]["content"] == {"type": "advisor_tool_result_error", "error_code": code}
    assert answer["content"][-1]["text"] == "It is b.py."


@pytest.mark.parametrize("said", [reply("I can't help with that.", stop="refusal"), reply(calls=[call("read_file")])])
async def test_an_advisor_that_refuses_or_only_calls_is_unavailable(asking: Asking, said: Any) -> None:
    asking.asks_once(said)
    _, answer = await asking.post(MESSAGES, body(anthropic_tool()))

    assert answer["content"][2]["content"]["error_code"] == "unavailable"


async def test_an_advisor_that_takes_too_long_is_told_as_that(asking: Asking) -> None:
    asking.asks_once(reply("Too late.", delay=30))
    _, answer = await asking.post(MESSAGES, body(anthropic_tool()), "request_timeout: 0.5")

    assert answer["content"][2]["content"]["error_code"] == "execution_time_exceeded"


async def test_no_more_questions_are_answered_than_a_client_allows(asking: Asking) -> None:
    asking.fakes.ollama.says(call("advisor"), call("advisor"), "It is b.py.")
    asking.fakes.openai.says("Look.")
    _, answer = await asking.post(MESSAGES, body(anthropic_tool(max_uses=1)))

    contents = [block["content"] for block in answer["content"] if block["type"] == "advisor_tool_result"]
    assert [each.get("error_code") for each in contents] == [None, "max_uses_exceeded"]


async def test_the_uses_are_those_of_one_request(asking: Asking) -> None:
    """An agent sends several in a turn, with the advice of those before."""
    said: list[dict[str, Any]] = [{"role": "user", "content": "Find the fault."}]
    for step in range(3):
        asking.fakes.ollama.says(call("advisor"), call("read_file", path=f"{step}.py"))
        asking.fakes.openai.says("Look.")
        _, answer = await asking.post(MESSAGES, body(anthropic_tool(max_uses=1), READ, said=said))
        assert answer["content"][1]["content"]["type"] == "advisor_result"
        use = answer["content"][-1]["id"]
        result = {"type": "tool_result", "tool_use_id": use, "content": f"Nothing in {step}."}
        said += [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": [result]}]


async def test_advice_that_was_cut_says_so(asking: Asking) -> None:
    asking.asks_once(reply("Look into", stop="length"))
    _, answer = await asking.post(MESSAGES, body(anthropic_tool(max_tokens=1024)))

    assert answer["content"][2]["content"]["stop_reason"] == "max_tokens"
    assert asking.fakes.openai.questions[-1].body["max_tokens"] == 1024


@pytest.mark.parametrize(
    ("tool", "place"),
    [
        (anthropic_tool(max_uses=0), "tools[1].max_uses"),
        (anthropic_tool(max_tokens=1000), "tools[1].max_tokens"),
        ({"type": "advisor_20260301", "name": "advisor"}, "tools[1].model"),
        (anthropic_tool() | {"name": "oracle"}, "tools[1].name"),
        ({"type": "openrouter:advisor"}, "tools[1]"),
        (openrouter_tool(tools=[{"type": "function", "function": {"name": "x"}}]), "tools[1].parameters.tools[0]"),
        (anthropic_tool("worker"), "tools[1]"),
    ],
)
async def test_what_is_wrong_with_an_advisor_is_told_with_its_place(asking: Asking, tool: Any, place: str) -> None:
    status, answer = await asking.post(MESSAGES, body(READ, tool))

    assert status == 400
    assert answer["error"]["message"].startswith(place)
    assert not asking.fakes.ollama.questions


@pytest.mark.parametrize("path", [MESSAGES, CHAT, RESPONSES])
async def test_an_advisor_whom_nobody_can_be_is_not_found(asking: Asking, path: str) -> None:
    sent = body(openrouter_tool("x" * 500))
    if path == RESPONSES:
        sent = {"model": "worker", "tools": sent["tools"], "input": "Find the fault."}
    status, answer = await asking.post(path, sent)

    assert status == 404
    assert answer["error"]["message"].startswith("tools[0]")


async def test_the_operator_maps_bounds_and_refuses_advisors(asking: Asking) -> None:
    section = 'advisors: {"claude-opus-*": openai/gpt-4o, "gpt-*": refuse, "*": {max_uses: 1, max_tokens: 1500}}'
    asking.asks_once()
    _, answer = await asking.post(MESSAGES, body(anthropic_tool("claude-opus-4-8")), section)
    assert answer["content"][2]["content"]["text"] == "Look into b.py."
    assert asking.fakes.openai.questions[-1].body["model"] == "gpt-4o"

    status, answer = await asking.post(MESSAGES, body(anthropic_tool("gpt-5")), section)
    assert (status, answer["error"]["type"]) == (403, "permission_error")

    asking.asks_once()
    await asking.post(MESSAGES, body(anthropic_tool("clever", max_tokens=9000)), section)
    assert asking.fakes.openai.questions[-1].body["max_tokens"] == 1500


async def test_a_tool_of_the_clients_own_with_that_name_stays_its_own(asking: Asking) -> None:
    mine = {**READ, "name": "advisor"}
    asking.fakes.ollama.says(call("ask_advisor"), call("advisor", path="a.py"))
    asking.fakes.openai.says("Look into b.py.")
    _, answer = await asking.post(MESSAGES, body(anthropic_tool(), mine))

    assert kinds(answer) == ["server_tool_use", "advisor_tool_result", "tool_use"]
    assert answer["content"][-1]["name"] == "advisor"


async def test_a_forced_question_is_asked_once(asking: Asking) -> None:
    asking.fakes.openai.says(call("advisor"), "It is b.py.")
    asking.fakes.ollama.says("Look into b.py.")
    sent = body(anthropic_tool("worker"), READ, tool_choice={"type": "tool", "name": "advisor"})
    _, answer = await asking.post(MESSAGES, {**sent, "model": "clever"})

    first, second = (question.body for question in asking.fakes.openai.questions)
    assert first["tool_choice"]["function"]["name"] == "advisor"
    assert "tool_choice" not in second
    assert kinds(answer) == ["server_tool_use", "advisor_tool_result", "text"]


async def test_an_advisor_that_only_code_may_call_is_not_offered(asking: Asking) -> None:
    asking.fakes.ollama.says("It is b.py.")
    await asking.post(MESSAGES, body(anthropic_tool(allowed_callers=["code_execution_20260120"])))

    assert "tools" not in asking.fakes.ollama.questions[-1].body


async def test_several_advisors_are_chosen_by_name_and_follow_their_instructions(asking: Asking) -> None:
    tools = [openrouter_tool(name="reviewer", instructions="Find flaws."), openrouter_tool(name="architect")]
    asking.fakes.ollama.says(call("advisor", advisor="reviewer", question="And this?"), "It is b.py.")
    asking.fakes.openai.says("Look.")
    _, answer = await asking.post(MESSAGES, body(*tools))

    assert "Find flaws." in json.dumps(asking.fakes.openai.questions[-1].body["messages"][0])
    assert answer["content"][0]["input"] == {"prompt": "And this?"}


async def test_a_result_without_its_question_keeps_its_words(asking: Asking) -> None:
    advice = {"type": "advisor_result", "text": "Look into b.py."}
    block = {"type": "advisor_tool_result", "tool_use_id": "srvtoolu_9", "content": advice}
    said = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": [block]}]
    asking.fakes.ollama.says("It is b.py.")
    status, _ = await asking.post(MESSAGES, body(anthropic_tool(), said=[*said, {"role": "user", "content": "Go on."}]))

    assert status == 200
    assert "Look into b.py." in asking.told


@pytest.fixture
async def streaming(fakes: FakeProviders, tmp_path: Path) -> AsyncIterator[Speaker]:
    """A client of a server that gives a sign of life in each silence of 20 ms."""
    (tmp_path / "server.yaml").write_text(FILE % "")
    config = replace(
        server_config(fakes, str(tmp_path / "server.yaml")), timing=StreamTiming(ping=0.02, first_sign=0.02)
    )
    async with listening(config) as (_, address), speaking(address) as client:
        yield client


async def test_pings_fill_the_time_in_which_an_advisor_thinks(asking: Asking, streaming: Speaker) -> None:
    asking.asks_once(reply("Look into b.py.", delay=0.5))
    streamed = await streaming.stream("messages", body(anthropic_tool()))

    names = [event.name for event in streamed.events]
    starts = [place for place, name in enumerate(names) if name == "content_block_start"]
    assert names[starts[1] : starts[2]].count("ping") > 1
    assert message_of(streamed).kinds == ["text", "server_tool_use", "advisor_tool_result", "text"]


async def test_an_advisor_that_fails_breaks_no_stream(asking: Asking, streaming: Speaker) -> None:
    asking.asks_once(fault("close_mid_stream"))
    message = message_of(await streaming.stream("messages", body(anthropic_tool())))

    assert message.content[2]["content"]["error_code"] == "unavailable"
    assert message.text == "Let me ask.It is b.py."


async def test_a_worker_that_fails_after_advice_ends_the_stream_with_an_error(
    asking: Asking, streaming: Speaker
) -> None:
    asking.fakes.ollama.says(reply("Let me ask.", calls=[call("advisor")]), fault("http_500"))
    asking.fakes.openai.says("Look into b.py.")
    streamed = await streaming.stream("messages", body(anthropic_tool()))

    assert streamed.events[-1].name == "error"
    assert "message_stop" not in [event.name for event in streamed.events]


async def test_a_streamed_answer_of_the_responses_api_has_the_advice_as_an_item(
    asking: Asking, streaming: Speaker
) -> None:
    asking.asks_once()
    sent = {"model": "worker", "tools": [openrouter_tool()], "input": "Find the fault."}
    response = response_of(await streaming.stream("responses", sent))

    assert [item["type"] for item in response["output"]] == ["message", "openrouter:advisor", "message"]
    assert response["output"][1]["advice"] == "Look into b.py."


async def test_chat_completions_show_what_is_said_before_and_after(asking: Asking, streaming: Speaker) -> None:
    asking.asks_once()
    completion = completion_of(await streaming.stream("chat", body(openrouter_tool())))

    assert completion.text == "Let me ask.\n\nIt is b.py."


async def test_what_a_worker_says_is_told_while_it_comes(asking: Asking, streaming: Speaker) -> None:
    said = reply("Let me ask somebody who knows.", calls=[call("advisor")], chunks=6, pace=0.05)
    asking.fakes.ollama.says(said, reply("It is b.py, in line 7.", chunks=4, pace=0.05))
    asking.fakes.openai.says("Look into b.py.")
    streamed = await streaming.stream("messages", body(anthropic_tool()))

    message = message_of(streamed)
    assert message.text == "Let me ask somebody who knows.It is b.py, in line 7."
    assert message.deltas.count("text_delta") > 2


async def test_a_pair_with_a_clients_advisor_tells_only_the_answer_that_it_chose(
    asking: Asking, fakes: FakeProviders, tmp_path: Path
) -> None:
    (tmp_path / "server.yaml").write_text(
        "server: {routes: {worker: {model: ollama/qwen3, secondary: openai/gpt-4o, strategy: takeover}, "
        "clever: anthropic/claude-opus-4-1}}"
    )
    fakes.ollama.says(call("advisor"), "I don't know. I can't help with that, I am only a language model.")
    fakes.anthropic.says("Look into b.py.")
    fakes.openai.always("It is b.py.")
    async with serving(fakes, str(tmp_path / "server.yaml")) as address, speaking(address) as client:
        message = message_of(await client.stream("messages", body(anthropic_tool())))

    assert message.kinds == ["server_tool_use", "advisor_tool_result", "text"]
    assert message.text == "It is b.py."
