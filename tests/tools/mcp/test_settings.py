"""What a file says of MCP servers."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ai_battle.assembly import discussion
from ai_battle.config.loading import load
from ai_battle.config.tools import Tools
from ai_battle.core.errors import ConfigError


def test_a_program_is_code_that_has_to_be_trusted() -> None:
    servers = {"git": {"command": "mcp-server-git", "args": ["--repository", "."]}, "docs": {"url": "http://a.example"}}

    assert Tools.model_validate({"mcp": {"servers": servers}}).foreign_code == ("mcp-server-git --repository .",)


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ({}, "either a command or a url"),
        ({"command": "a", "url": "http://a.example"}, "either a command or a url"),
        ({"command": "a", "headers": {"A": "b"}}, "headers: does not go with a command"),
        ({"url": "http://a.example", "args": ["b"]}, "args: does not go with a url"),
        ({"url": "a.example/mcp"}, "url: an MCP server is reached by http:// or https://"),
        ({"command": "a", "timeout": 0}, "timeout: "),
    ],
    ids=str,
)
def test_what_does_not_fit_together_is_told_with_its_place(server: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=f"mcp.servers.docs.*{said}"):
        load(settings(docs=server))


def test_a_server_has_no_colon_in_its_name() -> None:
    with pytest.raises(ConfigError, match="the name of a server has no colon"):
        load(settings(**{"a:b": {"command": "c"}}))


def test_a_discussion_is_checked_without_starting_its_servers(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    loaded = load(settings(trap={"command": "touch", "args": [str(mark)]}))

    assert not [*discussion.check(loaded)]
    assert discussion.named_code(loaded) == (f"touch {mark}",)
    assert not mark.exists()


def test_a_secret_in_a_command_is_not_shown_with_it() -> None:
    server = {"command": "docs", "args": ["--key", "${DOCS_KEY}"]}
    loaded = load(settings(docs=server), {"DOCS_KEY": "tok-12345"})

    assert discussion.named_code(loaded) == ("docs --key ${DOCS_KEY}",)


def settings(**servers: dict[str, Any]) -> dict[str, Any]:
    models = {name: {"type": "scripted", "script": [{"say": "Hello"}]} for name in "ab"}
    return {"discussion": {"initial_prompt": "Talk.", "models": models, "tools": {"mcp": {"servers": servers}}}}


def test_the_sdk_is_loaded_when_a_server_is_used_and_not_before() -> None:
    code = "import sys, ai_battle.tools.mcp; sys.exit('mcp' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_without_the_sdk_the_error_says_how_to_get_it() -> None:
    code = """
import asyncio, sys
sys.modules["mcp"] = None
from ai_battle.config.tools import McpServer
from ai_battle.core.errors import ConfigError
from ai_battle.tools.mcp.servers import McpServers
from ai_battle.tools.base import ToolRegistry

async def main():
    async with McpServers({"time": McpServer(command="mcp-server-time")}, ToolRegistry()):
        pass

try:
    asyncio.run(main())
except ConfigError as error:
    print(error)
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=subprocess.PIPE)
    said, _ = await process.communicate()

    assert b"'time' (mcp-server-time) does not start: mcp is not installed; it comes with: pip install" in said
