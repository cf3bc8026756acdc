"""What all answers of a run may use of tools together."""

from typing import Any

import pytest

from ai_battle.core.events import EventLog
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import user
from ai_battle.core.tooling import LoopStopped, ToolCalled
from ai_battle.testing import ScriptedClient, call
from ai_battle.tools.client import ToolCapableClient
from ai_battle.tools.limits import RunBudget, RunnerLimits
from tests.tools.test_client import Recording

QUICK = RunnerLimits(max_rounds=9, backoff_seconds=0)
REQUEST = ModelRequest((user("Go."),))


def calls(log: EventLog) -> int:
    return sum(isinstance(event, ToolCalled) for event in log.events)


def ends(log: EventLog) -> list[str]:
    return [event.reason for event in log.events if isinstance(event, LoopStopped)]


def looks(number: int) -> list[Any]:
    return [call("look", what=f"{n}") for n in range(number)]


async def asked(budget: RunBudget, *script: Any, log: EventLog) -> ScriptedClient:
    model = ScriptedClient(*script)
    await ToolCapableClient(model, [Recording()], QUICK, budget=budget).complete(REQUEST, log)
    return model


async def test_answers_share_the_calls_of_the_run() -> None:
    budget, log = RunBudget(calls=3), EventLog()
    await asked(budget, *looks(2), "Two.", log=log)
    second = await asked(budget, *looks(5), "That was it.", log=log)

    assert calls(log) == 3
    assert [bool(request.tools) for request in second.requests] == [True, False]
    assert ends(log) == ["the run's tool_calls are used up (3 of 3)"]


async def test_when_nothing_is_left_tools_are_not_offered_and_calls_are_not_run() -> None:
    budget, log = RunBudget(calls=0), EventLog()
    model = await asked(budget, *looks(1), "Without.", log=log)

    assert calls(log) == 0
    assert not any(request.tools for request in model.requests)
    assert "tool_calls are used up" in model.requests[1].messages[-2].tool_results[0].text


async def test_calls_of_one_round_beyond_the_budget_are_refused() -> None:
    log = EventLog()
    together = {"call": [{"tool": "look", "parameters": {"what": f"{n}"}} for n in range(5)]}
    await asked(RunBudget(calls=2), together, "Two of five.", log=log)
    assert calls(log) == 2


async def test_what_an_earlier_process_called_counts() -> None:
    budget, log = RunBudget(calls=5), EventLog()
    budget.begin(4, lambda: (0.0, 0.0))
    await asked(budget, *looks(3), "One.", log=log)
    assert calls(log) == 1


@pytest.mark.parametrize(
    ("budget", "used", "reason"),
    [
        (RunBudget(seconds=60), (60.0, 0.0), "the run's 60 seconds are used up"),
        (RunBudget(cost_usd=0.5), (0.0, 0.5), "the run's 0.5 dollars are used up"),
    ],
    ids=["seconds", "dollars"],
)
async def test_time_and_dollars_of_the_run_end_the_offering(
    budget: RunBudget, used: tuple[float, float], reason: str
) -> None:
    """In the middle of an answer as well: a second round is not offered."""
    gone = iter([(0.0, 0.0)] * 4)
    budget.begin(0, lambda: next(gone, used))
    model = await asked(budget, *looks(5), "Summed up.", log=(log := EventLog()))

    assert ends(log) == [reason]
    assert calls(log) < 5
    assert [bool(request.tools) for request in model.requests][-1] is False
