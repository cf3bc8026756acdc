"""The sum that a prompt asks for where it asks for nothing else: "What is 17 * 24?", "17 mal 24", "15 % von 403"."""

import re
from collections.abc import Iterator

from ._sums import SumToken, value_of
from .numbers import readings, without_latex

LONGEST = 160
Asked = tuple[str, str, float]
"""What stands before a sum, what behind it, and what comes out."""
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
# A date, a telephone number or 24/7 has no space around its signs.
_ONE = r"\(*\d+(?:\.\d+)?(?:/\d+)?\)*"
_EXPRESSION = re.compile(rf"{_ONE}(?:(?: [-+*/] ?|\^){_ONE})+")
_MATH_MODE = re.compile(r"\\[()\[\]]|\$")
_PIECE = re.compile(r"\d+(?:\.\d+)?|[-+*/^()]")
_WORD = re.compile(r"[^\W\d_]+")
_FRAME, _LATER = 5, frozenset(("please", "bitte", "make", "makes", "equal", "equals", "be", "eder"))


def asked_values(prompt: str) -> tuple[float, ...]:
    """What comes out, in each way in which the numbers may be meant; empty where more than one sum is asked for."""
    if len(prompt) > LONGEST:
        return ()
    return tuple(
        dict.fromkeys(value for text in readings(_MATH_MODE.sub(" ", without_latex(prompt))) for value in _values(text))
    )


def _values(text: str) -> Iterator[float]:
    for before, behind, value in (*_shares(text), *_commands(text), *_sums(text)):
        if not any(letter.isdigit() for letter in before + behind) and _asks_only(before, behind):
            yield value
            return


def _asks_only(before: str, behind: str) -> bool:
    """A few words before it, and hardly any behind: what else is said may change what is asked for."""
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
    return value_of([_token(piece) for piece in _PIECE.findall(expression)])


def _token(piece: str) -> SumToken:
    if piece[0].isdigit():
        return SumToken("number", piece, float(piece))
    return SumToken("bracket" if piece in "()" else "operator", piece)
