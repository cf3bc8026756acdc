"""The ready configurations with tools: scripted models make real calls of them, offline."""

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from aiohttp import web

from ai_battle.cli import run_command
from ai_battle.testing import FakeProviders, call
from tests.test_configs import FOLDER, events, fakes, require_server  # noqa: F401 - a fixture

RUN_TESTS = """
import roman
assert roman.roman(1994) == "MCMXCIV"
print("ALL TESTS PASS")
"""
ROMAN = """
def roman(number):
    signs = ((1000, "M"), (900, "CM"), (90, "XC"), (4, "IV"))
    text = ""
    for value, sign in signs:
        count, number = divmod(number, value)
        text += sign * count
    return text
"""
PAGE = "<html><head><title>Heat</title></head><body><article><h1>Heat</h1><p>2.4 degrees at night.</p></article></body>"


def run(name: str, *options: str) -> int:
    return run_command(["run", name, "--out", "here", "--quiet", "--trust", *options])


def transcript() -> str:
    return (Path("here") / "transcript.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("fakes")
def test_there_is_a_fence_or_the_run_says_how_to_get_one(capsys: pytest.CaptureFixture[str]) -> None:
    code = run_command(["tools", "call", "code_execution", '{"code": "print(1)"}'])
    assert code in (0, 3)
    shown = capsys.readouterr()
    assert '"stdout": "1\\n"' in shown.out if code == 0 else "fence" in shown.err


def test_programs_are_written_and_run(fakes: FakeProviders) -> None:  # noqa: F811
    if run_command(["tools", "call", "code_execution", '{"code": "print(1)"}']) == 3:
        pytest.skip("this machine has no fence for code")
    fakes.ollama.says(
        call("file_manipulation", action="write", path="roman.py", content=ROMAN),
        call("code_execution", language="python", code=RUN_TESTS),
        "It ran: ALL TESTS PASS",
    )
    assert run("coding-local") == 0
    assert (Path("here") / "workspace" / "roman.py").read_text() == ROMAN
    assert "ALL TESTS PASS\\n" in transcript()


def test_the_dice_decide(fakes: FakeProviders) -> None:  # noqa: F811
    fakes.ollama.says(call("dice", notation="1d20"), "A number was thrown, and the snow holds.")
    assert run("dice-tale") == 0
    assert '"total":' in transcript()


def test_the_database_is_asked_and_stays_as_it_is(fakes: FakeProviders) -> None:  # noqa: F811
    sold = "SELECT sum(quantity) AS sold FROM orders JOIN books ON books.id = book_id WHERE title = 'The Tide Tables'"
    fakes.openai.says(
        call("database_query", query=sold), call("database_query", query="DELETE FROM orders"), "Five copies."
    )
    before = (FOLDER / "material" / "bookshop.sqlite").read_bytes()
    assert run("ask-a-database") == 0

    assert '"rows": [[5]]' in transcript()
    assert "-> failed: " in transcript()
    assert (FOLDER / "material" / "bookshop.sqlite").read_bytes() == before


def test_the_database_is_what_its_script_makes() -> None:
    material = FOLDER / "material"
    made = sqlite3.connect(":memory:")
    made.executescript((material / "bookshop.sql").read_text(encoding="utf-8"))
    shipped = sqlite3.connect(f"file:{material / 'bookshop.sqlite'}?mode=ro", uri=True)
    assert [*shipped.iterdump()] == [*made.iterdump()]
    made.close()
    shipped.close()


@pytest.fixture
def site() -> Iterator[str]:
    """A SearXNG and a page, on this machine."""
    loop = asyncio.new_event_loop()

    async def search(request: web.Request) -> web.Response:
        return web.json_response({"results": [{"title": "Heat", "url": f"{address}/heat", "content": "At night."}]})

    async def page(request: web.Request) -> web.Response:
        return web.Response(text=PAGE, content_type="text/html")

    async def start_app() -> web.AppRunner:
        app = web.Application()
        app.router.add_get("/search", search)
        app.router.add_get("/heat", page)
        await (runner := web.AppRunner(app)).setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return runner

    runner = loop.run_until_complete(start_app())
    host, port = runner.addresses[0][:2]
    address = f"http://{host}:{port}"
    thread = Thread(target=loop.run_forever)
    thread.start()
    yield address
    asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(5)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(5)
    loop.close()


def test_the_web_is_searched_and_a_page_is_read(fakes: FakeProviders, site: str) -> None:  # noqa: F811
    fakes.anthropic.says(call("web_search", query="heat"), call("web_fetch", url=f"{site}/heat"), "2.4 degrees.")
    fakes.openai.says(call("web_fetch", url="http://127.0.0.1:1/"), "I could not open that.")
    entry = "discussion.tools.registry"
    code = run(
        "research",
        f"--set={entry}[0].parameters.backend=searxng",
        f"--set={entry}[0].parameters.base_url={site}",
        f"--set={entry}[1].parameters.allow_addresses=['{site.removeprefix('http://')}']",
    )
    assert code == 0
    assert f"{site}/heat" in transcript()
    assert "2.4 degrees at night." in transcript()
    assert "-> failed: " in transcript()


@pytest.mark.slow
def test_the_clock_of_the_server_is_asked(fakes: FakeProviders) -> None:  # noqa: F811
    require_server(FOLDER / "mcp-time.yaml")
    wanted = {"source_timezone": "UTC", "time": "07:00", "target_timezone": "Asia/Kolkata"}
    fakes.openai.says(call("time:convert_time", **wanted), "Half past twelve in Bengaluru.")
    assert run("mcp-time") == 0

    assert "12:30" in transcript()
    offered = next(event for event in events(Path("here")) if event["type"] == "tools_offered")
    assert [tool["name"] for tool in offered["tools"]] == ["time:get_current_time", "time:convert_time"]  # type: ignore[attr-defined]
