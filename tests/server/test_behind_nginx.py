"""The shipped nginx.conf and server.yaml at work: a real nginx before two real workers."""

import asyncio
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ai_battle.core.exchange import Usage
from ai_battle.testing import FakeProviders, reply
from tests.redis import redis_server

from .serving import until
from .starting import Running, start_server

pytestmark = pytest.mark.slow

DEPLOY = Path(__file__).parents[2] / "examples" / "deploy"
HELLO = {"model": "large", "max_tokens": 100, "messages": [{"role": "user", "content": "Hello?"}]}
BODIES = {
    "/v1/messages": HELLO,
    "/v1/chat/completions": HELLO,
    "/v1/responses": {"model": "large", "input": "Hello?"},
}
every_path = pytest.mark.parametrize("path", BODIES)
KEY = {"authorization": "Bearer key-of-team"}
VARIABLES = {"TEAM_KEY": "key-of-team", "METRICS_KEY": "key-of-metrics"}
LONG = "One two three four five six seven eight nine ten."


@dataclass(frozen=True)
class Site:
    """What clients see, the two workers behind it, and the file that both read."""

    clients: aiohttp.ClientSession
    workers: list[Running]
    file: Path

    async def answers(self, number: int, path: str = "/v1/messages", body: Any = HELLO) -> list["Answer"]:
        return [*await asyncio.gather(*(self.answer(path, body) for _ in range(number)))]

    async def answer(self, path: str = "/v1/messages", body: Any = HELLO) -> "Answer":
        data = BytesIO(body if isinstance(body, bytes) else json.dumps(body).encode())
        async with self.clients.post(path, data=data, headers=KEY) as answer:
            return Answer(answer.status, answer.headers.get("retry-after"), await answer.text())


@dataclass(frozen=True)
class Answer:
    status: int
    retry_after: str | None
    text: str

    @property
    def error(self) -> Any:
        return json.loads(self.text)


@asynccontextmanager
async def deploy(
    fakes: FakeProviders, folder: Path, *more: str, state: str = "", **changes: str
) -> AsyncIterator[Site]:
    """`more` are options of the command; `changes` are made in nginx.conf, where a test can't wait like a user."""
    require("nginx", "nginx-light")
    require("openssl", "openssl")
    file = Path(shutil.copy(DEPLOY / "server.yaml", folder))
    async with AsyncExitStack() as opened:
        options = ("--host", "127.0.0.1", "--port", "0", *more)
        known = {**VARIABLES, "STATE": state or str(folder / "state")}
        workers = [await opened.enter_async_context(start_server(fakes, file, *options, **known)) for _ in range(2)]
        port = await opened.enter_async_context(nginx(folder, [each.address for each in workers], changes))
        trust = ssl.create_default_context(cafile=folder / "tls.crt")
        connector = aiohttp.TCPConnector(ssl=trust, limit=0, force_close=True)
        yield Site(
            await opened.enter_async_context(aiohttp.ClientSession(f"https://localhost:{port}", connector=connector)),
            workers,
            file,
        )


def require(command: str, package: str) -> None:
    if not shutil.which(command):
        pytest.skip(f"needs {command}, from the Debian package {package}")


