"""Several processes on one address, as a user starts them."""

import asyncio
import os
import signal
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import pytest

from ai_battle.core.exchange import Usage
from ai_battle.core.messages import ToolCall
from ai_battle.testing import FakeProviders, Reply, fault, reply
from tests.redis import RedisProcess, redis_server

from .serving import ask_server, until
from .starting import Running, begin_server, start_server

FILE = """
server:
  port: 0
  workers: 2
  keys: [{key: key-of-team, name: team, budget_usd: 0.5}]
  routes: {large: openai/gpt-4o}
prices: {openai/gpt-4o: {input: 0, output: 10}}
"""
TEAM = {"x-api-key": "key-of-team"}
HELLO: dict[str, Any] = {"model": "large", "max_tokens": 1000, "messages": [{"role": "user", "content": "Hello?"}]}


@asynccontextmanager
async def command(fakes: FakeProviders, folder: Path, *options: str, file: str = FILE) -> AsyncIterator[Running]:
    path = folder / "server.yaml"
    path.write_text(file)
    async with start_server(fakes, path, *options) as server:
        yield server


async def metrics(address: str) -> str:
    async with aiohttp.ClientSession() as session, session.get(f"{address}/metrics", headers=TEAM) as answer:
        return await answer.text()


async def until_all(holds: Callable[[], Awaitable[bool]]) -> None:
    """Until it holds twenty times in a row: that one of two was not asked then is less likely than one in 100,000.

    In time, or `TimeoutError`.
    """
    in_a_row = 0
    async with asyncio.timeout(60):
        while in_a_row < 20:
            in_a_row = in_a_row + 1 if await holds() else 0
            await asyncio.sleep(0.02)


async def until_counted(address: str, number: int, status: int = 200) -> None:
    """Until each worker has told the others how many requests came to that."""
    line = f'ai_battle_requests_total{{api="messages",route="large",status="{status}"}} {number}\n'

    async def is_counted() -> bool:
        return line in await metrics(address)

    await until_all(is_counted)


async def test_workers_share_an_address_budgets_and_metrics(fakes: FakeProviders, tmp_path: Path) -> None:
    fakes.openai.always(reply("Yes.", usage=Usage(10, 1000)))
    async with command(fakes, tmp_path) as server:
        answers = await asyncio.gather(*(ask_server(server.address, "/v1/messages", HELLO, TEAM) for _ in range(60)))
        await until_counted(server.address, 50)
        await until_counted(server.address, 10, 429)
        text = await metrics(server.address)
        assert len(server.children) == 2

    statuses = [status for status, _ in answers]
    assert (statuses.count(200), statuses.count(429)) == (50, 10)
    assert 'ai_battle_cost_usd_total{route="large"} 0.5' in text
    assert server.process.returncode == 0


@pytest.mark.slow
async def test_a_request_goes_on_from_an_answer_of_another_worker(fakes: FakeProviders, tmp_path: Path) -> None:
    fakes.openai.always(reply("Yes."))
    async with command(fakes, tmp_path) as server:
        told = await ask_server(server.address, "/v1/responses", {"model": "large", "input": "Well?"}, TEAM)
        for _ in range(12):  # each over a connection of its own
            more = {"model": "large", "input": "And?", "previous_response_id": told[1]["id"]}
            told = await ask_server(server.address, "/v1/responses", more, TEAM)
            assert told[0] == 200

    assert len(fakes.openai.questions[-1].body["messages"]) == 25


FREE = FILE.replace(", budget_usd: 0.5", "")
FAILURES = 5
"""In a row, after which nobody calls for a while."""


async def waits(address: str) -> bool:
    """Tells whether the worker that answers leaves the provider alone."""
    async with aiohttp.ClientSession() as session, session.get(f"{address}/readyz", headers=TEAM) as answer:
        return answer.status == 503


