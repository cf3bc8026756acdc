"""Checked configuration to live clients: the only room that knows every mechanism.

What is named here is imported when it is asked for: whoever wants a client alone does not wait for tools.
"""

from typing import TYPE_CHECKING

from ..core.lazy import names_of

if TYPE_CHECKING:
    from .building import Assembled, build
    from .checking import check, named_code
    from .models import Model, create_client
    from .pairs import spelling
    from .recipes import Recipe
    from .single import direct, helped
    from .surroundings import NO_TAPES, RetryPolicy, Surroundings, Tapes
    from .wording import in_words, refuses_tools

_HOME = {
    "building": ("Assembled", "build"),
    "checking": ("check", "named_code"),
    "recipes": ("Recipe",),
    "pairs": ("spelling",),
    "single": ("direct", "helped"),
    "models": ("Model", "create_client"),
    "surroundings": ("NO_TAPES", "RetryPolicy", "Surroundings", "Tapes"),
    "wording": ("in_words", "refuses_tools"),
}

__all__ = [
    "NO_TAPES",
    "Assembled",
    "Model",
    "Recipe",
    "RetryPolicy",
    "Surroundings",
    "Tapes",
    "build",
    "check",
    "create_client",
    "direct",
    "helped",
    "in_words",
    "named_code",
    "refuses_tools",
    "spelling",
]

__getattr__ = names_of(__name__, _HOME)
