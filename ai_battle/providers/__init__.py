"""Clients of model APIs; the name in the YAML is the name of the file.

What is named here is imported when it is asked for: models that are scripted or recorded do without HTTP.
"""

from typing import TYPE_CHECKING

from ..core.lazy import names_of

if TYPE_CHECKING:
    from ._listing import list_models

_HOME = {"_listing": ("list_models",)}

__all__ = ["list_models"]

__getattr__ = names_of(__name__, _HOME)
