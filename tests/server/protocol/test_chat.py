"""Points F: Chat Completions, over each API upstream."""

import asyncio
import json
from typing import Any

import pytest

from ai_battle.core.exchange import Usage
from ai_battle.testing import FakeProviders, call, fault, reply

from ..serving import serving
from .conftest import Stage
from .oddities import FOREVER, Odd, finish_chunk, fragment, usage_chunk
from .speaking import completion_of, message_of, speaking
from .test_messages_streams import leaves

HELLO: dict[str, Any] = {"messages": [{"role": "user", "content": "Hello?"}]}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
TOOL = {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": SCHEMA}}
WITH_USAGE = {**HELLO, "stream_options": {"include_usage": True}}


async def test_f_basic(stage: Stage) -> None:
    stage.says(reply("Good morning.", usage=Usage(40, 7)))
    body = (await stage.client.post("chat", HELLO)).body
    [choice] = body["choices"]

    assert (body["object"], choice["index"], choice["finish_reason"]) == ("chat.completion", 0, "stop")
    assert (choice["message"]["role"], choice["message"]["content"]) == ("assistant", "Good morning.")
    assert (body["usage"]["prompt_tokens"], body["usage"]["completion_tokens"], body["usage"]["total_tokens"]) == (
        40,
        7,
        47,
    )
    assert isinstance(body["created"], int)


async def test_f_model_echo(stage: Stage) -> None:
    assert (await stage.client.post("chat", HELLO)).body["model"] == "claude-opus-4"
    assert completion_of(await stage.client.stream("chat", HELLO)).model == "claude-opus-4"


async def test_f_stream(stage: Stage) -> None:
    stage.says("Good morning, all of you.")
    told = completion_of(await stage.client.stream("chat", HELLO))

    assert (told.text, told.finish) == ("Good morning, all of you.", "stop")


async def test_f_stream_usage(stage: Stage) -> None:
    stage.says(reply("Hi.", usage=Usage(40, 7)))
    told = completion_of(await stage.client.stream("chat", WITH_USAGE))

    assert told.usage
    assert (told.usage["prompt_tokens"], told.usage["completion_tokens"]) == (40, 7)
    assert [bool(chunk["choices"]) for chunk in told.chunks[-2:]] == [True, False]


async def test_f_stream_no_usage(stage: Stage) -> None:
    assert all(chunk["choices"] for chunk in completion_of(await stage.client.stream("chat", HELLO)).chunks)


async def test_f_tool(stage: Stage) -> None:
    stage.says(reply(calls=[call("add", a=1), call("add", a=2)]))
    [choice] = (await stage.client.post("chat", {**HELLO, "tools": [TOOL]})).body["choices"]
    calls = choice["message"]["tool_calls"]

    assert choice["finish_reason"] == "tool_calls"
    assert [json.loads(each["function"]["arguments"]) for each in calls] == [{"a": 1}, {"a": 2}]
    assert {(each["type"], each["function"]["name"]) for each in calls} == {("function", "add")}
    assert len({each["id"] for each in calls}) == 2


async def test_f_tool_stream(odd: Odd) -> None:
    """The fragments of two calls in turn keep their indices."""
    odd.said = [
        fragment(0, id="c1", name="add"),
        fragment(1, id="c2", name="sub"),
        fragment(0, '{"a"'),
        fragment(1, '{"b"'),
        fragment(0, ": 1}"),
        fragment(1, ": 2}"),
        finish_chunk("tool_calls"),
    ]
    told = completion_of(await odd.client.stream("chat", HELLO))

    assert told.calls == [("c1", "add", '{"a": 1}'), ("c2", "sub", '{"b": 2}')]
    assert told.finish == "tool_calls"


async def test_f_tool_stream_of_each(stage: Stage) -> None:
    stage.says(reply("I add.", calls=[call("add", a=1), call("sub", b=2)]))
    told = completion_of(await stage.client.stream("chat", {**HELLO, "tools": [TOOL]}))

    assert (told.text, told.finish) == ("I add.", "tool_calls")
    assert [(name, json.loads(arguments)) for _, name, arguments in told.calls] == [
        ("add", {"a": 1}),
        ("sub", {"b": 2}),
    ]


async def test_f_tool_idx0(odd: Odd) -> None:
    odd.said = [
        fragment(0, '{"a": 1}', id="c1", name="add"),
        fragment(0, '{"b": 2}', id="c2", name="sub"),
        finish_chunk("stop"),
    ]
    told = completion_of(await odd.client.stream("chat", HELLO))

    assert told.calls == [("c1", "add", '{"a": 1}'), ("c2", "sub", '{"b": 2}')]
    assert told.finish == "tool_calls"


async def test_f_reasoning(stage: Stage) -> None:
    stage.says(*[reply("It is 4.", thinking="Two and two.")] * 2)
    message = (await stage.client.post("chat", HELLO)).body["choices"][0]["message"]
    told = completion_of(await stage.client.stream("chat", HELLO))

    assert (message["content"], message["reasoning_content"]) == ("It is 4.", "Two and two.")
    assert (told.text, told.reasoning) == ("It is 4.", "Two and two.")


@pytest.mark.parametrize("role", ["system", "developer"])
async def test_a_request_with_nothing_but_a_system_prompt_is_answered(stage: Stage, role: str) -> None:
    """Where the upstream wants a message, it is the user's."""
    said = [{"role": role, "content": "Name a river."}]
    stage.says("The Nile.", "The Nile.")
    chat = await stage.client.post("chat", {"messages": said})
    responses = await stage.client.post("responses", {"input": said})

    assert (chat.status, responses.status) == (200, 200)
    assert [role for role, _ in stage.upstream_request().turns] == ["user"]


async def test_f_params(odd: Odd, fakes: FakeProviders) -> None:
    """Fields that only OpenAI's API has, or that nobody knows, reach it as they came."""
    asked = {"seed": 7, "response_format": {"type": "json_object"}, "logit_bias": {"42": -1}, "top_k_of_mine": [1]}
    async with serving(fakes, BIG_MODEL="openai/gpt-4o") as address, speaking(address) as client:
        assert (await client.post("chat", {**HELLO, **asked})).status == 200

    body = fakes.openai.questions[-1].body
    assert {name: body[name] for name in asked} == asked


async def test_f_err429(stage: Stage) -> None:
    stage.says(fault("rate_limited", seconds=7))
    answered = await stage.client.post("chat", HELLO)

    assert (answered.status, answered.headers["retry-after"]) == (429, "7")
    assert answered.body["error"]["message"]
    assert answered.body["error"]["type"]


async def test_f_err_stream(stage: Stage) -> None:
    stage.says(fault(429))

    assert (await stage.client.stream("chat", HELLO)).status == 429


async def test_f_miderr(odd: Odd) -> None:
    odd.said = [{"content": "Once "}, 0.05, {"error": {"message": "The disk is full.", "type": "server_error"}}]
    answered = await odd.client.stream("chat", HELLO)
    last = answered.events[-1].data

    assert answered.status == 200
    assert "The disk is full." in last["error"]["message"]


async def test_f_miderr_of_each(stage: Stage) -> None:
    stage.says(fault("error_event_mid_stream"))
    answered = await stage.client.stream("chat", HELLO)

    assert answered.events[-1].data["error"]["message"]


async def test_f_bad_json(odd: Odd) -> None:
    answered = await odd.client.post("chat", b"{")

    assert (answered.status, bool(answered.body["error"]["message"])) == (400, True)


async def test_f_auth(fakes: FakeProviders) -> None:
    async with (
        serving(fakes, BIG_MODEL="ollama/phi4", AI_BATTLE_SERVE_KEYS="k") as address,
        speaking(address) as client,
    ):
        answered = await client.post("chat", HELLO)

    assert (answered.status, bool(answered.body["error"]["message"])) == (401, True)


async def test_f_cancel(odd: Odd) -> None:
    odd.said = [{"content": "Once "}, FOREVER]
    await leaves(odd, stream=True, after=1, path="chat/completions")

    await odd.until_left()


async def test_f_empty(odd: Odd) -> None:
    odd.said = [{"role": "assistant"}, finish_chunk("stop"), usage_chunk(11, 0)]
    told = completion_of(await odd.client.stream("chat", HELLO))

    assert (told.text, told.finish) == ("", "stop")


@pytest.mark.parametrize("api", ["messages", "chat"])
async def test_g_isolation(stage: Stage, api: str) -> None:
    """Of 32 streams at once each gets its own content."""

    def repeat_word(body: Any) -> Any:
        text = json.dumps(body)
        start = text.index("word-")
        return reply(f"{text[start : start + 7]} " * 10, pace=0.001)

    stage.upstream.always(repeat_word)

    async def one(number: int) -> None:
        word = f"word-{number:02}"
        said = {"max_tokens": 64, "messages": [{"role": "user", "content": word}]}
        streamed = await stage.client.stream(api, said)
        text = message_of(streamed).text if api == "messages" else completion_of(streamed).text
        assert text.split() == [word] * 10

    await asyncio.gather(*map(one, range(32)))


JSON_MODES: dict[str, Any] = {
    "openai": lambda body: body["response_format"] == {"type": "json_object"},
    "anthropic": lambda body: "output_config" not in body and "JSON alone" in body["system"],
    "ollama": lambda body: body["format"] == "json",
    "gemini": lambda body: body["generationConfig"] == {"responseMimeType": "application/json"},
}


async def test_json_without_a_schema(stage: Stage) -> None:
    """Where the API upstream has it; Anthropic's wants all properties to be named, so that its model is told."""
    plain = {"messages": [{"role": "user", "content": "Hello?"}]}
    await stage.client.post("chat", {**plain, "response_format": {"type": "json_object"}})
    await stage.client.post("responses", {"input": "Hello?", "text": {"format": {"type": "json_object"}}})

    assert [JSON_MODES[stage.wire](question.body) for question in stage.upstream.questions] == [True, True]


CITY = {"type": "object", "properties": {"city": {"type": "string"}, "minimum": {"type": "number"}}}
CLOSED = {**CITY, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "enforced"),
    [
        (CLOSED, CLOSED),
        (CITY, CLOSED),
        ({"type": "array", "items": CITY, "minItems": 1}, {"type": "array", "items": CLOSED, "minItems": 1}),
        ({**CITY, "additionalProperties": True}, None),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, None),
        ({"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}}, None),
        ({"type": "array", "items": CITY, "minItems": 2}, None),
    ],
)
async def test_a_schema_that_claude_would_refuse_is_told_in_words(
    fakes: FakeProviders, schema: Any, enforced: Any
) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    asked = {"messages": [{"role": "user", "content": "Which city?"}], "response_format": form}
    async with serving(fakes, BIG_MODEL="anthropic/large") as address, speaking(address) as client:
        assert (await client.post("chat", asked)).status == 200

    body = fakes.anthropic.questions[0].body
    assert body.get("output_config", {}).get("format", {}).get("schema") == enforced
    assert ("JSON alone" in body.get("system", "")) is (enforced is None)


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_recording_reaches_who_can_hear_it_and_is_refused_by_whom_it_would_be_lost(
    stage: Stage, api: str
) -> None:
    """OpenAI gets it as it came, Gemini and Anthropic as a file; Ollama has no place for any, which is told."""
    sound = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
    words = {"type": "input_text" if api == "responses" else "text", "text": "What is said?"}
    asks = {"input" if api == "responses" else "messages": [{"role": "user", "content": [words, sound]}]}
    stage.says("A word.")
    answered = await stage.client.post(api, asks)

    if stage.wire == "ollama":
        assert answered.status == 400
        assert "audio/wav" in answered.body["error"]["message"]
    else:
        assert answered.status == 200
        assert b"UklGRg==" in stage.upstream.questions[-1].raw
    if stage.wire == "openai":
        assert stage.upstream.questions[-1].body["messages"][0]["content"][1] == sound


async def test_a_refusal_that_is_streamed_is_a_refusal_in_each_api(odd: Odd) -> None:
    odd.said = [{"role": "assistant", "refusal": ""}, {"refusal": "I "}, {"refusal": "can't."}, finish_chunk("stop")]
    chat = await odd.client.stream("chat", HELLO)
    responses = await odd.client.stream("responses", {"input": "Hello?"})
    message = message_of(await odd.client.stream("messages", {**HELLO, "max_tokens": 9}))

    chunks = (event.data for event in chat.events if isinstance(event.data, dict))
    said = [chunk["choices"][0]["delta"] for chunk in chunks if chunk.get("choices")]
    refused = [data["delta"] for data in responses.of("response.refusal.delta")]
    assert "".join(delta.get("refusal", "") for delta in said) == "I can't."
    assert not any(delta.get("content") for delta in said)
    assert refused == ["I ", "can't."]
    assert (message.stop_reason, message.text) == ("refusal", "I can't.")
