"""Tools: what they are, where they come from, and how a call of one is run.

What is named here is imported when it is asked for: most discussions have no tools.
"""

from typing import TYPE_CHECKING

from ..core.lazy import names_of

if TYPE_CHECKING:
    from .approval import Approver, Ask, Consent, is_code_denied
    from .base import Tool, ToolRegistry
    from .client import ToolCapableClient, WithTools, first_request
    from .formats.auto import AutoTools, InProcessRefusals
    from .loading import named_code
    from .toolset import ToolSet, ToolSupport, ToolUser, settings_problems, tool_settings

_HOME = {
    "approval": ("Ask", "Consent", "Approver", "is_code_denied"),
    "base": ("Tool", "ToolRegistry"),
    "client": ("ToolCapableClient", "WithTools", "first_request"),
    "formats.auto": ("AutoTools", "InProcessRefusals"),
    "loading": ("named_code",),
    "toolset": ("ToolSet", "ToolSupport", "ToolUser", "settings_problems", "tool_settings"),
}

__all__ = [
    "Approver",
    "Ask",
    "AutoTools",
    "Consent",
    "InProcessRefusals",
    "Tool",
    "ToolCapableClient",
    "ToolRegistry",
    "ToolSet",
    "ToolSupport",
    "ToolUser",
    "WithTools",
    "first_request",
    "is_code_denied",
    "named_code",
    "settings_problems",
    "tool_settings",
]

__getattr__ = names_of(__name__, _HOME)
