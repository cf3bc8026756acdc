"""Reading the web: which addresses may be reached, bounded requests, and the text of what comes."""

from typing import TYPE_CHECKING

from ...core.lazy import names_of

if TYPE_CHECKING:
    from .requests import Web, asked

_HOME = {"requests": ("Web", "asked")}

__all__ = ["Web", "asked"]

__getattr__ = names_of(__name__, _HOME)
