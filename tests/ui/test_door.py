"""Who may ask the page's server, and which rules its pages stand under."""

import asyncio
import signal
import socket
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from aiohttp import ClientSession, CookieJar

from ai_battle.cli import run_command
from ai_battle.conversation.runs import RunOverview

from .client import PageClient, talk

EVERYWHERE = ("/", "/static/main.js", "/api/configs", "/api/runs", "/api/events", "/runs/x/report", "/nothing")


async def test_nothing_is_shown_without_the_cookie(page: PageClient) -> None:
    async with ClientSession() as stranger:
        for path in EVERYWHERE:
            async with stranger.get(page.base + path) as response:
                assert response.status == 403, path
                assert "ai-battle ui" in await response.text()


async def test_the_key_of_the_address_works_once_and_becomes_a_cookie_that_scripts_can_not_read(
    page: PageClient,
) -> None:
    cookie = next(iter(page.session.cookie_jar))
    assert cookie["httponly"]
    assert cookie["samesite"] == "Strict"
    assert page.keeper.key == ""
    async with ClientSession() as second, second.get(f"{page.base}/?key=") as response:
        assert response.status == 403
    async with ClientSession() as second, second.get(f"{page.base}/?key={page.keeper.session}") as response:
        assert response.status == 403


async def test_another_browser_gets_in_by_a_new_address_that_stands_on_the_terminal(page: PageClient) -> None:
    said: list[str] = []
    page.keeper.say = said.append
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as second:
        for _ in range(3):
            async with second.get(page.base) as response:
                assert (response.status, page.keeper.key in await response.text()) == (403, False)
        assert said == [page.keeper.address]
        async with second.get(said[0]) as response:
            assert response.status == 200
        async with second.get(f"{page.base}/api/runs") as response:
            assert response.status == 200
    async with ClientSession() as third, third.get(said[0]) as response:
        assert response.status == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost"])
async def test_a_name_that_was_led_to_this_machine_is_refused(page: PageClient, host: str) -> None:
    named = host.format(port=page.keeper.port)
    status, body = await page.get("/api/runs", Host=named)
    assert (status, "127.0.0.1" in body) == (403, True)


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "http://127.0.0.1:1"])
async def test_what_changes_something_has_to_come_from_the_page(page: PageClient, origin: str | None) -> None:
    headers = {"Origin": origin} if origin else {}
    for path in ("/api/runs", "/api/check", "/api/runs/x/stop", "/api/runs/x/answer"):
        async with page.session.post(page.base + path, json={}, headers=headers) as response:
            assert response.status == 403, path


async def test_another_page_may_not_ask_for_anything(page: PageClient) -> None:
    for site in ("cross-site", "same-site"):
        status, _ = await page.get("/api/runs", **{"Sec-Fetch-Site": site})
        assert status == 403


async def test_every_answer_stands_under_a_strict_policy(page: PageClient) -> None:
    for path in ("/", "/static/main.js", "/api/configs", "/nothing", "/static/nothing.js"):
        async with page.session.get(page.base + path) as response:
            policy = response.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "script-src 'self';" in policy
            assert "require-trusted-types-for 'script'" in policy
            assert "unsafe" not in policy
            assert response.headers["X-Content-Type-Options"] == "nosniff"
            assert response.headers["Cache-Control"] == "no-store"


async def test_a_body_is_bounded_and_has_to_be_json(page: PageClient) -> None:
    headers = {"Origin": page.base}
    async with page.session.post(f"{page.base}/api/check", data=BytesIO(b"x" * 7_000_000), headers=headers) as response:
        assert response.status == 413
    for body, kind in ((b"{", "application/json"), (b"[]", "application/json"), (b"{}", "text/plain")):
        told = {**headers, "Content-Type": kind}
        async with page.session.post(f"{page.base}/api/check", data=body, headers=told) as response:
            assert response.status == 400
            assert "JSON" in (await response.json())["error"]


async def test_a_report_which_names_no_icon_has_one(page: PageClient) -> None:
    status, _ = await page.get("/favicon.ico")
    assert status == 200


@pytest.mark.parametrize("name", ["..%2f..%2fapp.py", "%2e%2e/app.py", "app.py", ".", "", "..%5capp.py"])
async def test_only_the_files_of_the_page_are_served(page: PageClient, name: str) -> None:
    status, _ = await page.get(f"/static/{name}")
    assert status == 404


def test_a_port_that_is_in_use_is_named_with_the_way_out(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code = run_command(["ui", "--no-open", "--port", str(port)])
    assert code == 2
    assert f"127.0.0.1:{port}" in (said := capsys.readouterr().err)
    assert "--port" in said


@pytest.mark.slow
def test_ctrl_c_ends_the_page_and_keeps_its_runs(here: Path) -> None:
    """The whole program: its address is printed, and what it was doing can be resumed."""
    command = [sys.executable, "-m", "ai_battle", "ui", "--no-open", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout
        address = program.stdout.readline().removeprefix("Open ").strip()
        base = address.partition("/?")[0]
        run = asyncio.run(_start(address, base))
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=30)
    assert (program.returncode, "Traceback" in said) == (0, False)
    assert RunOverview.read(Path("runs") / run).status == "interrupted"
    assert run_command(["resume", f"runs/{run}", "-q"]) == 0


async def _start(address: str, base: str) -> str:
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as session:
        async with session.get(address) as response:
            assert response.status == 200
        body = {"source": "talk.yaml", "text": talk(3, pace=0.1)}
        async with session.post(f"{base}/api/runs", json=body, headers={"Origin": base}) as response:
            return str((await response.json())["run"])
