"""Reading the web: which addresses may be reached, bounded requests, and the text of what comes."""

from typing import TYPE_CHECKING

from ...core.lazy import names_of

if TYPE_CHECKING:
    from .requests import Bounds, Page, Web, ask_service

_HOME = {"requests": ("Bounds", "Page", "Web", "ask_service")}

__all__ = ["Bounds", "Page", "Web", "ask_service"]

__getattr__ = names_of(__name__, _HOME)
