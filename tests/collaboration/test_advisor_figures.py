"""Workers of four kinds in 200 tasks with known truth: whether advice comes where it is due, and only there."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from ai_battle.collaboration import Helping, advisor
from ai_battle.core.client import ModelClient
from ai_battle.core.events import Emit, ignore
from ai_battle.core.exchange import NOTHING_USED, ModelRequest, ModelResponse
from ai_battle.core.helping import HelpAsked, HelpDeclined
from ai_battle.core.messages import Message, ToolCall, ToolResult, assistant, user
from ai_battle.core.tooling import ToolCalled
from ai_battle.judging.detector import StuckDetector
from ai_battle.tools.base import Tool
from ai_battle.tools.client import ToolCapableClient

from .acting import HelpLog, large
from .boosting import QUICK

pytestmark = pytest.mark.slow  # each figure is counted from 200 tasks

KINDS = ("easy", "errors", "circle", "misread")
TASKS = [(kind, number) for number in range(11, 61) for kind in KINDS]
LIMITS = QUICK.__class__(max_rounds=12, backoff_seconds=0)
Asks = Callable[["Worker", Sequence[ToolResult]], bool]


class Prices(Tool):
    """The price of a part, which is twice its number; parts have the prefix p-."""

    name = "price"
    description = "Returns the price of a part, such as p-7."
    parameters = {"part": {"type": "string", "required": True}}  # noqa: RUF012

    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        part = parameters["part"]
        if not part.startswith("p-"):
            return {"error": f"there is no part {part}"}
        return {"part": part, "price": 2 * int(part[2:])}


@dataclass
class Worker(ModelClient):
    """Does a task of its kind, wrong until it has advice that it heeds; it asks as `asks` says."""

    kind: str
    number: int
    asks: Asks
    heeds: bool = True
    needless: list[bool] = field(default_factory=list)

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        place = max(n for n, message in enumerate(request.messages) if message.role == "user" and message.text)
        results = [result for message in request.messages for result in message.tool_results]
        can_ask = any(tool.name == "advisor" for tool in request.tools) and place == 0
        if can_ask and self.asks(self, results):
            since = results[max((n + 1 for n, each in enumerate(results) if each.call.name == "advisor"), default=0) :]
            self.needless.append(not (any(each.is_error for each in since) or self.repeats(since)))
            return self.calls("advisor", question="What next?")
        return self.work(results)

    def work(self, results: Sequence[ToolResult]) -> ModelResponse:
        is_advised = self.heeds and any(each.call.name == "advisor" and not each.is_error for each in results)
        prices = [each for each in results if each.call.name == "price"]
        found = any(f"{2 * self.number}" in each.text for each in prices)
        if self.kind in ("easy", "misread") or is_advised:
            if not found:
                return self.calls("price", part=f"p-{self.number}")
            told = 2 * self.number + (0 if self.kind != "misread" or is_advised else 1)
            return self.says(f"The price of part p-{self.number} is {told}.")
        if len(prices) >= 4:
            return self.says("I don't know.")
        return self.calls("price", part=f"part {self.number}-{len(prices)}" if self.kind == "errors" else "p-1")

    def repeats(self, results: Sequence[ToolResult]) -> bool:
        return max(Counter(each.text for each in results).values(), default=0) > 1

    def calls(self, name: str, **arguments: Any) -> ModelResponse:
        return ModelResponse(
            Message("assistant", (ToolCall(name, arguments, id=""),)), stop="tool_calls", usage=NOTHING_USED
        )

    def says(self, text: str) -> ModelResponse:
        return ModelResponse(assistant(text), usage=NOTHING_USED)


def never(worker: Worker, results: Sequence[ToolResult]) -> bool:
    return False


def always(worker: Worker, results: Sequence[ToolResult]) -> bool:
    """Before each step: it has done something since it asked last."""
    return not (results and results[-1].call.name == "advisor")


def well(worker: Worker, results: Sequence[ToolResult]) -> bool:
    return bool(results and results[-1].is_error and results[-1].call.name == "price")


@dataclass
class Done:
    """What became of a task."""

    solved: bool
    worker: Worker
    heard: HelpLog

    @property
    def steps_to_advice(self) -> int:
        """Calls from the first evidence of failure to the first advice; for a wrong answer, none."""
        names = [event.call.name for event in self.heard.of(ToolCalled)]
        evidence = {"errors": 1, "circle": 2, "misread": 1}[self.worker.kind]
        return names.index("advisor") - evidence if "advisor" in names else 99


async def do_all(asks: Asks, *, heeds: bool = True, **options: Any) -> list[Done]:
    return [await do_one(Worker(kind, number, asks, heeds), **options) for kind, number in TASKS]


async def do_one(worker: Worker, help_rate: float | None = None, **options: Any) -> Done:
    helper = large("Ask for the part under its name with p-, and say the price that comes.", loop=True)
    detector = StuckDetector(help_rate=help_rate)
    pair = advisor.create(worker, helper.client, stuck_detector=detector, helping=Helping(), **options)
    heard = HelpLog()
    client = ToolCapableClient(pair, [Prices()], LIMITS)
    answer = await client.complete(ModelRequest((user(f"What is the price of part p-{worker.number}?"),)), heard)
    assert heard.usage("helper").cost_usd == pytest.approx(answer.usage.cost_usd), "the bill is that of the advice"
    assert len(heard.of(HelpAsked)) == helper.calls
    return Done(f"is {2 * worker.number}." in answer.text, worker, heard)


async def test_one_that_never_asks_is_made_to_within_two_steps_of_the_first_evidence() -> None:
    done = [task for task in await do_all(never) if task.worker.kind != "easy"]

    met = sum(task.steps_to_advice <= 2 for task in done)
    assert met >= 0.95 * len(done)
    assert sum(task.solved for task in done) >= 0.95 * len(done)


@pytest.mark.parametrize(("help_rate", "answered_first"), [(None, 1), (0.2, 0)])
async def test_needless_questions_are_declined_and_the_tasks_are_solved_all_the_same(
    help_rate: float | None, answered_first: int
) -> None:
    """But for the first of each task, where help is not bounded."""
    free, declining = await do_all(always, decline_needless=False), await do_all(always, help_rate=help_rate)

    needless = sum(sum(task.worker.needless[answered_first:]) for task in declining)
    declined = sum(len(task.heard.of(HelpDeclined)) for task in declining)
    solved, before = (sum(task.solved for task in tasks) for tasks in (declining, free))
    assert needless > 100
    assert declined >= 0.8 * needless
    assert solved >= before - 0.01 * len(TASKS)


async def test_one_that_asks_well_is_answered_and_nothing_else_costs() -> None:
    done = await do_all(well, help_rate=0.2)

    assert all(task.solved for task in done)
    assert not any(task.heard.of(HelpDeclined) for task in done)
    assert not any(task.heard.of(HelpAsked) for task in done if task.worker.kind == "easy")


async def test_one_that_ignores_advice_costs_no_more_than_its_uses() -> None:
    done = await do_all(well, heeds=False)

    assert max(len(task.heard.of(HelpAsked)) for task in done) <= advisor.MAX_USES
    assert sum(task.solved for task in done) == len(TASKS) // len(KINDS)
