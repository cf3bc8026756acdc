"""The fakes answer what they were told, remember what they were asked, and leave nothing behind."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from ai_battle.testing import FakeProvider, FakeProviders, call, fault, reply


@pytest_asyncio.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


def question(model: str = "m", **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": "Hello?"}], **more}


async def ask(http: aiohttp.ClientSession, fake: FakeProvider, model: str = "m") -> str:
    async with http.post(f"{fake.url}/v1/chat/completions", json=question(model)) as response:
        text: str = (await response.json())["choices"][0]["message"]["content"]
        return text


async def test_replies_come_in_order_and_then_the_standing_one(
    fakes: FakeProviders, http: aiohttp.ClientSession
) -> None:
    fakes.openai.says("one", lambda body: f"{body['model']}!", "three")
    assert [await ask(http, fakes.openai) for _ in range(4)] == [
        "one", "m!", "three", "This is my answer to message 1.",
    ]  # fmt: skip
    fakes.openai.always("Always this.")
    assert await ask(http, fakes.openai) == "Always this."


async def test_a_model_may_have_a_script_of_its_own(fakes: FakeProviders, http: aiohttp.ClientSession) -> None:
    fakes.openai.says("for any", "for any other")
    fakes.openai.says("for the small one", model="small")
    fakes.openai.always("always the small one", model="small")

    assert [await ask(http, fakes.openai, m) for m in ("small", "large", "small", "small")] == [
        "for the small one", "for any", "for any other", "always the small one",
    ]  # fmt: skip


async def test_many_ask_at_once_and_each_reply_is_given_once(fakes: FakeProviders, http: aiohttp.ClientSession) -> None:
    wanted = [str(number) for number in range(50)]
    fakes.openai.says(*(reply(text, delay=0.01) for text in wanted))

    assert sorted(await asyncio.gather(*(ask(http, fakes.openai) for _ in wanted))) == sorted(wanted)


async def test_a_request_is_remembered_as_it_came(fakes: FakeProviders, http: aiohttp.ClientSession) -> None:
    path = "/v1beta/models/gemini-x:streamGenerateContent"
    async with http.post(f"{fakes.gemini.url}{path}?alt=sse", json={"contents": [{}]}, headers={"X-A": "b"}) as answer:
        await answer.read()
    request = fakes.gemini.requests[-1]

    assert (request.method, request.path, dict(request.query)) == ("POST", path, {"alt": "sse"})
    assert request.headers["x-a"] == "b"
    assert request.body == {"contents": [{}]}
    assert abs(request.time - time.time()) < 60
    assert (request.finished, request.disconnected, fakes.gemini.open_requests) == (True, False, 0)
    assert fakes.gemini.questions == [request]


async def test_only_the_last_requests_are_kept(http: aiohttp.ClientSession) -> None:
    async with FakeProviders(keep=3) as fakes:
        for number in range(5):
            await ask(http, fakes.openai, f"model {number}")
        assert [request.body["model"] for request in fakes.openai.requests] == ["model 2", "model 3", "model 4"]


@pytest.mark.parametrize("name", ["stall_before_headers", "stall_mid_stream", "ping_for_ever"])
async def test_a_client_that_leaves_is_noticed(fakes: FakeProviders, name: str) -> None:
    fakes.openai.says(fault(name))
    async with aiohttp.ClientSession() as http:
        asking = asyncio.create_task(ask(http, fakes.openai))
        await _until(lambda: fakes.openai.open_requests == 1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await _until(lambda: not fakes.openai.open_requests)
    assert fakes.openai.requests[-1].disconnected


async def _until(holds: Callable[[], bool]) -> None:
    """Waits as long as it takes; the test's own deadline ends what never comes."""
    while not holds():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def test_stopping_does_not_wait_for_those_who_wait(http: aiohttp.ClientSession) -> None:
    async with FakeProviders() as fakes:
        fakes.openai.says(fault("stall_before_headers"))
        waiting = asyncio.create_task(ask(http, fakes.openai))
        await _until(lambda: fakes.openai.open_requests == 1)
        stopped = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - stopped < 30
    with pytest.raises(aiohttp.ClientError):
        await waiting


