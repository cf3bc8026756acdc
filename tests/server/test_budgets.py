"""Dollars by key."""

import asyncio
import json
import os
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import pytest

from ai_battle.core.errors import BudgetExceeded, ConfigError
from ai_battle.core.events import ModelReplied
from ai_battle.core.exchange import Usage
from ai_battle.core.ledger import book, charge_to
from ai_battle.server.keys import KeyBudgets, KeyHolder
from ai_battle.testing import FakeProviders, Reply, reply

from .serving import asked, serving, until

HELLO: dict[str, Any] = {"model": "large", "max_tokens": 300_000, "messages": [{"role": "user", "content": "Hello?"}]}
FILE = """
server:
  state: {state}
  keys: [{{key: key-of-team, name: team, budget_usd: 0.5}}, key-of-anybody]
  routes: {{large: openai/gpt-4o}}
prices:
  openai/gpt-4o: {{input: 1.0, output: 1.0}}
"""
TEAM = {"x-api-key": "key-of-team"}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "server.yaml"
    path.write_text(FILE.format(state=tmp_path / "state"))
    return str(path)


async def test_a_budget_that_is_used_up_is_told_as_429_until_the_worker_forgets(
    fakes: FakeProviders, file: str, tmp_path: Path
) -> None:
    """The second server takes over what the first one had written down."""
    fakes.openai.always(reply("Yes.", usage=Usage(200, 300_000)))
    async with serving(fakes, file) as address:
        statuses = [(await asked(address, "/v1/messages", HELLO, TEAM))[0] for _ in range(2)]
    async with serving(fakes, file) as address:
        statuses.append((await asked(address, "/v1/messages", HELLO, TEAM))[0])
        status, answer = await asked(address, "/v1/chat/completions", HELLO, TEAM)
        async with (
            aiohttp.ClientSession(address) as session,
            session.post("/v1/messages", json=HELLO, headers=TEAM) as told,
        ):
            again = told.headers["x-should-retry"]
        other, _ = await asked(address, "/v1/messages", HELLO, {"x-api-key": "key-of-anybody"})

    assert statuses == [200, 429, 429]
    assert (status, answer["error"]["code"]) == (429, "insufficient_quota")
    assert answer["error"]["message"].startswith("The limit of team leaves no room for a call of large: $0.3002")
    assert other == 200
    assert again == "false"
    assert json.loads((tmp_path / "state/worker-0/spent.json").read_text())["team"] == pytest.approx(0.3002)


async def test_each_worker_has_a_place_of_its_own(tmp_path: Path) -> None:
    first, second = KeyBudgets.load(tmp_path), KeyBudgets.load(tmp_path)
    for budgets, dollars in ((first, 0.25), (second, 0.5)):
        with charge_to(budgets.budget_of(KeyHolder("team", 1.0))):
            book(ModelReplied("m", Usage(1, 1, cost_usd=dollars), 0.1))
        budgets.save_soon()
        budgets.close()

    again = [KeyBudgets.load(tmp_path), KeyBudgets.load(tmp_path)]
    assert [budgets.spent["team"].known_cost for budgets in again] == [0.25, 0.5]


async def test_budgets_are_closed_while_what_is_spent_can_not_be_kept(tmp_path: Path) -> None:
    """Where the file stands there is a folder: told once, and open again when it is gone."""
    budgets, told = KeyBudgets.load(tmp_path), list[str]()
    budgets.warn = told.append
    team, in_the_way = KeyHolder("team", 1.0), tmp_path / "worker-0" / "spent.json" / "in-the-way"
    in_the_way.mkdir(parents=True)
    budgets.save_soon()
    await until(lambda: bool(told))
    with pytest.raises(BudgetExceeded, match="The budget of team is closed, as what is spent can't be kept: "):
        budgets.budget_of(team)
    assert budgets.budget_of(KeyHolder("without"))
    await asyncio.sleep(1.2)
    assert len(told) == 1

    in_the_way.rmdir()
    in_the_way.parent.rmdir()
    await until(lambda: len(told) > 1)
    assert told[1].endswith("again.")
    assert budgets.budget_of(team)
    budgets.close()
    assert (tmp_path / "worker-0" / "spent.json").read_text() == '{"team":0.0,"without":0.0}'


def test_what_was_written_and_can_not_be_read_is_not_taken_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "worker-0").mkdir()
    (tmp_path / "worker-0" / "spent.json").write_text("[1")

    with pytest.raises(ConfigError, match="does not say what keys have spent"):
        KeyBudgets.load(tmp_path)


async def test_without_budgets_nothing_is_written(fakes: FakeProviders, tmp_path: Path) -> None:
    async with serving(fakes, BIG_MODEL="openai/large", XDG_STATE_HOME=str(tmp_path)) as address:
        await asked(address, "/v1/messages", {**HELLO, "model": "opus"})

    assert not os.listdir(tmp_path)


PAIRED = """
server:
  state: {state}
  keys: [{{key: key-of-team, name: team, budget_usd: {budget}}}]
  routes:
    large: openai/gpt-4o
    pair: {{model: openai/gpt-4o-mini, secondary: openai/gpt-4o, strategy: rescue}}
prices:
  openai/gpt-4o: {{input: 0, output: 10}}
  openai/gpt-4o-mini: {{input: 0, output: 10}}
"""


