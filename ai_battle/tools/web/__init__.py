"""Reading the web: which addresses may be reached, bounded requests, and the text of what comes."""

from .requests import Bounds, Page, Web, ask_service

__all__ = ["Bounds", "Page", "Web", "ask_service"]
