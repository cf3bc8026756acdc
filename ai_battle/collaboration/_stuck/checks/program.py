"""Whether code that an answer brings parses, and whether any comes where it is asked for."""

import ast
import json
import re
import warnings

from ....signals.code_blocks import code_blocks
from ..case import Case

LONGEST = 20_000
_WANTED = re.compile(
    r"\b(?:write|implement|create|develop|complete|fix|refactor)\b[^.?!\n]{0,80}\b(?:function|program|script|code|class|method|query|algorithm)\b",
    re.IGNORECASE,
)
_STARTS = re.compile(r"^(?:def|class|import|from|async def|@\w+)\b", re.MULTILINE)


def check(case: Case) -> dict[str, float]:
    blocks = code_blocks(case.text)
    python = [code for language, code in blocks if language == "python"]
    return {
        "code_does_not_parse": float(any(not parses(code) for code in python)),
        "no_code": float(bool(_WANTED.search(case.prompt)) and not blocks and not _STARTS.search(case.text)),
        "json_block_unreadable": float(any(not _is_json(code) for language, code in blocks if language == "json")),
    }


def parses(code: str) -> bool:
    """Whether it is Python; what is longer than `LONGEST` characters is given the benefit of the doubt."""
    if len(code) > LONGEST:
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(_without_prompts(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _without_prompts(code: str) -> str:
    """A session's prompts and shell commands of notebooks are no Python, and meant so."""
    lines = (line for line in code.split("\n") if not line.lstrip().startswith(("!", "%", "$ ")))
    return "\n".join(line.removeprefix(">>> ").removeprefix("... ") for line in lines)


def _is_json(code: str) -> bool:
    try:
        json.loads(code)
    except (ValueError, RecursionError):
        return False
    return True
