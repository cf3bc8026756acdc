"""Clients of the Messages API before an upstream of the same API: it hears what they say, as they say it."""

from pathlib import Path
from typing import Any

import pytest

from ai_battle.core.messages import ToolCall
from ai_battle.testing import FakeProviders, reply

from .protocol.speaking import message_of, speaking
from .serving import ask_server, serving

HELLO: dict[str, Any] = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]}


async def test_beta_headers_of_a_client_reach_anthropic_alone(fakes: FakeProviders) -> None:
    tiers = {"BIG_MODEL": "anthropic/claude-opus-4-1", "SMALL_MODEL": "openai/little"}
    async with serving(fakes, **tiers) as address:
        for name in ("opus", "haiku"):
            await ask_server(address, "/v1/messages", {"model": name, **HELLO}, {"anthropic-beta": "one,two"})
        await ask_server(address, "/v1/messages", {"model": "opus", **HELLO})

    assert [q.headers.get("anthropic-beta") for q in fakes.anthropic.questions] == ["one,two", None]
    assert "anthropic-beta" not in fakes.openai.questions[0].headers


async def test_anthropic_is_spoken_to_in_the_version_of_the_client(fakes: FakeProviders) -> None:
    """The older version takes sampling parameters, and keys under another name; a client that names none loses none."""
    warm = {"model": "opus", "temperature": 0.5, **HELLO}
    older, current = ({"anthropic-version": version} for version in ("2023-06-01", "2026-10-21"))
    cases: list[tuple[dict[str, Any], dict[str, str]]] = [
        (warm, older),
        (warm, {}),
        (warm, current),
        ({"model": "opus", **HELLO}, {}),
    ]
    async with serving(fakes, BIG_MODEL="anthropic/claude-opus-4-1", ANTHROPIC_API_KEY="sk-a") as address:
        for body, headers in cases:
            assert (await ask_server(address, "/v1/messages", body, headers))[0] == 200

    for question in fakes.anthropic.questions[:2]:
        assert (question.headers["anthropic-version"], question.body["temperature"]) == ("2023-06-01", 0.5)
        assert (question.headers["x-api-key"], "authorization" in question.headers) == ("sk-a", False)
    for question in fakes.anthropic.questions[2:]:
        assert question.headers["anthropic-version"] == "2026-10-21"
        assert "temperature" not in question.body
        assert "x-api-key" not in question.headers


async def test_a_version_that_the_file_settles_is_spoken_whatever_the_client_speaks(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("{server: {routes: {a: anthropic/claude}}, providers: {anthropic: {api_version: 2023-06-01}}}")
    body = {"model": "a", "temperature": 0.5, **HELLO}
    async with serving(fakes, str(file)) as address:
        assert (await ask_server(address, "/v1/messages", body, {"anthropic-version": "2026-10-21"}))[0] == 200

    assert fakes.anthropic.questions[0].headers["anthropic-version"] == "2023-06-01"


async def test_marks_for_a_cache_are_those_of_the_client(fakes: FakeProviders) -> None:
    """Four are allowed, and a coding assistant uses them; clients of other APIs know none, and get some."""
    said = [*HELLO["messages"], {"role": "assistant", "content": "Hm?"}, *HELLO["messages"]]
    async with serving(fakes, BIG_MODEL="anthropic/claude-opus-4-1") as address:
        for path in ("/v1/messages", "/v1/chat/completions"):
            await ask_server(address, path, {"model": "opus", "max_tokens": 9, "messages": said})

    assert [b"cache_control" in question.raw for question in fakes.anthropic.questions] == [False, True]


@pytest.mark.parametrize("spoken", [{"thinking": "Now the te"}, {"text": "Now the te"}], ids=str)
async def test_what_could_begin_a_secret_is_streamed_before_the_call_and_the_signature_that_follow(
    fakes: FakeProviders, spoken: dict[str, str]
) -> None:
    """The key of the fakes is "test-key"; a thought in parts would no longer fit its signature."""
    fakes.anthropic.says(*[reply(calls=[ToolCall("run", {}, "toolu_1")], **spoken)] * 2)
    tools = [{"name": "run", "input_schema": {"type": "object"}}]
    async with serving(fakes, BIG_MODEL="anthropic/claude-opus-4-1") as address, speaking(address) as client:
        whole = (await client.post("messages", {**HELLO, "tools": tools})).body["content"]
        streamed = message_of(await client.stream("messages", {**HELLO, "tools": tools})).content

    assert streamed == whole
    assert len(whole) == 2


async def test_a_signature_covers_the_thought_of_the_answer_and_none_of_the_thoughts_before_it(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    """Anthropic refuses a thought with words of another model, and so one that a pair's helper gets back."""
    file = tmp_path / "s.yaml"
    pair = "{primary: ollama/phi4, secondary: anthropic/claude-opus-4-1, strategy: takeover, threshold: 1.0}"
    file.write_text(f"server: {{routes: {{pair: {pair}}}}}")
    fakes.ollama.always(reply("I can't help with that.", thinking="Hm, tools."))
    fakes.anthropic.says(reply(calls=[ToolCall("run", {}, "toolu_1")], thinking="I run it."), "It is done.")
    asks = {"max_tokens": 2000, "tools": [{"name": "run", "input_schema": {"type": "object"}}]}
    result = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}]
    async with serving(fakes, str(file)) as address, speaking(address, "pair") as client:
        streamed = message_of(await client.stream("messages", {**HELLO, **asks})).content
        said = [*HELLO["messages"], {"role": "assistant", "content": streamed}, {"role": "user", "content": result}]
        await client.stream("messages", {**asks, "messages": said})

    *before, thought, call = streamed
    assert {(block["thinking"], block["signature"]) for block in before} == {("Hm, tools.", "")}
    assert (thought["thinking"], bool(thought["signature"]), call["type"]) == ("I run it.", True, "tool_use")
    assert fakes.anthropic.questions[-1].body["messages"][1]["content"] == [thought, call]


