"""Tokenises and evaluates sums, and finds the sum that a prompt asks for."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import add, mul, sub, truediv
from typing import NamedTuple

from .numbers import readings, without_latex
from .refusals import without_courtesies

MAX_VALUE = 1e15
CURRENCY = "$\u20ac\u00a3\u00a5\u20b9\u20bd\u20a9\u20ba\u20ab\u0e3f\u20aa\u20b4"
_TOKEN = re.compile(
    rf"[\s{CURRENCY},]*+(?:"
    r"(?P<word>[^\W\d_]{2,}+(?:/[^\W\d_]++)?(?![\w(])(?>(?: (?!(?:of|times|plus|minus)\b)[^\W\d_]{2,}+(?![\w(]))*)"
    r"|[aA](?= [^\W\d_])|[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af](?!\w)"
    r"|\u00b0 ?[CFK]?(?!\w)|(?<=[\d\u00b0] )[mgslLhtVAWJNKCF](?:/[^\W\d_]++)?(?![\w(^]))"
    r"|(?P<number>(?<![_A-Za-z\u00c0-\u024f\u0370-\u03ff\d.])(?:\d{1,18}|(?=\.\d))(?:\.\d{1,15})?(?![\d.,]\d))"
    r"(?P<glued>[^\W\d]?)"
    r"|(?P<operator>\*\*|[-+*/^]|\b[xX]\b)"
    r"|(?P<bracket>[()])"
    r"|(?P<percent>%)"
    r"|(?P<other>[^\W\d_]{1,40}\(|[\\{}\[\]_!&#@<>\u221a\u2206\u03c0]|[\d.]+|\w+))"
)
_COUNTED = re.compile(r"(?:[%)]|\d ?(?:[^\W\d_]{1,9}(?:/[^\W\d_]{1,9})?)?) ?$")
_LONGEST_UNIT = 24
_GLUED_UNIT = frozenset("mgslLht")
_OPERATORS = {"x": "*", "X": "*", "**": "^"}
_WORDS = {"plus": "+", "minus": "-", "times": "*", "of": "*"}


class SumToken(NamedTuple):
    """A token of a sum. A tuple rather than a dataclass, since one answer may have thousands."""

    kind: str
    text: str
    value: float = 0.0
    decimals: int = 0

    @property
    def is_open(self) -> bool:
        """Whether something has to follow: it is an operator or an opening bracket."""
        return self.kind in ("operator", "bracket") and self.text != ")"


_SIGNED = {sign: SumToken("operator", sign) for sign in "-+*/^"}
_FRACTION = SumToken("operator", "\u2044")
"""A slash without spaces, which binds its numbers more tightly than the sign of a division: 3/4 \u00f7 2/5."""


@lru_cache(maxsize=8)
def tokens(side: str) -> tuple[SumToken, ...]:
    """Returns the tokens of one side. Cached, as the end of one sum is often the beginning of the next."""
    return tuple([_token(match, kind) for match in _TOKEN.finditer(side) if (kind := match.lastgroup)])


def _token(match: re.Match[str], kind: str) -> SumToken:
    if kind == "glued":
        return _number(match)
    written = match[kind]
    if written == "/" and _is_fraction(match):
        return _FRACTION
    if kind == "operator":
        return _SIGNED.get(written) or _operator(match, kind, _OPERATORS)
    return _operator(match, kind, _WORDS) if written in _WORDS else SumToken(kind, written)


def _is_fraction(match: re.Match[str]) -> bool:
    """Checks whether a slash stands between two digits without spaces."""
    line, start, end = match.string, match.start(), match.end()
    return line[max(0, start - 1) : start].isdigit() and line[start] == "/" and line[end : end + 1].isdigit()


def _operator(match: re.Match[str], kind: str, signs: Mapping[str, str]) -> SumToken:
    """Reads an operator. A letter x is one only between numbers, "of" only after a percentage."""
    written = match[kind]
    if written in ("x", "X", "of") and not _stands_between_numbers(written, match.string, match.span(kind)):
        return SumToken("word" if written == "of" else "other", written)
    return SumToken("operator", signs.get(written, written))


def _number(match: re.Match[str]) -> SumToken:
    written, glued = match.group("number", "glued")
    if glued and not _is_apart_from_number(glued, match.string[match.end() : match.end() + 1]):
        return SumToken("other", written + glued)
    return SumToken("number", written, float(written), len(written.partition(".")[2]))


def _is_apart_from_number(glued: str, following: str) -> bool:
    """Checks whether a letter right after a number is a multiplication sign or a unit."""
    if glued in "xX":
        return following.isdigit()
    is_unit = glued in _GLUED_UNIT or (not glued.isascii() and glued != "\u03c0")
    return is_unit and not following.isalnum()


def _stands_between_numbers(written: str, line: str, span: tuple[int, int]) -> bool:
    start, end = span
    after = line[end : end + 4].lstrip(f" ({CURRENCY}")[:1]
    if not after.isdigit():
        return False
    if written == "of":
        return line[max(0, start - 3) : start].rstrip().endswith("%")
    return _COUNTED.search(line, max(0, start - _LONGEST_UNIT), start) is not None


def value_of(tokens: Sequence[SumToken]) -> float | None:
    """Returns the value of a sum, or None if it is not a sum, has no value, or is implausibly large."""
    rest = list(reversed(tokens))
    try:
        value = _value_above(0, rest)
    except (ValueError, ZeroDivisionError, OverflowError, IndexError):
        return None
    return value if not rest and abs(value) < MAX_VALUE else None


def _value_above(strength: int, rest: list[SumToken]) -> float:
    """Evaluates operators that bind more tightly than `strength`, taking tokens off the end of `rest`.

    Recursion is bounded by the number of tokens, and callers pass at most a short window of them.
    """
    value = _operand(rest)
    while rest and (sign := _SIGN_BEFORE.get(rest[-1].text)) and _STRENGTH[sign] > strength:
        if rest[-1].text == sign:
            rest.pop()
        value = _OPERATIONS[sign](value, _value_above(_STRENGTH[sign], rest))
    return value


def _operand(rest: list[SumToken]) -> float:
    token = rest.pop()
    if token.text == "-":
        return -_operand(rest)
    value = _value_above(0, rest) if token.text == "(" else token.value
    if token.kind != "number" and (token.text != "(" or rest.pop().text != ")"):
        raise ValueError("no sum")
    while rest and rest[-1].kind == "percent":
        rest.pop()
        value /= 100
    return value


def _power(a: float, b: float) -> float:
    if abs(b) > 64 or abs(a) > 1e6 or (a < 0 and b != int(b)):
        raise ValueError("too large")
    return float(a**b)


_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "\u2044": 3, "^": 4}
_SIGN_BEFORE = {**{sign: sign for sign in _STRENGTH}, "(": "*"}
"""The operator that a token is or implies: a bracket right after a number multiplies."""
_OPERATIONS: Mapping[str, Callable[[float, float], float]] = {
    "+": add, "-": sub, "*": mul, "/": truediv, "\u2044": truediv, "^": _power
}  # fmt: skip


LONGEST_PROMPT = 160
_TWO_NUMBERS = re.compile(r"\d\D++\d")
Asked = tuple[str, str, float]
"""The text before a sum, the text after it, and its value."""
_N = r"(\d+(?:\.\d+)?)"
_SIGNS = {
    "*": r"[*\u00d7\u00b7\u22c5xX]|\\times|\\cdot|times|multiplied by|mal|fois|por|per|volte|vezes|keer|razy"
    r"|\u00e7arp\u0131|умножить на|乘以|乘|かける|गुणा",
    "/": r"\u00f7|(?<=\s)[/:](?=\s)|\\div|divided by|geteilt durch|durch|divis\u00e9 par|dividido (?:por|entre)"
    r"|diviso(?: per)?|gedeeld door|podzielone przez|przez|b\u00f6l\u00fc|разделить на|除以|わる",
    "+": r"\+|plus|m\u00e1s|mais|pi\u00f9|art\u0131|плюс|加|足す",
    "-": r"(?<=\s)[-\u2212\u2013](?=\s)|\u2212|minus|moins|menos|meno|min|eksi|минус|减|引く",
}
_BETWEEN = [
    (re.compile(rf"(?<=[\d)])\s{{0,3}}(?:{words})\s{{0,3}}(?=[\d(])"), f" {sign} ") for sign, words in _SIGNS.items()
]
_SHARE = re.compile(
    rf"{_N} ?(?:%|percent|prozent|pour ?cent|por ?ciento|por cento|per ?cento|procent"
    r"|\u043f\u0440\u043e\u0446\u0435\u043d\u0442\w*) ?"
    rf"(?:of|von|de|di|do|del|van|z|\u043e\u0442|\u0645\u0646) {_N}(?!\d|\.\d|,\d)",
    re.IGNORECASE,
)
_SHARE_BEHIND = re.compile(rf"{_N} ?(?:\u306e|\u7684|\u0915\u093e) ?{_N} ?%")
_COMMANDED = re.compile(
    rf"\b(?:(multiply) {_N} (?:by|with)|(divide) {_N} by|(subtract) {_N} from|(add) {_N} (?:to|and)"
    rf"|(product|sum|difference) (?:of|between) {_N} and) {_N}",
    re.IGNORECASE,
)
_SIGN_OF = {"multiply": "*", "product": "*", "divide": "/", "add": "+", "sum": "+", "difference": "-", "subtract": "-"}
# Requires a space before a sign: dates, telephone numbers and "24/7" have none.
_ONE = r"\(*\d+(?:\.\d+)?(?:/\d+)?\)*"
_EXPRESSION = re.compile(rf"{_ONE}(?:(?: [-+*/] ?|\^){_ONE})+")
_MATH_MODE = re.compile(r"\\[()\[\]]|\$")
_PIECE = re.compile(r"\d+(?:\.\d+)?|[-+*/^()]")
_WORD = re.compile(r"[^\W\d_]+")
_FRAME, _LATER = 5, frozenset(("please", "bitte", "make", "makes", "equal", "equals", "be", "eder"))


def asked_values(prompt: str) -> tuple[float, ...]:
    """Returns the value of the only sum that a prompt asks for, once per reading of its numbers."""
    if len(prompt) > 2 * LONGEST_PROMPT or not _TWO_NUMBERS.search(prompt):
        return ()
    asked = without_courtesies(prompt)
    if len(asked) > LONGEST_PROMPT:
        return ()
    return tuple(
        dict.fromkeys(value for text in readings(_MATH_MODE.sub(" ", without_latex(asked))) for value in _values(text))
    )


def _values(text: str) -> Iterator[float]:
    for before, behind, value in (*_shares(text), *_commands(text), *_sums(text)):
        if not any(letter.isdigit() for letter in before + behind) and _asks_only(before, behind):
            yield value
            return


def _asks_only(before: str, behind: str) -> bool:
    """Checks whether few words precede the sum and hardly any follow, since more words may change the question."""
    later = [word for word in _WORD.findall(behind.lower()) if word.isascii() and word not in _LATER]
    return not later and len(behind) < 16 and len(_WORD.findall(before)) <= _FRAME


def _shares(text: str) -> Iterator[Asked]:
    if found := _SHARE.search(text) or _SHARE_BEHIND.search(text):
        yield text[: found.start()], text[found.end() :], float(found[1]) * float(found[2]) / 100


def _commands(text: str) -> Iterator[Asked]:
    if found := _COMMANDED.search(text):
        name, first, second = (group.lower() for group in found.groups() if group)
        ordered = (second, first) if name == "subtract" else (first, second)
        value = _value(f"{ordered[0]}{_SIGN_OF[name]}{ordered[1]}")
        if value is not None:
            yield text[: found.start()], text[found.end() :], abs(value) if name == "difference" else value


def _sums(text: str) -> Iterator[Asked]:
    for words, sign in _BETWEEN:
        text = words.sub(sign, text)
    if (found := _EXPRESSION.search(text)) and (value := _value(found.group())) is not None:
        yield text[: found.start()], text[found.end() :], value


def _value(expression: str) -> float | None:
    return value_of([_asked_token(piece) for piece in _PIECE.findall(expression)])


def _asked_token(piece: str) -> SumToken:
    if piece[0].isdigit():
        return SumToken("number", piece, float(piece))
    return SumToken("bracket" if piece in "()" else "operator", piece)
