"""Arguments that stand alone, below the line that names their tool."""

import re

from ai_battle.core.messages import ToolCall

from .names import Offered

_LABEL = re.compile(r"(?:(?:tool|function)\s+)?(?:arguments|args|parameters|params|input)\W*", re.IGNORECASE)
_FENCE = re.compile(r"`{3,}(?:json)?")
_NAMING = re.compile(
    r"(?:(?:(?:using|calling|call|use)\s+)?(?:the\s+)?(?:tool|function)(?:\s+(?:call|name))?[\s*_]*:|calling:?|using:?)?"
    r"[\s*_`\"]*(?P<name>[\w.\-/]{1,128}?)(?:\(\))?[\s*_`\":]*",
    re.IGNORECASE,
)
_REACH = 200


def announced_call(text: str, at: int, value: object, tools: Offered) -> ToolCall | None:
    """The object at `at` as the arguments of the tool named above it, if it holds what that tool needs and no more."""
    tool = _announced(text[max(0, at - _REACH) : at], tools) if isinstance(value, dict) else None
    if tool is None or not isinstance(value, dict):
        return None
    fits = set(tools.required(tool)) <= value.keys() <= tools.properties(tool).keys()
    return ToolCall(tool, value) if fits else None


def _announced(above: str, tools: Offered) -> str | None:
    """The tool that the last line names, labels of the arguments and the marks of their block aside."""
    for line in reversed(above.splitlines()):
        plain = line.strip().lstrip("*_")
        if plain and not _FENCE.fullmatch(plain) and not _LABEL.fullmatch(plain):
            named = _NAMING.fullmatch(plain)
            return tools.known(named["name"]) if named else None
    return None