async def test_a_refusal_of_anthropic_ends_as_filtered_in_the_apis_of_openai(fakes: FakeProviders) -> None:
    """What was said before it stays text; their own refusals are a text of another kind."""
    fakes.anthropic.says(*[reply("I could", stop="refusal")] * 3)
    asks = {"model": "opus", "max_tokens": 9, "messages": HELLO["messages"]}
    async with serving(fakes, BIG_MODEL="anthropic/claude-opus-4-1") as address:
        _, own = await ask_server(address, "/v1/messages", asks)
        _, chat = await ask_server(address, "/v1/chat/completions", asks)
        _, responses = await ask_server(address, "/v1/responses", {"model": "opus", "input": "Hello?"})

    [choice] = chat["choices"]
    assert own["stop_reason"] == "refusal"
    assert (choice["finish_reason"], choice["message"]["content"]) == ("content_filter", "I could")
    assert (responses["status"], responses["incomplete_details"]) == ("incomplete", {"reason": "content_filter"})


BODIES: dict[str, dict[str, Any]] = {
    "/v1/messages": {"max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "Hello?"}]},
    "/v1/responses": {"input": "Hello?"},
}


@pytest.mark.parametrize("path", [*BODIES])
@pytest.mark.parametrize("stream", [True, False])
async def test_sampling_reaches_the_model_whatever_api_the_client_speaks(
    fakes: FakeProviders, path: str, stream: bool
) -> None:
    body = {**BODIES[path], "model": "opus", "temperature": 0.25, "top_p": 0.5, "stream": stream}
    async with (
        serving(fakes, BIG_MODEL="anthropic/claude-opus-4-1") as address,
        speaking(address) as client,
        client.session.post(address + path, json=body) as answer,
    ):
        assert "x-ai-battle-left-out" not in answer.headers
        assert answer.status == 200

    [question] = fakes.anthropic.questions
    assert (question.body["temperature"], question.body["top_p"]) == (0.25, 0.5)
    assert question.headers["anthropic-version"] == "2023-06-01"


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
@pytest.mark.parametrize("stream", [True, False])
async def test_what_a_model_does_not_take_is_told_in_a_header_each_time(
    fakes: FakeProviders, path: str, stream: bool
) -> None:
    """Beside thinking the API takes no sampling, in no version."""
    effort = {"reasoning": {"effort": "low"}} if path == "/v1/responses" else {"reasoning_effort": "low"}
    body = {**BODIES[path], **effort, "model": "opus", "temperature": 0.25, "stream": stream}
    told = []
    async with serving(fakes, BIG_MODEL="anthropic/claude-opus-4-1") as address, speaking(address) as client:
        for _ in range(2):
            async with client.session.post(address + path, json=body) as answer:
                told.append(answer.headers.get("x-ai-battle-left-out"))

    assert told == ["temperature"] * 2
    assert "temperature" not in fakes.anthropic.questions[0].body
