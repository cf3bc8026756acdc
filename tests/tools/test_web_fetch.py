"""Pages of the public web become readable text; nothing else is reached, whatever it is called."""

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from io import BytesIO
from time import monotonic
from typing import Any

import pytest
from aiohttp import web
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from ai_battle.tools.builtin.web_fetch import WebFetchTool
from ai_battle.tools.web.addresses import why_not_public
from ai_battle.tools.web.html import readable_page
from tests.growing import IN_PROPORTION, growth

from .conftest import Call
from .servers import Handler, Names, Served, serving

PAGE = """<!doctype html><html><head><title>Owls &amp; hawks</title><style>p {color: red}</style></head><body>
<nav><a href="/">Home</a> <a href="/shop">Shop</a></nav>
<main><h1>Owls</h1><p>Owls hunt <b>at
night</b>; see <a href="hawks.html">hawks</a>.</p><ul><li>barn owl</li><li>tawny owl</li></ul>
<table><tr><th>name</th><th>size</th></tr><tr><td>barn</td><td>35 cm</td></tr></table>
<pre>for owl in owls:
    hoot()</pre>
<p>Their eyes can't move, so they turn their heads by up to 270 degrees, which looks odd but works very well. A long
paragraph follows to make this an article of its own, as articles are.</p></main>
<script>if (1 < 2) { document.write("<p>never</p>") }</script><footer>Imprint</footer></body></html>"""


def text(body: str | bytes, kind: str = "text/html", **options: Any) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        data = body.encode() if isinstance(body, str) else body
        return web.Response(body=data, headers={"content-type": kind}, **options)

    return answer


@asynccontextmanager
async def fetching(answer: Handler, **options: Any) -> AsyncIterator[tuple[WebFetchTool, Served]]:
    async with serving(answer) as served:
        yield WebFetchTool(allow_addresses=[served.address], **options), served


async def test_a_page_is_read_as_a_person_would_read_it(call_tool: Call) -> None:
    async with fetching(text(PAGE)) as (fetch, served):
        page = await call_tool(fetch, url=f"{served.url}/birds/owls.html", links=True)
    assert page["title"] == "Owls & hawks"
    assert page["text"].startswith(
        "# Owls\n\nOwls hunt at night; see hawks.\n\n- barn owl\n- tawny owl\n\nname | size\nbarn | 35 cm\n\n"
        "for owl in owls:\n    hoot()\n\nTheir eyes can't move"
    )
    assert "never" not in page["text"]
    assert "Imprint" not in page["text"]
    assert page["links"] == [{"text": "hawks", "url": f"{served.url}/birds/hawks.html"}]


@pytest.mark.parametrize(
    ("body", "kind", "read"),
    [
        ("just text <b>", "text/plain", "just text <b>"),
        ('{"a": 1}', "application/json", '{"a": 1}'),
        ("<a>1</a>", "application/atom+xml", "<a>1</a>"),
        ("<p>Grüße".encode("latin-1"), "text/html; charset=iso-8859-1", "Grüße"),
        ("<meta charset='windows-1252'><p>Grüße".encode("cp1252"), "text/html", "Grüße"),
        ("<p>Grüße", "text/html; charset=nonsense", "Grüße"),
        ("<p>a", "text/html; charset=rot13", "a"),
        ("<p>a", "text/html; charset=unicode_escape", "a"),
        (b"<p>a\xff", "text/html", "a\ufffd"),
        ("<p>1 < 2 &amp;&lt; 3 &#9999999999;", "text/html", "1 < 2 &< 3 \ufffd"),
        (f"<p>&#{'9' * 5000}; end", "text/html", f"&#{'9' * 5000}; end"),
        ("", "text/html", ""),
    ],
    ids=lambda value: repr(value)[:30],
)
async def test_texts_of_many_kinds_are_read(call_tool: Call, body: Any, kind: str, read: str) -> None:
    async with fetching(text(body, kind)) as (fetch, served):
        assert (await call_tool(fetch, url=served.url))["text"] == read