async def test_a_pace_spreads_a_stream_over_time(fakes: FakeProviders, http: aiohttp.ClientSession) -> None:
    fakes.ollama.says(reply("one two three four", pace=0.03, delay=0.05), "at once, in one write")
    begun = time.monotonic()
    async with http.post(f"{fakes.ollama.url}/api/chat", json=question()) as response:
        arrivals = [
            (time.monotonic() - begun, json.loads(line)["message"]["content"]) async for line in response.content
        ]

    assert "".join(text for _, text in arrivals) == "one two three four"
    assert arrivals[0][0] >= 0.05
    assert arrivals[-1][0] - arrivals[0][0] >= 0.09


async def test_usage_is_the_same_for_the_same_exchange(fakes: FakeProviders, http: aiohttp.ClientSession) -> None:
    fakes.openai.says("word " * 100, "word " * 100)
    counted = []
    for _ in range(2):
        async with http.post(f"{fakes.openai.url}/v1/chat/completions", json=question()) as response:
            counted.append((await response.json())["usage"])
    assert counted[0] == counted[1]
    assert 100 <= counted[0]["completion_tokens"] <= 150


async def test_what_is_no_question_is_answered_too(fakes: FakeProviders, http: aiohttp.ClientSession) -> None:
    async with http.head(f"{fakes.anthropic.url}/") as greeting:
        assert greeting.status == 200
    async with http.get(f"{fakes.ollama.url}/api/version") as version:
        assert "version" in await version.json()
    async with http.get(f"{fakes.openai.url}/nowhere") as nowhere:
        assert (nowhere.status, list(await nowhere.json())) == (404, ["error"])
    async with http.post(f"{fakes.openai.url}/v1/chat/completions", data=b"{no json") as malformed:
        assert malformed.status == 400


async def test_a_server_that_does_not_stream_answers_in_one_piece(
    fakes: FakeProviders, http: aiohttp.ClientSession
) -> None:
    fakes.openai.streams = False
    fakes.openai.says("Whole.")
    async with http.post(f"{fakes.openai.url}/v1/chat/completions", json=question(stream=True)) as response:
        assert (await response.json())["choices"][0]["message"]["content"] == "Whole."


async def test_a_wrong_script_is_said_at_once(fakes: FakeProviders) -> None:
    with pytest.raises(ValueError, match="there is no fault 'http_50'; did you mean 'http_50"):
        fault("http_50")
    with pytest.raises(ValueError, match="ollama has no fault 'refusal'"):
        fakes.ollama.says(fault("refusal"))
    with pytest.raises(TypeError, match="is not a reply"):
        fakes.openai.says(3)  # type: ignore[arg-type]


def test_a_program_without_an_event_loop_is_served_by_a_thread() -> None:
    with FakeProviders.in_thread() as fakes:
        fakes.openai.says(call("add", a=1))
        body = json.dumps(question()).encode()
        with urllib.request.urlopen(f"{fakes.environment['OPENAI_BASE_URL']}/chat/completions", body) as answer:
            choice = json.load(answer)["choices"][0]
    assert choice["message"]["tool_calls"][0]["function"]["name"] == "add"
    assert choice["finish_reason"] == "tool_calls"


def test_a_shell_gets_the_variables_and_ctrl_c_ends_it() -> None:
    command = [sys.executable, "-m", "ai_battle.testing", "--say", "Hello!", "--fault", "http_503"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as served:
        assert served.stdout is not None
        lines = [served.stdout.readline().rstrip("\n") for _ in range(9)]
        variables = dict(line.removeprefix("export ").split("=", 1) for line in lines[:8])
        with urllib.request.urlopen(f"{variables['ANTHROPIC_BASE_URL']}/v1/models") as answer:
            assert json.load(answer)["data"]
        served.send_signal(signal.SIGINT)
        assert served.wait(5) == 0
    assert "Ctrl-C" in lines[-1]
