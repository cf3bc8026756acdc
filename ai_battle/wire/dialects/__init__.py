"""Tool calls in text: one reader, the check and repair of arguments, canonical JSON; pure, without I/O."""

from .reader import parse_tool_calls, read
from .reading import Issue, Reading, Span
from .streaming import StreamingReader

__all__ = ["Issue", "Reading", "Span", "StreamingReader", "parse_tool_calls", "read"]
