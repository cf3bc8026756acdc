"""Names of a package that are imported when they are first asked for."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_of(package: str, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """The `__getattr__` of a package (PEP 562), given which names each of its modules has.

    No module may be called like a name in it, as Python puts imported modules in their place.
    """
    module_of = {name: module for module, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f".{module_of[name]}", package), name)

    return load
