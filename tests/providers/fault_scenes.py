"""A fault as a client meets it: over an API and a transport, streamed or in one piece; in passing, and for good.

Each client is as it is assembled: metered, retried, adapted.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module

from ai_battle.core.client import ModelClient
from ai_battle.core.errors import ProviderError
from ai_battle.core.events import AttemptFailed, EventLog, ModelReplied, TextDelta
from ai_battle.core.exchange import ModelRequest, ModelResponse
from ai_battle.core.messages import user
from ai_battle.providers._calls import Deadlines, ProviderCaller, RetryPolicy
from ai_battle.providers._metered import CallTerms
from ai_battle.testing import FakeProvider, FakeProviders, Fault

from .fault_table import Row

for package in ("anthropic", "ollama", "openai"):
    import_module(package)  # now: a second on the clocks of those who wait for it later

WHOLE = "The whole answer."
MODEL = "some-model"
SILENT = ("stall_before_headers", "stall_after_headers", "stall_mid_stream", "slow_drip", "ping_for_ever")
ASKED = ModelRequest((user("What is the answer?"),))


@dataclass(frozen=True)
class Scene:
    """One way to meet a fault: an API, a transport, and whether the server streams."""

    fault: Fault
    row: Row
    wire: str
    transport: str
    streamed: bool

    def __str__(self) -> str:
        way = "streamed" if self.streamed else "in one piece"
        return f"{self.fault.name}, {self.wire} over {self.transport}, {way}"

    @property
    def attempts(self) -> int:
        return self.row.attempts(self.streamed)

    @asynccontextmanager
    async def meet(self) -> AsyncIterator[tuple[ModelClient, FakeProvider, FakeProviders]]:
        """The assembled client, warmed up: what a library does at its first call is not on the clocks."""
        async with FakeProviders() as fakes:
            fake: FakeProvider = getattr(fakes, self.wire)
            fake.streams = self.streamed
            client = self._client(fake)
            await client.complete(ASKED)
            fake.requests.clear()
            yield client, fake, fakes

    def _client(self, fake: FakeProvider) -> ModelClient:
        silence, whole = (2.0, 30.0) if self.fault.name in SILENT else (60.0, 90.0)
        first = 60.0 if self.fault.name == "stall_mid_stream" else silence
        url = f"{fake.url}/v1" if self.wire == "openai" else fake.url
        create = import_module(f"ai_battle.providers.{self.wire}").create
        clocks = Deadlines(connect=30.0, first_byte=first, idle=silence, total=whole)
        bare = create(MODEL, base_url=url, api_key="test-key", transport=self.transport, deadlines=clocks)
        policy = RetryPolicy(seconds=whole, pauses=(0.001, 0.005))
        return ProviderCaller(bare, f"{self.wire}/{MODEL}", CallTerms(), policy)


def scenes(fault: Fault, row: Row) -> Iterator[Scene]:
    """Bytes are bytes: in one piece they are only sent over one of the transports."""
    for wire in fault.wires:
        yield Scene(fault, row, wire, "aiohttp", streamed=True)
        yield Scene(fault, row, wire, "aiohttp", streamed=False)
        if wire != "gemini":
            yield Scene(fault, row, wire, "sdk", streamed=True)


def failures(log: EventLog) -> list[AttemptFailed]:
    return [event for event in log.events if isinstance(event, AttemptFailed)]


def all_text(log: EventLog) -> str:
    return "".join(event.text for event in log.events if isinstance(event, TextDelta))


async def in_passing(scene: Scene) -> str:
    """Returns what is wrong with a call that meets the fault once; empty when nothing is."""
    async with scene.meet() as (client, fake, _):
        fake.says(scene.fault, WHOLE)
        try:
            response = await client.complete(ASKED, log := EventLog())
        except ProviderError as error:
            return f"{scene}: {error}"
        failed = failures(log)
        if (response.text, log.text, len(fake.questions), len(failed)) != (WHOLE, WHOLE, 2, 1):
            return f"{scene}: {response.text!r}, heard {log.text!r}, {len(fake.questions)} questions, {failed}"
        if not failed[0].partial.startswith(all_text(log).removesuffix(WHOLE)):
            return f"{scene}: heard {all_text(log)!r}, of which {failed[0].partial!r} is marked as failed"
        return ""


async def for_good(scene: Scene, *says: str) -> str:
    """Returns what is wrong with a call when the fault stays; the error has to hold all that it `says`."""
    async with scene.meet() as (client, fake, fakes):
        fake.always(scene.fault)
        log = EventLog()
        try:
            async with asyncio.timeout(100):
                response = await client.complete(ASKED, log)
        except ProviderError as error:
            wrong = [*_wrong_with(error, scene, log, len(fake.questions))]
            wrong += [f"the prompt went elsewhere: {each}" for each in fakes.elsewhere.requests]
            wrong += [f"does not say {said!r}: {error}" for said in says if said not in str(error)]
            return "; ".join(f"{scene}: {each}" for each in wrong)
        return f"{scene}: was taken for an answer: {response}"


def _wrong_with(error: ProviderError, scene: Scene, log: EventLog, asked: int) -> Iterator[str]:
    """Yields what is wrong with what was told of a fault that stayed while the provider was `asked` so often."""
    failed = failures(log)
    booked = [event.usage for event in log.events if isinstance(event, ModelReplied)]
    if asked != scene.attempts:
        yield f"{asked} attempts, not {scene.attempts}: {error}"
    if len(failed) != asked or log.text:
        yield f"{len(failed)} failed attempts were told of {asked}, and {log.text!r} stays"
    if len(booked) > asked or any(usage.input_tokens < 0 or usage.output_tokens < 0 for usage in booked):
        yield f"{booked} is booked for {asked} attempts"
    if "test-key" in f"{error} {error!r} {error.raw} {log.events}":
        yield f"the key went out: {error!r}"
    yield from _wrong_in(error, scene, failed[-1])


def _wrong_in(error: ProviderError, scene: Scene, last: AttemptFailed) -> Iterator[str]:
    row = scene.row
    if not isinstance(error, row.error or ()):
        yield f"{type(error).__name__}, not {row.error}: {error}"
    if "text" in row.kept and scene.streamed and not (last.partial and last.partial == error.partial):
        yield "the text is not kept"
    if "body" in row.kept and not last.raw:
        yield "the body is not kept"
    if scene.wire not in str(error) or MODEL not in str(error):
        yield f"does not name the provider and the model: {error}"


async def answer(scene: Scene) -> tuple[ModelResponse, EventLog]:
    async with scene.meet() as (client, fake, _):
        fake.says(scene.fault)
        response = await client.complete(ASKED, log := EventLog())
        assert (len(fake.questions), failures(log)) == (1 + scene.fault.name.startswith("redirect"), []), str(scene)
        assert sum(isinstance(event, ModelReplied) for event in log.events) == 1
        return response, log


async def wrong_answer(scene: Scene, short: str) -> str:
    """Returns what is wrong with a call whose answer is one after all; `short` is that answer in short."""
    try:
        response, log = await answer(scene)
    except (ProviderError, AssertionError) as error:
        return f"{scene}: {type(error).__name__}: {error}"
    got = _in_short(response)
    if got != short or log.text != response.text:
        return f"{scene}: {got!r}, heard {log.text!r}, not {short!r}"
    usage = response.usage
    if min(usage.input_tokens, usage.output_tokens) < 0:
        return f"{scene}: {usage}"
    return ""


def _in_short(response: ModelResponse) -> str:
    calls = (f"{call.name}({'?' if call.malformed else call.arguments or ''})" for call in response.tool_calls)
    return f"{response.stop}: {response.text}{', '.join(calls)}"
