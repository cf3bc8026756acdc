"""Takeover: the helper answers the turn in which the small model is stuck, with the tools that there are."""

from typing import Any

from ai_battle.collaboration import Helping
from ai_battle.core.events import TextDelta
from ai_battle.core.exchange import ModelRequest, ToolSpec
from ai_battle.core.helping import AnswersCompared, DraftDropped
from ai_battle.core.messages import assistant, user
from ai_battle.testing import call
from ai_battle.tools.base import Tool
from ai_battle.tools.calls import RunnerLimits
from ai_battle.tools.client import ToolCapableClient

from .acting import GOOD, POOR, STRATEGIES, HelpLog, Judge, large, model, model_request, request_text

QUICK = RunnerLimits(backoff_seconds=0)
ADD = ToolSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})


class Counter(Tool):
    name = "count"
    description = "Counts up."
    parameters: dict[str, Any] = {"by": {"type": "integer", "default": 1}}  # noqa: RUF012
    writes = True

    def __init__(self) -> None:
        self.count = 0

    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        self.count += parameters["by"]
        return {"count": self.count}


async def test_the_helper_answers_and_the_draft_is_dropped() -> None:
    small, big = model(POOR), large("It is four, says the large one.")
    client = STRATEGIES["takeover"](small.client, big.client, stuck_detector=Judge())
    response = await client.complete(model_request(), heard := HelpLog())

    assert (response.text, response.model) == ("It is four, says the large one.", "scripted")
    assert (small.calls, big.calls) == (1, 1)
    assert [event.text for event in heard.of(TextDelta)] == [response.text]
    assert heard.of(DraftDropped) == [DraftDropped("It says so itself.", heard.usage("own"), text=POOR, attempt=1)]
    assert response.usage == heard.usage("own") + heard.usage("helper")
    assert heard.of(AnswersCompared) == [AnswersCompared(0.2, None, is_replaced=True)], "nobody judges its answer"


async def test_the_helper_gets_the_request_itself_and_not_the_attempt() -> None:
    request = ModelRequest((user("Hi."), assistant("Hello."), user("Two and two?")), "Be brief.", (ADD,))
    small, big = model(POOR), large("Four.")
    await STRATEGIES["takeover"](small.client, big.client, stuck_detector=Judge()).complete(request)
    assert big.requests == [request]


async def test_options_of_the_small_model_stay_with_it_but_bounds_hold_for_both() -> None:
    bounds = {"max_tokens": 10, "stop": ["END"], "parallel_tool_calls": False}
    options = {"temperature": 0.1, "num_ctx": 2048, **bounds}
    small, big = model(POOR), large("Four.")
    await STRATEGIES["takeover"](small.client, big.client, stuck_detector=Judge()).complete(
        model_request(options=options)
    )

    assert small.requests[0].options == options
    assert big.requests[0].options == bounds


async def test_a_helper_that_sees_the_prompt_alone_still_has_the_tools_to_call() -> None:
    request = ModelRequest((user("Hi."), assistant("Hello."), user("Two and two?")), "I am Ann.", (ADD,))
    small, big = model(POOR), large(call("add", a=2))
    client = STRATEGIES["takeover"](small.client, big.client, stuck_detector=Judge(), helping=Helping(sees="prompt"))
    response = await client.complete(request)

    assert request_text(big.requests[0]).strip() == "Two and two?"
    assert big.requests[0].tools == (ADD,)
    assert [each.name for each in response.tool_calls] == ["add"]


async def test_the_helper_runs_the_real_tools_and_knows_what_was_done_with_them() -> None:
    counter = Counter()
    small, big = model(call("count"), POOR), large(call("count", by=2), GOOD)
    client = STRATEGIES["takeover"](
        ToolCapableClient(small.client, [counter], QUICK),
        ToolCapableClient(big.client, [counter], QUICK),
        stuck_detector=Judge(),
    )
    response = await client.complete(model_request())

    assert (response.text, counter.count) == (GOOD, 3)
    assert [result.text for step in response.steps for result in step.tool_results] == ['{"count": 3}']
    assert 'count returned: {"count": 1}' in request_text(big.requests[0])
    assert "what it did stays done" in request_text(big.requests[0])
