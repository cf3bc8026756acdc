"""Clients that others have written, against the command as they start it and reach it."""

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from ai_battle.testing import FakeProviders, fault

from ..advisor import node
from .conftest import Assistant, Mode, by_stdio

pytestmark = pytest.mark.slow
INSPECTOR, SDK = "@modelcontextprotocol/inspector@2.12.0", "@modelcontextprotocol/sdk@1.32.2"
SCRIPT = Path(__file__).with_name("client.mjs")
TOKEN = "a-token-of-the-test"
COMMAND = (sys.executable, "-m", "ai_battle", "mcp")
TEA = {"topic": "Which tea is best?", "models": ["Ann=gpt-4o", "Ben=gpt-4o"], "turns": 2}


@asynccontextmanager
async def by_http(*options: str) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """The address of a server that runs, and its process."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        *("--http", "--port", "0", *options),
        env={**os.environ, "AI_BATTLE_MCP_TOKEN": TOKEN},
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr
    first, _ = (await process.stderr.readline()).decode().split(";")
    assert TOKEN in (await process.stderr.readline()).decode()
    try:
        yield first.rpartition(" ")[2], process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        await process.communicate()


@asynccontextmanager
async def assistant_at(address: str, mode: Mode) -> AsyncIterator[Assistant]:
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {TOKEN}"}, timeout=60) as http,
        Client(streamable_http_client(address, http_client=http), mode=mode) as client,
    ):
        yield Assistant(client)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_by_http_a_discussion_is_told_cancelled_and_resumed(
    folder: Path, fakes: FakeProviders, mode: Mode
) -> None:
    fakes.openai.says("Green.", "White.", fault("stall_before_headers"), "Black.", "Red.")

    async with by_http() as (address, _), assistant_at(address, mode) as assistant:
        await assistant.cancel_at(3, "discuss", **TEA)
        told = await assistant.call("discuss", resume="last")

    assert [said["text"] for said in told["messages"][1:]] == ["Green.", "White.", "Black.", "Red."]


async def test_a_server_that_is_interrupted_keeps_what_is_under_way(folder: Path, fakes: FakeProviders) -> None:
    fakes.openai.says("Green.", fault("stall_before_headers"), "White.", "Black.", "Red.")

    async with by_http() as (address, process):
        async with assistant_at(address, "legacy") as assistant:
            call = await assistant.call_until(2, "discuss", TEA)
            process.send_signal(signal.SIGINT)
            await asyncio.wait({call})
        await process.wait()
    async with by_stdio() as assistant:
        (kept,) = (await assistant.call("list_runs"))["runs"]
        told = await assistant.call("discuss", resume=kept["run"])

    assert (kept["status"], kept["turns"]) == ("interrupted", 1)
    assert told["status"] == "done"


HEADERS = {
    "no token": ({}, 401),
    "another token": ({"authorization": "Bearer guess"}, 401),
    "another host": ({"authorization": f"Bearer {TOKEN}", "host": "evil.example"}, 421),
    "another origin": ({"authorization": f"Bearer {TOKEN}", "origin": "http://evil.example"}, 403),
}


async def test_by_http_nobody_is_served_without_the_token_nor_pages_of_other_hosts(folder: Path) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    statuses = {}
    async with by_http() as (address, _), httpx2.AsyncClient() as http:
        for name, (headers, _) in HEADERS.items():
            accept = {"accept": "application/json, text/event-stream"}
            statuses[name] = (await http.post(address, json=body, headers={**accept, **headers})).status_code

    assert statuses == {name: status for name, (_, status) in HEADERS.items()}


async def test_by_http_a_port_that_is_taken_is_told(folder: Path) -> None:
    async with by_http() as (address, _):
        port = address.split(":")[2].partition("/")[0]
        second = await asyncio.create_subprocess_exec(
            *COMMAND, "--http", "--port", port, stderr=asyncio.subprocess.PIPE
        )
        _, err = await second.communicate()

    assert (second.returncode, f"Port {port} can't be used" in err.decode()) == (1, True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_a_server_on_stdio_that_saves_first_and_writes_nothing_else_to_its_client(
    folder: Path, fakes: FakeProviders, number: signal.Signals
) -> None:
    fakes.openai.says("Green.", fault("stall_before_headers"))
    process = await asyncio.create_subprocess_exec(
        *COMMAND, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert process.stdin
    assert process.stdout
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    call = {"name": "discuss", "arguments": TEA, "_meta": {"progressToken": "tea"}}
    for message in (
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    lines: list[dict[str, Any]] = []
    while "turn 2 of" not in str(lines[-1:]):
        lines.append(json.loads(await process.stdout.readline()))
    process.send_signal(number)
    out, _ = await process.communicate()

    assert process.returncode == 130
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    (run,) = (folder / "runs").iterdir()
    assert '"status":"interrupted"' in (run / "journal.jsonl").read_text().splitlines()[-1]


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    there = node.install(tmp_path_factory.mktemp("mcp-clients"), INSPECTOR, SDK)
    return Path(shutil.copy(SCRIPT, there)).parent


@pytest.mark.parametrize("way", ["stdio", "http"])
async def test_the_typescript_sdk_lists_calls_sees_progress_cancels_and_resumes(
    folder: Path, fakes: FakeProviders, packages: Path, way: str
) -> None:
    fakes.openai.says("Green.", "White.", fault("stall_before_headers"), "Black.", "Red.")

    if way == "stdio":
        typed = (*COMMAND, "--folder", str(folder))
        told = json.loads(await node.run("node", SCRIPT.name, *typed, cwd=packages, **fakes.environment))
    else:
        async with by_http() as (address, _):
            told = json.loads(await node.run("node", SCRIPT.name, address, TOKEN, cwd=packages))

    assert told["tools"] == ["discuss", "ask", "judge", "list_runs", "read_run"]
    assert [words.split(": ")[1] for words in told["progress"]] == [
        "turn 1 of 2, Ada, $0 so far",
        "turn 2 of 2, Ben, $0 so far",
    ]
    assert told["status"] == "done"
    assert "enough" in told["cancelled"]
    assert told["resumed"] == ["Green.", "White.", "Black.", "Red."]
    is_error, words = told["refused"]
    assert is_error
    assert "is outside of" in words


async def test_the_official_inspector_finds_nothing_wrong_with_the_tools_and_calls_them(
    folder: Path, packages: Path
) -> None:
    inspector = str(packages / "node_modules" / ".bin" / "mcp-inspector")
    target = (inspector, "--cli", *COMMAND, "--folder", str(folder), "--format", "json")
    called = ("--method", "tools/call", "--tool-name", "discuss", "--tool-arg", "config=quickstart", "turns=1")

    listed = json.loads(await node.run(*target, "--method", "tools/list", "--strict", cwd=packages))
    told = json.loads(await node.run(*target, *called, cwd=packages))

    assert "discuss" in str(listed)
    assert '"done"' in json.dumps(told)


async def test_an_inspector_that_is_stopped_leaves_a_discussion_that_goes_on(
    folder: Path, fakes: FakeProviders, packages: Path
) -> None:
    fakes.openai.says("Green.", fault("stall_before_headers"), "White.", "Black.", "Red.")
    inspector = packages / "node_modules" / ".bin" / "mcp-inspector"
    arguments = ("--method", "tools/call", "--tool-name", "discuss", "--tool-args-json", json.dumps(TEA))
    async with by_http() as (address, _):
        header = ("--header", f"Authorization: Bearer {TOKEN}")
        process = await asyncio.create_subprocess_exec(inspector, "--cli", address, *header, *arguments, cwd=packages)
        while len(fakes.openai.questions) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        process.kill()
        await process.wait()
    async with by_stdio() as assistant:
        told = await assistant.call("discuss", resume="last")

    assert (told["status"], told["turns"]) == ("done", 4)
