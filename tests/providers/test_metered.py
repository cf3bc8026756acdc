"""Each answer is measured once: its seconds, its tokens and its dollars."""

from dataclasses import replace

import pytest

from ai_battle.core.client import ModelClient
from ai_battle.core.errors import RateLimited
from ai_battle.core.events import Emit, EventLog, ModelReplied, ScriptAdvanced, ignore
from ai_battle.core.exchange import UNKNOWN_USAGE, ModelRequest, ModelResponse, Usage
from ai_battle.core.messages import user
from ai_battle.providers._calls import ProviderCaller
from ai_battle.providers._metered import CallTerms
from ai_battle.providers._names import ModelName
from ai_battle.providers._prices import TokenPrice, price
from ai_battle.providers.scripted import ScriptedClient

HELLO = ModelRequest((user("Hello?"),))


class Reporting(ModelClient):
    """A scripted client that reports the usage that it was given."""

    def __init__(self, usage: Usage, text: str = "Hello!") -> None:
        self.usage = usage
        self.inner = ScriptedClient(text, loop=True)

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        return replace(await self.inner.complete(request, emit), usage=self.usage)


async def test_a_reported_usage_is_kept_and_priced() -> None:
    client = ProviderCaller(Reporting(Usage(1_000, 500)), "openai/x", CallTerms(TokenPrice(10.0, 20.0)))
    response = await client.complete(HELLO, log := EventLog())

    assert response.usage == Usage(1_000, 500, cost_usd=0.02)
    [replied] = [event for event in log.events if isinstance(event, ModelReplied)]
    assert (replied.model, replied.usage, replied.estimated) == ("openai/x", response.usage, False)


async def test_seconds_are_measured() -> None:
    log = EventLog()
    await ProviderCaller(ScriptedClient({"say": "Hi", "delay": 0.05}), "m").complete(HELLO, log)

    [replied] = [event for event in log.events if isinstance(event, ModelReplied)]
    assert 0.05 <= replied.seconds < 30


async def test_a_cost_that_the_provider_reports_is_believed() -> None:
    client = ProviderCaller(Reporting(Usage(1, 1, cost_usd=0.5)), "m", CallTerms(TokenPrice(10.0, 20.0)))
    assert (await client.complete(HELLO)).usage.cost_usd == 0.5


async def test_a_price_that_the_file_states_goes_before_what_is_reported() -> None:
    stated = price(ModelName("openai", "x"), {"openai/x": {"input": 10.0, "output": 20.0}})
    client = ProviderCaller(Reporting(Usage(1_000, 500, cost_usd=0.5)), "openai/x", CallTerms(stated))
    assert (await client.complete(HELLO)).usage.cost_usd == 0.02


async def test_without_a_price_the_cost_is_unknown() -> None:
    assert (await ProviderCaller(Reporting(Usage(1, 1)), "m").complete(HELLO)).usage.cost_usd is None


async def test_a_missing_usage_is_estimated_and_marked() -> None:
    response = await ProviderCaller(Reporting(UNKNOWN_USAGE, "word " * 100), "m").complete(HELLO, log := EventLog())

    assert response.usage.input_tokens > 0
    assert 100 < response.usage.output_tokens < 200
    assert [event.estimated for event in log.events if isinstance(event, ModelReplied)] == [True]


async def test_only_what_is_missing_is_estimated() -> None:
    usage = (await ProviderCaller(Reporting(Usage(77, 0), "word"), "m").complete(HELLO)).usage
    assert usage.input_tokens == 77
    assert usage.output_tokens > 0


async def test_estimates_follow_what_the_model_reported_before() -> None:
    reporting = Reporting(Usage(10, 500), "x" * 1_000)
    client = ProviderCaller(reporting, "m")
    await client.complete(HELLO)

    reporting.usage = UNKNOWN_USAGE
    assert (await client.complete(HELLO)).usage.output_tokens == pytest.approx(500, abs=10)


async def test_a_failure_passes_and_is_not_an_answer() -> None:
    log = EventLog()
    with pytest.raises(RateLimited):
        await ProviderCaller(ScriptedClient({"fail": "rate_limited"}), "m", retry=None).complete(HELLO, log)
    assert log.events == [ScriptAdvanced(1)]
