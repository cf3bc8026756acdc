"""Tools of MCP servers, offered as `server:tool`; needs the extra `mcp`."""
