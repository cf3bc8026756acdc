"""A program reaches the hosts that are allowed, as they are written, and no others by any trick."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

import pytest

from ai_battle.core.errors import ConfigError
from ai_battle.tools.builtin.code_execution import CodeExecutionTool
from ai_battle.tools.sandbox import (
    Address,
    AddressFilter,
    EgressLimits,
    EgressProxy,
    NoFence,
    Program,
    RequestRefused,
    SandboxLimits,
    choose,
    proxy_request,
)

from .conftest import no_bubblewrap

needs_bubblewrap = pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap())


@pytest.mark.parametrize(
    ("written", "host", "port", "expected"),
    [
        ("example.org", "example.org", 443, True),
        ("example.org", "example.org", 80, True),
        ("example.org", "example.org", 22, False),
        ("example.org", "www.example.org", 443, False),
        ("example.org", "notexample.org", 443, False),
        ("Example.ORG.", "example.org", 80, True),
        ("*.example.org", "www.example.org", 443, True),
        ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "example.org.evil.test", 443, False),
        ("*.example.org", "evil-example.org", 443, False),
        ("example.org:8443", "example.org", 8443, True),
        ("example.org:8443", "example.org", 443, False),
        ("10.0.0.5", "10.0.0.5", 80, True),
        ("::1", "::1", 80, True),
        ("[::1]:8080", "::1", 8080, True),
    ],
)
def test_a_host_is_allowed_as_it_is_written(written: str, host: str, port: int, expected: bool) -> None:
    assert AddressFilter([written]).allows(Address(host, port)) is expected


@pytest.mark.parametrize(
    "written", ["", "*", "*.", "http://example.org", "a b", "example.org/x", "me@example.org", "*.10.0.0.1", "a:99999"]
)
def test_what_is_no_host_is_named(written: str) -> None:
    with pytest.raises(ConfigError, match=r"allow_hosts: .* is not a host; write example\.org"):
        AddressFilter([written])
    with pytest.raises(ConfigError, match="is not a host"):
        CodeExecutionTool(allow_hosts=[written])


def test_the_model_is_told_what_it_may_reach() -> None:
    assert "has no network" in CodeExecutionTool().description
    assert (
        "reaches example.org, *.example.net alone"
        in CodeExecutionTool(allow_hosts=["example.org", "*.example.net"]).description
    )


@pytest.mark.parametrize(
    ("head", "place"),
    [
        ("CONNECT Example.org.:443 HTTP/1.1", "example.org:443"),
        ("CONNECT [::1]:443 HTTP/1.1", "[::1]:443"),
        ("CONNECT [0:0:0:0:0:ffff:7f00:1]:443 HTTP/1.1", f"[{ip_address('::ffff:7f00:1')}]:443"),
        ("GET http://example.org HTTP/1.1", "example.org:80"),
        ("GET HTTP://example.org:8080/x?y#z HTTP/1.0", "example.org:8080"),
        ("GET http://example.org?x HTTP/1.1", "example.org:80"),
    ],
)
def test_what_is_asked_for_is_found(head: str, place: str) -> None:
    assert str(proxy_request(f"{head}\r\n\r\n".encode()).address) == place


@pytest.mark.parametrize(
    "head",
    [
        "CONNECT example.org HTTP/1.1",
        "CONNECT example.org:0 HTTP/1.1",
        "CONNECT example.org:99999 HTTP/1.1",
        "CONNECT example.org:443@127.0.0.1:80 HTTP/1.1",
        "CONNECT example.org\t:443 HTTP/1.1",
        "CONNECT example.org%00.evil.test:443 HTTP/1.1",
        "CONNECT ex\u00e4mple.org:443 HTTP/1.1",
        "CONNECT [fe80::1%25lo]:443 HTTP/1.1",
        "CONNECT /run/docker.sock HTTP/1.1",
        "GET http://example.org@127.0.0.1/ HTTP/1.1",
        "GET http://example.org\\@127.0.0.1/ HTTP/1.1",
        "GET https://example.org/ HTTP/1.1",
        "GET ftp://example.org/ HTTP/1.1",
        "GET unix:/run/docker.sock HTTP/1.1",
        "GET / HTTP/1.1",
        "GET //example.org/ HTTP/1.1",
        "GET http://example.org/ HTTP/1.1\r\nHost : x",
        "GET http://example.org/ HTTP/1.1\r\n folded: x",
        "GET http://example.org/ HTTP/1.1\nX: y",
        "GET http://example.org/ HTTP/2.0",
        "GET http://example.org/ x HTTP/1.1",
        "POST http://example.org/ HTTP/1.1\r\nTransfer-Encoding: chunked",
        "POST http://example.org/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2",
        "POST http://example.org/ HTTP/1.1\r\nContent-Length: -1",
        "POST http://example.org/ HTTP/1.1\r\nContent-Length: 1, 1",
        "",
    ],
)
def test_what_is_not_clear_is_refused(head: str) -> None:
    with pytest.raises(RequestRefused):
        proxy_request(f"{head}\r\n\r\n".encode())


def test_a_request_is_sent_anew_for_the_host_that_was_looked_at() -> None:
    head = (
        b"POST http://example.org/a?b HTTP/1.1\r\nHost: evil.test\r\nhOST: other.test\r\nProxy-Authorization: x\r\n"
        b"Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nUpgrade: h2c\r\nContent-Length: 3\r\nX-Kept: yes\r\n\r\n"
    )
    wish = proxy_request(head)
    assert wish.head == (
        b"POST /a?b HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\nContent-Length: 3\r\nX-Kept: yes\r\n\r\n"
    )
    assert wish.length == 3


@dataclass
class Far:
    """A server that notes all it is sent, and answers each connection once."""

    port: int = 0
    heard: list[bytes] = field(default_factory=list)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, EOFError, TimeoutError):
            self.heard.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            await writer.drain()
            async with asyncio.timeout(0.05):
                self.heard[-1] += await reader.read(65536)
        writer.close()


@pytest.fixture
async def far() -> AsyncIterator[Far]:
    found = Far()
    async with await asyncio.start_server(found.answer, "127.0.0.1", 0) as server:
        found.port = server.sockets[0].getsockname()[1]
        yield found


@contextlib.asynccontextmanager
async def doors(proxy: EgressProxy) -> AsyncIterator[int]:
    """The port of a proxy, handed over as by a supervisor."""
    async with proxy.open() as descriptor:
        with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(fileno=descriptor) as channel:
            socket.send_fds(channel, [b"."], [listener.fileno()])
            port = listener.getsockname()[1]
            channel.detach()
        yield port


async def send(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    try:
        async with asyncio.timeout(30):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def test_an_allowed_host_is_reached_and_noted(far: Far) -> None:
    proxy = EgressProxy(AddressFilter([f"127.0.0.1:{far.port}"]))
    async with doors(proxy) as port:
        got = await send(port, f"GET http://127.0.0.1:{far.port}/x HTTP/1.1\r\nHost: evil.test\r\n\r\n".encode())
        tunnel = f"CONNECT 127.0.0.1:{far.port} HTTP/1.1\r\n\r\nGET /t HTTP/1.1\r\nHost: any\r\n\r\n".encode()
        through = await send(port, tunnel)
    assert got.endswith(b"hello")
    assert through.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK")
    assert far.heard[0] == f"GET /x HTTP/1.1\r\nHost: 127.0.0.1:{far.port}\r\nConnection: close\r\n\r\n".encode()
    assert far.heard[1].startswith(b"GET /t")
    assert str(proxy.visits[0]).startswith(f"127.0.0.1:{far.port} sent ")
    assert "received" in str(proxy.visits[1])


async def test_other_hosts_and_other_spellings_are_refused(far: Far) -> None:
    proxy = EgressProxy(AddressFilter([f"example.org:{far.port}", f"*.example.net:{far.port}"]))
    spellings = (
        "127.0.0.1", "127.1", "0x7f.1", "2130706433", "0177.0.0.1", "0", "localhost", "[::1]", "[::ffff:127.0.0.1]",
        "example.org.evil.test", "169.254.169.254", "metadata.google.internal", "example.net",
    )  # fmt: skip
    async with doors(proxy) as port:
        for host in spellings:
            for line in (f"CONNECT {host}:{far.port}", f"GET http://{host}:{far.port}/"):
                got = await send(port, f"{line} HTTP/1.1\r\nHost: example.org\r\n\r\n".encode())
                assert got.startswith((b"HTTP/1.1 403", b"HTTP/1.1 400")), (line, got)
                assert b"allow_hosts" in got
    assert far.heard == []
    assert all(visit.refused for visit in proxy.visits)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1", "0.0.0.0"])
async def test_a_name_that_leads_inside_is_refused(far: Far, address: str) -> None:
    async def leads(place: Address) -> list[str]:
        return [address]

    proxy = EgressProxy(AddressFilter([f"example.org:{far.port}"]), resolve=leads)
    async with doors(proxy) as port:
        got = await send(port, f"CONNECT example.org:{far.port} HTTP/1.1\r\n\r\n".encode())
    assert got.startswith(b"HTTP/1.1 403")
    assert address.encode() in got
    assert far.heard == []


async def test_a_name_is_looked_up_once_for_what_is_connected_to(far: Far) -> None:
    """Rebinding: the second answer would be this machine's."""
    answers = [["192.0.2.1"], ["127.0.0.1"]]

    async def leads(place: Address) -> list[str]:
        return answers.pop(0)

    proxy = EgressProxy(AddressFilter([f"example.org:{far.port}"]), EgressLimits(connect_seconds=0.1), resolve=leads)
    async with doors(proxy) as port:
        got = await send(port, f"CONNECT example.org:{far.port} HTTP/1.1\r\n\r\n".encode())
    assert got.startswith((b"HTTP/1.1 403", b"HTTP/1.1 502"))
    assert answers == [["127.0.0.1"]]
    assert far.heard == []