def pdf(words: str) -> bytes:
    writer = PdfWriter()
    page = writer.add_blank_page(300, 300)
    font = DictionaryObject({NameObject(f"/{key}"): NameObject(f"/{value}") for key, value in
                             {"Type": "Font", "Subtype": "Type1", "BaseFont": "Helvetica"}.items()})  # fmt: skip
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): DictionaryObject({NameObject("/F"): font})})
    stream = DecodedStreamObject()
    stream.set_data(f"BT /F 12 Tf 20 200 Td ({words}) Tj ET".encode())
    page[NameObject("/Contents")] = stream
    writer.add_metadata({"/Title": "A paper"})
    writer.write(made := BytesIO())
    return made.getvalue()


async def test_a_pdf_is_read(call_tool: Call) -> None:
    async with fetching(text(pdf("Owls hunt at night"), "application/pdf")) as (fetch, served):
        page = await call_tool(fetch, url=served.url)
    assert (page["title"], page["text"].strip(), page["pages"]) == ("A paper", "Owls hunt at night", 1)


async def test_a_damaged_pdf_is_told(call_tool: Call) -> None:
    async with fetching(text(b"%PDF-1.7 nonsense", "application/octet-stream")) as (fetch, served):
        assert "can't be read" in (await call_tool(fetch, url=served.url))["error"]


PRIVATE = [
    "http://127.0.0.1/", "http://localhost/", "http://127.1/", "http://127.0.1/", "http://2130706433/", "http://0x7f000001/",
    "http://0x7f.1/", "http://0177.0.0.1/", "http://017700000001/", "http://127.0.0.1./", "http://0/", "http://0.0.0.0/",
    "http://127.255.255.254/", "http://[::1]/", "http://[::]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/", "http://[::127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[64:ff9b::127.0.0.1]/",
    "http://[2002:7f00:1::]/", "http://[2001:0:7f00:1::1]/", "http://[fe80::1]/", "http://[fe80::1%25lo]/",
    "http://[fc00::1]/", "http://[fd00:ec2::254]/", "http://[fec0::1]/", "http://[ff02::1]/", "http://[100::1]/",
    "http://10.0.0.1/", "http://10.255.255.255/", "http://172.16.0.1/", "http://172.31.255.1/", "http://192.168.0.1/",
    "http://169.254.169.254/latest/meta-data/", "http://0xa9fea9fe/", "http://2852039166/", "http://[::ffff:a9fe:a9fe]/",
    "http://169.254.170.2/", "http://100.100.100.200/", "http://168.63.129.16/", "http://192.0.0.192/", "http://100.64.0.1/",
    "http://198.18.0.1/", "http://224.0.0.1/", "http://240.0.0.1/", "http://255.255.255.255/", "http://192.0.2.1/",
    "http://\u2460\u2461\u2466.\u24ea.\u24ea.\u2460/", "http://\uff11\uff12\uff17.\uff10.\uff10.\uff11/",
    "http://127\u30020\u30020\u30021/", "http://localhost.localdomain/", "http://ip6-localhost/", "HTTP://LOCALHOST/",
    "http://localhost\uff0e/", "127.0.0.1", "http:127.0.0.1/", "http:///127.0.0.1/", "http:\\\\127.0.0.1\\",
]  # fmt: skip


@pytest.mark.parametrize("url", PRIVATE)
async def test_addresses_that_are_not_public_are_not_reached_by_any_spelling(call_tool: Call, url: str) -> None:
    """Something listens there: only a refusal keeps it from being asked."""
    connected: list[object] = []
    async with AsyncExitStack() as opened:
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            server = await asyncio.start_server(lambda *both: connected.append(both), host, 0, family=family)
            opened.callback(server.close)
            port = server.sockets[0].getsockname()[1]
            head, slash, tail = url.removeprefix("http://").removeprefix("HTTP://").partition("/")
            output = await call_tool(WebFetchTool(timeout=3), url=f"http://{head}:{port}{slash}{tail}")
            assert set(output) == {"error"}, output
        output = await call_tool(WebFetchTool(timeout=3), url=url)
    assert set(output) == {"error"}, output
    assert connected == []


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_public_addresses_may_be_reached(address: str) -> None:
    assert why_not_public(address) == ""


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "ftp://example.com/", "gopher://x/", "data:text/html,hi", "javascript:1", "http://", "https:///x",
     "http://user:password@example.com/", "http://example.com:99999/", "http://a b/", "", "http://[::1", "unix:/x",
     "http://example.com\0.evil/", f"http://example.com/{'a' * 5000}", "view-source:http://x", "//127.0.0.1/x"],
)  # fmt: skip
async def test_what_is_no_address_of_a_page_is_refused(call_tool: Call, url: str) -> None:
    assert set(await call_tool(WebFetchTool(timeout=2), url=url)) == {"error"}