def paired(folder: Path, budget: float) -> str:
    path = folder / "paired.yaml"
    path.write_text(PAIRED.format(state=folder / "state", budget=budget))
    return str(path)


def stuck(body: Any) -> Reply:
    """As long as it may be, and 4,000 tokens at the most."""
    return reply("I do not know.", usage=Usage(10, written(body)), delay=0.02)


def written(body: Any) -> int:
    return min(4_000, body.get("max_tokens") or body.get("max_completion_tokens") or 4_000)


def bill(fakes: FakeProviders) -> float:
    return sum(written(question.body) for question in fakes.openai.questions) * 10 / 1e6


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("model", ["large", "pair"])
async def test_requests_at_once_do_not_pass_a_budget(
    fakes: FakeProviders, tmp_path: Path, model: str, stream: bool
) -> None:
    """Of sixty requests of $0.04 at once, two fit into $0.10; a pair asks several times for each."""
    fakes.openai.always(stuck)
    asked_for = {**HELLO, "model": model, "max_tokens": 4_000, "stream": stream}
    async with serving(fakes, paired(tmp_path, 0.1)) as address, aiohttp.ClientSession(address) as session:

        async def ask() -> int:
            async with session.post("/v1/messages", json=asked_for, headers=TEAM) as answer:
                await answer.read()
                return answer.status

        statuses = await asyncio.gather(*(ask() for _ in range(60)))
        metrics = await (await session.get("/metrics", headers=TEAM)).text()

    assert 0.08 <= bill(fakes) <= 0.1
    assert set(statuses) == {200, 429}
    assert kept(tmp_path) == pytest.approx(bill(fakes))
    assert f'ai_battle_cost_usd_total{{route="{model}"}} {bill(fakes):.10g}' in metrics


async def test_an_answer_that_is_empty_counts_for_its_key(fakes: FakeProviders, tmp_path: Path) -> None:
    """A reasoning model used up its tokens and said nothing, also when it was asked again."""
    fakes.openai.always(reply("", usage=Usage(10, 3_000, reasoning_tokens=3_000), stop="length"))
    async with serving(fakes, paired(tmp_path, 0.06)) as address:
        for _ in range(5):
            await asked(address, "/v1/messages", {**HELLO, "max_tokens": 3_000}, TEAM)

    assert len(fakes.openai.questions) == 2
    assert kept(tmp_path) == pytest.approx(0.06)


async def test_a_budget_refuses_to_start_with_a_model_of_unknown_price(fakes: FakeProviders, tmp_path: Path) -> None:
    path = tmp_path / "server.yaml"
    written = "server: {keys: [{key: k, budget_usd: 1}], routes: {mine: openai/nobody-knows-it}%s}\n"
    path.write_text(written % "")
    with pytest.raises(ConfigError, match=r"price of openai/nobody-knows-it is not known.*under 'server: limits:'"):
        async with serving(fakes, str(path), XDG_STATE_HOME=str(tmp_path)):
            pass

    path.write_text(written % ", limits: {unpriced: allow}")
    async with serving(fakes, str(path), XDG_STATE_HOME=str(tmp_path)) as address:
        assert (await asked(address, "/v1/messages", {**HELLO, "model": "mine"}, {"x-api-key": "k"}))[0] == 200


def kept(folder: Path) -> float:
    """What the server has written down that its key has spent."""
    return float(json.loads((folder / "state/worker-0/spent.json").read_text())["team"])


SHARED = """
server:
  state: {state}
  keys: [{{key: a, name: a, budget_usd: 0.3}}, {{key: b, name: b, budget_usd: 0.7}}, {{key: c, name: c, budget_usd: 2}}]
  routes:
    large: openai/gpt-4o
    pair: {{primary: openai/gpt-4o-mini, secondary: openai/gpt-4o, strategy: rescue}}
prices:
  openai/gpt-4o: {{input: 0, output: 10}}
  openai/gpt-4o-mini: {{input: 0, output: 10}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
async def test_a_hundred_random_requests_of_several_keys_never_pass_a_budget(
    fakes: FakeProviders, tmp_path: Path, seed: int
) -> None:
    """Whole and streamed, alone and through a pair, of which some clients leave before they have their answer."""
    random = Random(seed)
    fakes.openai.always(stuck)
    path = tmp_path / "shared.yaml"
    path.write_text(SHARED.format(state=tmp_path / "state"))
    async with serving(fakes, str(path)) as address, aiohttp.ClientSession(address) as session:

        async def ask(key: str) -> None:
            await asyncio.sleep(random.random() / 10)
            asked_for = {**HELLO, "model": random.choice(["large", "pair"]), "max_tokens": random.randrange(1, 6_000)}
            asked_for["stream"] = random.random() < 0.5
            async with session.post("/v1/messages", json=asked_for, headers={"x-api-key": key}) as answer:
                if random.random() < 0.8:
                    await answer.read()

        await asyncio.gather(*(ask(random.choice("abc")) for _ in range(100)))
        await until(lambda: not fakes.openai.open_requests)

    spent = json.loads((tmp_path / "state/worker-0/spent.json").read_text())
    for name, budget in (("a", 0.3), ("b", 0.7), ("c", 2.0)):
        assert 0 < spent[name] <= budget + 1e-9
