"""Calls that Gemini has signed, and that come back by APIs which have no field for a signature."""

from typing import Any

import pytest

from ai_battle.core.exchange import ModelRequest, ToolSpec
from ai_battle.core.messages import Message, ToolCall, user
from ai_battle.server.clients import LONGEST_EXTRA, SharedCache, SigningClient
from ai_battle.testing import FakeProviders, ScriptedClient, reply
from tests.clocks import set_forward

from .protocol.speaking import speaking
from .serving import serving
from .ways import WAYS, Asked, Way

LOOK = ToolSpec("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})
MARK = "skip_thought_signature_validator"


def signed_call(signature: str, id_: str = "", **arguments: Any) -> ToolCall:
    return ToolCall("look", arguments, id_, extra={"gemini": {"thoughtSignature": signature}})


def signatures_sent(fakes: FakeProviders) -> list[str | None]:
    """The signature of each call in the latest request."""
    parts = [part for turn in fakes.gemini.questions[-1].body["contents"] for part in turn["parts"]]
    return [part.get("thoughtSignature") for part in parts if "functionCall" in part]


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_signature_goes_back_with_its_call_whatever_api_the_client_speaks(
    fakes: FakeProviders, way: Way
) -> None:
    fakes.gemini.says(
        reply(calls=[signed_call("c2lnMQ==", at="a"), ToolCall("look", {"at": "b"})]),
        reply(calls=[signed_call("c2lnMg==", at="c")]),
        "I have seen it all.",
    )
    async with serving(fakes, BIG_MODEL="gemini/gemini-3-flash-preview") as address, speaking(address) as client:
        turns: list[Any] = []
        for said in ("Look around.", "Go on."):
            heard = await way.ask(client, Asked([*turns, said], [LOOK]))
            turns += [said, heard.calls, [(id_, "grass") for id_, _, _ in heard.calls]]
        last = await way.ask(client, Asked(turns, [LOOK]))

    assert last.text == "I have seen it all."
    assert signatures_sent(fakes) == ["c2lnMQ==", None, "c2lnMg=="]


async def test_a_signature_is_there_an_hour_later_and_beside_what_the_client_adds_to_a_call(
    fakes: FakeProviders,
) -> None:
    fakes.gemini.says(reply(calls=[signed_call("c2lnMQ==", at="a")]), "Grass.", "Still grass.")
    tools = [{"name": LOOK.name, "input_schema": LOOK.schema}]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look around."}]
    body = {"max_tokens": 99, "messages": messages, "tools": tools}
    async with serving(fakes, BIG_MODEL="gemini/gemini-3-flash-preview") as address:
        async with speaking(address) as client:
            called = [
                each for each in (await client.post("messages", body)).body["content"] if each["type"] == "tool_use"
            ]
            marked = [{**each, "cache_control": {"type": "ephemeral"}} for each in called]
            seen = {"type": "tool_result", "tool_use_id": called[0]["id"], "content": "grass"}
            messages += [{"role": "assistant", "content": marked}, {"role": "user", "content": [seen]}]
            await client.post("messages", body)
        at_once = signatures_sent(fakes)
        set_forward(4000)
        async with speaking(address) as client:
            await client.post("messages", body)

    assert (at_once, signatures_sent(fakes)) == (["c2lnMQ=="], ["c2lnMQ=="])


async def test_what_is_not_known_any_more_goes_back_with_the_mark_for_calls_of_others(fakes: FakeProviders) -> None:
    """Another worker has heard it, or this one began anew."""
    way = WAYS[0]
    turns = ["Look around.", [("call_1", "look", {"at": "a"})], [("call_1", "grass")]]
    async with serving(fakes, BIG_MODEL="gemini/gemini-3-flash-preview") as address, speaking(address) as client:
        await way.ask(client, Asked(turns, [LOOK]))

    assert signatures_sent(fakes) == [MARK]


async def test_only_the_latest_are_kept_and_none_beyond_measure() -> None:
    signed = [signed_call(f"s{number}", f"c{number}") for number in range(4)]
    signed.append(signed_call("s" * LONGEST_EXTRA, "long"))
    model = ScriptedClient(*signed, "Done.")
    client = SigningClient(model, SharedCache("signature/", 2, 60.0))
    for _ in signed:
        await client.complete(ModelRequest((user("Look."),)))
    asks = tuple(Message("assistant", (ToolCall("look", {}, id_),)) for id_ in ("c0", "c2", "c3", "long"))
    await client.complete(ModelRequest(asks))
    known = [message.tool_calls[0].extra for message in model.requests[-1].messages]

    assert known == [{}, {"gemini": {"thoughtSignature": "s2"}}, {"gemini": {"thoughtSignature": "s3"}}, {}]
