"""Discussions: who speaks, what each one sees, when it ends, and what is kept."""

from typing import TYPE_CHECKING

from ..core.lazy import names_of

if TYPE_CHECKING:
    from ._petering_out import consensus, no_novelty
    from .checking import check, checked, notes
    from .collaborative import CollaborativeConversationManager
    from .manager import ConversationManager, RunResult
    from .participant import Participant

_HOME = {
    "_petering_out": ("consensus", "no_novelty"),
    "checking": ("check", "checked", "notes"),
    "collaborative": ("CollaborativeConversationManager",),
    "manager": ("ConversationManager", "RunResult"),
    "participant": ("Participant",),
}

__all__ = [
    "CollaborativeConversationManager",
    "ConversationManager",
    "Participant",
    "RunResult",
    "check",
    "checked",
    "consensus",
    "no_novelty",
    "notes",
]

__getattr__ = names_of(__name__, _HOME)
