"""Whatever goes wrong between a client and its provider ends as docs/reference/faults.md says.

Each fault is met by each client as it is assembled: metered, retried, adapted; once in passing, and for good.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module

import pytest

from ai_battle import assembly
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import ProviderError, Refused, Unreachable
from ai_battle.core.events import AttemptFailed, EventLog, ModelReplied, TextDelta, Warned
from ai_battle.core.exchange import ModelRequest, ModelResponse
from ai_battle.core.messages import user
from ai_battle.providers import CallTerms, Deadlines, ProviderCaller, RetryPolicy
from ai_battle.testing import FAULTS, FakeProvider, FakeProviders, fault

from .fault_table import EXPECTED, PAGE, Row, page

for package in ("anthropic", "ollama", "openai"):
    import_module(package)  # now: a second on the clocks of those who wait for it later

WHOLE = "The whole answer."
SILENT = ("stall_before_headers", "stall_after_headers", "stall_mid_stream", "slow_drip", "ping_for_ever")
QUICK = {"rate_limited": 0.05, "rate_limited_date": 0.3, "slow_drip": 0.05, "ping_for_ever": 0.05}
PASSING = [name for name, row in EXPECTED.items() if row.error and row.again != "never"]
SURFACING = [name for name, row in EXPECTED.items() if row.error]
ANSWERED = [name for name, row in EXPECTED.items() if not row.error and row.again == "never"]
ASKED = ModelRequest((user("What is the answer?"),))


@dataclass(frozen=True)
class Scene:
    """One way to meet a fault: an API, a transport, and whether the server streams."""

    name: str
    wire: str
    transport: str
    streamed: bool

    def __str__(self) -> str:
        return f"{self.wire} over {self.transport}, {'streamed' if self.streamed else 'in one piece'}"

    @property
    def row(self) -> Row:
        return EXPECTED[self.name]

    @asynccontextmanager
    async def met(self) -> AsyncIterator[tuple[ModelClient, FakeProvider, FakeProviders]]:
        """The assembled client, warmed up: what a library does at its first call is not on the clocks."""
        async with FakeProviders() as fakes:
            fake: FakeProvider = getattr(fakes, self.wire)
            fake.streams = self.streamed
            client = self._client(fake)
            await client.complete(ASKED)
            fake.requests.clear()
            yield client, fake, fakes

    def _client(self, fake: FakeProvider) -> ModelClient:
        silence, whole = (2.0, 30.0) if self.name in SILENT else (60.0, 90.0)
        first = 60.0 if self.name == "stall_mid_stream" else silence
        url = f"{fake.url}/v1" if self.wire == "openai" else fake.url
        create = import_module(f"ai_battle.providers.{self.wire}").create
        clocks = Deadlines(connect=30.0, first_byte=first, idle=silence, total=whole)
        bare = create("m", base_url=url, api_key="test-key", transport=self.transport, deadlines=clocks)
        policy = RetryPolicy(seconds=whole, pauses=(0.001, 0.005))
        return ProviderCaller(bare, f"{self.wire}/m", CallTerms(), policy)


def scenes(name: str) -> Iterator[Scene]:
    """Bytes are bytes: in one piece they are only sent over one of the transports."""
    for wire in FAULTS[name].wires:
        yield Scene(name, wire, "aiohttp", streamed=True)
        yield Scene(name, wire, "aiohttp", streamed=False)
        if wire != "gemini":
            yield Scene(name, wire, "sdk", streamed=True)


def failures(log: EventLog) -> list[AttemptFailed]:
    return [event for event in log.events if isinstance(event, AttemptFailed)]


def all_text(log: EventLog) -> str:
    return "".join(event.text for event in log.events if isinstance(event, TextDelta))


async def in_passing(scene: Scene) -> str:
    """What is wrong with a call that meets the fault once; empty when nothing is."""
    async with scene.met() as (client, fake, _):
        fake.says(fault(scene.name, seconds=QUICK.get(scene.name)), WHOLE)
        response = await client.complete(ASKED, log := EventLog())
        failed = failures(log)
        if (response.text, log.text, len(fake.questions), len(failed)) != (WHOLE, WHOLE, 2, 1):
            return f"{scene}: {response.text!r}, heard {log.text!r}, {len(fake.questions)} questions, {failed}"
        if not failed[0].partial.startswith(all_text(log).removesuffix(WHOLE)):
            return f"{scene}: heard {all_text(log)!r}, of which {failed[0].partial!r} is marked as failed"
        return ""


async def for_good(scene: Scene) -> str:
    """What is wrong with a call when the fault stays."""
    async with scene.met() as (client, fake, fakes):
        fake.always(fault(scene.name, seconds=QUICK.get(scene.name)))
        log = EventLog()
        try:
            async with asyncio.timeout(100):
                response = await client.complete(ASKED, log)
        except ProviderError as error:
            return "; ".join(f"{scene}: {wrong}" for wrong in _wrong_with(error, scene, log, fake, fakes))
        return f"{scene}: was taken for an answer: {response}"


def _wrong_with(
    error: ProviderError, scene: Scene, log: EventLog, fake: FakeProvider, fakes: FakeProviders
) -> Iterator[str]:
    row, failed = scene.row, failures(log)
    if not isinstance(error, row.error or ()):
        yield f"{type(error).__name__}, not {row.error}: {error}"
    if len(fake.questions) != row.attempts(scene.streamed):
        yield f"{len(fake.questions)} attempts, not {row.attempts(scene.streamed)}"
    if len(failed) != len(fake.questions) or log.text:
        yield f"{len(failed)} failed attempts were told of {len(fake.questions)}, and {log.text!r} stays"
    if "text" in row.kept and scene.streamed and not (failed[-1].partial and failed[-1].partial == error.partial):
        yield "the text is not kept"
    if "body" in row.kept and not failed[-1].raw:
        yield "the body is not kept"
    if "test-key" in f"{error} {error!r} {error.raw} {log.events}" or fakes.elsewhere.requests:
        yield f"the key or the prompt went out: {error!r} {fakes.elsewhere.requests}"
    if scene.wire not in str(error):
        yield f"does not name the provider: {error}"


async def answer(scene: Scene) -> tuple[ModelResponse, EventLog]:
    async with scene.met() as (client, fake, _):
        fake.says(fault(scene.name))
        response = await client.complete(ASKED, log := EventLog())
        assert (len(fake.questions), failures(log)) == (1 + scene.name.startswith("redirect"), []), str(scene)
        assert sum(isinstance(event, ModelReplied) for event in log.events) == 1
        return response, log


def test_the_table_has_every_fault_once() -> None:
    assert sorted(EXPECTED) == sorted(FAULTS)


def test_the_page_is_made_from_the_table() -> None:
    """When this fails: python -m tests.providers.fault_table"""
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("name", PASSING)
async def test_a_fault_that_passes_costs_no_turn_and_nothing_is_said_twice(name: str) -> None:
    wrong = await asyncio.gather(*map(in_passing, scenes(name)))
    assert not [text for text in wrong if text]


@pytest.mark.parametrize("name", SURFACING)
async def test_a_fault_that_stays_is_told_and_retries_never_multiply(name: str) -> None:
    wrong = await asyncio.gather(*map(for_good, scenes(name)))
    assert not [text for text in wrong if text]


@pytest.mark.parametrize("name", [name for name in ANSWERED if name != "refusal"])
async def test_what_spoils_no_answer_is_one(name: str) -> None:
    stops = {"length": "length", "content_filter": "content_filter", "duplicate_tool_ids": "tool_calls"}
    stops["missing_tool_ids"] = "tool_calls"
    for scene in scenes(name):
        response, log = await answer(scene)
        assert response.stop == stops.get(name, "end"), str(scene)
        assert log.text == response.text
        assert response.text or len({call.id for call in response.tool_calls} - {""}) == 2, str(scene)
        assert name != "invalid_utf8" or "caf\ufffd" in response.text


async def test_a_refusal_is_marked_and_not_asked_again() -> None:
    """Gemini says nothing when it refuses, so that there is no message to mark."""
    for scene in scenes("refusal"):
        if scene.wire == "gemini":
            with pytest.raises(Refused, match="PROHIBITED_CONTENT"):
                await answer(scene)
        else:
            response, _ = await answer(scene)
            assert (response.stop, response.text) == ("refusal", "I can't help with that."), str(scene)


async def test_a_refused_parameter_is_left_out_with_one_warning() -> None:
    request = ModelRequest(ASKED.messages, options={"temperature": 0.5, "reasoning": "low"})
    for scene in scenes("parameter_refused"):
        async with scene.met() as (client, fake, _):
            fake.says(fault("parameter_refused"), WHOLE)
            response = await client.complete(request, log := EventLog())
            again = await client.complete(request, second := EventLog())
            warnings = [e.message for e in log.events if isinstance(e, Warned) and "refuses" in e.message]

            assert (response.text, len(warnings), failures(log)) == (WHOLE, 1, []), str(scene)
            assert again.text
            assert len(fake.questions) == 3
            assert not [e for e in second.events if isinstance(e, Warned)]


async def test_redirects_in_a_circle_end() -> None:
    async with Scene("redirect_same_origin", "openai", "aiohttp", streamed=True).met() as (client, fake, _):
        fake.always(fault("redirect_same_origin"))
        with pytest.raises(Unreachable, match="redirects more than 3 times"):
            await client.complete(ASKED)
        assert len(fake.questions) == 4


async def test_the_clients_of_a_run_are_put_together_in_this_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same fault, met through `create_client`."""
    async with FakeProviders() as fakes:
        for name, value in fakes.environment.items():
            monkeypatch.setenv(name, value)
        fakes.openai.says(fault("end_mid_stream"), WHOLE)
        client = assembly.create_client("openai/gpt-4o")
        response = await client.complete(ASKED, log := EventLog())

        assert (response.text, log.text, len(fakes.openai.questions)) == (WHOLE, WHOLE, 2)
        assert (response.usage.cost_usd or 0) > 0
