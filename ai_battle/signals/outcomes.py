"""The outcome of a program, whether an answer states it, and the examples in a prompt for code."""

import ast
import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .asked_programs import spelling, syntax_tree
from .cleaning import cleaned_answer
from .code import code_blocks, code_of
from .final_answers import FinalAnswer, final_answer

MAX_CHARACTERS = 6_000
_NO_LITERAL = object()
_INLINE = re.compile(r"(?<!`)`([^`\n]{1,2000})`(?!`)|\*\*([^*\n]{1,400})\*\*")
_AT_END = re.compile(r"(?:^|[\s:=>])([\[({'\"][^\n]{0,2000}|-?\d[\d_.eE+-]*|True|False|None)[\s.`*]*\Z")
_PIECE = re.compile(r"\w+|[^\w\s]")
_LOOSE = re.compile(r"[\s,`'\"*]+")


@dataclass(frozen=True, slots=True)
class ProgramOutcome:
    """The outcome of a program: the `repr` of a value, or the printed text."""

    text: str
    is_printed: bool = False

    @property
    def value(self) -> Any:
        """The value. Printed text that is not a literal is a string."""
        found = _literal(self.text)
        return self.text if found is _NO_LITERAL and self.is_printed else found

    def is_same(self, written: str) -> bool:
        """Checks whether `written` is the outcome, as a literal, as a string without quotes, or as the same lines."""
        if _is_equal(_literal(written), self.value):
            return True
        if self.is_printed:
            return written.split() == self.text.split() or _LOOSE.sub("", written) == _LOOSE.sub("", self.text) != ""
        return isinstance(self.value, str) and written.strip() in (self.value, repr(self.value)[1:-1])

    def is_rounded(self, written: str) -> bool:
        """Checks whether `written` is the same number with fewer decimals, which proves nothing either way."""
        # `True` and `1` are equal in Python, but only a number can be rounded.
        number, value = _literal(written), self.value if not self.is_printed else _literal(self.text)
        if not (_is_number(number) and _is_number(value)) or len(_decimals(number)) >= len(_decimals(value)):
            return False
        return bool(abs(value - number) <= 0.5 * 10.0 ** -len(_decimals(number)) + 1e-12)

    def stands_in(self, text: str) -> bool:
        shown = self.value if isinstance(self.value, str) else self.text
        if self.is_printed and _LOOSE.sub("", shown) in _LOOSE.sub("", text):
            return True
        pieces = r"\s*".join(map(re.escape, _PIECE.findall(shown[:MAX_CHARACTERS])))
        return re.search(rf"(?<![\w.]){pieces}(?!\w)", text) is not None


def confirms(answer: str, outcome: ProgramOutcome) -> bool | None:
    """Checks whether an answer states the outcome. Returns None if it is unclear what the answer states."""
    text = cleaned_answer(answer).text
    final = final_answer(text, kind="code")
    if final is None or outcome.value is _NO_LITERAL:
        return None
    shown = final.text if final.stated else text
    stated = list(_candidates(shown))
    if any(map(outcome.is_same, stated)):
        return True
    is_read = any(map(_is_literal, stated)) or _names_text(outcome, final, text)
    return False if is_read and not _may_mean(outcome, final.text, shown) else None


def _may_mean(outcome: ProgramOutcome, final: str, shown: str) -> bool:
    """Checks whether an answer may still mean the outcome: rounded, without outer spaces, or among other words.

    Spaces around a string are lost before it is read.
    """
    if any(map(outcome.is_rounded, _candidates(shown))):
        return True
    is_stripped = isinstance(outcome.value, str) and final.strip() == outcome.value.strip()
    return is_stripped or (outcome.stands_in(shown) and not _is_literal(final))


def _names_text(outcome: ProgramOutcome, final: FinalAnswer, text: str) -> bool:
    """Checks whether the outcome is text, and the answer states a text or shows one in code or bold."""
    if not isinstance(outcome.value, str):
        return False
    return final.stated or ("\n" not in outcome.value.strip() and any(_spans(text)))


