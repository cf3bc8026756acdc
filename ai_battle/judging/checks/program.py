"""Whether code that an answer brings can be read by its language, and whether any comes where it is asked for."""

import json
import re

from ...signals.code_blocks import code_of
from ...signals.syntax import is_readable
from ..case import Case
from . import output

_WANTED = re.compile(
    r"\b(?:write|implement|create|develop|fix|refactor|complete)\b(?: me| us)?(?: an?| the| this| some| my)?"
    r"(?: (?!video|film|movie|radio|lesson)[\w+#-]{1,20}){0,3}"
    r" (?:function|program|script|code|class|method|query|algorithm)\b(?! calls?| period)",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\b(?:write|implement|create)\b[^.?!`\n]{0,60}`(\w{2,60})\(", re.IGNORECASE)
_STARTS = re.compile(
    r"^(?:def|class|import|from|async def|@\w+)\b|`[^`\n]+`|^\s*(?:const|let|function|SELECT)\b",
    re.MULTILINE,
)


def check(case: Case) -> dict[str, float]:
    code = code_of(case.text, case.question)
    wanted = bool(_WANTED.search(case.prompt)) and not case.once(output.check)
    return {
        "code_does_not_parse": float(any(not is_readable(language, part) for language, part in code)),
        "no_code": float(wanted and not code and not _shows_code(case)),
        "code_misnamed": float(bool(code) and not _has_name(case.question, code)),
        "json_block_unreadable": float(any(not _is_json(part) for language, part in code if language == "json")),
    }


def _shows_code(case: Case) -> bool:
    """Code stands in it without a block; or there is an answer, as to the question what code does."""
    return case.states_answer or _STARTS.search(case.text) is not None


def _has_name(prompt: str, code: list[tuple[str, str]]) -> bool:
    """It has the function that is to be written, where the prompt names one as code."""
    named = _NAMED.search(prompt)
    return named is None or any(named[1] in part for _, part in code)


def _is_json(code: str) -> bool:
    try:
        json.loads(code)
    except (ValueError, RecursionError):
        return False
    return True
