"""The examples that a prompt gives of the function that is to be written: a call, and what it must come to."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from .asked_programs import parsed, spelling
from .code_blocks import code_of

LONGEST, MOST = 20_000, 20
_ASSERTED = re.compile(r"^[ \t>`]{0,12}(assert [^\n]{3,800}?)`{0,3}\s{0,4}$", re.MULTILINE)
_SESSION = re.compile(r"^[ \t]{0,12}>>> ?(\w[^\n]{0,400})\n[ \t]{0,12}(?!>>>)(\S[^\n]{0,400})$", re.MULTILINE)
_SHOWN = re.compile(
    r"`?(\b[A-Za-z_]\w{0,60}\((?:(?!\)\.\s)[^\n`]){0,300}?\))`? ?"
    r"(?:==|=|->|=>|\u2192|\u21d2|should (?:return|give|be)) ?`?"
    r"([\[({'\"][^\n`]{0,300}|-?\d[\w.]{0,20}|True|False|None)"
)
_TELLS_A_FAULT = re.compile(
    r"\b(?:but|instead|wrong(?:ly)?|bugs?|fix|fails?|broken|actual(?:ly)?|currently)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Example:
    """Two Python expressions: a call, and the literal that it must be equal to."""

    call: str
    expected: str


def examples(prompt: str) -> list[Example]:
    """None where nothing is to be written, and of a prompt that tells of a fault only what it asserts."""
    if "(" not in prompt or len(prompt) > LONGEST:
        return []
    found = (_of_assertion(found[1]) for found in _ASSERTED.finditer(prompt))
    shown = [] if _TELLS_A_FAULT.search(prompt) else [*_SESSION.findall(prompt), *_SHOWN.findall(prompt)]
    every = (*found, *(_example(call, expected) for call, expected in shown))
    return list(dict.fromkeys(filter(None, every)))[:MOST]


def program_for(answer: str, prompt: str, wanted: list[Example]) -> str:
    """The Python program of an answer, where it defines what the examples call; else empty."""
    blocks = [code for language, code in code_of(answer, prompt) if language in ("python", "")]
    readable = [code for code in blocks if parsed(code)]
    called = {_function_name(example) for example in wanted}
    defines = [code for code in readable if called & {*_definitions(code)}]
    return defines[-1] if defines else ""


def _of_assertion(line: str) -> Example | None:
    tree = parsed(line)
    test = tree.body[0].test if tree and isinstance(tree.body[0], ast.Assert) else None
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq | ast.Is):
        return None
    call, expected = spelling(test.left), spelling(test.comparators[0])
    return _example(call, expected) if call and expected else None


def _example(call: str, expected: str) -> Example | None:
    for end in range(len(expected), 0, -1):
        if expected[end - 1] in "])}'\"" or expected[end - 1].isalnum():
            try:
                value = ast.literal_eval(expected[:end])
            except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
                continue
            tree = parsed(call)
            is_call = tree and len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr) and "(" in call
            return Example(call, repr(value)) if is_call else None
    return None


def _function_name(example: Example) -> str:
    return example.call.partition("(")[0].strip()


def _definitions(code: str) -> Iterator[str]:
    tree = parsed(code)
    return (node.name for node in (tree.body if tree else ()) if isinstance(node, ast.FunctionDef | ast.ClassDef))
