"""Clients of model APIs; the name in the YAML is the name of the file.

What is named here is what others use, imported when it is asked for: models that are scripted or recorded do without
HTTP.
"""

from typing import TYPE_CHECKING

from ..core.lazy import names_of

if TYPE_CHECKING:
    from ._calls import Deadlines, ProviderCaller, RetryPolicy, Stalled
    from ._capabilities import ModelCapabilities, RefusalMemory
    from ._endpoints import built_in_providers
    from ._listing import ask, capabilities, list_models
    from ._metered import CallTerms
    from ._names import KNOWN, RETIRED, SHORT, ModelName, is_local, nearest_tag, parse
    from ._prices import FREE, TokenPrice, context_window, price
    from ._private import VeilRules
    from ._recordings import RecordedExchanges, Recorder
    from ._veil import Veil, VeiledClient

_HOME = {
    "_calls": ("Deadlines", "ProviderCaller", "RetryPolicy", "Stalled"),
    "_capabilities": ("ModelCapabilities", "RefusalMemory"),
    "_endpoints": ("built_in_providers",),
    "_listing": ("ask", "capabilities", "list_models"),
    "_metered": ("CallTerms",),
    "_names": ("KNOWN", "RETIRED", "SHORT", "ModelName", "is_local", "nearest_tag", "parse"),
    "_prices": ("FREE", "TokenPrice", "context_window", "price"),
    "_recordings": ("RecordedExchanges", "Recorder"),
    "_private": ("VeilRules",),
    "_veil": ("Veil", "VeiledClient"),
}

__all__ = [
    "FREE",
    "KNOWN",
    "RETIRED",
    "SHORT",
    "CallTerms",
    "Deadlines",
    "ModelCapabilities",
    "ModelName",
    "ProviderCaller",
    "RecordedExchanges",
    "Recorder",
    "RefusalMemory",
    "RetryPolicy",
    "Stalled",
    "TokenPrice",
    "Veil",
    "VeilRules",
    "VeiledClient",
    "ask",
    "built_in_providers",
    "capabilities",
    "context_window",
    "is_local",
    "list_models",
    "nearest_tag",
    "parse",
    "price",
]

__getattr__ = names_of(__name__, _HOME)
