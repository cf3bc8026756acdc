"""What a file says of MCP servers."""

import asyncio
import subprocess
import sys

from ai_battle.config.tools import Tools
from ai_battle.tools.loading import named_code


def test_a_program_is_code_that_has_to_be_trusted() -> None:
    servers = {"git": {"command": "mcp-server-git", "args": ["--repository", "."]}, "docs": {"url": "http://a.example"}}

    assert named_code(Tools.model_validate({"mcp": {"servers": servers}})) == ("mcp-server-git --repository .",)


def test_the_sdk_is_loaded_when_a_server_is_used_and_not_before() -> None:
    code = "import sys, ai_battle.tools.mcp; sys.exit('mcp' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_without_the_sdk_the_error_says_how_to_get_it() -> None:
    code = """
import asyncio, sys
sys.modules["mcp"] = None
from ai_battle.config.tools import McpServer
from ai_battle.core.errors import ConfigError
from ai_battle.tools.mcp import McpServers
from ai_battle.tools.registry import ToolRegistry

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
