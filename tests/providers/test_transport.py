"""The seam for bytes, against a small server of the test's own: connections, redirects, TLS, and what is left open."""

import asyncio
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from aiohttp import web

from ai_battle.core.errors import ConfigError, ProviderError, Unreachable
from ai_battle.providers import anthropic, ollama, openai
from ai_battle.providers._calls import Deadlines

Transport: TypeAlias = Any


# Two hundred connections at once take their time where the machine has other work, too.
CLOCKS = Deadlines(connect=60.0)
ACCESS: dict[str, Any] = {"api_key": "a-key-of-mine", "environment": {}, "deadlines": CLOCKS}


def over_aiohttp(url: str) -> Transport:
    return through(openai.create("m", base_url=url, **ACCESS))


TRANSPORTS: dict[str, Callable[[str], Transport]] = {
    "aiohttp": over_aiohttp,
    "openai": lambda url: through(openai.create("m", base_url=url, transport="sdk", **ACCESS)),
    "anthropic": lambda url: through(anthropic.create("m", base_url=url, transport="sdk", **ACCESS)),
    "ollama": lambda url: through(ollama.create("m", base_url=url, transport="sdk", **ACCESS)),
}


def through(client: Any) -> Transport:
    transport: Transport = client.transport
    return transport


class Server:
    """Remembers who asked; answers in ways that tests need."""

    def __init__(self) -> None:
        self.url = ""
        self.peers: list[tuple[str, int]] = []
        self.paths: list[str] = []
        self.bodies: list[bytes] = []

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        self.peers.append(request.transport.get_extra_info("peername"))
        self.paths.append(request.path)
        self.bodies.append(await request.content.read())
        if request.path.startswith("/around"):
            return web.Response(status=308, headers={"Location": request.path})
        if request.path == "/nowhere":
            return web.Response(status=307, headers={"Location": "http://[bad"})
        if request.path == "/moved":
            return web.Response(status=307, headers={"Location": "/here"})
        return await self._drop_by_drop(request)

    async def _drop_by_drop(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for number in range(3):
            await response.write(f"data: {number}\n\n".encode())
            await asyncio.sleep(0.01)
        return response


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    serving = Server()
    runner = web.ServerRunner(web.Server(serving.answer, access_log=None), shutdown_timeout=0.05)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    serving.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield serving
    await runner.cleanup()


@pytest.fixture(params=TRANSPORTS)
def transport(request: pytest.FixtureRequest, server: Server) -> Transport:
    return TRANSPORTS[request.param](server.url)


async def post(transport: Transport, path: str = "/here", body: bytes = b"{}") -> bytes:
    async with await transport.send("POST", path, body) as reply:
        came: bytes = await reply.whole()
        return came


async def test_bytes_come_as_the_server_sends_them(transport: Transport) -> None:
    pieces = []
    async with await transport.send("POST", "/here", b"{}") as reply:
        assert reply.status == 200
        while piece := await reply.more():
            pieces.append(piece)

    assert b"".join(pieces) == b"data: 0\n\ndata: 1\n\ndata: 2\n\n"
    assert len(pieces) > 1


async def test_connections_are_used_again(transport: Transport, server: Server) -> None:
    for _ in range(4):
        await post(transport)

    assert len(set(server.peers)) == 1


async def test_a_connection_is_used_again_when_the_rest_was_awaited(transport: Transport, server: Server) -> None:
    for _ in range(4):
        async with await transport.send("POST", "/here", b"{}") as reply:
            await reply.more()
            await reply.rest()

    assert len(set(server.peers)) == 1


async def test_a_connection_that_was_left_early_is_not_used_again(transport: Transport, server: Server) -> None:
    for _ in range(2):
        async with await transport.send("POST", "/here", b"{}") as reply:
            await reply.more()

    assert len(set(server.peers)) == 2


async def test_two_hundred_calls_do_not_wait_for_each_other(server: Server) -> None:
    transport = over_aiohttp(server.url)

    answers = await asyncio.gather(*(post(transport) for _ in range(200)))

    assert len(answers) == 200


async def test_a_redirect_within_the_origin_is_followed_with_the_body(transport: Transport, server: Server) -> None:
    assert b"data: 2" in await post(transport, "/moved", b'{"a":1}')
    assert server.paths == ["/moved", "/here"]
    assert server.bodies == [b'{"a":1}'] * 2


async def test_redirects_come_to_an_end(transport: Transport, server: Server) -> None:
    with pytest.raises(Unreachable, match="more than 3 times"):
        await post(transport, "/around")

    assert len(server.paths) == 4


async def test_a_redirect_to_nowhere_is_told(transport: Transport) -> None:
    with pytest.raises(Unreachable, match=r"redirects to 'http://\[bad', which is not an address"):
        await post(transport, "/nowhere")


@pytest.mark.parametrize("kind", TRANSPORTS)
async def test_what_does_not_speak_http_is_told_in_one_line(kind: str) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as other:
        url = f"http://127.0.0.1:{other.sockets[0].getsockname()[1]}"
        with pytest.raises(Unreachable, match=r"^\S+ at \S+ the connection broke \([^\n]+\)\.$"):
            await post(TRANSPORTS[kind](url))


async def test_a_request_that_meets_a_connection_being_closed_goes_over_a_new_one() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    requests: list[int] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError), closing(writer):
            while head := await reader.readuntil(b"\r\n\r\n"):
                requests.append(int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]))
                if len(requests) == 2:
                    writer.write_eof()
                await reader.readexactly(requests[-1])
                writer.write(answer)

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as other:
        transport = over_aiohttp(f"http://127.0.0.1:{other.sockets[0].getsockname()[1]}")
        await post(transport, body=b"{}")
        await post(transport, body=b" " * 8_000_000)

    assert requests == [2, 8_000_000, 8_000_000]


