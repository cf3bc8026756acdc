"""Servers that do not start, hang, die, and stay when they are told to go."""

import asyncio
import json
import os
import signal
import sys
from typing import Any

import pytest

from ai_battle.core.errors import ConfigError

from .conftest import Running, children, is_alive, program, until


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ({"command": "mcp-server-nowhere"}, "there is no program 'mcp-server-nowhere'; install it"),
        ({"command": "python3 time.py"}, "there is no program 'python3 time.py'; its arguments go into args"),
        ({"command": "mcp-server-time", "cwd": "nowhere"}, "working directory .*nowhere does not exist"),
        (program("odd", "breaks"), r"closed the connection; its last words: no licence found for token tok-12345"),
        (program("odd", "breaks", env={"TOKEN": "tok-12345"}), r"no licence found for token \${TOKEN}$"),
        (program("odd", "endless"), "lists tools without an end"),
        ({"url": "http://127.0.0.1:9/mcp?key=secret"}, r"\(http://127.0.0.1:9/mcp\) does not start: .*connect"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else value[:30],
)
async def test_a_server_that_does_not_start_says_why(running: Running, server: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=f"The MCP server 'odd' .*{said}"):
        async with running(odd=server):
            pass


async def test_a_server_that_hangs_at_its_start_is_given_up_and_the_others_are_stopped(running: Running) -> None:
    told = r"did not start within 0.5 s \(its start_timeout\); its last words: still connecting"
    with pytest.raises(ConfigError, match=told):
        async with running(quick=program("odd", "flood"), odd=program("odd", "hangs", start_timeout=0.5)):
            pass

    assert not children()


async def test_a_server_may_be_given_up_at_any_moment_of_its_start(running: Running) -> None:
    """Also while its process is being started."""
    async with asyncio.timeout(60):
        for number in range(1, 6):
            with pytest.raises(ConfigError, match="did not start within"):
                async with running(odd=program("odd", "hangs", start_timeout=number * 0.002)):
                    pass

    await until(lambda: not children())


async def test_a_server_that_dies_in_a_call_is_started_again_at_the_next_one(running: Running) -> None:
    async with running(odd=program("odd", "dies")) as tools:
        before = children()
        died = await tools.call("odd:die")
        await until(lambda: not children())
        await tools.call("odd:die")

    assert died.is_error
    assert died.text == """{"error": "The MCP server 'odd': it closed the connection; its last words: out of memory"}"""
    assert len(before) == 1
    assert tools.warnings == ["The MCP server 'odd' had ended; it was started again."]


async def test_the_time_that_a_server_takes_to_start_again_is_not_the_call_s(running: Running) -> None:
    server = program("odd", "dies", timeout=2)
    slowly = 'test -e started && sleep 3; touch started; exec "$0" "$@"'
    async with running(odd={**server, "command": "sh", "args": ("-c", slowly, sys.executable, *server["args"])}) as odd:
        results = [await odd.call("odd:die") for _ in range(2)]

    assert ["out of memory" in result.text for result in results] == [True, True]


async def test_a_server_that_is_killed_between_calls_is_started_again_once(running: Running) -> None:
    async with running(odd=program("odd", "flood")) as tools:
        (pid,) = children()
        os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(0.2)
        results = await asyncio.gather(*(tools.call("odd:quiet") for _ in range(3)))
        assert len(children()) == 1

    assert {result.text for result in results} == {'{"result": "here"}'}
    assert len(tools.warnings) == 1


async def test_a_flood_of_stderr_and_chatter_on_stdout_change_nothing(running: Running) -> None:
    async with running(flood=program("odd", "flood"), chatty=program("odd", "chatty")) as tools:
        results = [await tools.call(name) for name in ("flood:quiet", "chatty:talk")]

    assert [result.text for result in results] == ['{"result": "here"}'] * 2


async def test_a_line_without_an_end_is_not_waited_for(running: Running) -> None:
    async with running(odd=program("odd", "rambles")) as tools:
        result = await tools.call("odd:ramble")

    assert "its last words: [a line of more than 16777216 bytes]" in result.text


@pytest.mark.parametrize("how", ["broken", "shapeless"])
async def test_an_answer_that_can_not_be_read_is_told_at_once(running: Running, how: str) -> None:
    """The time of a call is a minute: nothing here waits for its end."""
    async with running(odd=program("odd", how)) as tools:
        result = await asyncio.wait_for(tools.call(tools.registry.names[0]), 20)

    assert result.is_error
    assert "its answer can't be read" in result.text


@pytest.mark.parametrize(
    "how", ["leaves", pytest.param("orphans", marks=pytest.mark.skipif(sys.platform != "linux", reason="no subreaper"))]
)
async def test_what_a_server_leaves_running_ends_with_it(running: Running, how: str) -> None:
    """Also what has a session of its own, and whose parent is gone."""
    async with running(odd=program("odd", how)) as tools:
        pid = int(json.loads((await tools.call("odd:leave")).text)["result"])
        assert is_alive(pid)

    await until(lambda: not is_alive(pid))
