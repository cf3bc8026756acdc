"""Tools of MCP servers, offered as `server:tool`; needs the extra `mcp`."""

from .servers import McpServers

__all__ = ["McpServers"]
