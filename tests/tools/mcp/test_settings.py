"""What a file says of MCP servers."""

from ai_battle.config.tools import Tools
from ai_battle.tools.loading import named_code


def test_a_program_is_code_that_has_to_be_trusted() -> None:
    servers = {"git": {"command": "mcp-server-git", "args": ["--repository", "."]}, "docs": {"url": "http://a.example"}}

    assert named_code(Tools.model_validate({"mcp": {"servers": servers}})) == ("mcp-server-git --repository .",)