def redirect(to: Callable[[web.Request], str], status: int = 302) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/end":
            return web.Response(text="the end", content_type="text/plain")
        return web.Response(status=status, headers={"location": to(request)})

    return answer


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed(call_tool: Call, status: int) -> None:
    async with fetching(redirect(lambda _: "end", status)) as (fetch, served):
        page = await call_tool(fetch, url=served.url)
    assert (page["text"], page["url"]) == ("the end", f"{served.url}/end")


@pytest.mark.parametrize(
    "target",
    ["http://127.0.0.1:1/", "http://localhost:1/", "http://[::1]:1/", "http://169.254.169.254/", "http://10.0.0.1/",
     "//127.0.0.1:1/", "file:///etc/passwd", "http://2130706433:1/", "http://user:pw@127.0.0.1:1/", "http://[::1", "gopher://x"],
)  # fmt: skip
async def test_a_redirect_leads_nowhere_that_an_address_would_not(call_tool: Call, target: str) -> None:
    async with fetching(redirect(lambda _: target)) as (fetch, served):
        output = await call_tool(fetch, url=served.url)
    assert set(output) == {"error"}
    assert len(served.requests) == 1


async def test_a_redirect_to_the_same_private_host_by_another_name_is_looked_at_again(call_tool: Call) -> None:
    async with serving(text("inner")) as inner:
        async with fetching(redirect(lambda _: f"http://localhost:{inner.port}/")) as (fetch, served):
            assert "this machine" in (await call_tool(fetch, url=served.url))["error"]
        assert inner.requests == []


async def test_redirects_in_a_circle_end(call_tool: Call) -> None:
    async with fetching(redirect(lambda request: request.path + "a")) as (fetch, served):
        assert "redirects more than 5 times" in (await call_tool(fetch, url=served.url))["error"]
    assert len(served.requests) == 6


async def test_a_name_that_leads_to_a_private_address_is_refused(call_tool: Call) -> None:
    names = Names({"innocent.example": ["127.0.0.1"], "six.example": ["::1"], "cloud.example": ["169.254.169.254"]})
    async with serving(text("secret")) as served:
        for name in names.left:
            output = await call_tool(WebFetchTool(resolver=names), url=f"http://{name}:{served.port}/")
            assert "only the public web" in output["error"]
    assert served.requests == []


async def test_a_name_that_changes_its_address_between_looking_and_connecting_gains_nothing(call_tool: Call) -> None:
    """However often the name is asked for, the address that is connected to is the one that was looked at."""
    async with serving(text("secret")) as served, serving(text("public")) as other:
        for first in ("8.8.8.8", "127.0.0.1"):
            names = Names({"rebinding.example": [first, "127.0.0.1", "127.0.0.1"]})
            fetch = WebFetchTool(timeout=1, resolver=names, allow_addresses=[other.address])
            assert set(await call_tool(fetch, url=f"http://rebinding.example:{served.port}/")) == {"error"}
    assert served.requests == []


async def test_an_exception_is_for_one_address_and_port_only(call_tool: Call) -> None:
    async with serving(text("<p>docs")) as wanted, serving(text("secret")) as other:
        fetch = WebFetchTool(allow_addresses=[wanted.address])
        assert (await call_tool(fetch, url=wanted.url))["text"] == "docs"
        assert "this machine" in (await call_tool(fetch, url=other.url))["error"]
    assert other.requests == []


