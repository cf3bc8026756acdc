"""Arguments that stand alone, below the line that names their tool."""

import re

from ai_battle.core.messages import ToolCall

from .names import Offered
from .reading import Piece
from .source import Source
from .tolerant import Unreadable

_LABEL = re.compile(r"(?:(?:tool|function)\s+)?(?:arguments|args|parameters|params|input)\W*", re.IGNORECASE)
_FENCE = re.compile(r"`{3,}(?:json)?")
_NAMING = re.compile(
    r"(?:(?:(?:using|calling|call|use)\s+)?(?:the\s+)?(?:tool|function)(?:\s+(?:call|name))?[\s*_]*:|calling:?|using:?)?"
    r"[\s*_`\"]*(?P<name>[\w.\-/]{1,128}?)(?:\(\))?[\s*_`\":]*",
    re.IGNORECASE,
)
_REACH = 200


def read_announced(source: Source, at: int, tools: Offered) -> Piece | None:
    """The object at `at` as the arguments of the tool named above it, if it holds what that tool needs and no more."""
    tool = _announced(source.text[max(0, at - _REACH) : at], tools)
    if tool is None:
        return None
    try:
        value, end = source.value(at)
    except Unreadable:
        return None
    if not isinstance(value, dict) or not set(tools.required(tool)) <= value.keys() <= tools.properties(tool).keys():
        return None
    return Piece(at, end, [ToolCall(tool, value)])


def _announced(above: str, tools: Offered) -> str | None:
    """The tool that the last line names, labels of the arguments and the marks of their block aside."""
    lines = [plain for line in above.splitlines() if (plain := line.strip().lstrip("*_"))]
    while lines and (_FENCE.fullmatch(lines[-1]) or _LABEL.fullmatch(lines[-1])):
        lines.pop()
    named = _NAMING.fullmatch(lines[-1]) if lines else None
    return tools.known(named["name"]) if named else None
