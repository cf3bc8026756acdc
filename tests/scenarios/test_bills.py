"""Whatever goes wrong on the way, the ledger has what the providers charge; what they did not say is estimated."""

import asyncio
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ai_battle import ConversationManager
from ai_battle.benchmark.loading import load
from ai_battle.benchmark.run import begin, run
from ai_battle.core.events import Event, EventLog, ModelReplied
from ai_battle.core.exchange import ModelRequest, Usage
from ai_battle.core.helping import DraftDropped
from ai_battle.core.messages import user
from ai_battle.providers import openai
from ai_battle.providers._calls import ProviderCaller
from ai_battle.testing import FAULTS, FakeProvider, FakeProviders, fault, reply
from tests.server.serving import serving, until

from .doors import (
    BODIES,
    DEAR,
    DOORS,
    MODELS,
    PRICE,
    Case,
    cost_in_metrics,
    dollars,
    ledger_and_bill,
    write_server,
    write_sums,
)

TELLING = ("refusal", "content_filter", "length", "empty_answer", "http_500", "http_429", "error_200", "empty_choices")
"""Faults of which each kind of reply is one: those with a usage and those without."""
BROKEN = ("close_mid_stream", "end_mid_stream", "truncated_json", "malformed_json", "error_event_mid_stream")
HANGING = tuple(name for name in FAULTS if name.startswith(("stall", "ping")))
REST = tuple(name for name in FAULTS if name not in (*TELLING, *BROKEN, *HANGING))
AT_ONCE = 10
DOORS_AND_WIRES = [
    pytest.param(door, wire, marks=[] if door == "discussion" or wire == "openai" else pytest.mark.slow)
    for door in DOORS
    for wire in MODELS
]
"""No door knows of wires: all of both are tried, and their other combinations in the slow run alone."""


def talk(wire: str) -> dict[str, Any]:
    case = Case("", wire, streams=True)
    models = dict.fromkeys(("Ann", "Bob"), case.alone["model"])
    discussion = {"goal": "Talk.", "mode": "ai-ai", "turns": 1, "models": models, "timeouts": case.timeouts}
    return {"discussion": discussion, "prices": dict.fromkeys(MODELS[wire], PRICE)}


def cases(wire: str, names: Iterable[str]) -> list[Case]:
    known = [name for name in names if wire in FAULTS[name].wires]
    return [Case(name, wire, streams, name in HANGING) for name in known for streams in (True, False)]


async def differences(door: str, cases: Iterable[Case], folder: Path) -> dict[str, str]:
    """Returns where ledger and bill are not the same to the cent; several cases at a time."""
    room, found = asyncio.Semaphore(AT_ONCE), dict[str, str]()

    async def compare(case: Case, folder: Path) -> None:
        async with room:
            booked, billed = await ledger_and_bill(door, case, folder)
        if abs(booked - billed) >= 0.005:
            found[case.name] = f"${booked:.4f} booked, ${billed:.4f} billed"

    async with asyncio.TaskGroup() as group:
        for case in cases:
            (own := folder / case.name).mkdir()
            group.create_task(compare(case, own))
    return found


@pytest.mark.parametrize(("door", "wire"), DOORS_AND_WIRES)
class TestTheLedgerIsTheBillToTheCent:
    """With each fault of the fakes, streamed and plain, on each wire and through each door."""

    async def test_where_a_reply_is_refused_cut_or_broken(self, here: Path, door: str, wire: str) -> None:
        assert await differences(door, cases(wire, (*TELLING, *BROKEN)), here) == {}

    @pytest.mark.slow
    async def test_whatever_else_goes_wrong(self, here: Path, door: str, wire: str) -> None:
        assert await differences(door, cases(wire, REST), here) == {}

    @pytest.mark.slow
    async def test_where_nothing_more_comes(self, here: Path, door: str, wire: str) -> None:
        assert await differences(door, cases(wire, HANGING), here) == {}


@pytest.mark.parametrize("streams", [True, False], ids=["streamed", "plain"])
@pytest.mark.parametrize("wire", MODELS)
@pytest.mark.parametrize("stop", ["end", "length", "refusal", "content_filter"])
async def test_an_answer_without_a_word_is_booked_with_all_that_it_took(
    fakes: FakeProviders, wire: str, streams: bool, stop: Any
) -> None:
    fake: FakeProvider = getattr(fakes, wire)
    fake.streams = streams
    fake.says(reply("", usage=DEAR, stop=stop))
    result = await ConversationManager.from_config(talk(wire)).run_discussion()

    assert result.usage.cost_usd == pytest.approx(dollars(fake.bill), abs=0.005)
    assert (result.usage.cost_usd or 0) > 0.4