async def test_a_second_request_behind_the_first_does_not_get_out(far: Far) -> None:
    proxy = EgressProxy(AddressFilter([f"127.0.0.1:{far.port}"]))
    url = f"http://127.0.0.1:{far.port}/"
    async with doors(proxy) as port:
        smuggled = b"POST " + url.encode() + b" HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET /evil HTTP/1.1\r\n\r\n"
        assert (await send(port, smuggled)).endswith(b"hello")
    assert far.heard[0].endswith(b"\r\n\r\nabc")
    assert b"evil" not in b"".join(far.heard)


async def test_connections_bytes_and_patience_are_limited(far: Far) -> None:
    proxy = EgressProxy(
        AddressFilter([f"127.0.0.1:{far.port}"]), EgressLimits(connections=3, traffic=200, head_seconds=0.1)
    )
    request = f"GET http://127.0.0.1:{far.port}/ HTTP/1.1\r\nX: {'x' * 120}\r\n\r\n".encode()
    async with doors(proxy) as port:
        assert await send(port, b"GET http://slow") == b""
        assert await send(port, b"x" * 40_000) == b""
        assert len(await send(port, request)) <= 200
        with pytest.raises((AssertionError, OSError)):
            assert await send(port, request)
    assert sum(visit.sent + visit.received for visit in proxy.visits) < 400


