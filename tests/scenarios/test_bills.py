"""Whatever goes wrong on the way, the ledger has what the providers charge; what they did not say is estimated."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ai_battle import ConversationManager
from ai_battle.benchmark.loading import load
from ai_battle.benchmark.run import begin, run
from ai_battle.conversation import RunResult
from ai_battle.core.events import Event, EventLog, ModelReplied
from ai_battle.core.exchange import Usage
from ai_battle.core.helping import DraftDropped
from ai_battle.testing import FAULTS, FakeProvider, FakeProviders, fault, reply
from tests.server.serving import serving

TYPES = {
    "openai": "openai/gpt-4o",
    "anthropic": "anthropic/claude-sonnet-4-5",
    "ollama": "ollama/phi4",
    "gemini": "gemini/gemini-2.5-pro",
}
PRICE = {"input": 2.0, "output": 10.0}
DEAR = Usage(3_000, 40_000)
"""Fifty cents more or less than forty: nobody overlooks it."""
TELLING = ("refusal", "content_filter", "length", "empty_answer", "http_500", "http_429", "error_200", "empty_choices")
"""Faults of which each kind of reply is one: those with a usage and those without."""
BROKEN = ("close_mid_stream", "end_mid_stream", "truncated_json", "malformed_json", "error_event_mid_stream")
SLOW = {"huge_answer", "gzip_bomb"}


def met(names: tuple[str, ...]) -> Iterator[Any]:
    for name in names:
        for wire in FAULTS[name].wires:
            for streams in (True, False):
                yield pytest.param(name, wire, streams, id=f"{name}-{wire}-{'streamed' if streams else 'plain'}")


def every(function: Any) -> Any:
    """A cross-section each time, all faults where time is no matter."""
    rest = tuple(name for name in FAULTS if name not in (*TELLING, *BROKEN, *SLOW))
    cases = [
        *met((*TELLING, *BROKEN)),
        *(pytest.param(*each.values, id=each.id, marks=pytest.mark.slow) for each in met(rest)),
    ]
    return pytest.mark.parametrize(("name", "wire", "streams"), cases)(function)


def talk(wire: str, **more: Any) -> dict[str, Any]:
    models = {name: {"type": TYPES[wire], "parameters": {"max_tokens": 50_000}} for name in ("Ann", "Bob")}
    timeouts = {"request": 3, "retry_count": 1}
    discussion = {"goal": "Talk.", "mode": "ai-ai", "turns": 1, "models": models, "timeouts": timeouts, **more}
    return {"discussion": discussion, "prices": {TYPES[wire]: PRICE}}


async def heard(source: dict[str, Any]) -> tuple[RunResult, EventLog]:
    return await ConversationManager.from_config(source).run_discussion(log := EventLog()), log


def dollars(usage: Usage) -> float:
    return (usage.input_tokens * PRICE["input"] + usage.output_tokens * PRICE["output"]) / 1e6


def said_by(fake: FakeProvider, name: str) -> None:
    """The fault once; every sound answer costs about forty cents."""
    fake.says("Good day.", fault(name, seconds=0.01))
    fake.always(reply("All is well.", usage=DEAR))


@every
async def test_the_ledger_of_a_discussion_is_the_bill_to_the_cent(
    fakes: FakeProviders, name: str, wire: str, streams: bool
) -> None:
    fake: FakeProvider = getattr(fakes, wire)
    fake.streams = streams
    said_by(fake, name)
    result, log = await heard(talk(wire))

    assert result.usage.cost_usd == pytest.approx(dollars(fake.bill), abs=0.005)
    entries = [event.usage for event in log.events if isinstance(event, ModelReplied)]
    assert result.usage == sum(entries, Usage(cost_usd=0.0))


@pytest.mark.parametrize("streams", [True, False], ids=["streamed", "plain"])
@pytest.mark.parametrize("wire", TYPES)
@pytest.mark.parametrize("stop", ["end", "length", "refusal", "content_filter"])
async def test_an_answer_without_a_word_is_booked_with_all_that_it_took(
    fakes: FakeProviders, wire: str, streams: bool, stop: Any
) -> None:
    fake: FakeProvider = getattr(fakes, wire)
    fake.streams = streams
    fake.says(reply("", usage=DEAR, stop=stop))
    result, _ = await heard(talk(wire))

    assert result.usage.cost_usd == pytest.approx(dollars(fake.bill), abs=0.005)
    assert (result.usage.cost_usd or 0) > 0.4


@pytest.mark.parametrize("strategy", ["rescue", "takeover", "critique", "cascade", "vote", "boost"])
async def test_what_is_dropped_inside_a_pair_is_on_its_ledger(fakes: FakeProviders, strategy: str) -> None:
    """Empty drafts, and a helper that declines and is asked again."""
    fakes.openai.says(reply("", usage=DEAR), reply("", usage=DEAR), fault("refusal"))
    fakes.openai.always(reply("I do not know.", usage=DEAR))
    fakes.anthropic.says(reply("", usage=DEAR), fault("refusal"))
    fakes.anthropic.always(reply("I don't know either.", usage=DEAR))
    source = talk("openai")
    helper = {"type": TYPES["anthropic"]}
    pair = {"primary": "Ann", "secondary": helper, "strategy": strategy}
    source["discussion"]["collaboration"] = {"pairs": [pair | ({"samples": 3} if strategy == "vote" else {})]}
    source["prices"][TYPES["anthropic"]] = PRICE
    result, log = await heard(source)

    assert result.usage.cost_usd == pytest.approx(dollars(fakes.openai.bill + fakes.anthropic.bill), abs=0.005)
    assert len(fakes.openai.questions) + len(fakes.anthropic.questions) > 2
    for dropped in (event for event in log.events if isinstance(event, DraftDropped)):
        assert dropped.usage.total_tokens >= 0


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("name", [*TELLING, *BROKEN])
async def test_the_metrics_of_a_server_are_the_bill(
    fakes: FakeProviders, tmp_path: Path, name: str, stream: bool
) -> None:
    path = tmp_path / "server.yaml"
    path.write_text(f"server: {{routes: {{large: openai/gpt-4o}}}}\nprices: {{openai/gpt-4o: {PRICE}}}\n")
    fakes.openai.says(fault(name), reply("", usage=DEAR), reply("Yes.", usage=DEAR))
    body = {"model": "large", "max_tokens": 50_000, "stream": stream, "messages": [{"role": "user", "content": "Hm?"}]}
    async with serving(fakes, str(path)) as address, aiohttp.ClientSession(address) as session:
        for _ in range(3):
            async with session.post("/v1/messages", json=body) as answer:
                await answer.read()
        metrics = await (await session.get("/metrics")).text()

    counted = [line.split()[-1] for line in metrics.splitlines() if line.startswith("ai_battle_cost_usd_total{")]
    assert sum(map(float, counted)) == pytest.approx(dollars(fakes.openai.bill), abs=0.005)


@pytest.mark.parametrize("name", [*TELLING, *BROKEN])
def test_what_a_benchmark_has_spent_is_the_bill(tmp_path: Path, name: str) -> None:
    rows = "".join(f'{{"id": "{n}", "prompt": "{n} + 2?", "reference": "4"}}\n' for n in range(6))
    (tmp_path / "sums.jsonl").write_text(rows)
    with FakeProviders.in_thread() as fakes:
        fakes.openai.says(fault(name), reply("", usage=DEAR))
        fakes.openai.always(reply("4", usage=DEAR))
        suite = load(
            {
                "benchmark": {
                    "datasets": [{"path": str(tmp_path / "sums.jsonl")}],
                    "scorers": ["contains"],
                    "settings": [{"name": "gpt", "model": "openai/gpt-4o"}],
                    "timeouts": {"retry_count": 1},
                },
                "providers": {"openai": {"base_url": f"{fakes.openai.url}/v1", "api_key": "any"}},
                "prices": {"openai/gpt-4o": PRICE},
            }
        )
        store = begin(suite, tmp_path / "out")
        run(suite, store)

        assert store.spent() == pytest.approx(dollars(fakes.openai.bill), abs=0.005)
        store.close()


async def test_who_leaves_a_stream_has_paid_for_what_came(fakes: FakeProviders) -> None:
    said = "One word after the other, and there are many of them. " * 40
    fakes.openai.always(reply(said, pace=0.01))
    manager = ConversationManager.from_config(talk("openai"))
    log, has_begun = EventLog(), asyncio.Event()

    async def listen(event: Event) -> None:
        await log(event)
        if len(log.text) > 200:
            has_begun.set()

    running = asyncio.ensure_future(manager.run_discussion(listen))
    await has_begun.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    [entry] = [event for event in log.events if isinstance(event, ModelReplied)]
    assert (entry.estimated, entry.failed) == (True, True)
    assert 40 < entry.usage.output_tokens < 400


@pytest.mark.parametrize("secondary", [None, "openai/gpt-4o"], ids=["alone", "in a pair"])
def test_a_benchmark_never_passes_its_limit(tmp_path: Path, secondary: str | None) -> None:
    """Samples at once that would pass it together wait, and one that can't be paid for to its end is no sample."""
    rows = "".join(f'{{"id": "{n}", "prompt": "{n} + 2?", "reference": "4"}}\n' for n in range(6))
    (tmp_path / "sums.jsonl").write_text(rows)
    model = {"type": "openai/gpt-4o", "parameters": {"max_tokens": 40_000}}
    pair = {"secondary": secondary, "max_retries": 1} if secondary else {}
    with FakeProviders.in_thread() as fakes:
        fakes.openai.always(reply("I do not know.", usage=Usage(20, 16_000)))
        suite = load(
            {
                "benchmark": {
                    "datasets": [{"path": str(tmp_path / "sums.jsonl")}],
                    "scorers": ["contains"],
                    "settings": [{"name": "gpt", "model": model, **pair}],
                    "limits": {"cost_usd": 1.0},
                },
                "providers": {"openai": {"base_url": f"{fakes.openai.url}/v1", "api_key": "any"}},
                "prices": {"openai/gpt-4o": PRICE},
            }
        )
        store = begin(suite, tmp_path / "out")
        ended = run(suite, store)

        assert ended.status == "limit"
        assert 0.3 < dollars(fakes.openai.bill) <= 1.0
        assert store.spent() == pytest.approx(dollars(fakes.openai.bill), abs=0.005)
        assert all(not sample.error for sample in store.samples())
        store.close()