@pytest.mark.parametrize("strategy", ["rescue", "takeover", "critique", "cascade", "vote", "boost"])
async def test_what_is_dropped_inside_a_pair_is_on_its_ledger(fakes: FakeProviders, strategy: str) -> None:
    """Empty drafts, and a helper that declines and is asked again."""
    fakes.openai.says(reply("", usage=DEAR), reply("", usage=DEAR), fault("refusal"))
    fakes.openai.always(reply("I do not know.", usage=DEAR))
    fakes.anthropic.says(reply("", usage=DEAR), fault("refusal"))
    fakes.anthropic.always(reply("I don't know either.", usage=DEAR))
    source, helper = talk("openai"), MODELS["anthropic"][0]
    pair = {"primary": "Ann", "secondary": {"type": helper}, "strategy": strategy}
    source["discussion"]["collaboration"] = {"pairs": [pair | ({"samples": 3} if strategy == "vote" else {})]}
    source["prices"][helper] = PRICE
    result = await ConversationManager.from_config(source).run_discussion(log := EventLog())

    assert result.usage.cost_usd == pytest.approx(dollars(fakes.openai.bill + fakes.anthropic.bill), abs=0.005)
    assert len(fakes.openai.questions) + len(fakes.anthropic.questions) > 2
    for dropped in (event for event in log.events if isinstance(event, DraftDropped)):
        assert dropped.usage.total_tokens >= 0


MANY_WORDS = "One word after the other, and there are many of them. " * 40


@pytest.mark.parametrize("wire", MODELS)
async def test_who_leaves_a_stream_has_paid_for_what_came(fakes: FakeProviders, wire: str) -> None:
    fake: FakeProvider = getattr(fakes, wire)
    fake.always(reply(MANY_WORDS, pace=0.01))
    manager = ConversationManager.from_config(talk(wire))
    log, has_begun = EventLog(), asyncio.Event()

    async def listen(event: Event) -> None:
        await log(event)
        if len(log.text) > 200:
            has_begun.set()

    running = asyncio.ensure_future(manager.run_discussion(listen))
    await has_begun.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await until(lambda: not fake.open_requests)

    [entry] = [event for event in log.events if isinstance(event, ModelReplied)]
    assert (entry.estimated, entry.failed) == (True, True)
    assert entry.usage.output_tokens == pytest.approx(fake.bill.output_tokens, abs=100)
    assert 40 < entry.usage.output_tokens < 400


@pytest.mark.parametrize(("scheme", "entries"), [("https", 0), ("http", 1)])
async def test_who_leaves_before_the_request_was_sent_has_paid_nothing(scheme: str, entries: int) -> None:
    """A server that accepts connections and says nothing: TLS waits for it to begin, and a plain request is sent."""
    has_come, log = asyncio.Event(), EventLog()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            await reader.read(1)
            has_come.set()
            await reader.read()

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
        url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        client = ProviderCaller(openai.create("gpt-4o", base_url=url, api_key="k"), "openai/gpt-4o")
        asking = asyncio.ensure_future(client.complete(ModelRequest((user("How much?"),)), log))
        await has_come.wait()
        asking.cancel()
        await asyncio.wait([asking])

    assert len([event for event in log.events if isinstance(event, ModelReplied)]) == entries


@pytest.mark.parametrize("path", BODIES)
async def test_a_client_that_leaves_a_stream_has_paid_for_what_came(
    fakes: FakeProviders, here: Path, path: str
) -> None:
    fakes.openai.always(reply(MANY_WORDS, usage=Usage(1_500, 600), pace=0.01))
    case = Case("", "openai", streams=True)
    async with serving(fakes, write_server(case, fakes, here)) as address, aiohttp.ClientSession(address) as session:
        async with session.post(path, json={"model": "alone", "stream": True, **BODIES[path]}) as answer:
            await answer.content.read(2_000)
        await until(lambda: not fakes.openai.open_requests)
        booked = await cost_in_metrics(session)

    assert booked == pytest.approx(dollars(fakes.openai.bill), abs=0.005)
    assert booked > 0.015


@pytest.mark.parametrize("secondary", [None, "openai/gpt-4o"], ids=["alone", "in a pair"])
def test_a_benchmark_never_passes_its_limit(tmp_path: Path, secondary: str | None) -> None:
    """Samples at once that would pass it together wait, and one that can't be paid for to its end is not a sample."""
    model = {"type": "openai/gpt-4o", "parameters": {"max_tokens": 40_000}}
    pair = {"secondary": secondary, "max_retries": 1} if secondary else {}
    with FakeProviders.in_thread() as fakes:
        fakes.openai.always(reply("I do not know.", usage=Usage(20, 16_000)))
        suite = load(
            {
                "benchmark": {
                    "datasets": [{"path": str(write_sums(tmp_path, 6))}],
                    "scorers": ["contains"],
                    "settings": [{"name": "gpt", "model": model, **pair}],
                    "limits": {"cost_usd": 1.0},
                },
                **Case("", "openai", streams=True).settings(fakes),
            }
        )
        store = begin(suite, tmp_path / "out")
        ended = run(suite, store)

        assert ended.limit == "cost_usd"
        assert 0.3 < dollars(fakes.openai.bill) <= 1.0
        assert store.spent_dollars() == pytest.approx(dollars(fakes.openai.bill), abs=0.005)
        assert all(not sample.error for sample in store.samples())
        store.close()
