"""Dollars by key."""

import json
import os
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ai_battle.core.errors import ConfigError
from ai_battle.core.exchange import Usage
from ai_battle.server.auth import Holder
from ai_battle.server.budgets import Budgets
from ai_battle.testing import FakeProviders, reply

from .serving import asked, serving

HELLO: dict[str, Any] = {"model": "large", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]}
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
    fakes.openai.always(reply("Yes.", usage=Usage(200_000, 100_000)))
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

    assert statuses == [200, 200, 429]
    assert (status, answer["error"]["code"]) == (429, "insufficient_quota")
    assert answer["error"]["message"] == "The budget of team is used up with this worker: $0.6000 of $0.50."
    assert other == 200
    assert again == "false"
    assert json.loads((tmp_path / "state/worker-0/spent.json").read_text())["team"] == pytest.approx(0.6)


async def test_each_worker_has_a_place_of_its_own(tmp_path: Path) -> None:
    first, second = Budgets.opened(tmp_path), Budgets.opened(tmp_path)
    first.add(Holder("team", 1.0), 0.25)
    second.add(Holder("team", 1.0), 0.5)
    first.close()
    second.close()

    assert [Budgets.opened(tmp_path).spent, Budgets.opened(tmp_path).spent] == [{"team": 0.25}, {"team": 0.5}]


def test_what_was_written_and_can_not_be_read_is_not_taken_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "worker-0").mkdir()
    (tmp_path / "worker-0" / "spent.json").write_text("[1")

    with pytest.raises(ConfigError, match="does not say what keys have spent"):
        Budgets.opened(tmp_path)


async def test_without_budgets_nothing_is_written(fakes: FakeProviders, tmp_path: Path) -> None:
    async with serving(fakes, BIG_MODEL="openai/large", XDG_STATE_HOME=str(tmp_path)) as address:
        await asked(address, "/v1/messages", {**HELLO, "model": "opus"})

    assert not os.listdir(tmp_path)
