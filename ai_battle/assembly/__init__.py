"""Builds live clients from checked configuration; the only package that knows every mechanism.

Most discussions have no pairs and no veil, and many no tools. The modules that build those load half of the package, so
each is imported on first use, as in `assembly.recipes`, by a module's `__getattr__` (PEP 562).
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import pairing as pairing
    from . import recipes as recipes
    from . import shadows as shadows
    from . import tooling as tooling
    from . import veiling as veiling
else:

    def __getattr__(name: str) -> ModuleType:
        if name in ("pairing", "recipes", "shadows", "tooling", "veiling"):
            return import_module(f".{name}", __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
