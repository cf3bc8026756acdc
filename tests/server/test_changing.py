"""A server that is changed or ended while it answers."""

import asyncio
import json
import os
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ai_battle.config.server import LoadedServer
from ai_battle.core.errors import ConfigError
from ai_battle.server.config import ConfigSource
from ai_battle.server.running import serve
from ai_battle.testing import FakeProviders, fault, reply
from tests.clocks import set_forward

from .serving import ask_server, serving_to, until
from .starting import start_server

HELLO: dict[str, Any] = {"model": "one", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]}
TEXT = "word " * 12
SLOW = reply(TEXT, pace=0.08)
FILES = {
    "server.yaml": "server: {{log_content: true, keys: [{key}], routes: {{one: openai/large}}}}",
    ".env": "TEAM_KEY={key}",
}


async def stream(address: str, begun: Callable[[], object]) -> str:
    """The text of a streamed answer; `begun` is called when its first bytes are there."""
    said = b""
    async with (
        aiohttp.ClientSession(address) as session,
        session.post("/v1/messages", json={**HELLO, "stream": True}) as answer,
    ):
        async for data in answer.content.iter_any():
            if not said:
                begun()
            said += data
    deltas = [json.loads(line[6:]) for line in said.decode().splitlines() if '"text_delta"' in line]
    assert b"message_stop" in said
    return "".join(delta["delta"]["text"] for delta in deltas)


def write(file: Path, routes: str) -> None:
    file.write_text(f"server: {{routes: {{{routes}}}}}")


async def test_a_change_of_the_file_and_the_end_lose_no_answer(fakes: FakeProviders, tmp_path: Path) -> None:
    """First the file changes in the middle of a stream, then it gets wrong, then the server is told to end."""
    file = tmp_path / "server.yaml"
    write(file, "one: openai/large")
    fakes.openai.says(SLOW, "Yes.", "Yes.", SLOW)
    async with start_server(fakes, file, "--port", "0") as server:
        before = await stream(server.address, lambda: write(file, "one: openai/large, two: openai/little"))
        await server.hears("Reloaded: one, two")
        status, _ = await ask_server(server.address, "/v1/messages", {**HELLO, "model": "two"})
        write(file, "one: [wrong")
        server.process.send_signal(signal.SIGHUP)
        await server.hears("The change was not loaded")
        kept, _ = await ask_server(server.address, "/v1/messages", {**HELLO, "model": "two"})
        after = await stream(server.address, lambda: server.process.send_signal(signal.SIGTERM))
        with pytest.raises(aiohttp.ClientConnectionError):
            await ask_server(server.address, "/v1/messages", HELLO)
        code = await asyncio.wait_for(server.wait(), 30)

    assert before == after == TEXT
    assert (status, kept, code) == (200, 200, 0)
    assert any('"status":200' in line and '"route":"two"' in line for line in server.said)


@pytest.mark.parametrize("place", ["server.yaml", ".env"])
async def test_a_key_that_is_taken_out_of_a_file_opens_nothing_any_more(
    fakes: FakeProviders, tmp_path: Path, place: str
) -> None:
    file = tmp_path / "server.yaml"
    file.write_text(FILES["server.yaml"].format(key="'${TEAM_KEY}'"))
    (tmp_path / place).write_text(FILES[place].format(key="old-key"))
    async with start_server(fakes, file, "--port", "0") as server:
        first, _ = await ask_server(server.address, "/v1/messages", HELLO, {"x-api-key": "old-key"})
        (tmp_path / place).write_text(FILES[place].format(key="new-key"))
        await server.hears("Reloaded")
        statuses = [(await ask_server(server.address, "/v1/messages", HELLO, {"x-api-key": key}))[0]
                    for key in ("old-key", "new-key")]  # fmt: skip

        talk = {**HELLO, "messages": [{"role": "user", "content": "Is it new-key now?"}]}
        await ask_server(server.address, "/v1/messages", talk, {"x-api-key": "new-key"})
        line = await server.hears("Is it ")

    assert (first, statuses) == (200, [401, 200])
    assert "now?" in line
    assert "-key now" not in line
    assert "old-key" not in "".join(server.said)


async def test_new_requests_are_refused_while_the_last_ones_end(fakes: FakeProviders, tmp_path: Path) -> None:
    file = tmp_path / "server.yaml"
    write(file, "one: openai/large")
    fakes.openai.says(SLOW)
    refused: list[type] = []
    async with start_server(fakes, file, "--port", "0") as server:

        async def ask() -> None:
            await server.hears("Ending")
            try:
                await ask_server(server.address, "/v1/messages", HELLO)
            except aiohttp.ClientConnectionError as error:
                refused.append(type(error))

        def end() -> None:
            server.process.send_signal(signal.SIGTERM)
            asking.append(asyncio.create_task(ask()))

        asking: list[asyncio.Task[None]] = []
        text = await stream(server.address, end)
        await asyncio.gather(*asking)

    assert text == TEXT
    assert len(refused) == 1
    assert len(fakes.openai.questions) == 1


