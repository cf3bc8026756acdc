"""Checked configuration to live clients: the only room that knows every mechanism.

What is named here is imported when it is asked for: whoever wants a client alone does not wait for tools. So no module
may be called like a name in it, as Python puts imported modules in their place.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .building import Assembled, build
    from .checking import check, named_code
    from .models import Model, create_client
    from .single import direct
    from .surroundings import NO_TAPES, Patience, Surroundings, Tapes

_HOME = {
    "building": ("Assembled", "build"),
    "checking": ("check", "named_code"),
    "single": ("direct",),
    "models": ("Model", "create_client"),
    "surroundings": ("NO_TAPES", "Patience", "Surroundings", "Tapes"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "NO_TAPES",
    "Assembled",
    "Model",
    "Patience",
    "Surroundings",
    "Tapes",
    "build",
    "check",
    "create_client",
    "direct",
    "named_code",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
