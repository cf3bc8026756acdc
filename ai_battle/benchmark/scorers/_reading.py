"""What an answer says, bounded: answers are long where a model is stuck in a loop."""

import ast
import re
import warnings

LONGEST = 100_000
_BLOCK = re.compile(
    r"^[ \t]{0,8}(`{3,8}|~{3,8})[ \t]*(\w{0,20})[^\n]{0,200}\n(.*?)^[ \t]{0,8}\1", re.DOTALL | re.MULTILINE
)


def code_of(text: str, name: str = "") -> str:
    """The Python program of an answer: of several blocks the last that defines `name`, else all of them in order.

    Without a block it is the whole text, where that is a program; empty for none.
    """
    text = text[-LONGEST:]
    blocks = [code for _, language, code in _BLOCK.findall(text) if language.lower() in ("", "python", "py", "python3")]
    if not blocks:
        return text if text.strip() and _is_program(text) else ""
    defining = [
        code for code in blocks if name and re.search(rf"^[ \t]*(?:async )?def {re.escape(name)}\b", code, re.MULTILINE)
    ]
    return defining[-1] if defining else "\n".join(blocks)


def _is_program(text: str) -> bool:
    """Not of a single word or sentence that happens to be an expression."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(not isinstance(each, ast.Expr) for each in found.body)
