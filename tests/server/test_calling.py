"""Tools of clients, before models that have none: told of in words, and their calls read out of the text."""

import json
from pathlib import Path
from typing import Any

import pytest

from ai_battle.testing import FakeProviders, fault

from .protocol.speaking import Speaker, message_of, speaking
from .serving import serving

TOOL = {
    "name": "read_file",
    "description": "Reads a file.",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}
ASKED: dict[str, Any] = {
    "max_tokens": 99, "messages": [{"role": "user", "content": "Read /a."}], "tools": [TOOL],
}  # fmt: skip
CALLED = 'I will read it.\n\n```tool\n{"tool": "read_file", "parameters": {"path": "/a"}}\n```'


def without_tools(folder: Path) -> str:
    file = folder / "server.yaml"
    file.write_text("server: {routes: {a: {model: {type: ollama/phi4, capabilities: {tools: false}}}}}")
    return str(file)


@pytest.mark.parametrize("api", ["messages", "chat", "responses"])
async def test_a_call_in_the_text_is_a_call_for_the_client(fakes: FakeProviders, tmp_path: Path, api: str) -> None:
    function = {"name": TOOL["name"], "parameters": TOOL["input_schema"]}
    bodies = {
        "messages": ASKED,
        "chat": {**ASKED, "tools": [{"type": "function", "function": function}]},
        "responses": {"input": "Read /a.", "tools": [{"type": "function", **function}]},
    }
    fakes.ollama.says(CALLED)
    async with serving(fakes, without_tools(tmp_path)) as address, speaking(address, "a") as client:
        answered = await client.post(api, bodies[api])

    assert answered.status == 200
    assert "read_file" in str(
        answered.body["content" if api == "messages" else "choices" if api == "chat" else "output"]
    )
    assert "```" not in str(answered.body)
    assert "tools" not in fakes.ollama.questions[0].body
    assert "read_file" in str(fakes.ollama.questions[0].body["messages"])


async def test_a_stream_holds_back_the_call_and_nothing_else(fakes: FakeProviders, tmp_path: Path) -> None:
    fakes.ollama.says(CALLED, "It holds nothing.")
    async with serving(fakes, without_tools(tmp_path)) as address, speaking(address, "a") as client:
        first = message_of(await client.stream("messages", ASKED))
        second = message_of(await client.stream("messages", after(first.content)))

    assert (first.text.strip(), first.calls) == ("I will read it.", [("read_file", {"path": "/a"})])
    assert first.stop_reason == "tool_use"
    assert (second.text, second.stop_reason) == ("It holds nothing.", "end_turn")
    assert "nothing here" in str(fakes.ollama.questions[1].body["messages"])


def after(content: list[dict[str, Any]]) -> dict[str, Any]:
    """The next turn of an agent, with what its tool returned."""
    called = next(block["id"] for block in content if block["type"] == "tool_use")
    returned = {"type": "tool_result", "tool_use_id": called, "content": "nothing here"}
    said = [{"role": "assistant", "content": content}, {"role": "user", "content": [returned]}]
    return {**ASKED, "messages": [*ASKED["messages"], *said]}


async def ask(client: Speaker) -> list[tuple[str, Any]]:
    return message_of(await client.stream("messages", ASKED)).calls


async def test_a_model_that_refuses_tools_is_asked_in_words_and_that_is_remembered(fakes: FakeProviders) -> None:
    fakes.ollama.says(fault("tools_unsupported"), CALLED, CALLED)
    async with serving(fakes, BIG_MODEL="ollama/phi4") as address, speaking(address) as client:
        assert [await ask(client), await ask(client)] == [[("read_file", {"path": "/a"})]] * 2

    assert ["tools" in question.body for question in fakes.ollama.questions] == [True, False, False]


async def test_a_model_that_has_tools_is_called_natively(fakes: FakeProviders) -> None:
    """What looks like a call in its text is its text."""
    fakes.ollama.says(CALLED)
    async with serving(fakes, BIG_MODEL="ollama/phi4") as address, speaking(address) as client:
        message = message_of(await client.stream("messages", ASKED))

    assert (message.text, message.calls) == (CALLED, [])
    assert "tools" in fakes.ollama.questions[0].body


SCHEMAS: list[tuple[Any, int]] = [
    ({"properties": None, "required": None}, 200),
    ({"properties": {"path": {"type": None, "enum": None, "items": None, "description": None}}}, 200),
    ({"properties": {"path": True, "more": {"$ref": "#"}}}, 200),
    ({"properties": {"path": {"type": "string", "default": None}}}, 200),
    ({"properties": "x"}, 400),
    ({"properties": []}, 400),
    ({"properties": {"path": 5}}, 400),
    ({"properties": {"path": {"type": ["string", 7]}}}, 400),
    ({"properties": {"path": {"enum": 5}}}, 400),
    ({"required": [1, {}]}, 400),
    ({"anyOf": "x"}, 400),
]


@pytest.mark.parametrize("strategy", ["", "rescue", "boost"])
async def test_a_schema_that_is_none_is_told_and_never_trips_anybody(
    fakes: FakeProviders, tmp_path: Path, strategy: str
) -> None:
    helped = {"strategy": strategy, "secondary": "openai/large"} if strategy else {}
    route = {"model": {"type": "ollama/phi4", "capabilities": {"tools": False}}, **helped}
    (file := tmp_path / "server.yaml").write_text(json.dumps({"server": {"routes": {"a": route}}}))
    fakes.openai.always("SUMMARY: Here it is.")
    fakes.ollama.always(CALLED)
    async with serving(fakes, str(file)) as address, speaking(address, "a") as client:
        for schema, status in SCHEMAS:
            answered = await client.post("messages", {**ASKED, "tools": [{**TOOL, "input_schema": schema}]})
            assert answered.status == status, (schema, answered.body)
            if status == 400:
                assert "tools[0].input_schema" in answered.body["error"]["message"]
