"""A limit is never passed, whatever is called at once, fails, is cancelled or takes less than it might."""

import asyncio
from random import Random

import pytest

from ai_battle import ModelCollaborationProtocol, StuckDetector
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import BudgetExceeded, ProviderError
from ai_battle.core.events import Emit, TextDelta, UsageReported, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse, Usage
from ai_battle.core.ledger import Budget, Ledger, Quote, SpendingLimits, charge_to
from ai_battle.core.messages import assistant, user
from ai_battle.providers._calls import ProviderCaller
from ai_battle.providers._metered import CallTerms
from ai_battle.providers._prices import TokenPrice

PRICE = TokenPrice(2.0, 10.0)


class Bank(ModelClient):
    """Keeps its own bill. Answers are of any length up to `max_tokens`, late, empty, broken or refused."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.dollars = 0.0
        self.tokens = 0

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        most = request.options.get("max_tokens") or 2_000
        for _ in range(self.random.randrange(4)):
            await asyncio.sleep(0)
        if self.random.random() < 0.1:
            raise ProviderError("Nothing came.")
        usage = Usage(self.random.randrange(1, 10), self.random.randrange(1, most + 1))
        self.dollars += PRICE.cost(usage)
        self.tokens += usage.total_tokens
        await emit(UsageReported(usage))
        await emit(TextDelta("Well"))
        for _ in range(self.random.randrange(4)):
            await asyncio.sleep(0)
        if self.random.random() < 0.2:
            raise ProviderError("It is empty.")
        return ModelResponse(assistant("Well."), usage=usage)


def limits(random: Random) -> SpendingLimits:
    dollars = random.choice([None, random.uniform(0.0, 0.2)])
    return SpendingLimits(dollars, tokens=random.choice([None, random.randrange(20_000)]))


async def run_schedule(seed: int) -> None:
    """Calls of several payers at once, some of which are cancelled; one payer pays for all of them too."""
    random = Random(seed)
    bank = Bank(random)
    client = ProviderCaller(
        bank, "bank/any", CallTerms(PRICE, lambda request: request.options.get("max_tokens") or 2_000)
    )
    whole, payers = Budget(limits(random)), [Budget(limits(random)) for _ in range(3)]

    async def call(payer: Budget) -> None:
        options = random.choice([{}, {"max_tokens": random.randrange(1, 4_000)}])
        for _ in range(random.randrange(5)):
            await asyncio.sleep(0)
        with charge_to(whole, payer):
            await client.complete(ModelRequest((user("Well?"),), options=options))

    calls = [asyncio.ensure_future(call(random.choice(payers))) for _ in range(random.randrange(1, 30))]
    for each in random.sample(calls, len(calls) // 4):
        asyncio.get_running_loop().call_soon(each.cancel)
    results = await asyncio.gather(*calls, return_exceptions=True)

    assert {type(each) for each in results} <= {type(None), ProviderError, BudgetExceeded, asyncio.CancelledError}
    for budget in (whole, *payers):
        assert_kept(budget)
    assert whole.ledger.known_cost == pytest.approx(sum(payer.ledger.known_cost for payer in payers))
    assert whole.ledger.known_cost >= bank.dollars - 1e-9
    assert whole.ledger.usage.total_tokens >= bank.tokens


def assert_kept(budget: Budget) -> None:
    limits, ledger = budget.limits, budget.ledger
    assert limits.cost_usd is None or ledger.known_cost <= limits.cost_usd + 1e-9
    assert limits.tokens is None or ledger.usage.total_tokens <= limits.tokens
    small = Quote("bank/any", 1, 1, (PRICE.input, PRICE.output))
    assert budget.room(small) == pytest.approx(budget.room(small, alone=True))


@pytest.mark.parametrize("number", [100, pytest.param(1_000, marks=pytest.mark.slow)])
async def test_random_schedules_never_pass_a_limit(number: int) -> None:
    for seed in range(number):
        await run_schedule(seed)


async def run_pair_schedule(seed: int) -> None:
    """Small models that ask a large one, several at once, some of them cancelled, within one limit."""
    random = Random(seed)
    banks = Bank(random), Bank(random)
    terms = CallTerms(PRICE, lambda request: request.options.get("max_tokens") or 2_000)
    small, large = (ProviderCaller(bank, f"bank/{number}", terms) for number, bank in enumerate(banks))
    budget = Budget(limits(random))

    async def call() -> None:
        options = random.choice([{}, {"max_tokens": random.randrange(1, 4_000)}])
        pair = ModelCollaborationProtocol(small, large, StuckDetector())
        with charge_to(budget):
            await pair.complete(ModelRequest((user("What is 17 * 24?"),), options=options))

    calls = [asyncio.ensure_future(call()) for _ in range(random.randrange(1, 6))]
    for each in random.sample(calls, len(calls) // 4):
        asyncio.get_running_loop().call_soon(each.cancel)
    await asyncio.gather(*calls, return_exceptions=True)

    assert_kept(budget)
    assert budget.ledger.known_cost >= sum(bank.dollars for bank in banks) - 1e-9
    assert budget.ledger.usage.total_tokens >= sum(bank.tokens for bank in banks)


@pytest.mark.slow
async def test_a_thousand_random_schedules_through_a_pair_never_pass_a_limit() -> None:
    for seed in range(1_000):
        await run_pair_schedule(seed)


async def test_a_call_waits_for_those_that_may_leave_room_for_it() -> None:
    """Two of $0.06 don't fit into $0.10 together; one after the other they do, as each takes less in the end."""
    budget = Budget(SpendingLimits(0.1), Ledger())
    client = ProviderCaller(Thrifty(), "bank/any", CallTerms(PRICE))
    request = ModelRequest((user("Well?"),), options={"max_tokens": 6_000})
    with charge_to(budget):
        await asyncio.gather(client.complete(request), client.complete(request))

    assert budget.ledger.calls == 2


class Thrifty(ModelClient):
    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        await asyncio.sleep(0)
        return ModelResponse(assistant("Well."), usage=Usage(10, 100))