async def test_a_server_that_speaks_no_tls_is_not_said_to_have_a_bad_certificate(call_tool: Call) -> None:
    async with fetching(text(PAGE)) as (fetch, served):
        output = await call_tool(fetch, url=served.url.replace("http:", "https:"))
    assert "was not fetched: no connection" in output["error"]
    assert "certificate" not in output["error"]


async def test_an_error_page_is_an_error(call_tool: Call) -> None:
    async with fetching(text("gone", status=404)) as (fetch, served):
        assert "status 404" in (await call_tool(fetch, url=served.url))["error"]


@pytest.mark.parametrize("kind", ["image/png", "application/zip", "video/mp4", "application/octet-stream"])
async def test_what_is_no_text_is_told(call_tool: Call, kind: str) -> None:
    async with fetching(text(b"\x00\x01", kind)) as (fetch, served):
        assert f"is {kind}, which has no text" in (await call_tool(fetch, url=served.url))["error"]


async def test_an_endless_page_is_read_in_part(call_tool: Call) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/plain"})
        await response.prepare(request)
        with_line = b"line\n" * 10_000
        while True:
            await response.write(with_line)

    async with fetching(endless) as (fetch, served):
        page = await call_tool(fetch, url=served.url)
    assert page["truncated"] is True


async def test_a_bomb_of_zeros_is_read_in_part(call_tool: Call) -> None:
    bomb = gzip.compress(b"<p>" + b"0" * (100 << 20), 9)
    headers = {"content-type": "text/html", "content-encoding": "gzip"}

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=bomb, headers=headers)

    async with fetching(answer) as (fetch, served):
        page = await call_tool(fetch, url=served.url)
    assert page.get("truncated") or "error" in page
    assert len(str(page)) < 100_000


async def test_a_page_that_never_comes_is_given_up(call_tool: Call) -> None:
    async def never(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(30)
        return web.Response()

    async with fetching(never, timeout=0.3) as (fetch, served):
        assert "did not answer in time" in (await call_tool(fetch, url=served.url))["error"]


async def test_a_page_that_drips_is_given_up(call_tool: Call) -> None:
    async def drips(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(100):
            await response.write(b".")
            await asyncio.sleep(0.05)
        return response

    async with fetching(drips, timeout=0.5) as (fetch, served):
        assert "did not answer in time" in (await call_tool(fetch, url=served.url))["error"]


async def test_a_page_that_takes_long_to_read_ends_with_the_clock_of_the_tool(call_tool: Call) -> None:
    async with fetching(text("<div>" * 200_000 + "deep"), timeout=0.2) as (fetch, served):
        begun = asyncio.get_running_loop().time()
        output = await call_tool(fetch, url=served.url)
        assert "could not be read within 0.2 s" in output["error"]
        assert asyncio.get_running_loop().time() - begun < fetch.timeout


def test_reading_a_page_ends_by_itself_when_its_time_has_come() -> None:
    with pytest.raises(TimeoutError):
        readable_page("<div>" * 200_000, ends=monotonic() + 0.05)


async def test_nothing_of_one_page_is_told_to_the_next(call_tool: Call) -> None:
    async with fetching(text("x")) as (fetch, served):
        await call_tool(fetch, url=served.url)
        await call_tool(fetch, url=served.url)
    assert all("cookie" not in request.headers and "referer" not in request.headers for request in served.requests)
    assert served.requests[0].headers["user-agent"].startswith("ai-battle/")


HOSTILE = [
    "<", "<a", "<a ", "<a href=", "<a href='", '<a href="', "<!--", "<!", "</", "<p>", "</p>", "<script>", "<title>",
    "&", "&#", "&#x", "&amp", "<nav>", "<pre>\n", " ", "\n", "<a href=x>", "<a b='", "<textarea>", "</script", "<td>",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_reading_takes_time_that_grows_with_the_page_only(piece: str) -> None:
    def read(size: int) -> None:
        readable_page(piece * (size // len(piece)) + ">", "http://example.com/")

    assert growth(read, 1 << 12) < IN_PROPORTION