async def test_a_large_body_arrives_whole(transport: Transport, server: Server) -> None:
    body = b'{"text":"%b"}' % (b"x" * 3_000_000)

    await post(transport, body=body)

    assert server.bodies == [body]


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """One that nobody has signed but itself."""
    file = tmp_path / "cert.pem"
    command = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    subprocess.run(
        ["openssl", *command.split(), "-keyout", str(file), "-out", str(tmp_path / "only.pem")],
        check=True,
        capture_output=True,
    )
    file.write_text(file.read_text() + (tmp_path / "only.pem").read_text())
    return file


@pytest.mark.parametrize("kind", TRANSPORTS)
async def test_a_certificate_of_nobody_is_refused_for_good(kind: str, certificate: Path) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    runner = web.ServerRunner(web.Server(Server().answer, access_log=None), shutdown_timeout=0.05)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    port = runner.addresses[0][1]

    with pytest.raises(Unreachable, match=r"no secure connection.*certificate") as told:
        await post(TRANSPORTS[kind](f"https://127.0.0.1:{port}"))

    assert told.value.again == "never"
    await runner.cleanup()


@pytest.mark.parametrize("kind", TRANSPORTS)
async def test_https_to_a_plain_server_says_so(kind: str, server: Server) -> None:
    with pytest.raises(Unreachable, match="speaks plain http") as told:
        await post(TRANSPORTS[kind](server.url.replace("http:", "https:")))

    assert told.value.again == "never"


@pytest.mark.parametrize("kind", TRANSPORTS)
async def test_a_host_that_does_not_exist_is_named(kind: str) -> None:
    with pytest.raises(ProviderError, match=r"http://no-such-host\.invalid(:80)?: no such host"):
        await post(TRANSPORTS[kind]("http://no-such-host.invalid"))


async def test_proxies_are_taken_from_the_environment_but_not_for_this_machine(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", server.url)

    assert b"data: 2" in await post(over_aiohttp("http://model.example/v1"))
    assert server.paths == ["/v1/here"]

    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert b"data: 2" in await post(over_aiohttp(server.url))


async def test_a_proxy_that_can_not_be_used_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://ann:secret@127.0.0.1:9")
    with pytest.raises(Unreachable, match=r"through http://127\.0\.0\.1:9, the proxy in your environment") as told:
        await post(over_aiohttp("http://model.example/v1"))
    assert "secret" not in str(told.value)

    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:9")
    with pytest.raises(ConfigError, match=r"speaks SOCKS.* list model\.example in no_proxy"):
        over_aiohttp("http://model.example/v1")


LEAVES_NOTHING = """
import asyncio, gc
from aiohttp import web
from ai_battle.providers import ollama, openai
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import user
from ai_battle.testing import FakeProviders

async def main():
    async with FakeProviders() as fakes:
        for transport in ("aiohttp", "sdk"):
            clients = [openai.create("gpt-4o", transport=transport, environment=fakes.environment),
                       ollama.create("phi4", transport=transport, environment=fakes.environment)]
            for client in clients:
                print((await client.complete(ModelRequest((user("hi"),)))).text)

for _ in range(2):
    asyncio.run(main())
    gc.collect()
loops = [each for each in gc.get_objects() if isinstance(each, asyncio.BaseEventLoop)]
assert not loops, loops
"""


@pytest.mark.slow
def test_nothing_is_left_open_when_a_program_ends() -> None:
    run = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", LEAVES_NOTHING], capture_output=True, text=True, check=False
    )

    assert run.returncode == 0, run.stderr
    assert "Warning" not in run.stderr
    assert "Unclosed" not in run.stderr
    assert run.stdout.count("my answer") == 8
