"""Programs that verify answers behind a server: their places are bounded, and shared fairly between keys."""

import asyncio
import json
import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ai_battle.testing import FakeProviders, reply
from ai_battle.tools.sandbox import NoFence, choose
from ai_battle.tools.verification import FairSemaphore, shared_places
from tests.tools.sandbox.conftest import survivor_pids

from .serving import ask_server, serving_to, until

FILE = """
server:
  keys: [{{key: key-of-greedy, name: greedy}}, {{key: key-of-modest, name: modest}}]
  state: {state}
  routes:
    first: {{model: openai/small, secondary: openai/large, strategy: takeover, max_retries: 1}}
    second: {{model: openai/small, secondary: openai/large, strategy: takeover, max_retries: 1}}
"""
TWICE = "```python\ndef twice(items):\n    return [2 * each for each in items]\n```\nWhat does `twice([4, 1])` return?"
ENDLESS = "What does this print?\n```python\nimport queue\nqueue.Queue({number}).get()\nprint(7)\n```"
NEVER = 3600.0  # seconds, in which a program or a wait for a place ends
RIGHT, WRONG = "It returns `[8, 2]`.", "It returns `[8, 1]`."


@pytest.fixture(autouse=True)
async def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FairSemaphore:
    """The places of the test's event loop, in which its server runs too; programs stand in a folder of the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    try:
        choose("auto")
    except NoFence as problem:
        pytest.skip(str(problem))
    places = shared_places()
    places.places = 3
    return places


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "server.yaml"
    path.write_text(FILE.format(state=tmp_path / "state"))
    return str(path)


def answer(body: Mapping[str, Any]) -> Any:
    if body["model"] == "large":
        return reply(RIGHT)
    return reply(WRONG if "twice" in str(body["messages"]) else "It prints `7`.")


async def ask(address: str, route: str, key: str, prompt: str) -> str:
    body = {"model": route, "max_tokens": 99, "messages": [{"role": "user", "content": prompt}]}
    status, answer = await ask_server(address, "/v1/messages", body, {"x-api-key": key})
    assert status == 200
    return str(answer["content"][0]["text"])


async def end_programs(folder: Path, tasks: Sequence[asyncio.Task[str]]) -> None:
    """Kills those that stand in folders of the test, as a limit of time would, until nobody waits for one."""
    while not all(task.done() for task in tasks):
        for pid in survivor_pids(folder):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(0.01)


@pytest.mark.slow
async def test_endless_programs_of_one_key_hold_up_no_other_and_go_on_unverified(
    fakes: FakeProviders, file: str, places: FairSemaphore, tmp_path: Path
) -> None:
    """Both routes share the places; of three the greedy key has two, and the third is free for who comes next."""
    places.seconds, places.queue_seconds = NEVER, 1.0  # however late one comes, no place has become free meanwhile
    fakes.openai.always(answer)
    log: list[bytes] = []
    async with serving_to(fakes, log.append, file) as (_, address):
        greedy = [
            asyncio.create_task(
                ask(address, ("first", "second")[number % 2], "key-of-greedy", ENDLESS.format(number=number + 1))
            )
            for number in range(12)
        ]
        await until(lambda: sum(task.done() for task in greedy) == 10)
        places.queue_seconds = NEVER  # its second program may wait for its first, however slow the machine is
        verified = await ask(address, "second", "key-of-modest", TWICE)
        await end_programs(tmp_path, greedy)  # not earlier, or those that still wait would be given a place
        unverified = await asyncio.gather(*greedy)

    assert verified == RIGHT
    assert {*unverified} == {"It prints `7`."}
    lines = [json.loads(line) for line in log]
    of_greedy = [line.get("help_failed", "") for line in lines if line.get("key") == "greedy"]
    assert sorted(of_greedy) == [*[""] * 2, *["unverified"] * 10]
    assert [line.get("help_failed") for line in lines if line.get("key") == "modest"] == [None]


async def test_a_free_place_goes_to_the_key_that_has_none(
    fakes: FakeProviders, file: str, places: FairSemaphore
) -> None:
    """Ten programs of a greedy key wait already, and the two of a modest one are run before them."""
    places.seconds, places.queue_seconds = NEVER, NEVER
    fakes.openai.always(answer)
    async with serving_to(fakes, len, file) as (_, address):
        prompts = [ENDLESS.format(number=number + 1) for number in range(8)]
        greedy = [asyncio.create_task(ask(address, "first", "key-of-greedy", prompt)) for prompt in prompts]
        await until(lambda: fakes.openai.count == len(prompts))
        modest = [
            await ask(address, "first", "key-of-modest", TWICE),
            await ask(address, "second", "key-of-modest", TWICE),
        ]
        waiting = [task for task in greedy if not task.done()]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*greedy, return_exceptions=True)

    assert modest == [RIGHT, RIGHT]
    assert len(waiting) >= 4
