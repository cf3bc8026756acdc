"""Whether calls in text are written in a form that their reader has to guess at."""

import ast
import json
import re
import warnings

from ..case import Case

_TAGGED = re.compile(r"<(?:tool_call|function|\|)|\[TOOL_CALLS\]|\"name\"\s*:|\bAction:", re.IGNORECASE)
_FENCE = re.compile(r"^\s*```\w*\n|\n?```\s*$")
LONGEST = 4_000


def is_odd(case: Case) -> bool:
    """JSON, a tagged call, and `name(key=value)` alone or in a list are usual; a mixture of them is not."""
    if not case.calls or case.context.own_calls or _TAGGED.search(case.text):
        return False
    written = _FENCE.sub("", case.text[:LONGEST].strip())
    return not _is_json(written) and not _is_python(written)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_python(text: str) -> bool:
    """Calls with keywords alone, one or a list of them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            written = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    calls = written.elts if isinstance(written, ast.List | ast.Tuple) else [written]
    return all(isinstance(call, ast.Call) and not call.args for call in calls)
