"""Dollars by key."""

import asyncio
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import pytest

from ai_battle.core.errors import ConfigError
from ai_battle.core.exchange import Usage
from ai_battle.server.config import ConfigSource
from ai_battle.server.stores import NAME
from ai_battle.testing import FakeProviders, Reply, fault, reply
from tests.redis import redis_server

from .serving import ask_server, serving, serving_to, until

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


async def test_a_budget_that_is_used_up_is_told_as_429_also_after_a_restart(fakes: FakeProviders, file: str) -> None:
    """The second server knows what the first one has counted."""
    fakes.openai.always(reply("Yes.", usage=Usage(200, 300_000)))
    async with serving(fakes, file) as address:
        statuses = [(await ask_server(address, "/v1/messages", HELLO, TEAM))[0] for _ in range(2)]
    async with serving(fakes, file) as address:
        statuses.append((await ask_server(address, "/v1/messages", HELLO, TEAM))[0])
        status, answer = await ask_server(address, "/v1/chat/completions", HELLO, TEAM)
        async with (
            aiohttp.ClientSession(address) as session,
            session.post("/v1/messages", json=HELLO, headers=TEAM) as told,
        ):
            again = told.headers["x-should-retry"]
        other, _ = await ask_server(address, "/v1/messages", HELLO, {"x-api-key": "key-of-anybody"})

    assert statuses == [200, 429, 429]
    assert (status, answer["error"]["code"]) == (429, "insufficient_quota")
    assert answer["error"]["message"].startswith("The limit of team leaves no room for a call of large: $0.3002")
    assert other == 200
    assert again == "false"
    assert spending(file)["team"] == pytest.approx(0.3002)


