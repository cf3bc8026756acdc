"""Tools: what they are, where they come from, and how a call of one is run.

What is named here is imported when it is asked for: most discussions have no tools.
"""

from typing import TYPE_CHECKING

from ..core.lazy import names_of

if TYPE_CHECKING:
    from .approval import Ask, Consent, Person, is_code_denied
    from .base import Tool
    from .client import ToolCapableClient, asked_first
    from .formats.auto import Auto, Forgetful
    from .loading import named_code
    from .offering import Offering
    from .outfit import Knows, Outfit, User, problems, settled
    from .registry import ToolRegistry

_HOME = {
    "approval": ("Ask", "Consent", "Person", "is_code_denied"),
    "base": ("Tool",),
    "client": ("ToolCapableClient", "asked_first"),
    "formats.auto": ("Auto", "Forgetful"),
    "loading": ("named_code",),
    "offering": ("Offering",),
    "outfit": ("Knows", "Outfit", "User", "problems", "settled"),
    "registry": ("ToolRegistry",),
}

__all__ = [
    "Ask",
    "Auto",
    "Consent",
    "Forgetful",
    "Knows",
    "Offering",
    "Outfit",
    "Person",
    "Tool",
    "ToolCapableClient",
    "ToolRegistry",
    "User",
    "asked_first",
    "is_code_denied",
    "named_code",
    "problems",
    "settled",
]

__getattr__ = names_of(__name__, _HOME)
