"""A program of ours that runs `odd.py` as its arguments say, until it reads a line."""

import asyncio
import sys
from pathlib import Path

from ai_battle.config.tools import McpServer
from ai_battle.tools.base import ToolRegistry
from ai_battle.tools.mcp.servers import McpServers


async def main() -> None:
    server = McpServer(command=sys.executable, args=(str(Path(__file__).with_name("odd.py")), *sys.argv[1:]))
    async with McpServers({"odd": server}, ToolRegistry()):
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
    print("ended", flush=True)


asyncio.run(main())
