"""Clients that bring an advisor with their request: `advisor_20260301` and `openrouter:advisor`."""

import json
from pathlib import Path
from typing import Any

import pytest

from ai_battle.testing import FakeProviders, call, reply

from .protocol.speaking import message_of, speaking
from .serving import asked, serving

FILE = "server: {routes: {worker: ollama/qwen3, clever: openai/gpt-4o, alone: openai/gpt-4o}%s}"
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
            return await asked(address, path, sent)

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
    assert answer["usage"]["input_tokens"] == first["input_tokens"] + last["input_tokens"]


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
