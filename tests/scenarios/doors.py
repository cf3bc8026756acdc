"""Four ways in which a user's request reaches a model, each with what its ledger says in the end."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import yaml

from ai_battle import ConversationManager
from ai_battle.benchmark.loading import load
from ai_battle.benchmark.run import begin, play
from ai_battle.core.events import EventLog, ModelReplied
from ai_battle.core.exchange import NOTHING_USED, Usage
from ai_battle.testing import FakeProvider, FakeProviders, fault, reply
from tests.server.serving import serving, until

MODELS = {
    "openai": ("openai/gpt-4o", "openai/gpt-4o-mini"),
    "anthropic": ("anthropic/claude-sonnet-4-5", "anthropic/claude-haiku-4-5"),
    "ollama": ("ollama/phi4", "ollama/llama3.2"),
    "gemini": ("gemini/gemini-2.5-pro", "gemini/gemini-2.5-flash"),
}
PRICE = {"input": 10.0, "output": 10.0}
"""A lost question is a cent and a half, half of a lost answer one."""
LONG = "Why is the sky blue, and why is it red in the evening? " * 110
WORDS = (
    "light",
    "water",
    "people",
    "houses",
    "music",
    "letters",
    "winter",
    "trees",
    "roads",
    "bread",
    "ships",
    "songs",
)
SPOILED = reply(" ".join(Random(1).choices(WORDS, k=1_200)))
"""Words that never repeat, so that nobody stops reading early."""
DEAR = Usage(3_000, 40_000, reasoning_tokens=40_000)
MOST = 50_000
QUESTION = [{"role": "user", "content": LONG}]
BODIES: dict[str, dict[str, Any]] = {
    "/v1/messages": {"messages": QUESTION, "max_tokens": MOST},
    "/v1/chat/completions": {"messages": QUESTION, "max_tokens": MOST},
    "/v1/responses": {"input": LONG, "max_output_tokens": MOST},
}
SECONDS = {"slow_drip": 0.0, "rate_limited": 0.01, "rate_limited_date": 0.0}
"""Faults that take their time by default."""


@dataclass(frozen=True)
class Case:
    """A fault of a provider, and how patiently it is met."""

    fault: str
    wire: str
    streams: bool
    hangs: bool = False

    @property
    def name(self) -> str:
        return f"{self.fault}-{self.wire}-{'streamed' if self.streams else 'plain'}"

    @property
    def number(self) -> int:
        """Another one for each wire and way of answering."""
        return 2 * [*MODELS].index(self.wire) + self.streams + len(self.fault)

    def script(self, fake: FakeProvider, *before: str) -> None:
        """After these answers the fault, and then an answer of forty cents that says nothing."""
        fake.streams = self.streams
        spoiled = None if self.fault == "slow_drip" else SPOILED
        fake.says(*before, fault(self.fault, seconds=SECONDS.get(self.fault), reply=spoiled), reply("", usage=DEAR))
        fake.always("I do not know.")

    @property
    def timeouts(self) -> dict[str, float]:
        return {"request": 6, "retry_count": 0} if self.hangs else {"request": 60, "retry_count": 1}

    def settings(self, fakes: FakeProviders) -> dict[str, Any]:
        url = getattr(fakes, self.wire).url + ("/v1" if self.wire == "openai" else "")
        providers = {self.wire: {"base_url": url, "api_key": "any"}}
        return {"providers": providers, "prices": dict.fromkeys(MODELS[self.wire], PRICE)}

    @property
    def alone(self) -> dict[str, Any]:
        return {"model": model(MODELS[self.wire][0])}

    @property
    def pair(self) -> dict[str, Any]:
        return {**self.alone, "secondary": model(MODELS[self.wire][1]), "strategy": "rescue"}


def dollars(usage: Usage) -> float:
    return (usage.input_tokens * PRICE["input"] + usage.output_tokens * PRICE["output"]) / 1e6


def model(name: str) -> dict[str, Any]:
    return {"type": name, "parameters": {"max_tokens": MOST}}


async def discussion(case: Case, fakes: FakeProviders, folder: Path, **more: Any) -> float:
    models = dict.fromkeys(("Ann", "Bob"), case.alone["model"])
    said = {"goal": LONG, "mode": "ai-ai", "turns": 1, "models": models, "timeouts": case.timeouts, **more}
    manager = ConversationManager.from_config({"discussion": said, **case.settings(fakes)}, out=folder / "run")
    result = await manager.run_discussion(log := EventLog())
    entries = [event.usage for event in log.events if isinstance(event, ModelReplied)]
    assert result.usage == sum(entries, NOTHING_USED)
    return result.usage.cost_usd or 0.0


async def pair(case: Case, fakes: FakeProviders, folder: Path) -> float:
    """The helper meets the fault."""
    helped = {"primary": "Ann", "secondary": case.pair["secondary"], "strategy": "rescue"}
    return await discussion(case, fakes, folder, collaboration={"pairs": [helped]})


def write_server(case: Case, fakes: FakeProviders, folder: Path) -> str:
    file = folder / "server.yaml"
    said = {"routes": {"alone": case.alone, "pair": case.pair}, "request_timeout": case.timeouts["request"]}
    file.write_text(yaml.safe_dump({"server": said, **case.settings(fakes)}))
    return str(file)


async def cost_in_metrics(session: aiohttp.ClientSession) -> float:
    metrics = await (await session.get("/metrics")).text()
    lines = [line for line in metrics.splitlines() if line.startswith("ai_battle_cost_usd_total{")]
    return sum(float(line.split()[-1]) for line in lines)


async def server(case: Case, fakes: FakeProviders, folder: Path) -> float:
    path, body = [*BODIES.items()][case.number % len(BODIES)]
    asked = {"model": ("alone", "pair")[case.number % 2], "stream": case.streams, **body}
    file = write_server(case, fakes, folder)
    async with serving(fakes, file) as address, aiohttp.ClientSession(address) as session:
        for _ in range(2):
            async with session.post(path, json=asked) as answer:
                await answer.read()
        return await cost_in_metrics(session)


def write_sums(folder: Path, count: int) -> Path:
    tasks = folder / "sums.jsonl"
    tasks.write_text("".join(f'{{"id": "{n}", "prompt": "{n} + 2? {LONG}", "reference": "4"}}\n' for n in range(count)))
    return tasks


async def benchmark(case: Case, fakes: FakeProviders, folder: Path) -> float:
    setting = {"name": "mine", **(case.pair if case.number % 2 else case.alone)}
    said = {"datasets": [{"path": str(write_sums(folder, 2))}], "scorers": ["contains"], "settings": [setting]}
    suite = load({"benchmark": {**said, "timeouts": case.timeouts}, **case.settings(fakes)})
    store = begin(suite, folder / "out")
    try:
        await play(suite, store)
        return store.spent_dollars()
    finally:
        store.close()


DOORS: dict[str, Callable[[Case, FakeProviders, Path], Awaitable[float]]] = {
    each.__name__: each for each in (discussion, pair, server, benchmark)
}


async def ledger_and_bill(door: str, case: Case, folder: Path) -> tuple[float, float]:
    async with FakeProviders() as fakes:
        fake: FakeProvider = getattr(fakes, case.wire)
        case.script(fake, *["I do not know."] if door == "pair" else [])
        booked = await DOORS[door](case, fakes, folder)
        await until(lambda: not fake.open_requests)
        return booked, dollars(fake.bill)