@pytest.mark.parametrize(("stream", "status"), [(False, 503), (True, 200)], ids=["whole", "streamed"])
async def test_answers_have_the_grace_of_the_file_and_no_more(
    fakes: FakeProviders, tmp_path: Path, *, stream: bool, status: int
) -> None:
    """Who runs the server kills it a little later, and what is not booked by then counts as spent in full.

    The client gets an error that says so, and in the log it is not the client that has left.
    """
    file, log = tmp_path / "server.yaml", list[bytes]()
    file.write_text("server: {limits: {grace_seconds: 50}, routes: {one: openai/large}}")
    fakes.openai.says(fault("stall_mid_stream"))
    async with AsyncExitStack() as stack:
        _, address = await stack.enter_async_context(serving_to(fakes, log.append, str(file)))
        asking = asyncio.create_task(ask_server(address, "/v1/messages", {**HELLO, "stream": stream}))
        await until(lambda: bool(fakes.openai.questions))
        ending = asyncio.create_task(stack.aclose())
        await _let_pass(45)
        assert not ending.done()
        await _let_pass(30)
        await until(ending.done)
        answered, told = await asking

    error = (json.loads(told.splitlines()[-2].removeprefix("data: ")) if stream else told)["error"]
    assert (answered, error["message"]) == (status, "The server ends before the answer has come: send it again.")
    assert json.loads(log[-1])["status"] == 503


async def _let_pass(seconds: int) -> None:
    """In small steps, so that what waits may go on in between."""
    for _ in range(seconds):
        set_forward(1)
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_told_twice_it_ends_at_once(fakes: FakeProviders, tmp_path: Path, number: signal.Signals) -> None:
    file = tmp_path / "server.yaml"
    write(file, "one: openai/large")
    fakes.openai.says(fault("stall_before_headers"))
    async with start_server(fakes, file, "--port", "0") as server:
        asking = asyncio.create_task(ask_server(server.address, "/v1/messages", HELLO))
        await until(lambda: bool(fakes.openai.questions))
        server.process.send_signal(number)
        await server.hears("Ending")
        server.process.send_signal(number)
        code = await asyncio.wait_for(server.wait(), 30)
        with pytest.raises(aiohttp.ClientConnectionError):
            await asking
        await until(lambda: fakes.openai.questions[0].disconnected)

    assert code == -number


async def test_a_calibration_that_is_written_anew_decides_from_then_on(fakes: FakeProviders, tmp_path: Path) -> None:
    """Nobody has to touch the server's own file; a calibration that can't be used changes nothing."""
    file, calibration = tmp_path / "server.yaml", tmp_path / "pair.json"
    pair = "{model: openai/little, secondary: openai/large, strategy: takeover, calibration: pair.json}"
    calibration.write_text('{"cut": 1000000000.0}')
    write(file, f"one: {pair}")
    fakes.openai.always(lambda body: "From the large one." if body["model"] == "large" else "The sea is salty.")
    async with start_server(fakes, file, "--port", "0") as server:
        alone = await served_text(server.address)
        calibration.write_text('{"cut": -1000000000.0}')
        await server.hears("Reloaded: one")
        helped = await served_text(server.address)
        calibration.write_text('{"cut": "high"}')
        problem = await server.hears("The change was not loaded")
        kept = await served_text(server.address)

    assert [alone, helped, kept] == ["The sea is salty.", "From the large one.", "From the large one."]
    assert "calibration" in problem


@pytest.mark.parametrize(
    "wrong",
    ["ENABLE_BOOST_SUPPORT=NONE,BIG_MODEL", "ENABLE_BOOST_SUPPORT=BIG_MODLE", f"AI_BATTLE_SERVE_KEYS={'k' * 230}"],
)
async def test_a_wrong_variable_is_told_and_the_next_change_is_loaded(
    fakes: FakeProviders, tmp_path: Path, wrong: str
) -> None:
    file = tmp_path / "server.yaml"
    write(file, "one: openai/large")
    async with start_server(fakes, file, "--port", "0") as server:
        (tmp_path / ".env").write_text(wrong)
        problem = await server.hears("The change was not loaded")
        (tmp_path / ".env").write_text("")
        write(file, "one: openai/large, two: openai/little")
        await server.hears("Reloaded: one, two")

    assert wrong.split("=")[0] in problem
    assert "error in ai-battle" not in problem
    assert "kkk" not in problem


@pytest.mark.parametrize("calibration", ["~nobody-at-all/pair.json", "a\\0b"])
async def test_a_path_that_leads_nowhere_is_told_as_the_calibration(tmp_path: Path, calibration: str) -> None:
    file = tmp_path / "server.yaml"
    pair = f'{{model: ollama/phi4, secondary: ollama/phi3, strategy: takeover, calibration: "{calibration}"}}'
    write(file, f"one: {pair}")
    with pytest.raises(ConfigError, match="calibration"):
        ConfigSource(str(file), {}).load()


async def test_an_error_of_our_own_while_loading_is_told_without_its_text_and_the_next_change_is_loaded(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    file, said = tmp_path / "server.yaml", list[str]()
    write(file, "one: openai/large")

    def trust(document: LoadedServer, code: tuple[str, ...]) -> None:
        if "two" in document.file.server.routes:
            raise LookupError("a secret")

    def is_said(words: str) -> bool:
        return any(line.startswith(words) for line in said)

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    source = ConfigSource(str(file), fakes.environment, {"port": 0}, trust)
    serving = asyncio.create_task(serve(source, source.load(), said.append, len))
    try:
        await until(lambda: is_said("Listening"))
        write(file, "one: openai/large, two: openai/little")
        await until(lambda: is_said("The change was not loaded"))
        write(file, "one: openai/large, three: openai/little")
        await until(lambda: is_said("Reloaded: one, three"))
        os.kill(os.getpid(), signal.SIGTERM)
        await serving
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)

    problem = next(line for line in said if line.startswith("The change was not loaded"))
    assert "an error in ai-battle itself, please report it: LookupError at " in problem
    assert "a secret" not in problem


async def served_text(address: str) -> str:
    _, answer = await ask_server(address, "/v1/messages", {**HELLO, "max_tokens": 50})
    return str(answer["content"][0]["text"])
