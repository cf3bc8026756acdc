"""Numbers and the sums that models write where a number belongs (`5*12`, `1/6`)."""

import ast
import operator
import re
from typing import Any

_NUMBER = r"[-+]?(?:0[xX][0-9a-fA-F]+|(?:\d[\d_]*)?\.?\d[\d_]*\.?(?:[eE][-+]?\d+)?)"
_OPERATOR = r"\s*(?:\*\*|//|[-+*/%])\s*"
_TERM = rf"(?:{_NUMBER}|\(\s*{_NUMBER}(?:{_OPERATOR}{_NUMBER})*\s*\))"
_SUM = re.compile(rf"{_TERM}(?:{_OPERATOR}{_TERM})*")
_PLAIN = re.compile(r"-?(?:0|[1-9]\d{0,17})(\.\d{1,30})?(?=[,)\]}\n])")
_END = re.compile(r"\s*(?:[,)\]};:<`]|//|#|/\*|\n|$)")
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}")
_OPERATIONS: dict[type[ast.operator], Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_LONGEST = 100


def number_at(text: str, at: int) -> tuple[int | float, int] | None:
    """The number at `at` and where it ends; none where a date or a word begins with digits."""
    if plain := _PLAIN.match(text, at):
        return (float if plain[1] else int)(plain[0]), plain.end()
    found = _SUM.match(text, at)
    if not found or found.end() - at > _LONGEST or _DATE.match(text, at) or not _END.match(text, found.end()):
        return None
    value = _worked_out(found.group())
    return None if value is None else (value, found.end())


def _worked_out(text: str) -> int | float | None:
    try:
        value = _result(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError):
        return None
    return value


def _result(node: ast.expr) -> int | float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_result(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _result(operand)
        case ast.BinOp(left=left, op=operation, right=right):
            return _combined(operation, _result(left), _result(right))
    raise ValueError(node)


def _combined(operation: ast.operator, left: int | float, right: int | float) -> int | float:
    if isinstance(operation, ast.Pow) and (abs(right) > 64 or abs(left) > 1e6):
        raise ValueError(right)
    value = _OPERATIONS[type(operation)](left, right)
    if not isinstance(value, int | float):
        raise ValueError(value)
    return value