@asynccontextmanager
async def nginx(folder: Path, workers: list[str], changes: dict[str, str]) -> AsyncIterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    make_certificate(folder)
    (folder / "nginx.conf").write_text(nginx_config(folder, port, workers, changes))
    user = "user root; " if os.getuid() == 0 else ""  # the folder of a test is its user's own
    options = ["-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
    options += ["-g", f"{user}pid {folder}/nginx.pid; daemon off;"]
    checked = await asyncio.create_subprocess_exec("nginx", "-t", *options, stderr=asyncio.subprocess.PIPE)
    said = (await checked.communicate())[1].decode()
    assert checked.returncode == 0, said
    assert "[warn]" not in said
    process = await asyncio.create_subprocess_exec("nginx", *options)
    try:
        await until(lambda: can_connect(port))
        yield port
    finally:
        process.terminate()
        await process.wait()


def nginx_config(folder: Path, port: int, workers: list[str], changes: dict[str, str]) -> str:
    """The shipped file with the addresses, paths and ports of a test, each of which has to stand in it once."""
    folders = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    replaced = {
        "http {": f"http {{ access_log off; {folders}",
        "10.87.0.11:8787": workers[0].removeprefix("http://"),
        "10.87.0.12:8787": workers[1].removeprefix("http://"),
        "listen 443": f"listen 127.0.0.1:{port}",
        "/etc/nginx/tls/tls.crt": f"{folder}/tls.crt",
        "/etc/nginx/tls/tls.key": f"{folder}/tls.key",
        **changes,
    }
    text = (DEPLOY / "nginx.conf").read_text()
    for old, new in replaced.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def make_certificate(folder: Path) -> None:
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-out", str(folder / "tls.crt"), "-keyout", str(folder / "tls.key")]
    subprocess.run([*command, *names, *files], check=True, capture_output=True, timeout=30)


def can_connect(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def error_body(path: str, anthropic: str, openai: str, message: str, code: str | None = None) -> Any:
    """Returns what the API of the path says."""
    if path == "/v1/messages":
        return {"type": "error", "error": {"type": anthropic, "message": message}}
    return {"error": {"message": message, "type": openai, "param": None, "code": code}}


async def test_a_stream_comes_through_as_it_comes(fakes: FakeProviders, tmp_path: Path) -> None:
    fakes.openai.always(reply(LONG, pace=0.3))
    async with (
        deploy(fakes, tmp_path) as site,
        site.clients.post("/v1/messages", json={**HELLO, "stream": True}, headers=KEY) as answer,
    ):
        early = b""
        async for line in answer.content:
            early += line
            if b"content_block_delta" in line:
                break
        is_over = fakes.openai.questions[-1].finished
        rest = (await answer.content.read()).decode()

    assert not is_over
    assert b"ten." not in early
    assert "ten." in rest
    assert "message_stop" in rest


@every_path
async def test_what_is_too_large_is_told_in_the_shape_of_its_api(
    fakes: FakeProviders, tmp_path: Path, path: str
) -> None:
    async with deploy(fakes, tmp_path) as site:
        by_nginx = await site.answer(path, b" " * (65 * 1024**2))
        by_worker = await site.answer(path, b" " * (33 * 1024**2))

    message = "The request is too large: at most 64 MB."
    assert by_nginx.status == 413
    assert by_nginx.error == error_body(path, "request_too_large", "invalid_request_error", message)
    assert by_worker.status == 413
    assert by_worker.error["error"].keys() >= {"type", "message"}
    assert fakes.openai.questions == []


@every_path
async def test_a_flood_gets_429_and_when_to_come_back(fakes: FakeProviders, tmp_path: Path, path: str) -> None:
    fakes.openai.always("Yes.")
    slower = {"rate=20r/s": "rate=1r/m", "burst=100": "burst=9"}
    async with deploy(fakes, tmp_path, **slower) as site:
        answers = await site.answers(15, path, BODIES[path])

    assert sorted(each.status for each in answers) == [200] * 10 + [429] * 5
    refused = next(each for each in answers if each.status == 429)
    message = "Too many requests in a second; ask again later."
    expected = error_body(path, "rate_limit_error", "rate_limit_error", message, "rate_limit_exceeded")
    assert (refused.error, refused.retry_after) == (expected, "1")


@every_path
async def test_more_connections_than_all_workers_take_get_503(fakes: FakeProviders, tmp_path: Path, path: str) -> None:
    fakes.openai.always(reply("Yes.", delay=2.0))
    async with deploy(fakes, tmp_path, **{"limit_conn all 4096": "limit_conn all 2"}) as site:
        answers = await site.answers(4, path, BODIES[path])

    assert sorted(each.status for each in answers) == [200, 200, 503, 503]
    refused = next(each for each in answers if each.status == 503)
    expected = error_body(path, "overloaded_error", "server_error", "All workers are busy; ask again later.")
    assert (refused.error, refused.retry_after) == (expected, "5")


@every_path
async def test_workers_that_are_away_or_silent_are_told_in_the_shape_of_the_api(
    fakes: FakeProviders, tmp_path: Path, path: str
) -> None:
    fakes.openai.always(reply("Yes.", delay=30.0))
    async with deploy(fakes, tmp_path, **{"proxy_read_timeout 620s": "proxy_read_timeout 1s"}) as site:
        silent = await site.answer(path, BODIES[path])
        for worker in site.workers:
            worker.process.send_signal(signal.SIGKILL)
            await worker.wait()
        away = await site.answer(path, BODIES[path])

    message = "The worker did not answer in time."
    assert silent.status == 504
    assert silent.error == error_body(path, "timeout_error", "server_error", message)
    assert (away.status, away.retry_after) == (502, "2")
    assert away.error == error_body(path, "api_error", "server_error", "No worker could be reached; ask again later.")
    assert len(fakes.openai.questions) == 1


async def test_errors_of_providers_and_addresses_that_are_not_for_outside(fakes: FakeProviders, tmp_path: Path) -> None:
    async with deploy(fakes, tmp_path) as site:
        unknown = await site.answer(body={**HELLO, "model": "nobody"})
        async with site.clients.get("/metrics", headers={"x-api-key": "key-of-metrics"}) as metrics:
            inside = metrics.status

    assert (unknown.status, unknown.error["error"]["type"]) == (404, "not_found_error")
    assert "nobody" in unknown.error["error"]["message"]
    assert inside == 404


async def test_a_worker_that_is_killed_costs_its_own_streams_and_nothing_else(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    fakes.openai.always(reply(LONG, pace=0.3))
    async with deploy(fakes, tmp_path) as site:
        streams = [asyncio.create_task(stream_text(site)) for _ in range(8)]
        await until(lambda: len(fakes.openai.questions) == 8)
        site.workers[0].process.send_signal(signal.SIGKILL)
        texts = await asyncio.gather(*streams)
        fakes.openai.always("Yes.")
        later = await site.answers(20)

    whole = [text for text in texts if "message_stop" in text]
    assert len(whole) == 4
    assert all("ten." in text for text in whole)
    assert {each.status for each in later} == {200}


async def test_a_reload_ends_no_stream(fakes: FakeProviders, tmp_path: Path) -> None:
    """Of a worker, whose file has changed, as of nginx."""
    fakes.openai.always(reply(LONG, pace=0.3))
    async with deploy(fakes, tmp_path) as site:
        streams = [asyncio.create_task(stream_text(site)) for _ in range(8)]
        await until(lambda: len(fakes.openai.questions) == 8)
        site.file.write_text(site.file.read_text().replace("large: openai", "other: openai"))
        for worker in site.workers:
            worker.process.send_signal(signal.SIGHUP)
        os.kill(int((tmp_path / "nginx.pid").read_text()), signal.SIGHUP)
        texts = await asyncio.gather(*streams)
        fakes.openai.always("Yes.")
        other = await site.answers(10, body={**HELLO, "model": "other"})

    assert all("ten." in text and "message_stop" in text for text in texts)
    assert {each.status for each in other} == {200}


async def test_a_budget_holds_over_all_workers_of_two_machines(fakes: FakeProviders, tmp_path: Path) -> None:
    """The 100 dollars of the shipped file are eleven answers of 9."""
    fakes.openai.always(reply("Yes.", usage=Usage(0, 900_000)))
    with redis_server(tmp_path) as redis:
        async with deploy(fakes, tmp_path, "--workers", "2", state=redis.url) as site:
            answers = [await site.answer(body={**HELLO, "max_tokens": 900_000}) for _ in range(14)]

    assert [each.status for each in answers] == [200] * 11 + [429] * 3
    assert answers[-1].error["error"]["type"] == "rate_limit_error"


async def stream_text(site: Site) -> str:
    """Returns what came of a stream, also where it broke off."""
    said = b""
    with suppress(aiohttp.ClientError):
        async with site.clients.post("/v1/messages", json={**HELLO, "stream": True}, headers=KEY) as answer:
            async for chunk in answer.content.iter_any():
                said += chunk
    return said.decode()
