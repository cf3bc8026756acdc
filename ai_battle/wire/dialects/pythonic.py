"""Calls in the notation of Python: `f(a=1)`, `f({"a": 1})`, `f(1)`."""

import re
from collections.abc import Mapping
from typing import Any

from ai_battle.core.messages import ToolCall

from .literals import QUOTE
from .names import Offered
from .tolerant import CONSTANT, Unreadable, read_value, read_word, skip_space

_KEYWORD = re.compile(r"\s*(?P<quote>[\"']?)(?P<key>[A-Za-z_][\w\-]*(?:\\_[\w\-]*)*)(?P=quote)\s*(?:=(?!=)|:(?!/))\s*")
_PLACEHOLDER = re.compile(rf"(?!{QUOTE.pattern}|{CONSTANT.pattern})[A-Za-z_.\s]")


def read_call(text: str, name: str, at: int, tools: Offered) -> tuple[ToolCall, int]:
    """The call whose parenthesis opens at `at`, and where it ends; raises Unreadable."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    at += 1
    while text[at := skip_space(text, at)] != ")":
        if text[at] == "," and (positional or keywords):
            at += 1
            continue
        at = _argument(text, at, positional, keywords)
    return ToolCall(name, _arguments(positional, keywords, name, tools, at)), at + 1


def _argument(text: str, at: int, positional: list[Any], keywords: dict[str, Any]) -> int:
    """Reads one argument into its place. A bare word is a value only behind its keyword: alone it is a placeholder."""
    if found := _KEYWORD.match(text, at):
        key = found["key"].replace("\\_", "_")
        keywords[key], end = read_value(text, found.end())
        return end
    stars = 2 if text.startswith("**", at) else 0
    if not stars and _PLACEHOLDER.match(text, at):
        read_word(text, at)
        raise Unreadable(at)
    value, end = read_value(text, at + stars)
    positional.append(value)
    return end


def _arguments(
    positional: list[Any], keywords: dict[str, Any], name: str, tools: Offered, at: int
) -> Mapping[str, Any]:
    """Values without a keyword take the tool's parameters in order; one mapping of its parameters is all arguments."""
    if not positional:
        return keywords
    properties = tuple(tools.properties(name))
    if len(positional) == 1 and isinstance(positional[0], dict) and _fits(positional[0], properties):
        return {**positional[0], **keywords}
    if len(positional) > len(properties):
        raise Unreadable(at)
    return {**dict(zip(properties, positional, strict=False)), **keywords}


def _fits(given: dict[str, Any], properties: tuple[str, ...]) -> bool:
    return not properties or not given or given.keys() <= set(properties) or len(properties) > 1
