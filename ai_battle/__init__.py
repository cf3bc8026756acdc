"""Conversations between language models that use tools and help each other."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .assembly.models import create_client
    from .cli.live import live_view
    from .collaboration.boost import BoostLoop
    from .collaboration.rescue import ModelCollaborationProtocol
    from .conversation.asking import ask, run
    from .conversation.manager import CollaborativeConversationManager, ConversationManager, RunResult
    from .conversation.participant import Participant
    from .core.client import BaseClient, ModelClient
    from .core.errors import (
        AIBattleError,
        BadReply,
        BudgetExceeded,
        ConfigError,
        ContextTooLong,
        JournalError,
        ProviderError,
        RateLimited,
        Refused,
        ToolError,
        Unreachable,
    )
    from .core.exchange import ModelRequest, ModelResponse, ToolSpec, Usage
    from .core.messages import Document, Image, Message, Text, Thinking, ToolCall, ToolResult
    from .judging.detector import StuckDetector
    from .tools.base import Tool, ToolRegistry
    from .tools.client import ToolCapableClient
    from .tools.decorator import tool
    from .tools.formats.text import ToolUseProtocol
    from .tools.manager import ToolManager
    from .wire.dialects.reader import parse_tool_calls

_HOME = {
    "judging.detector": ("StuckDetector",),
    "collaboration.boost": ("BoostLoop",),
    "collaboration.rescue": ("ModelCollaborationProtocol",),
    "assembly.models": ("create_client",),
    "cli.live": ("live_view",),
    "conversation.asking": ("ask", "run"),
    "conversation.manager": ("CollaborativeConversationManager", "ConversationManager", "RunResult"),
    "conversation.participant": ("Participant",),
    "core.client": ("BaseClient", "ModelClient"),
    "core.errors": (
        "AIBattleError",
        "BadReply",
        "BudgetExceeded",
        "ConfigError",
        "ContextTooLong",
        "JournalError",
        "ProviderError",
        "RateLimited",
        "Refused",
        "ToolError",
        "Unreachable",
    ),
    "core.exchange": ("ModelRequest", "ModelResponse", "ToolSpec", "Usage"),
    "core.messages": ("Document", "Image", "Message", "Text", "Thinking", "ToolCall", "ToolResult"),
    "tools.base": ("Tool", "ToolRegistry"),
    "tools.client": ("ToolCapableClient",),
    "tools.decorator": ("tool",),
    "tools.formats.text": ("ToolUseProtocol",),
    "tools.manager": ("ToolManager",),
    "wire.dialects.reader": ("parse_tool_calls",),
}

__version__ = "0.1.0"
__all__ = [
    "AIBattleError",
    "BadReply",
    "BaseClient",
    "BoostLoop",
    "BudgetExceeded",
    "CollaborativeConversationManager",
    "ConfigError",
    "ContextTooLong",
    "ConversationManager",
    "Document",
    "Image",
    "JournalError",
    "Message",
    "ModelClient",
    "ModelCollaborationProtocol",
    "ModelRequest",
    "ModelResponse",
    "Participant",
    "ProviderError",
    "RateLimited",
    "Refused",
    "RunResult",
    "StuckDetector",
    "Text",
    "Thinking",
    "Tool",
    "ToolCall",
    "ToolCapableClient",
    "ToolError",
    "ToolManager",
    "ToolRegistry",
    "ToolResult",
    "ToolSpec",
    "ToolUseProtocol",
    "Unreachable",
    "Usage",
    "ask",
    "create_client",
    "live_view",
    "parse_tool_calls",
    "run",
    "tool",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Imports a public name when it is first used, so that `import ai_battle` stays fast."""
        for module, names in _HOME.items():
            if name in names:
                return getattr(import_module(f".{module}", __name__), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