@pytest.mark.slow
async def test_what_one_worker_learns_of_an_outage_spares_the_others(fakes: FakeProviders, tmp_path: Path) -> None:
    fakes.openai.says(fault(500, times=FAILURES))
    async with command(fakes, tmp_path, file=FREE) as server:
        async with aiohttp.ClientSession(server.address, headers=TEAM) as one:  # one connection, so one worker
            for _ in range(FAILURES):
                async with one.post("/v1/messages", json=HELLO) as answer:
                    assert answer.status == 500
        await until_all(lambda: waits(server.address))
        statuses = {(await ask_server(server.address, "/v1/messages", HELLO, TEAM))[0] for _ in range(12)}

    assert statuses == {503}
    assert len(fakes.openai.questions) == FAILURES


@pytest.mark.slow
async def test_an_option_that_a_model_refuses_is_left_out_by_all(fakes: FakeProviders, tmp_path: Path) -> None:
    async with command(fakes, tmp_path, file=FREE) as server:

        async def leaves_it_out() -> bool:
            status, _ = await ask_server(server.address, "/v1/messages", {**HELLO, "temperature": 0.5}, TEAM)
            assert status == 200
            return "temperature" not in fakes.openai.questions[-1].body

        assert not any([await leaves_it_out() for _ in range(20)])  # each worker has looked up what it knows
        fakes.openai.says(fault("parameter_refused"))
        assert await leaves_it_out()
        await until_all(leaves_it_out)


BOOSTING = """
server:
  port: 0
  workers: 3
  plans: {size: 10}
  routes:
    large: {model: gemini/flash, strategy: boost, secondary: openai/planner}
    signing: gemini/flash
"""


@pytest.mark.slow
async def test_a_plan_is_made_once_for_all_workers(fakes: FakeProviders, tmp_path: Path) -> None:
    fakes.openai.always("SUMMARY:\nNoon.")
    async with command(fakes, tmp_path, file=BOOSTING) as server:
        for _ in range(9):
            assert (await ask_server(server.address, "/v1/messages", HELLO))[1]["content"][0]["text"] == "Noon."

    assert len(fakes.openai.questions) == 1


