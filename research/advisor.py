"""Measures what an advisor gains and costs: `python -m research.advisor [--misses] [--unseen | --later]`.

Scripted workers do 200 agent tasks (`research.agents`) over HTTP, with an advisor that knows the right way. One worker
never asks, one always asks, one asks before it begins if it does not know how, one asks when its work goes wrong, and
one asks then and ignores the advice. Each does all tasks at the defaults and with a help rate. It takes a minute or two
and needs only this machine. `--misses` lists the failures, `--unseen` takes fifty other tasks and `--later` ninety.
Whoever changes the search for trouble must not look at single tasks of these two sets, so that they stay unseen.

The columns are: tasks solved; the share of failing tasks with advice at most two steps after the first evidence
(`in time`); answers of the advisor (`advice`); right tasks that got unasked advice (`disturbed`); questions that the
work does not need (`needless`) and the share of these that was declined; the share of all other questions that was
declined (`refused`); dollars of both models; and the largest difference, in cents, between a reply's entry in the
ledger and what the provider charged for it (`gap ct`).
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ai_battle.assembly.models import BuildContext, Model, participant
from ai_battle.collaboration import Helping, advisor
from ai_battle.config.collaboration import HelperSettings
from ai_battle.core.client import ModelClient
from ai_battle.core.events import Event, ModelReplied
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.helping import HelpAsked
from ai_battle.core.messages import user
from ai_battle.core.tooling import ToolReturned
from ai_battle.judging.detector import StuckDetector
from ai_battle.testing import FakeProviders
from ai_battle.testing.servers import FakeProvider
from ai_battle.tools.calls import RunnerLimits
from ai_battle.tools.client import ToolCapableClient
from research.agents import (
    ADVISOR,
    FOLDER,
    LATER,
    UNSEEN,
    AgentTask,
    AskPolicy,
    Worker,
    always_asks,
    asks_first,
    asks_when_wrong,
    never_asks,
    read_tasks,
)

SOON = 2
"""The most steps after the first evidence at which advice is in time."""

HELP_RATE = 0.2
LIMITS = RunnerLimits(max_rounds=16, backoff_seconds=0)
SMALL, LARGE = "gpt-4o-mini", "claude-sonnet-4-5"
PRICES = {SMALL: {"input": 0.15, "output": 0.6}, LARGE: {"input": 3, "output": 15}}
WORKERS: Mapping[str, tuple[AskPolicy, bool]] = {
    "never asks": (never_asks, True),
    "always asks": (always_asks, True),
    "asks first": (asks_first, True),
    "asks well": (asks_when_wrong, True),
    "asks, ignores": (asks_when_wrong, False),
}


@dataclass
class TaskOutcome:
    """The outcome of a task, with its questions, answers, unasked advice (`forced`) and costs.

    `results_before_advice` counts the results before the first advice, or is None without any. `gap` is the largest
    difference in dollars between an entry of the ledger and what the provider charged for that reply.
    """

    task: AgentTask
    solved: bool
    asked: int
    needless: int
    answered: int
    needless_answered: int
    results_before_advice: int | None
    forced: int
    advice: int
    small_usd: float
    large_usd: float
    gap: float

    @property
    def in_time(self) -> bool:
        return self.results_before_advice is not None and self.results_before_advice - self.task.evidence <= SOON


@dataclass
class Listener:
    """Notes the questions to an advisor, its answers and their costs."""

    replies: list[ModelReplied] = field(default_factory=list)
    results: int = 0
    results_before_advice: int | None = None
    asked: list[bool] = field(default_factory=list)
    forced: int = 0
    advice: int = 0

    async def __call__(self, event: Event) -> None:
        match event:
            case ModelReplied():
                self.replies.append(event)
            case HelpAsked():
                self.advice += 1
            case ToolReturned() if event.result.call.name != ADVISOR:
                self.results += 1
            case ToolReturned():
                self._note_advice(event)

    def _note_advice(self, event: ToolReturned) -> None:
        is_given = not event.result.is_error
        if event.result.call.arguments.get("question"):
            self.asked.append(is_given)
        else:
            self.forced += is_given
        if is_given and self.results_before_advice is None:
            self.results_before_advice = self.results


class Measurement:
    """Runs workers on tasks with models of fake providers, which count what they charge."""

    def __init__(self, fakes: FakeProviders) -> None:
        made = BuildContext(prices=PRICES, environment=fakes.environment)
        self._fakes = fakes
        self._small, self._large = (participant(name, HelperSettings(type=name), made) for name in (SMALL, LARGE))

    async def aclose(self) -> None:
        for each in (self._small, self._large):
            await each.client.aclose()

    async def do_all(self, tasks: Sequence[AgentTask], worker: str, help_rate: float | None) -> list[TaskOutcome]:
        asks, heeds = WORKERS[worker]
        return [await self.do(Worker(task, asks, heeds), help_rate) for task in tasks]

    async def do_alone(self, task: AgentTask) -> str:
        """Returns the answer of a worker without an advisor."""
        worker = Worker(task, never_asks)
        self._fakes.openai.always(worker)
        return await _answer(ToolCapableClient(self._small.client, worker.tools, LIMITS), task.prompt, Listener())

    async def do(self, worker: Worker, help_rate: float | None = None) -> TaskOutcome:
        """Runs a worker on its task, without any state of earlier tasks."""
        self._fakes.openai.always(worker)
        self._fakes.anthropic.always(worker.task.advice)
        detector = StuckDetector(help_rate=help_rate)
        pair = advisor.create(self._small.client, self._large.client, stuck_detector=detector, helping=Helping())
        listener = Listener()
        text = await _answer(ToolCapableClient(pair, worker.tools, LIMITS), worker.task.prompt, listener)
        small, large = (_costs(listener.replies, each) for each in (self._small, self._large))
        bills = (_bill(self._fakes.openai, self._small), _bill(self._fakes.anthropic, self._large))
        needless = [question.needless for question in worker.questions]
        return TaskOutcome(
            worker.task,
            text == worker.task.answer,
            len(needless),
            sum(needless),
            sum(listener.asked),
            sum(given and each for given, each in zip(listener.asked, needless, strict=True)),
            listener.results_before_advice,
            listener.forced,
            listener.advice,
            sum(small),
            sum(large),
            max(_gaps(small, bills[0]), _gaps(large, bills[1])),
        )


async def _answer(client: ModelClient, prompt: str, listener: Listener) -> str:
    return (await client.complete(ModelRequest((user(prompt),)), listener)).text


def _costs(replies: Sequence[ModelReplied], of: Model) -> list[float]:
    """Returns the dollars of each reply of a model by the ledger."""
    return [each.usage.cost_usd or 0.0 for each in replies if each.model == str(of.name)]


def _bill(provider: FakeProvider, of: Model) -> list[float]:
    """Returns the dollars that the provider charged for each reply since the last bill."""
    charged = [request.billed for request in provider.requests if request.billed]
    provider.requests.clear()
    assert of.price
    return [of.price.cost(usage) for usage in charged]


def _gaps(entries: Sequence[float], bill: Sequence[float]) -> float:
    return max((abs(ours - theirs) for ours, theirs in zip(entries, bill, strict=True)), default=0.0)


@dataclass(frozen=True)
class Row:
    """The outcomes of a worker in all tasks."""

    name: str
    done: Sequence[TaskOutcome]

    @property
    def failing(self) -> list[TaskOutcome]:
        """Returns the tasks in which the worker goes wrong by itself."""
        return [each for each in self.done if each.task.goes_wrong]

    @property
    def solved(self) -> int:
        return sum(each.solved for each in self.done)

    @property
    def in_time(self) -> float:
        """Returns the share of the failing tasks with advice in time."""
        return sum(each.in_time for each in self.failing) / len(self.failing)

    @property
    def needless(self) -> int:
        return sum(each.needless for each in self.done)

    @property
    def declined(self) -> float | None:
        """Returns the share of needless questions that was declined, or None without any."""
        return _declined_share(self.needless, sum(each.needless_answered for each in self.done))

    @property
    def refused(self) -> float | None:
        """Returns the share of helpful questions that was declined, or None without any."""
        asked = sum(each.asked for each in self.done) - self.needless
        return _declined_share(asked, sum(each.answered - each.needless_answered for each in self.done))

    @property
    def disturbed(self) -> int:
        """Returns the number of right tasks that got unasked advice."""
        return sum(bool(each.forced) for each in self.done if not each.task.goes_wrong)

    @property
    def gap(self) -> float:
        return max(each.gap for each in self.done)

    @property
    def cells(self) -> Iterator[str]:
        yield f"{self.name:26}"
        yield f"{self.solved:6}"
        yield f"{self.in_time:7.1%}"
        yield f"{sum(each.advice for each in self.done):6}"
        yield f"{self.disturbed:9}"
        yield f"{self.needless:8}"
        for share in (self.declined, self.refused):
            yield f"{'-':>8}" if share is None else f"{share:8.1%}"
        yield f"{sum(each.small_usd for each in self.done):8.4f}"
        yield f"{sum(each.large_usd for each in self.done):8.4f}"
        yield f"{100 * self.gap:7.4f}"


HEADER = (
    "worker                     solved in time advice disturbed needless declined  refused  small $  large $  gap ct"
)


def _declined_share(asked: int, answered: int) -> float | None:
    return 1 - answered / asked if asked else None


async def measure(tasks: Sequence[AgentTask]) -> list[Row]:
    """Prints and returns a row for each worker, at the defaults and with a help rate."""
    rows = []
    async with FakeProviders() as fakes:
        measurement = Measurement(fakes)
        for help_rate in (None, HELP_RATE):
            for name in WORKERS:
                label = name if help_rate is None else f"{name}, rate {help_rate}"
                rows.append(Row(label, await measurement.do_all(tasks, name, help_rate)))
                print(" ".join(rows[-1].cells), flush=True)
        await measurement.aclose()
    return rows


def misses(rows: Sequence[Row]) -> Iterator[str]:
    """Yields, for each worker, the failing tasks without advice in time and the right tasks that were disturbed."""
    for row in rows:
        late = Counter(each.task.kind for each in row.failing if not each.in_time)
        disturbed = [each.task for each in row.done if each.forced and not each.task.goes_wrong]
        yield f"{row.name}: not in time: {', '.join(f'{kind} {n}' for kind, n in late.most_common()) or 'none'}"
        yield from (f"    {each.task.kind}: {each.task.prompt}" for each in row.failing if not each.in_time)
        yield from (f"    disturbed, {task.kind}: {task.prompt}" for task in disturbed)


def main(arguments: Sequence[str]) -> None:
    others = {"--unseen": UNSEEN, "--later": LATER}
    tasks = read_tasks(next((folder for name, folder in others.items() if name in arguments), FOLDER))
    print(f"{len(tasks)} tasks; {sum(task.goes_wrong for task in tasks)} of them go wrong without advice")
    print(HEADER)
    rows = asyncio.run(measure(tasks))
    if "--misses" in arguments:
        print("\n".join(misses(rows)))


if __name__ == "__main__":
    main(sys.argv[1:])
