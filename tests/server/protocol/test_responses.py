"""Points R: the Responses API, over each API upstream."""

import json
from typing import Any

import pytest

from ai_battle.core.exchange import Usage
from ai_battle.testing import call, fault, reply

from .conftest import Stage
from .oddities import FOREVER, Odd
from .speaking import response_of
from .test_messages_streams import leaves

HELLO: dict[str, Any] = {"input": "Hello?"}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
TOOL = {"type": "function", "name": "add", "description": "Adds.", "parameters": SCHEMA}
WITH_TOOL = {**HELLO, "tools": [TOOL]}


async def test_r_basic(stage: Stage) -> None:
    stage.says(reply("Good morning.", usage=Usage(40, 7)))
    body = (await stage.client.post("responses", HELLO)).body
    [item] = body["output"]

    assert (body["object"], body["status"], body["model"]) == ("response", "completed", "claude-opus-4")
    assert body["id"].startswith("resp_")
    assert item["id"]
    assert (item["type"], item["role"], item["status"]) == ("message", "assistant", "completed")
    assert [(part["type"], part["text"]) for part in item["content"]] == [("output_text", "Good morning.")]
    assert (body["usage"]["input_tokens"], body["usage"]["output_tokens"]) == (40, 7)


async def test_r_stream(stage: Stage) -> None:
    """Every event of a text, in the order that clients wait for."""
    stage.says(reply("Good morning, all.", usage=Usage(40, 7)))
    streamed = await stage.client.stream("responses", HELLO)
    names = [event.name for event in streamed.events]
    deltas = [number for number, name in enumerate(names) if name == "response.output_text.delta"]

    assert names[: deltas[0]] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
    ]
    assert names[deltas[-1] + 1 :] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    response = response_of(streamed)
    assert response["output"][0]["content"][0]["text"] == "Good morning, all."
    assert response["usage"]["output_tokens"] == 7


async def test_r_tool(stage: Stage) -> None:
    """A call goes out as an item, and its result comes back as one."""
    stage.says(call("add", a=1))
    body = (await stage.client.post("responses", WITH_TOOL)).body
    [item] = body["output"]
    output = {"type": "function_call_output", "call_id": item["call_id"], "output": "one"}
    asked = [{"role": "user", "content": "Hello?"}, item, output]
    answered = await stage.client.post("responses", {**WITH_TOOL, "input": asked})
    told = stage.upstream_request()

    assert (item["type"], item["name"], json.loads(item["arguments"])) == ("function_call", "add", {"a": 1})
    assert answered.status == 200
    assert told.tools == [("add", "Adds.", SCHEMA)]
    assert (told.of("call"), told.of("result")) == ([("add", {"a": 1})], ["one"])
    assert told.links == told.calls


async def test_a_file_in_an_output_is_not_lost(stage: Stage) -> None:
    """Ollama, which reads none, says so."""
    file = {"type": "input_file", "filename": "map.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjc="}
    called = {"type": "function_call", "call_id": "call_1", "name": "add", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "call_1", "output": [file]}
    asked = [{"role": "user", "content": "Hello?"}, called, output]
    answered = await stage.client.post("responses", {**WITH_TOOL, "input": asked})

    if stage.wire == "ollama":
        assert (answered.status, "application/pdf" in answered.body["error"]["message"]) == (400, True)
    else:
        assert answered.status == 200
        assert "JVBERi0xLjc=" in json.dumps(stage.upstream.questions[-1].body)


async def test_r_tool_stream(stage: Stage) -> None:
    stage.says(reply("I add.", calls=[call("add", a=1), call("add", a=2)]))
    streamed = await stage.client.stream("responses", WITH_TOOL)
    calls = [item for item in response_of(streamed)["output"] if item["type"] == "function_call"]
    done = streamed.of("response.function_call_arguments.done")

    assert [json.loads(item["arguments"]) for item in calls] == [{"a": 1}, {"a": 2}]
    assert [(each["item_id"], each["arguments"]) for each in done] == [(i["id"], i["arguments"]) for i in calls]
    assert len({item["call_id"] for item in calls}) == 2


async def test_r_history(stage: Stage) -> None:
    """Text, items and reasoning items that only OpenAI can read."""
    hidden = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAABhidden"}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Rain."}]}
    asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Why?"}]}
    answered = await stage.client.post(
        "responses", {"instructions": "Be short.", "input": [asked, hidden, said, asked]}
    )
    told = stage.upstream_request()

    assert answered.status == 200, answered.body
    assert told.system == "Be short."
    assert told.of("text") == ["Why?", "Rain.", "Why?"]


async def test_r_thinking_comes_back(stage: Stage) -> None:
    """What was thought goes out as a reasoning item, which the next request may bring along."""
    stage.says(reply("Rain.", thinking="It is autumn."))
    response = response_of(await stage.client.stream("responses", HELLO))
    reasoning, message = response["output"]
    asked = [{"role": "user", "content": "Hello?"}, reasoning, message, {"role": "user", "content": "Why?"}]
    answered = await stage.client.post("responses", {"input": asked})

    assert reasoning["summary"] == [{"type": "summary_text", "text": "It is autumn."}]
    assert answered.status == 200, answered.body
    assert ("signature" in stage.upstream.questions[-1].raw.decode()) == (stage.wire == "anthropic")


@pytest.mark.parametrize("stream", [False, True])
async def test_r_errors(stage: Stage, stream: bool) -> None:
    """Before the first byte with its status, in the shape of the API."""
    stage.says(fault("rate_limited", seconds=7))
    answered = await stage.client.post("responses", {**HELLO, "stream": stream})

    assert (answered.status, answered.headers["retry-after"]) == (429, "7")
    assert answered.body["error"].keys() >= {"message", "type", "code", "param"}


async def test_r_errors_in_mid_stream(odd: Odd) -> None:
    odd.said = [{"content": "Once "}, 0.05, {"error": {"message": "The disk is full.", "type": "server_error"}}]
    streamed = await odd.client.stream("responses", HELLO)
    last = streamed.events[-1].data

    assert (streamed.status, last["type"], last["response"]["status"]) == (200, "response.failed", "failed")
    assert "The disk is full." in last["response"]["error"]["message"]


@pytest.mark.parametrize(
    "wrong",
    [{}, {"input": 7}, {"input": [7]}, {"input": "?", "previous_response_id": "resp_1"}, {"input": "?", "tools": {}}],
)
async def test_r_wrong_requests(odd: Odd, wrong: dict[str, Any]) -> None:
    answered = await odd.client.post("responses", wrong)

    assert (answered.status, answered.body["error"]["type"]) == (400, "invalid_request_error")


async def test_r_incomplete(stage: Stage) -> None:
    stage.says(*[reply("It is about", stop="length")] * 2)
    body = (await stage.client.post("responses", HELLO)).body
    streamed = await stage.client.stream("responses", HELLO)

    assert (body["status"], body["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert streamed.events[-1].name == "response.incomplete"


async def test_r_cancel(odd: Odd) -> None:
    odd.said = [{"content": "Once "}, FOREVER]
    await leaves(odd, stream=True, after=1, path="responses")

    await odd.until_left()
