"""Answers to results of tools that a client runs: a right one costs one call, and none is asked for again."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ai_battle import ModelRequest, StuckDetector, ToolSpec
from ai_battle.collaboration import Helping, cascade, council, critique, draft_verify, ladder, peer, rescue, takeover
from ai_battle.core.client import ModelClient
from ai_battle.core.messages import Message, Text, ToolCall, ToolResult, user
from ai_battle.providers.scripted import ScriptedClient
from ai_battle.wire import anthropic, responses
from ai_battle.wire.openai import served as openai

TURNS = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "finished_turns.jsonl").read_text(encoding="utf-8").splitlines()
]
WIRES = {"openai": openai, "anthropic": anthropic}
STRATEGIES: dict[str, Callable[[ModelClient, ModelClient], ModelClient]] = {
    "rescue": rescue.create,
    "takeover": takeover.create,
    "critique": critique.create,
    "draft_verify": draft_verify.create,
    "ladder": ladder.create,
    "cascade": cascade.create,
    "peer": lambda small, large: peer.create(small, None, peers=[large]),
    "council": lambda small, large: council.create(small, None, peers=[large, large]),
}
CALL_AGAIN = {"call": {"tool": "get_weather", "parameters": {"city": "Oslo"}}}


def request(turn: Mapping[str, Any], *more: Message) -> ModelRequest:
    """As it comes from a client that ran the calls itself."""
    messages = [user(turn["prompt"])]
    for number, made in enumerate(turn["calls"]):
        call = ToolCall(made["name"], made["arguments"], f"call_{number}")
        result = ToolResult(call, (Text(made["result"]),), turn.get("is_error", False))
        messages += [Message("assistant", (call,)), Message("tool", (result,))]
    tools = tuple(ToolSpec(tool["name"], tool["description"], tool["parameters"]) for tool in turn["tools"])
    return ModelRequest((*messages, *more), tools=tools)


def came_over(wire: str, turn: Mapping[str, Any]) -> ModelRequest:
    """The turn as it is read from the body of a client."""
    if wire == "responses":
        return responses.decode_request(responses_body(turn))
    over: Any = WIRES[wire]
    came: ModelRequest = over.decode_request(json.loads(over.encode_request(request(turn), "a-model")))
    return came


def responses_body(turn: Mapping[str, Any]) -> dict[str, Any]:
    items: list[dict[str, Any]] = [{"role": "user", "content": turn["prompt"]}]
    for number, made in enumerate(turn["calls"]):
        id_, arguments = f"call_{number}", json.dumps(made["arguments"])
        items.append({"type": "function_call", "call_id": id_, "name": made["name"], "arguments": arguments})
        items.append({"type": "function_call_output", "call_id": id_, "output": made["result"]})
    return {"model": "a-model", "input": items, "tools": [{"type": "function", **tool} for tool in turn["tools"]]}


@pytest.mark.parametrize("wire", [*WIRES, "responses"])
@pytest.mark.parametrize("turn", TURNS, ids=[f"{n}-{turn['language']}" for n, turn in enumerate(TURNS, 1)])
async def test_a_right_answer_to_results_costs_one_call(turn: dict[str, Any], wire: str) -> None:
    came = came_over(wire, turn)
    small, large = ScriptedClient(turn["answer"], turn["answer"]), ScriptedClient("Something else.")

    response = await rescue.create(small, large).complete(came)

    assert response.text == turn["answer"]
    assert (len(small.requests), len(large.requests)) == (1, 0)


WEATHER = ToolSpec("get_weather", "Current weather for a city.", {"properties": {"city": {"type": "string"}}})
OSLO = replace(
    request({"prompt": "Weather in Oslo?", "calls": [], "tools": []}),
    messages=(
        user("Weather in Oslo?"),
        Message("assistant", (call := ToolCall("get_weather", {"city": "Oslo"}, "c1"),)),
        Message("tool", (ToolResult(call, (Text('{"temp_c": 4, "sky": "rain"}'),)),)),
    ),
    tools=(WEATHER,),
)


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_no_pair_makes_a_finished_answer_into_a_call_whose_result_is_there(strategy: str) -> None:
    """Not even a poor one: the helper, and the small model at its second try, only ask for the same again."""
    small, large = ScriptedClient("I do not know.", *[CALL_AGAIN] * 4), ScriptedClient(*[CALL_AGAIN] * 6)

    response = await STRATEGIES[strategy](small, large).complete(OSLO)

    assert not response.tool_calls
    assert response.text == "I do not know."


async def test_another_call_is_left_to_the_helper() -> None:
    there = {"call": {"tool": "get_weather", "parameters": {"city": "Bergen"}}}
    pair = takeover.create(ScriptedClient("I do not know."), ScriptedClient(there))

    (made,) = (await pair.complete(OSLO)).tool_calls

    assert made.arguments == {"city": "Bergen"}


@pytest.mark.parametrize("sees", ["attempt", "history"])
async def test_a_helper_sees_what_a_client_has_run(sees: Any) -> None:
    large = ScriptedClient("4 °C and rain.")
    pair = takeover.create(ScriptedClient("I do not know."), large, helping=Helping(sees=sees))

    await pair.complete(OSLO)

    (asked,) = large.requests
    assert [message.role for message in asked.messages] == ["user", "assistant", "tool"]


def test_results_in_the_messages_are_seen_by_assess() -> None:
    unanswered = replace(OSLO, messages=OSLO.messages[:1])

    assert StuckDetector().assess("I have no idea.", "Weather in Oslo?", OSLO).stuck
    assert not StuckDetector().assess("4 °C and rain.", "Weather in Oslo?", OSLO).stuck
    assert not StuckDetector().assess("Which one: Oslo in Norway?", "Weather in Oslo?", unanswered).stuck


def test_what_a_client_adds_beside_results_is_no_prompt() -> None:
    reminder = user("<system-reminder>\nThe todo list is empty.\n</system-reminder>")
    noted = replace(OSLO, messages=(*OSLO.messages, reminder))

    assert not StuckDetector().assess("4 °C and rain.", "Weather in Oslo?", noted).stuck
    assert StuckDetector().assess("I do not know.", "Weather in Oslo?", noted).stuck
