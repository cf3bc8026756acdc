"""Tool calls in text: one reader, the check and repair of arguments, canonical JSON; pure, without I/O."""

from typing import TYPE_CHECKING

from ...core.lazy import names_of

if TYPE_CHECKING:
    from .reader import parse_tool_calls, read
    from .reading import Issue, Reading, Span
    from .streaming import StreamingReader

_HOME = {
    "reader": ("parse_tool_calls", "read"),
    "reading": ("Issue", "Reading", "Span"),
    "streaming": ("StreamingReader",),
}

__all__ = ["Issue", "Reading", "Span", "StreamingReader", "parse_tool_calls", "read"]

__getattr__ = names_of(__name__, _HOME)
