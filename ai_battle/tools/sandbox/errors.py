"""There is no fence to run code behind."""

from ...core.errors import ToolError


class NoFence(ToolError):
    """Says why, and what to do about it."""
