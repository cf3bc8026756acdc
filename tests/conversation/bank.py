"""An MCP server whose tool pays, in the folder that it is given."""

import os
import sys

from mcp.server.mcpserver import MCPServer

from tests.conversation.purse import do

bank = MCPServer("bank")


@bank.tool()
def pay(to: str) -> str:
    """Pays."""
    do(to)
    return f"{to} was paid"


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    bank.run()
