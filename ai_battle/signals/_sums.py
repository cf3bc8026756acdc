"""The value of a sum given as tokens."""

from collections.abc import Sequence
from typing import NamedTuple

LARGEST = 1e15
_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "^": 3, "negative": 4}


class Token(NamedTuple):
    """A tuple, as thousands are made for one answer."""

    kind: str
    text: str
    value: float = 0.0
    decimals: int = 0

    @property
    def is_open(self) -> bool:
        """Whether something has to follow: it is a sign, or opens a bracket."""
        return self.kind in ("operator", "bracket") and self.text != ")"


def value_of(tokens: Sequence[Token]) -> float | None:
    """None for what is no sum, and for what has no value or one too large to be meant."""
    if len(tokens) == 1 and tokens[0].kind == "number":
        return tokens[0].value if tokens[0].value < LARGEST else None
    return _calculated(tokens)


def _calculated(tokens: Sequence[Token]) -> float | None:
    values: list[float] = []
    waiting: list[str] = []
    expects_number = True
    try:
        for token in tokens:
            expects_number = _step(token, expects_number, values, waiting)
        while waiting:
            _apply(waiting.pop(), values)
    except (ValueError, ZeroDivisionError, OverflowError, IndexError):
        return None
    return values[0] if len(values) == 1 and abs(values[0]) < LARGEST else None


def _step(token: Token, expects_number: bool, values: list[float], waiting: list[str]) -> bool:
    """Takes one token in and says whether a number has to come next."""
    if token.kind == "number":
        _expect(expects_number)
        values.append(token.value)
        return False
    if token.kind == "percent":
        values[-1] /= 100
        return False
    if token.text == "(":
        if not expects_number:
            _take_operator("*", waiting, values)
        waiting.append("(")
        return True
    if token.text == ")":
        _close(values, waiting)
        return False
    if expects_number and token.text == "-":
        waiting.append("negative")
    else:
        _expect(not expects_number)
        _take_operator(token.text, waiting, values)
    return True


def _take_operator(sign: str, waiting: list[str], values: list[float]) -> None:
    while waiting and waiting[-1] != "(" and _STRENGTH[waiting[-1]] >= _STRENGTH[sign]:
        _apply(waiting.pop(), values)
    waiting.append(sign)


def _close(values: list[float], waiting: list[str]) -> None:
    while waiting[-1] != "(":
        _apply(waiting.pop(), values)
    waiting.pop()


def _apply(sign: str, values: list[float]) -> None:
    b = values.pop()
    a = 0.0 if sign == "negative" else values.pop()
    match sign:
        case "+":
            values.append(a + b)
        case "-" | "negative":
            values.append(a - b)
        case "*":
            values.append(a * b)
        case "/":
            values.append(a / b)
        case "^":
            values.append(_power(a, b))
        case _:
            raise ValueError(sign)


def _power(a: float, b: float) -> float:
    if abs(b) > 64 or abs(a) > 1e6 or (a < 0 and b != int(b)):
        raise ValueError("too large")
    return float(a**b)


def _expect(wanted: bool) -> None:
    if not wanted:
        raise ValueError("no sum")
