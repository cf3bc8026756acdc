"""Which family of tasks a prompt belongs to; signals weigh differently in each."""

import re
from typing import Literal

from ...signals.final_answers import Kind
from ...signals.options import options
from ...signals.quantities import without_samples
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
_QUESTION = re.compile(
    r"\?|\uff1f|\b(?:how (?:many|much)|calculate|compute|find|solve|determine|simplify|estimate|express)\b",
    re.IGNORECASE,
)
_COUNTS = re.compile(r"\bhow (?:many|much)\b|\b(?:largest|smallest|greatest|least|minimum|maximum)\b", re.IGNORECASE)
_NUMBER = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|dozen|once|twice|half|thirds?|quarter)\b",
    re.IGNORECASE,
)
_NUMBERS = 2
_LATEX = re.compile(r"\\[a-z(\[]|\$[^$\n]{0,80}[=^+][^$\n]{0,80}\$")
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
_OPEN = re.compile(
    r"(?:^|[.!?:]\s|\n)\s{0,8}(?:please |can you |could you )?(?:describe|discuss|write|draft|compose|review"
    r"|summari[sz]e|translate"
    r"|evaluate|design|plan|suggest)\b",
    re.IGNORECASE,
)


def family_of(prompt: str, context: Context) -> Family:
    """Tools offered: tool; two or more lettered options: mcq; code: code; numbers and a question: math; else chat."""
    if context.tools:
        return "tool"
    if options(prompt):
        return "mcq"
    if _CODE.search(prompt):
        return "code"
    return "math" if _is_math(without_samples(prompt)) else "chat"


def _is_math(question: str) -> bool:
    """LaTeX; or numbers, or something to count, and a question that is not an open one."""
    if _LATEX.search(question):
        return True
    numbers = len(_NUMBER.findall(_YEAR.sub(" ", question)))
    enough = numbers >= _NUMBERS or (numbers > 0 and _COUNTS.search(question))
    return bool(enough and _QUESTION.search(question) and not _OPEN.search(question))
