"""Modules that most servers never need, imported at their first use so that workers start fast and stay small."""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

__all__ = ["boost_reply", "consulting", "pair_evidence", "tool_formats"]

if TYPE_CHECKING:
    from ..collaboration import _boost_reply as boost_reply
    from ..reporting import pair_evidence
    from ..tools.formats import auto as tool_formats
    from . import consulting
else:
    _HOMES = {
        "boost_reply": "..collaboration._boost_reply",
        "consulting": ".consulting",
        "pair_evidence": "..reporting.pair_evidence",
        "tool_formats": "..tools.formats.auto",
    }

    def __getattr__(name: str) -> ModuleType:
        if name in _HOMES:
            return import_module(_HOMES[name], __package__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
