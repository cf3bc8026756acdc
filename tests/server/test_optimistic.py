"""A pair whose first answer is read before it is judged."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ai_battle.core.errors import ConfigError
from ai_battle.testing import FakeProviders, call, fault, reply

from .conftest import Upstream
from .protocol.speaking import Speaker, Streamed, response_of, speaking
from .serving import server_config, serving

FILE = """
server:
  routes:
    pair:
      {{model: {upstream}/small, secondary: {upstream}/large, strategy: {strategy}, stream: {stream}, max_retries: 1}}
"""
ADD = {"type": "object", "properties": {"a": {"type": "integer"}}}
BODIES: dict[str, dict[str, Any]] = {
    "messages": {"max_tokens": 77, "messages": [{"role": "user", "content": "How tall is the tower?"}]},
    "chat": {"max_tokens": 77, "messages": [{"role": "user", "content": "How tall is the tower?"}]},
    "responses": {"max_output_tokens": 77, "input": "How tall is the tower?"},
}
GOOD = "The tower is 96 metres tall, as its plate at the door says."
POOR = "I do not know."
MARK = "\n\n---\n\n**Correction:**\n\n"


def write_config(upstream: Upstream, folder: Path, strategy: str = "takeover", stream: str = "optimistic") -> str:
    path = folder / "server.yaml"
    path.write_text(FILE.format(upstream=upstream.name, strategy=strategy, stream=stream))
    return str(path)


def text_of(api: str, streamed: Streamed) -> str:
    if api == "messages":
        return "".join(each["delta"].get("text", "") for each in streamed.of("content_block_delta"))
    if api == "chat":
        chunks = [event.data for event in streamed.events if isinstance(event.data, dict)]
        return "".join(c["delta"].get("content") or "" for chunk in chunks for c in chunk.get("choices", ()))
    told = "".join(each["delta"] for each in streamed.of("response.output_text.delta"))
    whole = response_of(streamed)["output"]
    assert told == "".join(part["text"] for item in whole if item["type"] == "message" for part in item["content"])
    return told


async def ask(client: Speaker, api: str, **more: Any) -> str:
    return text_of(api, await client.stream(api, {**BODIES[api], **more}))


def of_each(upstream: Upstream, small: Any, large: Any) -> None:
    upstream.fake.always(lambda body: small if body["model"] == "small" else large)


@pytest.mark.parametrize("api", [*BODIES])
async def test_a_good_answer_is_told_once_and_alone(
    fakes: FakeProviders, upstream: Upstream, tmp_path: Path, api: str
) -> None:
    of_each(upstream, GOOD, fault(500))
    async with serving(fakes, write_config(upstream, tmp_path)) as address, speaking(address, "pair") as client:
        told = await ask(client, api)

    assert told == GOOD
    assert len(upstream.fake.questions) == 1


@pytest.mark.parametrize("api", [*BODIES])
@pytest.mark.parametrize("strategy", ["takeover", "critique", "rescue"])
async def test_a_correction_comes_behind_a_poor_answer_marked(
    fakes: FakeProviders, upstream: Upstream, tmp_path: Path, api: str, strategy: str
) -> None:
    upstream.fake.always(lambda body: GOOD if body["model"] == "large" or "96" in str(body["messages"]) else POOR)
    async with (
        serving(fakes, write_config(upstream, tmp_path, strategy)) as address,
        speaking(address, "pair") as client,
    ):
        told = await ask(client, api)

    assert told == f"{POOR}{MARK}{GOOD}"


async def test_the_first_words_do_not_wait_for_a_judgement(
    fakes: FakeProviders, upstream: Upstream, tmp_path: Path
) -> None:
    """The answer is never whole, so nobody can judge it: still its first half is there."""
    of_each(upstream, fault("stall_mid_stream", reply=reply(GOOD)), GOOD)
    body = {**BODIES["chat"], "model": "pair", "stream": True}
    async with (
        serving(fakes, write_config(upstream, tmp_path)) as address,
        speaking(address) as client,
        client.session.post(f"{address}/v1/chat/completions", json=body) as answer,
        asyncio.timeout(30),
    ):
        told = b""
        while b"tower" not in told:
            told += await answer.content.readany()


async def test_what_is_judged_first_is_the_default_and_is_told_alone(
    fakes: FakeProviders, upstream: Upstream, tmp_path: Path
) -> None:
    of_each(upstream, POOR, GOOD)
    async with (
        serving(fakes, write_config(upstream, tmp_path, stream="judged")) as address,
        speaking(address, "pair") as client,
    ):
        assert await ask(client, "chat") == GOOD


@pytest.mark.parametrize("api", [*BODIES])
async def test_an_answer_in_one_piece_has_no_correction(
    fakes: FakeProviders, upstream: Upstream, tmp_path: Path, api: str
) -> None:
    of_each(upstream, POOR, GOOD)
    async with serving(fakes, write_config(upstream, tmp_path)) as address, speaking(address, "pair") as client:
        body = (await client.post(api, BODIES[api])).body

    assert GOOD in str(body)
    assert POOR not in str(body)


async def test_a_helper_that_fails_costs_nothing_of_what_was_told(
    fakes: FakeProviders, upstream: Upstream, tmp_path: Path
) -> None:
    of_each(upstream, POOR, fault(500))
    async with serving(fakes, write_config(upstream, tmp_path)) as address, speaking(address, "pair") as client:
        assert await ask(client, "chat") == POOR


async def test_thoughts_go_out_as_they_come_and_a_failing_helper_breaks_nothing(
    fakes: FakeProviders, upstream: Upstream, tmp_path: Path
) -> None:
    of_each(upstream, reply(POOR, thinking="Is there a plate?"), fault(500))
    async with (
        serving(fakes, write_config(upstream, tmp_path, stream="judged")) as address,
        speaking(address, "pair") as client,
    ):
        streamed = await client.stream("messages", BODIES["messages"])

    deltas = [each["delta"] for each in streamed.of("content_block_delta")]
    assert "".join(delta.get("thinking", "") for delta in deltas) == "Is there a plate?"
    assert "".join(delta.get("text", "") for delta in deltas) == POOR


@pytest.mark.parametrize("stream", ["judged", "optimistic"])
async def test_calls_come_behind_the_words_once(
    fakes: FakeProviders, upstream: Upstream, tmp_path: Path, stream: str
) -> None:
    of_each(upstream, reply("I add.", calls=[call("add", a=3)]), GOOD)
    body = {**BODIES["messages"], "tools": [{"name": "add", "description": "Adds.", "input_schema": ADD}]}
    body["messages"] = [{"role": "user", "content": "Add 3 with the tool."}]
    async with (
        serving(fakes, write_config(upstream, tmp_path, stream=stream)) as address,
        speaking(address, "pair") as client,
    ):
        streamed = await client.stream("messages", body)

    assert text_of("messages", streamed) == "I add."
    assert [each["content_block"]["type"] for each in streamed.of("content_block_start")] == ["text", "tool_use"]


@pytest.mark.parametrize("api", [*BODIES])
async def test_an_answer_of_a_helper_is_as_long_as_the_client_wants(
    fakes: FakeProviders, upstream: Upstream, tmp_path: Path, api: str
) -> None:
    of_each(upstream, POOR, GOOD)
    async with serving(fakes, write_config(upstream, tmp_path)) as address, speaking(address, "pair") as client:
        await ask(client, api)

    bodies = [question.body for question in upstream.fake.questions]
    assert [body.get("max_tokens", body.get("max_completion_tokens")) for body in bodies] == [77, 77]


@pytest.mark.parametrize("strategy", ["boost", "vote", "council"])
def test_a_strategy_without_a_first_answer_refuses_it_by_name(
    fakes: FakeProviders, tmp_path: Path, strategy: str
) -> None:
    path = tmp_path / "server.yaml"
    path.write_text(
        FILE.replace(", max_retries: 1", "").format(upstream="openai", strategy=strategy, stream="optimistic")
    )

    with pytest.raises(ConfigError, match=r"server.routes.pair.stream"):
        server_config(fakes, str(path))
