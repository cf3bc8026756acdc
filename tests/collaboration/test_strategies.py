"""Every strategy is a client like any other: alone, and nested three deep."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ai_battle.core.client import ModelClient
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.helping import DraftDropped, HelpAsked, Role
from ai_battle.core.tooling import LoopStopped, ToolCalled
from ai_battle.providers.scripted import ScriptedClient
from ai_battle.testing import call, contract
from ai_battle.tools.base import Tool
from ai_battle.tools.calls import RunnerLimits
from ai_battle.tools.client import ToolCapableClient

from .acting import ADVICE, GOOD, POOR, STRATEGIES, HelpLog, Judge, large, model, model_request, same

QUICK = RunnerLimits(backoff_seconds=0)
Wrap = Callable[[ModelClient], ModelClient]


class Clock(Tool):
    name = "clock"
    description = "Says what time it is."
    parameters: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self) -> None:
        self.calls = 0

    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        self.calls += 1
        return {"time": "noon"}


def with_strategy(name: str) -> Wrap:
    """The strategy, around a model, with a helper that always has an answer."""
    return lambda inner: STRATEGIES[name](inner, ScriptedClient("Advice.", loop=True), stuck_detector=Judge())


def with_tools(inner: ModelClient) -> ModelClient:
    return ToolCapableClient(inner, [Clock()], QUICK)


def nest(*wraps: Wrap) -> Wrap:
    def wrap(inner: ModelClient) -> ModelClient:
        for outer in reversed(wraps):
            inner = outer(inner)
        return inner

    return wrap


NESTED: dict[str, Wrap] = {
    **{name: with_strategy(name) for name in STRATEGIES},
    "rescue over tools over takeover": nest(with_strategy("rescue"), with_tools, with_strategy("takeover")),
    "ladder over critique over rescue": nest(
        with_strategy("ladder"), with_strategy("critique"), with_strategy("rescue")
    ),
    "takeover over draft_verify over ladder": nest(
        with_strategy("takeover"), with_strategy("draft_verify"), with_strategy("ladder")
    ),
    "tools over rescue over draft_verify": nest(with_tools, with_strategy("rescue"), with_strategy("draft_verify")),
}


@pytest.mark.parametrize("says", [GOOD, POOR, "Round and round [loop]"], ids=["good", "poor", "looping"])
@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
@pytest.mark.parametrize("name", NESTED)
async def test_each_strategy_keeps_the_contract(name: str, check: contract.Check, says: str) -> None:
    await check(contract.wrapper(NESTED[name], says))


@pytest.mark.parametrize("name", STRATEGIES)
async def test_cancelling_while_the_helper_is_asked_leaves_nothing_running(name: str) -> None:
    reached = asyncio.Event()

    def slow(_: ModelRequest) -> dict[str, Any]:
        reached.set()
        return {"say": ADVICE, "delay": 60}

    client = STRATEGIES[name](ScriptedClient(POOR, loop=True), ScriptedClient(slow), stuck_detector=Judge())
    before = asyncio.all_tasks()
    turn = asyncio.ensure_future(client.complete(model_request()))
    await reached.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize("name", STRATEGIES)
async def test_usage_adds_up_also_when_nested(name: str) -> None:
    """All that was paid for is in the answer, and what is wasted is wasted once."""
    inner, first, second = model(POOR, loop=True), large(ADVICE, loop=True), large("Nonsense. [q=0.1]", loop=True)
    client = STRATEGIES[name](inner.client, first.client, stuck_detector=Judge(2))
    client = STRATEGIES["critique"](client, second.client, stuck_detector=Judge(1))
    response = await client.complete(model_request(), heard := HelpLog())

    assert same(heard.usage(), response.usage)
    assert same(heard.usage("own") + heard.usage("helper"), response.usage)
    roles: tuple[Role, ...] = ("own", "helper")
    for role in roles:
        wasted = sum(event.usage.output_tokens for event in heard.of(DraftDropped) if event.role == role)
        assert 0 <= wasted <= heard.usage(role).output_tokens


async def test_a_model_with_tools_is_rescued_with_its_tools() -> None:
    clock = Clock()
    small, big = model(POOR, call("clock"), f"It is noon. {GOOD}"), large("Ask the clock.")
    client = STRATEGIES["rescue"](ToolCapableClient(small.client, [clock], QUICK), big.client, stuck_detector=Judge())
    response = await client.complete(model_request("What time is it?"), heard := HelpLog())

    assert (response.text, clock.calls, response.used_tools) == (f"It is noon. {GOOD}", 1, True)
    assert [step.role for step in response.steps] == ["assistant", "tool"]
    assert [type(event) for event in heard.of(ToolCalled, HelpAsked)] == [HelpAsked, ToolCalled]
    assert (small.calls, big.calls) == (3, 1)


@pytest.mark.parametrize("name", STRATEGIES)
async def test_a_helper_hears_of_the_tools_that_only_the_model_has(name: str) -> None:
    """The request names none: they are those of a client inside. Who answers in its place is not given them."""
    judge = Judge()
    small, big = model(POOR, GOOD), large(ADVICE)
    client = STRATEGIES[name](ToolCapableClient(small.client, [Clock()], QUICK), big.client, stuck_detector=judge)
    await client.complete(model_request("What time is it?"))

    assert [spec.name for spec in client.offered_tools] == ["clock"]
    assert [spec.name for spec in judge.judged[0][0].tools] == ["clock"]
    assert big.requests[0].tools == ()
    assert ("clock: Says what time it is." in big.last) == (name != "takeover")


async def test_a_helper_with_tools_gives_advice_without_them() -> None:
    clock = Clock()
    small, big = model(POOR, GOOD), large("Ask the clock.")
    client = STRATEGIES["rescue"](small.client, ToolCapableClient(big.client, [clock], QUICK), stuck_detector=Judge())
    await client.complete(model_request(), heard := HelpLog())

    assert (clock.calls, big.calls, big.requests[0].tools) == (0, 1, ())
    assert heard.of(LoopStopped) == []


async def test_the_steps_of_a_dropped_attempt_are_not_those_of_the_answer() -> None:
    clock = Clock()
    small, big = model(call("clock"), POOR, GOOD), large(ADVICE)
    client = STRATEGIES["rescue"](ToolCapableClient(small.client, [clock], QUICK), big.client, stuck_detector=Judge())
    response = await client.complete(model_request("What time is it?"))

    assert (response.text, response.used_tools, clock.calls) == (GOOD, False, 1)
    assert 'clock returned: {"time": "noon"}' in big.last
