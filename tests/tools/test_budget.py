"""What all answers of a run may use of tools together."""

from collections.abc import Mapping
from typing import Any

import pytest

from ai_battle.core.events import EventLog
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.ledger import Budget, Ledger, SpendingLimits, charge_to
from ai_battle.core.messages import user
from ai_battle.core.tooling import LoopStopped, ToolCalled
from ai_battle.testing import ScriptedClient, call
from ai_battle.tools.calls import RunnerLimits
from ai_battle.tools.client import ToolCapableClient
from tests.tools.test_client import Recording

QUICK = RunnerLimits(max_rounds=9, backoff_seconds=0)
REQUEST = ModelRequest((user("Go."),))


def calls(log: EventLog) -> int:
    return sum(isinstance(event, ToolCalled) for event in log.events)


def ends(log: EventLog) -> list[str]:
    return [event.reason for event in log.events if isinstance(event, LoopStopped)]


def looks(number: int) -> list[Any]:
    return [call("look", what=f"{n}") for n in range(number)]


def of_run(ledger: Ledger | None = None, **limits: float) -> Budget:
    return Budget(SpendingLimits.of(limits), ledger)


async def ask(budget: Budget, *script: Any, log: EventLog) -> ScriptedClient:
    model = ScriptedClient(*script)
    with charge_to(budget):
        await ToolCapableClient(model, [Recording()], QUICK).complete(REQUEST, log)
    return model


async def test_answers_share_the_calls_of_the_run() -> None:
    budget, log = of_run(tool_calls=3), EventLog()
    await ask(budget, *looks(2), "Two.", log=log)
    second = await ask(budget, *looks(5), "That was it.", log=log)

    assert calls(log) == 3
    assert [bool(request.tools) for request in second.requests] == [True, False]
    assert ends(log) == ["the limit of the run is reached: tool_calls (3 of 3)"]


async def test_when_nothing_is_left_tools_are_not_offered_and_calls_are_not_run() -> None:
    budget, log = of_run(tool_calls=0), EventLog()
    model = await ask(budget, *looks(1), "Without.", log=log)

    assert calls(log) == 0
    assert not any(request.tools for request in model.requests)
    assert "tool_calls (0 of 0)" in model.requests[1].messages[-2].tool_results[0].text


async def test_calls_of_one_round_beyond_the_budget_are_refused() -> None:
    log = EventLog()
    together = {"call": [{"tool": "look", "parameters": {"what": f"{n}"}} for n in range(5)]}
    await ask(of_run(tool_calls=2), together, "Two of five.", log=log)
    assert calls(log) == 2


async def test_what_an_earlier_process_called_counts() -> None:
    log = EventLog()
    await ask(of_run(Ledger(tool_calls=4), tool_calls=5), *looks(3), "One.", log=log)
    assert calls(log) == 1


@pytest.mark.parametrize(
    ("limits", "used", "reason"),
    [
        ({"seconds": 60}, Ledger(seconds_before=61.53138), "seconds (61.5 of 60)"),
        ({"cost_usd": 0.5}, Ledger(known_cost=0.5), "cost_usd (0.5 of 0.5)"),
    ],
    ids=["seconds", "dollars"],
)
async def test_time_and_dollars_of_the_run_end_the_offering(
    limits: dict[str, float], used: Ledger, reason: str
) -> None:
    log = EventLog()
    model = await ask(of_run(used, **limits), *looks(5), "Without.", log=log)

    assert reason in model.requests[1].messages[-2].tool_results[0].text
    assert calls(log) == 0
    assert not any(request.tools for request in model.requests)


async def test_they_do_so_in_the_middle_of_an_answer_as_well() -> None:
    """A second round is not offered once the first has used up what the run may cost."""
    budget, log = of_run(cost_usd=0.5), EventLog()

    class Dear(Recording):
        async def execute(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
            budget.ledger.known_cost = 0.6
            return {"cost": "dear"}

    model = ScriptedClient(*looks(5), "Summed up.")
    with charge_to(budget):
        await ToolCapableClient(model, [Dear()], QUICK).complete(REQUEST, log)

    assert ends(log) == ["the limit of the run is reached: cost_usd (0.6 of 0.5)"]
    assert [bool(request.tools) for request in model.requests] == [True, False]
