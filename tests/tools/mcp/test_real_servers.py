"""Servers as they are published, from the indexes of Python and of node."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from ai_battle.core.messages import Image

from .conftest import Running, until

pytestmark = pytest.mark.slow


async def test_the_time_server_tells_the_time(running: Running) -> None:
    async with running(time={"command": "mcp-server-time"}) as tools:
        assert tools.registry.names == ["time:get_current_time", "time:convert_time"]
        told = await tools.call("time:get_current_time", timezone="Asia/Tokyo")
        failed = await tools.call("time:get_current_time", timezone="Atlantis/Capital")

    assert json.loads(told.text)["timezone"] == "Asia/Tokyo"
    assert failed.is_error
    assert "Atlantis/Capital" in failed.text


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
async def test_the_git_server_speaks_of_a_repository(running: Running, repository: Path) -> None:
    async with running(git={"command": "mcp-server-git", "args": ["--repository", "."], "cwd": "shop"}) as tools:
        log = await tools.call("git:git_log", repo_path=str(repository), max_count="3")
        elsewhere = await tools.call("git:git_status", repo_path="/")
        reads = {name: tool.writes for name in tools.registry.names if (tool := tools.registry.get_tool(name))}

    assert "opened the shop" in log.text
    assert elsewhere.is_error
    assert (reads["git:git_log"], reads["git:git_commit"]) == (False, True)


@pytest.mark.skipif(shutil.which("mcp-server-everything") is None, reason="npm -g has no server-everything")
async def test_the_everything_server_of_node_shows_all_it_can(running: Running) -> None:
    async with running(every={"command": "mcp-server-everything", "args": ["stdio"], "timeout": 1}) as tools:
        await until(lambda: "every:get-sum" in tools.registry.names)
        total = await tools.call("every:get-sum", a="2", b=3)
        image = await tools.call("every:get-tiny-image")
        late = await tools.call("every:trigger-long-running-operation", duration=20, steps=20)
        weather = await tools.call("every:get-structured-content", location="Chicago")

    assert "5" in total.text
    assert any(isinstance(part, Image) and part.media_type == "image/png" for part in image.parts)
    assert "did not answer within 1 s" in late.text
    assert "temperature" in json.loads(weather.text)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    shop = tmp_path / "shop"
    git = ["git", "-C", str(shop), "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run(["git", "init", "-q", str(shop)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "opened the shop"], check=True)
    return shop
