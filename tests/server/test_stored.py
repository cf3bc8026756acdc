"""Answers of the Responses API that later requests refer to."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI, BadRequestError, NotFoundError

from ai_battle.testing import FakeProviders, call, reply

from .conftest import Upstream
from .protocol.sent import read_sent
from .protocol.speaking import Speaker, response_of, speaking
from .serving import serving

TOOL = {"type": "function", "name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}
KEYS_IN_USE = ("key-one", "key-two")
KEYS = {"AI_BATTLE_SERVE_KEYS": ",".join(KEYS_IN_USE)}


def turns(upstream: Upstream) -> list[tuple[str, Any]]:
    """Returns who says what in the last request upstream."""
    return [
        ("tool" if kind == "result" else role, value)
        for role, parts in read_sent(upstream.name, upstream.fake.questions[-1].body).turns
        for kind, value in parts
        if kind != "thinking"
    ]


async def response_to(client: Speaker, body: dict[str, Any], *, stream: bool) -> dict[str, Any]:
    if stream:
        return response_of(await client.stream("responses", body))
    whole: dict[str, Any] = (await client.post("responses", body)).body
    return whole


@pytest.mark.parametrize("stream", [True, False])
async def test_a_request_goes_on_from_an_earlier_answer(fakes: FakeProviders, upstream: Upstream, stream: bool) -> None:
    upstream.fake.says("Blue.", "Because of the sky.", "Still.")
    async with serving(fakes, BIG_MODEL=upstream.model("large")) as address, speaking(address) as client:
        first = await response_to(client, {"input": "Which colour?", "instructions": "Be short."}, stream=stream)
        second = await response_to(client, {"input": "Why?", "previous_response_id": first["id"]}, stream=stream)
        third = await response_to(client, {"input": "Sure?", "previous_response_id": second["id"]}, stream=stream)

    expected = ["Which colour?", "Blue.", "Why?", "Because of the sky.", "Sure?"]
    assert turns(upstream) == list(zip(["user", "assistant"] * 2 + ["user"], expected, strict=True))
    assert not read_sent(upstream.name, upstream.fake.questions[1].body).system
    assert [each["previous_response_id"] for each in (first, second, third)] == [None, first["id"], second["id"]]
    assert first["store"] is True


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("typed", [True, False])
async def test_items_are_put_where_they_are_referred_to(
    fakes: FakeProviders, upstream: Upstream, stream: bool, typed: bool
) -> None:
    """A widespread SDK does so by default: thoughts, words and calls of the assistant are sent as ids alone."""
    upstream.fake.says(reply("I add.", thinking="One and two.", calls=[call("add", a=3)]), "Three.")
    async with serving(fakes, BIG_MODEL=upstream.model("large")) as address, speaking(address) as client:
        first = await response_to(client, {"input": "1 + 2?", "tools": [TOOL]}, stream=stream)
        kind = {"type": "item_reference"} if typed else {}
        items = [
            {"role": "user", "content": "1 + 2?"},
            *({**kind, "id": item["id"]} for item in first["output"]),
            {"type": "function_call_output", "call_id": first["output"][-1]["call_id"], "output": "3"},
        ]
        second = await response_to(client, {"input": items, "tools": [TOOL]}, stream=stream)

    assert [item["type"] for item in first["output"]] == ["reasoning", "message", "function_call"]
    assert ("assistant", "I add.") in turns(upstream)
    assert ("assistant", ("add", {"a": 3})) in turns(upstream)
    assert turns(upstream)[-1] == ("tool", "3")
    assert second["output"][0]["content"][0]["text"] == "Three."


async def test_a_result_alone_goes_on_from_a_call(fakes: FakeProviders, upstream: Upstream) -> None:
    upstream.fake.says(reply(calls=[call("add", a=3)]), "Three.")
    async with serving(fakes, BIG_MODEL=upstream.model("large")) as address, speaking(address) as client:
        first = await response_to(client, {"input": "1 + 2?", "tools": [TOOL]}, stream=False)
        result = {"type": "function_call_output", "call_id": first["output"][0]["call_id"], "output": "3"}
        await response_to(
            client, {"input": [result], "previous_response_id": first["id"], "tools": [TOOL]}, stream=False
        )

    assert turns(upstream) == [("user", "1 + 2?"), ("assistant", ("add", {"a": 3})), ("tool", "3")]


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        (
            {"input": "Hm?", "previous_response_id": "resp_none"},
            "Previous response with id 'resp_none' not found.",
            "previous_response_not_found",
        ),
        ({"input": [{"type": "item_reference", "id": "msg_none"}]}, "Item with id 'msg_none' not found.", None),
        ({"input": [{"id": "rs_none"}]}, "Item with id 'rs_none' not found.", None),
    ],
)
async def test_what_is_not_there_is_a_400_by_name(
    fakes: FakeProviders, upstream: Upstream, body: dict[str, Any], message: str, code: str | None
) -> None:
    async with serving(fakes, BIG_MODEL=upstream.model("large")) as address, speaking(address) as client:
        refused = [await client.post("responses", body), await client.post("responses", {**body, "stream": True})]

    assert [answer.status for answer in refused] == [400, 400]
    assert refused[0].body["error"]["message"].startswith(message)
    assert (refused[0].body["error"]["type"], refused[0].body["error"]["code"]) == ("invalid_request_error", code)
    assert not upstream.fake.questions


async def test_what_is_not_to_be_stored_is_not(fakes: FakeProviders, upstream: Upstream, tmp_path: Path) -> None:
    file = tmp_path / "server.yaml"
    file.write_text(f"server: {{routes: {{claude-opus-4: {upstream.name}/large}}, limits: {{stored_mb: 0}}}}")
    said = []
    async with serving(fakes, BIG_MODEL=upstream.model("large")) as address, speaking(address) as client:
        said.append(await response_to(client, {"input": "Hm?", "store": False}, stream=False))
        refused = await client.post("responses", {"input": "Hm?", "previous_response_id": said[0]["id"]})
    async with serving(fakes, str(file)) as address, speaking(address) as client:
        said.append(await response_to(client, {"input": "Hm?"}, stream=False))
        refused_too = await client.post("responses", {"input": "Hm?", "previous_response_id": said[1]["id"]})

    assert [each["store"] for each in said] == [False, False]
    assert [refused.status, refused_too.status] == [400, 400]


async def test_nobody_reads_what_another_key_was_told(fakes: FakeProviders, upstream: Upstream) -> None:
    async with serving(fakes, **KEYS, BIG_MODEL=upstream.model("large")) as address, speaking(address) as client:
        one, two = {"x-api-key": "key-one"}, {"x-api-key": "key-two"}
        first = (await client.post("responses", {"input": "Hm?"}, one)).body
        body = {"input": "Hm?", "previous_response_id": first["id"]}
        reference = {"input": [{"type": "item_reference", "id": first["output"][0]["id"]}]}
        statuses = [
            (await client.post("responses", each, key)).status for each in (body, reference) for key in (one, two)
        ]

    assert statuses == [200, 400, 200, 400]


async def test_the_oldest_answers_are_forgotten_and_those_that_are_used_are_not(
    fakes: FakeProviders, upstream: Upstream, tmp_path: Path
) -> None:
    file = tmp_path / "server.yaml"
    file.write_text(f"server: {{routes: {{claude-opus-4: {upstream.name}/large}}, limits: {{stored_mb: 0.01}}}}")
    async with serving(fakes, str(file)) as address, speaking(address) as client:
        first, second = [await response_to(client, {"input": "x" * 3000}, stream=False) for _ in range(2)]
        for _ in range(5):
            reference = [{"type": "item_reference", "id": first["output"][0]["id"]}, {"role": "user", "content": "?"}]
            assert (await client.post("responses", {"input": reference, "store": False})).status == 200
            await response_to(client, {"input": "x" * 3000}, stream=False)
        gone = await client.post("responses", {"input": "?", "previous_response_id": second["id"]})
        kept = await client.post("responses", {"input": "?", "previous_response_id": first["id"]})

    assert (gone.status, kept.status) == (400, 200)


async def test_an_answer_that_broke_off_is_no_answer_to_go_on_from(fakes: FakeProviders, upstream: Upstream) -> None:
    upstream.fake.says(reply("word " * 200, pace=0.05))
    async with serving(fakes, BIG_MODEL=upstream.model("large")) as address, speaking(address) as client:
        async with client.session.post(
            f"{address}/v1/responses", json={"model": "claude-opus-4", "input": "Hm?", "stream": True}
        ) as answer:
            head = await answer.content.readuntil(b"\n\n")
        id_ = json.loads(head.partition(b"data: ")[2])["response"]["id"]
        await asyncio.sleep(0)
        refused = await client.post("responses", {"input": "?", "previous_response_id": id_})

    assert refused.status == 400


async def test_the_sdk_goes_on_from_an_answer(fakes: FakeProviders, upstream: Upstream) -> None:
    upstream.fake.says("Blue.", "The sky.")
    async with (
        serving(fakes, BIG_MODEL=upstream.model("large")) as address,
        AsyncOpenAI(base_url=f"{address}/v1", api_key="any", max_retries=0) as client,
    ):
        first = await client.responses.create(model="claude-opus-4", input="Which colour?")
        second = await client.responses.create(model="claude-opus-4", input="Why?", previous_response_id=first.id)

    assert (second.output_text, second.previous_response_id) == ("The sky.", first.id)
    assert [value for _, value in turns(upstream)] == ["Which colour?", "Blue.", "Why?"]


async def test_an_answer_can_be_read_again_and_deleted_by_its_own_key_alone(fakes: FakeProviders) -> None:
    fakes.ollama.says("Blue.")
    async with serving(fakes, BIG_MODEL="ollama/phi4", **KEYS) as address:
        mine, other = (AsyncOpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0) for key in KEYS_IN_USE)
        async with mine, other:
            first = await mine.responses.create(model="opus", input="Which colour?")
            again = await mine.responses.retrieve(first.id)
            with pytest.raises(NotFoundError, match="not found"):
                await other.responses.delete(first.id)
            await mine.responses.delete(first.id)
            with pytest.raises(NotFoundError) as refused:
                await mine.responses.retrieve(first.id)
            with pytest.raises(BadRequestError):
                await mine.responses.create(model="opus", input="Why?", previous_response_id=first.id)

    assert (again.to_dict(), again.output_text) == (first.to_dict(), "Blue.")
    assert refused.value.code == "response_not_found"