_REACHING = """
import socket, urllib.request
open_ = urllib.request.build_opener(urllib.request.ProxyHandler({{"http": "http://127.0.0.1:3128"}})).open
print(open_("http://127.0.0.1:{port}/in", timeout=5).read())
for host in ("127.0.0.1", "::1", "localhost"):
    try:
        socket.create_connection((host, {port}), timeout=1)
        print("ESCAPED", host)
    except OSError:
        pass
try:
    open_("http://169.254.169.254/", timeout=5)
    print("ESCAPED")
except OSError as error:
    print(error)
"""


@needs_bubblewrap
async def test_a_program_behind_bubblewrap_gets_out_by_the_proxy_alone(far: Far, workspace: Path) -> None:
    sandbox = choose(hosts=[f"127.0.0.1:{far.port}"])
    code = _REACHING.format(port=far.port)
    outcome = await sandbox.run(Program("python", code, 10.0), workspace, SandboxLimits())
    assert (outcome.stdout, outcome.stderr) == ("b'hello'\nHTTP Error 403: Forbidden\n", "")
    assert [line.partition(" ")[0] for line in outcome.network] == [f"127.0.0.1:{far.port}", "169.254.169.254:80"]
    assert len(far.heard) == 1


@needs_bubblewrap
async def test_what_was_reached_is_in_the_result_of_the_tool(far: Far, workspace: Path) -> None:
    """Whatever a program's library is, it finds the proxy in its environment."""
    tool = CodeExecutionTool(workspace, allow_hosts=[f"127.0.0.1:{far.port}"])
    code = f"import urllib.request\nprint(urllib.request.urlopen('http://127.0.0.1:{far.port}/').read())"
    result = await tool.execute({"language": "python", "code": code})
    assert result["stdout"] == "b'hello'\n"
    assert result["network"][0].startswith(f"127.0.0.1:{far.port} sent ")


def test_a_fence_that_can_not_keep_programs_to_hosts_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoFence, match=r"landlock: can't keep a program to some hosts .*only bubblewrap can"):
        choose(hosts=["example.org"])
    for level in ("none", "docker"):
        with pytest.raises(NoFence, match=f"`sandbox: {level}` can't keep a program to some hosts"):
            choose(level, allow_unsandboxed=True, hosts=["example.org"])
