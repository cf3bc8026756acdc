"""Finds the family of tasks that a prompt belongs to, and whether it asks for a tool."""

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
_MATH_NUMBERS = 2
_DIGITS = re.compile(r"\d+")
_NUMBERING = re.compile(r"^\s{0,8}\d{1,2}[.)]\s", re.MULTILINE)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_LATEX = re.compile(r"\\[a-z(\[]|\$[^$\n]{0,80}[=^+][^$\n]{0,80}\$")
_NO_NUMBER = re.compile(
    r"(?:^|[.!?:]\s|\n)\s{0,8}(?:do|does|did|is|are|was|were|would|will|can|could|should|have|has|which|why|who|where)\b"
    r"[^.?!\n]{0,200}\?",
    re.IGNORECASE,
)
_OPEN_QUESTION = re.compile(
    r"(?:^|[.!?:]\s|\n)\s{0,8}(?:please |can you |could you )?(?:describe|discuss|write|draft|compose|review"
    r"|summari[sz]e|translate"
    r"|evaluate|design|plan|suggest)\b",
    re.IGNORECASE,
)


def family_of(prompt: str, question: str, context: Context) -> Family:
    """Returns the family: tools offered, lettered options, code, numbers in a question, else chat.

    `question` is the prompt without its code.
    """
    # The first that applies wins: tools and options decide the form of the answer, whatever the prompt is about.
    if context.tools:
        return "tool"
    if options(prompt):
        return "mcq"
    if _CODE.search(prompt):
        return "code"
    return "math" if _is_math(question) else "chat"


def is_open(question: str) -> bool:
    """Checks whether a prompt asks for a text, which may contain sums without being one."""
    return _OPEN_QUESTION.search(question) is not None


def wants_number(question: str) -> bool:
    """Checks whether an answer has to contain a number."""
    return any(words in question.lower() for words in _NUMBER_DUE)


def _is_math(question: str) -> bool:
    """Checks for LaTeX, or for numbers or something to count in a question that is not open-ended."""
    if ("\\" in question or "$" in question) and _LATEX.search(question):
        return True
    lowered = question.lower()
    if not _asks(question, lowered):
        return False
    numbers = _numbers(lowered)
    return numbers >= _MATH_NUMBERS or (numbers > 0 and any(words in lowered for words in _COUNTS))


def _asks(question: str, lowered: str) -> bool:
    """Checks whether a prompt asks for one result that is neither a yes nor a name."""
    if not any(word in lowered for word in _ASKS) or is_open(question):
        return False
    return not _NO_NUMBER.search(question) or wants_number(question)


def _numbers(lowered: str) -> int:
    """Counts the numbers in digits and words, without years and the numbering of lists."""
    digits = sum(not _YEAR.fullmatch(number) for number in _DIGITS.findall(_NUMBERING.sub("", lowered)))
    return digits + sum(word.strip(".,;:?!-") in _NUMERALS for word in lowered.split())


SHARED_WORDS, TOOL_CHARACTERS = 2, 4_000
"""Words that a prompt for a tool shares with it; in 250 recorded tasks none shared fewer. The second is how much of a
tool's text is read, since texts are cached with their stems."""


def asks_for_tools(prompt: str, tools: Iterable[ToolSpec]) -> bool:
    described = frozenset(chain.from_iterable(map(tool_stems, tools_meant(prompt, tools))))
    return len(name_stems(prompt) & described) >= SHARED_WORDS


def tools_meant(prompt: str, tools: Iterable[ToolSpec]) -> list[ToolSpec]:
    """Returns the tools that a prompt may mean. A tool that takes any text has to be named."""
    stems = name_stems(prompt)
    return [tool for tool in tools if not takes_anything(tool) or name_stems(tool.name) <= stems]


def property_texts(properties: Mapping[str, Any]) -> Iterator[str]:
    """Yields the names and descriptions in a schema's properties."""
    for name, schema in properties.items():
        yield name
        yield str(schema.get("description", "")) if isinstance(schema, Mapping) else ""


def tool_stems(tool: ToolSpec) -> frozenset[str]:
    """Returns the stems of a tool's name, its description and its parameters, from their first characters."""
    texts = (tool.name, tool.description, *property_texts(tool.schema.get("properties") or {}))
    return name_stems(" ".join(texts)[:TOOL_CHARACTERS])
