"""Discussions: who speaks, what each one sees, when it ends, and what is kept."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .checking import check, checked
    from .collaborative import CollaborativeConversationManager
    from .manager import ConversationManager, RunResult
    from .participant import Participant

_HOME = {
    "CollaborativeConversationManager": "collaborative",
    "ConversationManager": "manager",
    "check": "checking",
    "checked": "checking",
    "Participant": "participant",
    "RunResult": "manager",
}

__all__ = ["CollaborativeConversationManager", "ConversationManager", "Participant", "RunResult", "check", "checked"]


def __getattr__(name: str) -> Any:
    """Loads what a name needs when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module 'ai_battle.conversation' has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)
