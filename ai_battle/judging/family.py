"""Which family of tasks a prompt belongs to, in which signals weigh differently, and whether it asks for a tool."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Literal

from ..core.exchange import ToolSpec
from ..signals.final_answers import Kind, options
from ..signals.invention import takes_anything
from ..signals.languages import name_stems
from .assessment import Context

Family = Literal["tool", "mcq", "code", "math", "chat"]
FAMILIES: tuple[Family, ...] = ("math", "mcq", "tool", "code", "chat")
FINAL_KIND: dict[Family, Kind] = {"math": "number", "mcq": "option", "code": "code", "tool": "text", "chat": "text"}

_CODE = re.compile(
    r"```(?!json)[a-z]|\[PYTHON\]|^\s{0,8}(?:def \w+\(|class \w+[(:]|assert |import \w+$|#include|public class)"
    r"|\b(?:write|implement|debug|fix|complete) (?:an? |the |this |me )?(?:\w+ ){0,3}(?:function|program"
    r"|script|code|class)\b",
    re.MULTILINE | re.IGNORECASE,
)
_ASKS = ("?", "\uff1f", "calculate", "compute", "find ", "solve", "determine", "simplify", "estimate", "express ")
_COUNTS = ("how many", "how much", "largest", "smallest", "greatest", "least", "minimum", "maximum")
_NUMBER_DUE = (*_COUNTS, "calculate", "compute", "solve", "evaluate", "what is the", "find the", "in total", "percent")
_NUMERALS = frozenset(
    ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "dozen")
).union(("once", "twice", "half", "third", "thirds", "quarter"))
_NUMBERS = 2
_DIGITS = re.compile(r"\d+")
_NUMBERING = re.compile(r"^\s{0,8}\d{1,2}[.)]\s", re.MULTILINE)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_LATEX = re.compile(r"\\[a-z(\[]|\$[^$\n]{0,80}[=^+][^$\n]{0,80}\$")
_NO_NUMBER = re.compile(
    r"(?:^|[.!?:]\s|\n)\s{0,8}(?:do|does|did|is|are|was|were|would|will|can|could|should|have|has|which|why|who|where)\b"
    r"[^.?!\n]{0,200}\?",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"(?:^|[.!?:]\s|\n)\s{0,8}(?:please |can you |could you )?(?:describe|discuss|write|draft|compose|review"
    r"|summari[sz]e|translate"
    r"|evaluate|design|plan|suggest)\b",
    re.IGNORECASE,
)


def family_of(prompt: str, question: str, context: Context) -> Family:
    """Tools offered: tool; two or more lettered options: mcq; code: code; numbers and a question: math; else chat.

    `question` is the prompt without its samples of code.
    """
    if context.tools:
        return "tool"
    if options(prompt):
        return "mcq"
    if _CODE.search(prompt):
        return "code"
    return "math" if _is_math(question) else "chat"


def wants_number(question: str) -> bool:
    """Checks whether an answer without any number can't be one."""
    return any(words in question.lower() for words in _NUMBER_DUE)


def _is_math(question: str) -> bool:
    """LaTeX; or numbers, or something to count, and a question that is not an open one."""
    if ("\\" in question or "$" in question) and _LATEX.search(question):
        return True
    lowered = question.lower()
    if not _asks(question, lowered):
        return False
    numbers = _numbers(lowered)
    return numbers >= _NUMBERS or (numbers > 0 and any(words in lowered for words in _COUNTS))


def _asks(question: str, lowered: str) -> bool:
    """Checks whether a prompt asks for one thing that is neither a yes nor a name."""
    if not any(word in lowered for word in _ASKS) or _OPEN.search(question):
        return False
    return not _NO_NUMBER.search(question) or wants_number(question)


def _numbers(lowered: str) -> int:
    """Returns how many numbers there are in digits and words; years and the numbers of a list count nothing."""
    digits = sum(not _YEAR.fullmatch(number) for number in _DIGITS.findall(_NUMBERING.sub("", lowered)))
    return digits + sum(word.strip(".,;:?!-") in _NUMERALS for word in lowered.split())


MEANT = 2
"""Words that a prompt shares with the tools where it asks for one: fewer did none of 250 recorded tasks."""


def asks_for_tools(prompt: str, tools: Iterable[ToolSpec]) -> bool:
    return len(name_stems(prompt) & _about(tools_meant(prompt, tools))) >= MEANT


def tools_meant(prompt: str, tools: Iterable[ToolSpec]) -> list[ToolSpec]:
    """The tools that a prompt may mean: of one that takes anything it has to say the name."""
    stems = name_stems(prompt)
    return [tool for tool in tools if not takes_anything(tool) or name_stems(tool.name) <= stems]


def property_texts(properties: Mapping[str, Any]) -> Iterator[str]:
    """Yields what a schema says of its properties."""
    for name, schema in properties.items():
        yield name
        yield str(schema.get("description", "")) if isinstance(schema, Mapping) else ""


def _about(tools: Iterable[ToolSpec]) -> frozenset[str]:
    texts = ((tool.name, tool.description, *property_texts(tool.schema.get("properties") or {})) for tool in tools)
    return name_stems(" ".join(chain.from_iterable(texts)))
