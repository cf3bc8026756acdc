"""A predicted output of a program: whether it can come out of it with this input, and how hard that is to say."""

import ast
import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ...signals.asked_programs import parsed
from ...signals.outcomes import literal
from ...signals.words import words
from ..case import Case

LONGEST = 6_000
_PROGRAM = re.compile(r"\[PYTHON\]\s*\n([\s\S]*?)\[/PYTHON\]|```(?:python|py)?[ \t]*\n([\s\S]*?)```")
_HOLE = re.compile(r"==\s*\?+|==\s*_+\s*$", re.MULTILINE)
_LEAVES = 50


def check(case: Case) -> dict[str, float]:
    """Nothing where the prompt asks for no output of a program that it gives."""
    code = _program(case.prompt)
    call = called(code) if _HOLE.search(code) else None
    if call is None or case.final is None:
        return {}
    written, said = case.final.text.strip(), list(words(case.working))
    value = _value(written)
    inputs = [given for node in call.args if (given := literal(ast.unparse(node))) is not None]
    return {
        **_of_value(value, inputs),
        "output_from_nowhere": _from_nowhere(value, code),
        "output_length": math.log1p(len(written)) / 5,
        "program_length": math.log1p(len(code)) / 5,
        "program_branches": min(code.count("if "), 5) / 5,
        "varied_words": len(set(said)) / max(1, len(said)),
    }


def _program(prompt: str) -> str:
    found = _PROGRAM.search(prompt)
    return str(found[1] or found[2])[:LONGEST] if found else ""


def _value(written: str) -> Any:
    """What is no literal is the text that it is."""
    value = literal(written)
    return written if value is None and written != "None" else value


def _of_value(value: Any, inputs: list[Any]) -> dict[str, float]:
    return {
        "output_is_input": float(any(type(given) is type(value) and given == value for given in inputs)),
        "output_empty": float(value in ([], {}, "", ())),
        "output_is_bool": float(isinstance(value, bool)),
        "output_is_text": float(isinstance(value, str)),
        "output_reorders": float(_reorders(value, inputs)),
        "input_length": math.log1p(max((len(given) for given in inputs if isinstance(given, str)), default=0)) / 5,
    }


@lru_cache(maxsize=64)
def called(code: str) -> ast.Call | None:
    """The call whose result an assertion leaves open."""
    tree = parsed(_HOLE.sub("== 0", code))
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare) and isinstance(node.test.left, ast.Call):
            return node.test.left
    return None


def _from_nowhere(value: Any, code: str) -> float:
    """The share of its numbers and strings that the program and its input do not have."""
    leaves = [leaf for leaf, _ in zip(_leaves(value), range(_LEAVES), strict=False)]
    strange = sum(not isinstance(leaf, bool) and leaf is not None and str(leaf) not in code for leaf in leaves)
    return strange / max(1, len(leaves))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(key)
            yield from _leaves(item)
    elif isinstance(value, list | tuple | set):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _reorders(value: Any, inputs: list[Any]) -> bool:
    """A text made of exactly the letters of the input."""
    return isinstance(value, str) and any(isinstance(given, str) and sorted(given) == sorted(value) for given in inputs)