@pytest.mark.slow
async def test_a_call_comes_back_signed_from_whichever_worker(fakes: FakeProviders, tmp_path: Path) -> None:
    tool = {"name": "add", "input_schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}
    signature = {"gemini": {"thoughtSignature": "c2lnMQ=="}}
    fakes.gemini.says(reply(calls=[ToolCall("add", {"a": 1}, extra=signature)]))
    fakes.gemini.always("Three.")
    body = {**HELLO, "model": "signing", "tools": [tool]}
    async with command(fakes, tmp_path, file=BOOSTING) as server:
        _, called = await ask_server(server.address, "/v1/messages", body)
        (use,) = [block for block in called["content"] if block["type"] == "tool_use"]
        result = {"type": "tool_result", "tool_use_id": use["id"], "content": "3"}
        talk = [*HELLO["messages"], {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
        for _ in range(9):
            await ask_server(server.address, "/v1/messages", {**body, "messages": talk})

    assert [signatures_in(question.body) for question in fakes.gemini.questions[1:]] == [["c2lnMQ=="]] * 9


def signatures_in(body: Any) -> list[str]:
    parts = [part for content in body["contents"] for part in content["parts"]]
    return [part["thoughtSignature"] for part in parts if "thoughtSignature" in part]


async def test_a_worker_that_is_killed_is_started_again(fakes: FakeProviders, tmp_path: Path) -> None:
    """What it has counted stays, in the metrics and of the budget."""
    fakes.openai.always(reply("Yes.", usage=Usage(10, 1000)))
    async with command(fakes, tmp_path) as server:
        await asyncio.gather(*(ask_server(server.address, "/v1/messages", HELLO, TEAM) for _ in range(20)))
        await until_counted(server.address, 20)
        before = server.children
        os.kill(before[1], signal.SIGKILL)
        await until(lambda: len(server.children) == 2 and server.children != before)
        statuses = [(await ask_server(server.address, "/v1/messages", HELLO, TEAM))[0] for _ in range(40)]
        await until_counted(server.address, 50)

    assert (statuses.count(200), statuses.count(429)) == (30, 10)
    assert "Worker 2 has ended (killed by SIGKILL); it is started again in 0.5 s." in "".join(server.said)


@pytest.mark.slow
async def test_workers_take_up_a_change_while_200_streams_run(fakes: FakeProviders, tmp_path: Path) -> None:
    """A file that is wrong is told once, and the old one holds."""
    file = FREE.replace("  workers: 2\n", "")
    fakes.openai.always(reply("One two three four five six seven eight nine ten.", pace=1.5))
    async with command(fakes, tmp_path, "--workers", "2", file=file) as server:
        streams = [
            asyncio.create_task(ask_server(server.address, "/v1/messages", {**HELLO, "stream": True}, TEAM))
            for _ in range(200)
        ]
        await until(lambda: fakes.openai.open_requests == 200)
        (tmp_path / "server.yaml").write_text(file.replace("large: openai", "other: openai"))
        server.process.send_signal(signal.SIGHUP)
        await server.hears("Reloaded: other")

        async def has_new_route() -> bool:
            return (await ask_server(server.address, "/v1/messages", {**HELLO, "model": "other"}, TEAM))[0] == 200

        await until_all(has_new_route)
        (tmp_path / "server.yaml").write_text("server: {routes: 1}")
        await server.hears("The change was not loaded")
        told = await asyncio.gather(*streams)

    assert all(status == 200 and "ten." in text and "message_stop" in text for status, text in told)
    assert sum("The change was not loaded" in line for line in server.said) == 1


@pytest.mark.slow
@pytest.mark.parametrize("each", [False, True], ids=["parent", "each process"])
async def test_answers_under_way_are_finished_at_the_end(fakes: FakeProviders, tmp_path: Path, each: bool) -> None:
    """Also where each process is told to end, as a manager of services may do."""
    fakes.openai.always(reply("One two three four five six seven eight nine ten.", pace=0.3))
    async with command(fakes, tmp_path) as server:
        streams = [
            asyncio.create_task(ask_server(server.address, "/v1/messages", {**HELLO, "stream": True}, TEAM))
            for _ in range(9)
        ]
        await until(lambda: fakes.openai.open_requests == 9)
        for child in server.children if each else []:
            os.kill(child, signal.SIGTERM)
        code = await server.end()
        told = await asyncio.gather(*streams)

    assert code == 0
    assert all("message_stop" in text for _, text in told)


@pytest.mark.slow
async def test_who_is_told_twice_to_end_waits_for_nobody(fakes: FakeProviders, tmp_path: Path) -> None:
    fakes.openai.always(reply("One two three four five six seven eight nine ten.", pace=5))
    async with command(fakes, tmp_path) as server:
        body = {**HELLO, "stream": True}
        streams = [asyncio.create_task(ask_server(server.address, "/v1/messages", body, TEAM)) for _ in range(3)]
        await until(lambda: fakes.openai.open_requests == 3)
        children = server.children
        server.process.send_signal(signal.SIGTERM)
        await server.hears("Ending")
        server.process.send_signal(signal.SIGTERM)
        await until(lambda: not any(Path(f"/proc/{child}").exists() for child in children), 3)
        await asyncio.gather(*streams, return_exceptions=True)


@pytest.mark.slow
async def test_workers_end_with_the_process_that_started_them(fakes: FakeProviders, tmp_path: Path) -> None:
    async with command(fakes, tmp_path) as server:
        children = server.children
        server.process.send_signal(signal.SIGKILL)
        await until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))


async def test_a_worker_that_is_killed_before_it_is_ready_is_told(fakes: FakeProviders, tmp_path: Path) -> None:
    file = tmp_path / "server.yaml"
    file.write_text(FILE)
    async with begin_server(fakes, file) as supervisor:
        await until(lambda: bool(supervisor.children))
        os.kill(supervisor.children[0], signal.SIGKILL)
        assert await supervisor.wait() == 1
    assert supervisor.said[0].startswith("error: Worker 1 ended before it was ready: killed by SIGKILL.")


async def test_a_port_that_is_taken_is_told_once(fakes: FakeProviders, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        async with command(fakes, tmp_path, "--port", str(port)) as server:
            code = await server.wait()

    assert code != 0
    (line,) = server.said
    assert line == f"error: Can't listen on 127.0.0.1:{port}: Address already in use; choose another with --port."


MANY = """
server:
  port: 0
  state: {state}
  keys:
    - {{key: a, name: a, budget_usd: 3, concurrent: 40}}
    - {{key: b, name: b, budget_usd: 5, per_minute: 100000}}
    - {{key: c, name: c, budget_usd: 1000}}
  routes: {{large: openai/gpt-4o}}
prices: {{openai/gpt-4o: {{input: 0, output: 10}}}}
"""
BUDGETS = {"a": 3.0, "b": 5.0, "c": 1000.0}
COST = 100 * 10 / 1e6


async def drive(address: str, number: int) -> Counter[tuple[str, int]]:
    """Counts the requests by key and status, which is 0 where the worker was killed. None takes a minute."""
    counted: Counter[tuple[str, int]] = Counter()
    left = iter(range(number))

    async def ask_again_and_again(session: aiohttp.ClientSession) -> None:
        for each in left:
            key = "abc"[each % 3]
            body = {**HELLO, "max_tokens": 100, "messages": [{"role": "user", "content": key}]}
            status = 0
            with suppress(aiohttp.ClientConnectionError):
                async with session.post("/v1/messages", json=body, headers={"x-api-key": key}) as answer:
                    await answer.read()
                    status = answer.status
            counted[key, status] += 1

    clocks = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(address, connector=aiohttp.TCPConnector(limit=0), timeout=clocks) as session:
        await asyncio.gather(*(ask_again_and_again(session) for _ in range(64)))
    return counted


async def kill_now_and_then(server: Running, redis: RedisProcess | None) -> None:
    random = Random(1)
    for each in count(1):
        await asyncio.sleep(1.5)
        os.kill(random.choice(server.children), signal.SIGKILL)
        if redis and each % 4 == 0:
            redis.kill()
            await asyncio.sleep(1.0)
            await asyncio.to_thread(redis.start)


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("store", ["sqlite", "redis"])
async def test_no_budget_is_passed_whoever_is_killed(fakes: FakeProviders, tmp_path: Path, store: str) -> None:
    """20,000 requests to four workers, of which one is killed every second; in between the Redis is killed too."""
    billed = Counter[str]()

    def bill(body: Any) -> Reply:
        billed[body["messages"][-1]["content"]] += 1
        return reply("Yes.", usage=Usage(10, 100), delay=0.005)

    fakes.openai.always(bill)
    with ExitStack() as opened:
        redis = opened.enter_context(redis_server(tmp_path)) if store == "redis" else None
        file = MANY.format(state=redis.url if redis else tmp_path / "state")
        async with command(fakes, tmp_path, "--workers", "4", file=file) as server:
            killing = asyncio.create_task(kill_now_and_then(server, redis))
            counted = await drive(server.address, 20_000)
            killing.cancel()
            await asyncio.wait([killing])
            await until(lambda: not fakes.openai.open_requests)

    for key, budget in BUDGETS.items():
        assert billed[key] * COST <= budget + 1e-9
        assert billed[key] >= counted[key, 200]
    assert {status for _, status in counted} <= {200, 429, 503, 0}
    assert counted["c", 200] > 3_000
    assert sum(counted.values()) == 20_000
