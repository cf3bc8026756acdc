"""The final answer of a text, so that two answers can be compared: a number, an option, a value of a program, words."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from .locales import decimal_commas, plain_digits, plain_numbers
from .numbers import numbers, plain, without_latex
from .options import mentioned, options, picked
from .stated import stated_answer

Kind = Literal["number", "option", "code", "text"]
LONGEST = 20_000
LONGEST_WORDS = 400
LONGEST_VALUE = 4_000
PROSE = 3
_CODE = re.compile(
    r"```(?!json)[a-z]|\[PYTHON\]|^\s{0,8}(?:def \w+\(|class \w+[(:]|assert \w|print\(|from \w+ import )"
    r"|\bfunction \w+\(",
    re.MULTILINE,
)
_COUNTS = re.compile(
    r"\bhow (?:many|much|old|long|far|tall|often)\b|\bwhat (?:number|percent)|\bpercentage\b"
    r"|\b(?:wie ?viele?|cu[a\u00e1]nt[oa]s?|combien|quant[ei])\b|\u591a\u5c11",
    re.IGNORECASE,
)
_RECKONS = re.compile(
    r"\b(?:calculate|compute|determine|evaluate|find|simplify|what is|what's|solve|sum|total)\b"
    r"|\d\s{0,3}[-+*/=\u00d7]\s{0,3}\d|\$[^$\n]{0,200}\\?[=^+<]",
    re.IGNORECASE,
)
_ASKS = re.compile(r"\b(?:what|how)\b[^.?\n]{0,300}\?", re.IGNORECASE)
_QUANTITY = re.compile(
    r"\d+|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|half|twice|third)\b", re.IGNORECASE
)
_LEADING = re.compile(r"[-$]{0,2}\d")
_NONWORD = re.compile(r"[^\w%$.+-]+|[.](?!\d)|(?<!\d)-|_")
_QUOTED = re.compile(r"'((?:[^'\\\n]|\\.){0,2000})'|\"((?:[^\"\\\n]|\\.){0,2000})\"")
_EXPRESSION = re.compile(r"\\[a-zA-Z]|[\^()\[\]{}+*\u00d7\u221a\u03c0;]|,(?!\d{3})|\d[abijnxyz]\b|[\w)]-[\w(]")
_WORD = re.compile(r"(?<!\\)\b[^\W\d_]{2,}")
_ASSERTED = re.compile(r"^assert\b.{0,2000}?== ?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """`text` is the answer as it was written; answers of one kind are the same when their `key` is.

    `stated` says that the text names it as its answer; otherwise it is the last number or option that stands there.
    """

    kind: Kind
    text: str
    key: str
    stated: bool = True


def final_answer(text: str, prompt: str = "", kind: Kind | None = None) -> FinalAnswer | None:
    """The final answer of `text` to `prompt`; None when there is none that can be compared."""
    text = text[-LONGEST:].strip()
    stated = stated_answer(text)
    match asked := kind or kind_of(prompt):
        case "number":
            commas = decimal_commas(text, prompt)[0]
            return _number(_plain(text, commas), None if stated is None else _plain(stated, commas))
        case "option":
            return _option(text, stated or "", options(prompt))
        case "code":
            return _written(asked, text, stated, value_key)
        case _:
            return _written(asked, text, stated, words_key)


def same(a: FinalAnswer | None, b: FinalAnswer | None) -> bool:
    """Whether two answers say the same; what is no answer is the same as nothing."""
    return a is not None and b is not None and a.kind == b.kind and a.key == b.key


@lru_cache(maxsize=256)
def kind_of(prompt: str) -> Kind:
    """What kind of answer a prompt asks for."""
    if options(prompt):
        return "option"
    if _CODE.search(prompt[-LONGEST:]):
        return "code"
    return "number" if _COUNTS.search(prompt[-LONGEST:]) or _calculates(prompt[-LONGEST:]) else "text"


def _calculates(prompt: str) -> bool:
    quantities = len(_QUANTITY.findall(prompt))
    return bool((quantities and _RECKONS.search(prompt)) or (quantities > 1 and _ASKS.search(prompt)))


def words_key(text: str) -> str:
    """The words alone, or the number that they are; empty for a text too long to be said twice in the same words."""
    if len(words := " ".join(_NONWORD.sub(" ", without_latex(text).casefold()).split())) > LONGEST_WORDS:
        return ""
    found = list(numbers(text)) if _LEADING.match(words) and len(words.split()) < PROSE else []
    return plain(found[0]) if len(found) == 1 else words


def value_key(text: str) -> str:
    """A literal without regard to space, to the kind of quotes, and to quotes around the whole; of text, the text."""
    bare = _ASSERTED.sub("", text.strip("`\n"))
    if whole := _QUOTED.fullmatch(bare.strip()):
        bare = _inside(whole)
    elif bare.lstrip().startswith(("[", "(", "{")):
        bare = _spaceless(bare)
    return (bare or "''") if len(bare) <= LONGEST_VALUE else ""


def _spaceless(literal: str) -> str:
    pieces, end = [], 0
    for quoted in _QUOTED.finditer(literal):
        pieces += ["".join(literal[end : quoted.start()].split()), f"'{_inside(quoted)}'"]
        end = quoted.end()
    return "".join((*pieces, *literal[end:].split()))


def _inside(quoted: re.Match[str]) -> str:
    return next(inside for inside in quoted.groups() if inside is not None)


def _plain(text: str, commas: bool) -> str:
    return plain_numbers(plain_digits(without_latex(text)), decimal_comma=commas)


def _number(text: str, stated: str | None) -> FinalAnswer | None:
    if stated is None:
        last = list(numbers(text))[-1:]
        return FinalAnswer("number", plain(last[0]), plain(last[0]), stated=False) if last else None
    result = stated.rpartition("=")[2] or stated
    value = next(numbers(result), None)
    if value is None or (_EXPRESSION.search(result) and len(_WORD.findall(result)) < PROSE):
        return FinalAnswer("number", stated, key) if (key := _expression(result)) else None
    return FinalAnswer("number", stated, plain(value))


def _expression(text: str) -> str:
    """A formula without what only sets it."""
    key = "".join(text.casefold().split()).strip("$.,;:*`")
    return key if len(key) <= LONGEST_WORDS else ""


def _option(text: str, stated: str, among: Mapping[str, str]) -> FinalAnswer | None:
    if stated and (letter := picked(stated, among)):
        return FinalAnswer("option", stated, letter)
    letter = mentioned(text, among) or (picked(text, among) if len(text) <= LONGEST_WORDS else "")
    return FinalAnswer("option", letter, letter, stated=False) if letter else None


def _written(kind: Kind, text: str, stated: str | None, key_of: Callable[[str], str]) -> FinalAnswer | None:
    written = text if stated is None else stated
    return FinalAnswer(kind, written.strip(), key, stated is not None) if (key := key_of(written)) else None