async def test_models_that_cost_nothing_answer_a_key_whose_budget_is_used_up(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    """So a pair goes on with its small model."""
    pair = "{primary: ollama/phi4, secondary: openai/gpt-4o, strategy: takeover, threshold: 1.0, max_retries: 1}"
    keys, routes = "[{key: key-of-team, name: team, budget_usd: 0}]", f"{{small: ollama/phi4, pair: {pair}}}"
    file = tmp_path / "server.yaml"
    file.write_text(f"server: {{keys: {keys}, routes: {routes}}}")
    fakes.ollama.always("I can't help with that.")
    async with serving(fakes, str(file)) as address:
        for model in ("small", "pair"):
            status, answer = await ask_server(address, "/v1/messages", {**HELLO, "model": model}, TEAM)
            assert (status, answer["content"][0]["text"]) == (200, "I can't help with that.")

    assert not fakes.openai.questions


@pytest.mark.parametrize("stream", [False, True])
async def test_an_empty_answer_says_that_there_was_no_money_for_help(
    fakes: FakeProviders, tmp_path: Path, *, stream: bool
) -> None:
    file = tmp_path / "server.yaml"
    pair = "{primary: ollama/phi4, secondary: openai/gpt-4o, strategy: takeover}"
    file.write_text(f"server: {{keys: [{{key: key-of-team, name: team, budget_usd: 0}}], routes: {{pair: {pair}}}}}")
    fakes.ollama.always(fault("empty_answer"))
    async with serving(fakes, str(file)) as address:
        asked = {**HELLO, "model": "pair", "stream": stream}
        status, answer = await ask_server(address, "/v1/chat/completions", asked, TEAM)

    assert (status, answer["error"]["code"]) == (429, "insufficient_quota")
    assert "empty, and there was no money for help. The limit of team leaves no room" in answer["error"]["message"]


async def test_budgets_are_closed_while_what_is_spent_can_not_be_counted(fakes: FakeProviders, file: str) -> None:
    """Another process writes and does not end: told once, and open again when it has ended. Keys without go on."""
    fakes.openai.always(reply("Yes.", usage=Usage(10, 10)))
    log, short = list[bytes](), {**HELLO, "max_tokens": 100}
    async with serving_to(fakes, log.append, file) as (_, address):
        await ask_server(address, "/v1/messages", short, TEAM)
        with in_the_way(file):
            closed = [await ask_server(address, "/v1/messages", {**short, "max_tokens": 5_000}, TEAM) for _ in range(2)]
            other, _ = await ask_server(address, "/v1/messages", short, {"x-api-key": "key-of-anybody"})
        await until(lambda: b"workers again" in b"".join(log))
        opened, _ = await ask_server(address, "/v1/messages", short, TEAM)

    assert [status for status, _ in closed] == [503, 503]
    words = "The budget of team is closed: usage of keys can't be counted at present."
    assert closed[0][1]["error"]["message"] == words
    assert (other, opened) == (200, 200)
    told = [line["reason"] for line in map(json.loads, log) if "reason" in line and "counted with" in line["reason"]]
    assert len(told) == 2
    assert "Another process has been writing for long" in told[0]
    assert told[1] == "Usage of keys is counted with the other workers again."
    assert spending(file)["team"] == pytest.approx(2 * 20e-6)


async def test_budgets_may_stay_open_while_what_is_spent_can_not_be_counted(fakes: FakeProviders, file: str) -> None:
    """What was spent meanwhile is told afterwards."""
    fakes.openai.always(reply("Yes.", usage=Usage(10, 10)))
    log = list[bytes]()
    async with serving_to(fakes, log.append, open_while_away(file)) as (_, address):
        with in_the_way(file):
            status, _ = await ask_server(address, "/v1/messages", {**HELLO, "max_tokens": 100}, TEAM)
        await until(lambda: b"workers again" in b"".join(log))

    assert status == 200
    assert spending(file)["team"] == pytest.approx(20e-6)


def open_while_away(file: str) -> str:
    Path(file).write_text(Path(file).read_text().replace("server:", "server:\n  when_away: {budgets: open}", 1))
    return file


@contextmanager
def in_the_way(file: str) -> Iterator[None]:
    connection = sqlite3.connect(Path(file).parent / "state" / NAME, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


def spending(file: str) -> dict[str, float]:
    """Returns what all keys have spent, by the file that workers share."""
    with closing(sqlite3.connect(Path(file).parent / "state" / NAME)) as connection:
        rows = connection.execute("SELECT name, sum(used) FROM amounts GROUP BY name").fetchall()
    return {name.removeprefix("dollars/"): used for name, used in rows}


async def test_two_files_with_other_limits_for_a_key_on_one_redis_are_told(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    with redis_server(tmp_path) as redis:
        for budget, told in (
            (5, []),
            (0.5, ["team/eu has budget_usd 0.5 here, and had budget_usd 5 at the last"]),
            (0.5, []),
        ):
            (tmp_path / "server.yaml").write_text(
                FILE.format(state=redis.url).replace("0.5", str(budget)).replace("name: team", "name: team/eu")
            )
            log = list[bytes]()
            async with serving_to(fakes, log.append, str(tmp_path / "server.yaml")):
                assert [words in str(log) for words in told] == [True] * len(log)


def test_a_state_that_is_neither_folder_nor_redis_is_refused(tmp_path: Path) -> None:
    (tmp_path / "server.yaml").write_text(FILE.format(state="reddis://localhost/0"))
    with pytest.raises(ConfigError, match=r"server.state: reddis: is not a Redis scheme \(redis, rediss, unix\)"):
        ConfigSource(str(tmp_path / "server.yaml")).load()


async def test_without_budgets_nothing_is_written(fakes: FakeProviders, tmp_path: Path) -> None:
    async with serving(fakes, BIG_MODEL="openai/large", XDG_STATE_HOME=str(tmp_path)) as address:
        await ask_server(address, "/v1/messages", {**HELLO, "model": "opus"})

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


def write_pair(folder: Path, budget: float) -> str:
    path = folder / "paired.yaml"
    path.write_text(PAIRED.format(state=folder / "state", budget=budget))
    return str(path)


def stuck_reply(body: Any) -> Reply:
    """As long as it may be, and 4,000 tokens at the most."""
    return reply("I do not know.", usage=Usage(10, written_tokens(body)), delay=0.02)


def written_tokens(body: Any) -> int:
    return min(4_000, body.get("max_tokens") or body.get("max_completion_tokens") or 4_000)


def bill(fakes: FakeProviders) -> float:
    return sum(written_tokens(question.body) for question in fakes.openai.questions) * 10 / 1e6


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("model", ["large", "pair"])
async def test_requests_at_once_do_not_pass_a_budget(
    fakes: FakeProviders, tmp_path: Path, model: str, stream: bool
) -> None:
    """Of sixty requests of $0.04 at once, two fit into $0.10; a pair asks several times for each."""
    fakes.openai.always(stuck_reply)
    body = {**HELLO, "model": model, "max_tokens": 4_000, "stream": stream}
    async with serving(fakes, write_pair(tmp_path, 0.1)) as address, aiohttp.ClientSession(address) as session:

        async def ask() -> int:
            async with session.post("/v1/messages", json=body, headers=TEAM) as answer:
                await answer.read()
                return answer.status

        statuses = await asyncio.gather(*(ask() for _ in range(60)))
        metrics = await (await session.get("/metrics", headers=TEAM)).text()

    assert 0.08 <= bill(fakes) <= 0.1
    assert set(statuses) == {200, 429}
    assert spending(str(tmp_path / "paired.yaml"))["team"] == pytest.approx(bill(fakes))
    assert f'ai_battle_cost_usd_total{{route="{model}"}} {bill(fakes):.10g}' in metrics


async def test_an_answer_that_is_empty_counts_for_its_key(fakes: FakeProviders, tmp_path: Path) -> None:
    """A reasoning model used up its tokens and said nothing, also when it was asked again."""
    fakes.openai.always(reply("", usage=Usage(10, 3_000, reasoning_tokens=3_000), stop="length"))
    async with serving(fakes, write_pair(tmp_path, 0.06)) as address:
        for _ in range(5):
            await ask_server(address, "/v1/messages", {**HELLO, "max_tokens": 3_000}, TEAM)

    assert len(fakes.openai.questions) == 2
    assert spending(str(tmp_path / "paired.yaml"))["team"] == pytest.approx(0.06)


async def test_a_budget_refuses_to_start_with_a_model_of_unknown_price(fakes: FakeProviders, tmp_path: Path) -> None:
    path = tmp_path / "server.yaml"
    written = "server: {keys: [{key: k, budget_usd: 1}], routes: {mine: openai/nobody-knows-it}%s}\n"
    path.write_text(written % "")
    with pytest.raises(ConfigError, match=r"price of openai/nobody-knows-it is not known.*under 'server: limits:'"):
        async with serving(fakes, str(path), XDG_STATE_HOME=str(tmp_path)):
            pass

    path.write_text(written % ", limits: {unpriced: allow}")
    async with serving(fakes, str(path), XDG_STATE_HOME=str(tmp_path)) as address:
        assert (await ask_server(address, "/v1/messages", {**HELLO, "model": "mine"}, {"x-api-key": "k"}))[0] == 200


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
    fakes.openai.always(stuck_reply)
    path = tmp_path / "shared.yaml"
    path.write_text(SHARED.format(state=tmp_path / "state"))
    async with serving(fakes, str(path)) as address, aiohttp.ClientSession(address) as session:

        async def ask(key: str) -> None:
            await asyncio.sleep(random.random() / 10)
            body = {**HELLO, "model": random.choice(["large", "pair"]), "max_tokens": random.randrange(1, 6_000)}
            body["stream"] = random.random() < 0.5
            async with session.post("/v1/messages", json=body, headers={"x-api-key": key}) as answer:
                if random.random() < 0.8:
                    await answer.read()

        await asyncio.gather(*(ask(random.choice("abc")) for _ in range(100)))
        await until(lambda: not fakes.openai.open_requests)

    dollars = spending(str(path))
    for name, budget in (("a", 0.3), ("b", 0.7), ("c", 2.0)):
        assert 0 < dollars[name] <= budget + 1e-9