def literal(text: str) -> Any:
    """Returns the value of a literal, or None if the text is not a literal."""
    found = _literal(text)
    return None if found is _NO_LITERAL else found


def _literal(text: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(text[:MAX_CHARACTERS].strip().strip("`").strip())
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return _NO_LITERAL


def _is_literal(text: str) -> bool:
    return _literal(text) is not _NO_LITERAL


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _decimals(value: float) -> str:
    """Returns the written decimals of a number; a whole number has none."""
    return repr(value).partition("e")[0].partition(".")[2].rstrip("0")


def _is_equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    return bool(one is not _NO_LITERAL and one == other)


def _candidates(text: str) -> Iterator[str]:
    """Yields what may be the outcome in an answer that states none: the whole text, its last code, its end."""
    yield text
    if blocks := code_blocks(text):
        yield blocks[-1][1]
    yield from list(_spans(text))[-1:]
    if found := _AT_END.search(text[-MAX_CHARACTERS:]):
        yield found[1].rstrip(".")


def _spans(text: str) -> Iterator[str]:
    return (inline or bold for inline, bold in _INLINE.findall(text[-MAX_CHARACTERS:]))


LONGEST_PROMPT, MOST = 20_000, 20
_ASSERTED = re.compile(r"^[ \t>`]{0,12}(assert [^\n]{3,800}?)`{0,3}\s{0,4}$", re.MULTILINE)
_SESSION = re.compile(r"^[ \t]{0,12}>>> ?(\w[^\n]{0,400})\n[ \t]{0,12}(?!>>>)(\S[^\n]{0,400})$", re.MULTILINE)
_SHOWN_CALL = re.compile(
    r"`?(\b[A-Za-z_]\w{0,60}\((?:(?!\)\.\s)[^\n`]){0,300}?\))`? ?"
    r"(?:==|=|->|=>|\u2192|\u21d2|should (?:return|give|be)) ?`?"
    r"([\[({'\"][^\n`]{0,300}|-?\d[\w.]{0,20}|True|False|None)"
)
_TELLS_A_FAULT = re.compile(
    r"\b(?:but|instead|wrong(?:ly)?|bugs?|fix|fails?|broken|actual(?:ly)?|currently)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Example:
    """A call and the literal that it must equal, both as Python expressions."""

    call: str
    expected: str


def examples(prompt: str) -> list[Example]:
    """Returns the examples of a prompt for code; only assertions if it reports a bug, as it shows wrong results too."""
    if "(" not in prompt or len(prompt) > LONGEST_PROMPT:
        return []
    found = (_of_assertion(found[1]) for found in _ASSERTED.finditer(prompt))
    shown = [] if _TELLS_A_FAULT.search(prompt) else [*_SESSION.findall(prompt), *_SHOWN_CALL.findall(prompt)]
    every = (*found, *(_example(call, expected) for call, expected in shown))
    return list(dict.fromkeys(filter(None, every)))[:MOST]


def program_for(answer: str, prompt: str, wanted: list[Example]) -> str:
    """Returns the last Python block of an answer that defines what the examples call, or an empty string."""
    blocks = [code for language, code in code_of(answer, prompt) if language in ("python", "")]
    readable = [code for code in blocks if syntax_tree(code)]
    called = {_function_name(example) for example in wanted}
    defines = [code for code in readable if called & {*_definitions(code)}]
    return defines[-1] if defines else ""


def _of_assertion(line: str) -> Example | None:
    tree = syntax_tree(line)
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
            tree = syntax_tree(call)
            is_call = tree and len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr) and "(" in call
            return Example(call, repr(value)) if is_call else None
    return None


def _function_name(example: Example) -> str:
    return example.call.partition("(")[0].strip()


def _definitions(code: str) -> Iterator[str]:
    tree = syntax_tree(code)
    return (node.name for node in (tree.body if tree else ()) if isinstance(node, ast.FunctionDef | ast.ClassDef))
